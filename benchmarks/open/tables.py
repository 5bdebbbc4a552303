"""Tables of the benchmark: rows, public schema, target and checksum; and the split into rows to learn and to test."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sklar
from benchmarks import nist
from benchmarks.data.sources import folder
from benchmarks.open.listed import CHECKSUMS, LISTED, Listed
from benchmarks.open.packages import read_member
from benchmarks.tables import TABLES, facts

COLUMN = re.compile(r"(?:^|\s)([\w.]+):")
TEST_SHARE, SPLIT_SEED = 0.2, 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenTable:
    """A table with what is public about it.

    Attributes:
        name: Its name in the benchmark.
        frame: The rows to learn from; all of them if no column is predicted.
        test: Rows that no tool sees; None without a target.
        schema: Public facts.
        target: The column that learners predict, if any.
        tuned: Whether its results were looked at while methods were developed.
        about: What it is.
        sha256: Of all rows.
    """

    name: str
    frame: pd.DataFrame
    test: pd.DataFrame | None
    schema: sklar.Schema
    target: str | None
    tuned: bool
    about: str
    sha256: str


def table_names() -> list[str]:
    """Return the tables that are at hand: those of packages, and those whose files SKLAR_DATA has."""
    return [*LISTED, *(name for name, (path, _) in FILES.items() if path().exists())]


def load(name: str) -> OpenTable:
    """Return a table, split if it has a target."""
    if name in LISTED:
        return _split(_from_package(name, LISTED[name]))
    return _split(FILES[name][1](name))


def checksum(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of the rows as text."""
    return hashlib.sha256(frame.to_csv(index=False, lineterminator="\n").encode()).hexdigest()


def _from_package(name: str, listed: Listed) -> OpenTable:
    raw = read_member(listed.package, listed.member)
    columns = {column: _facts(text, raw[column]) for column, text in read_facts(listed.columns).items()}
    frame = pd.DataFrame({column: _values(raw[column], columns[column]) for column in columns})
    found = checksum(frame)
    if CHECKSUMS[name] != found:
        raise SystemExit(f"{name} is another table than expected: its SHA-256 is {found}")
    return OpenTable(
        name=name, frame=frame, test=None, schema=sklar.Schema(columns), target=listed.target, tuned=listed.tuned,
        about=listed.about, sha256=found,
    )  # fmt: skip


def read_facts(text: str) -> dict[str, str]:
    """Return the short facts of each column; labels may contain spaces."""
    starts = list(COLUMN.finditer(text))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return {start[1]: text[start.end() : end].strip() for start, end in zip(starts, ends, strict=True)}


def _facts(text: str, values: pd.Series) -> Any:
    nullable, text = text.endswith("?"), text.removesuffix("?")
    if text.startswith("@"):
        return sklar.Datetime(*text[1:].split(".."), resolution="second", nullable=nullable)
    if re.fullmatch(r"-?\d+\.\.-?\d+", text):
        low, high = text.split("..")
        return sklar.Integer(int(low), int(high), nullable=nullable)
    if ".." in text:
        low, high = re.split(r"(?<=\d)\.\.", text)
        return sklar.Real(float(low), float(high), nullable=nullable)
    whole = text.startswith("#")
    words = text.removeprefix("#").split("|")
    if words == ["*"]:
        words = sorted(values.dropna().map(lambda value: str(int(value)) if whole else str(value)).unique())
    labels: list[Any] = [int(word) for word in words] if whole else [word.replace("_", " ") for word in words]
    return sklar.Category(labels, nullable=nullable)


def _values(values: pd.Series, column: Any) -> pd.Series:
    """Values as the schema means them; text for labels, whole numbers where nothing is missing."""
    if column.kind == "datetime":
        return pd.to_datetime(values.astype(str).str[:19]).astype("datetime64[s]").reset_index(drop=True)
    if column.numeric or column.integer_labels:
        numbers = pd.to_numeric(values, errors="coerce").astype(float).reset_index(drop=True)
        is_whole = column.kind != "real"
        return numbers.astype("int64") if is_whole and numbers.notna().all() else numbers
    return values.astype(object).where(values.notna(), None).reset_index(drop=True).map(
        lambda value: None if value is None else str(value).strip()
    )  # fmt: skip


def _split(table: OpenTable) -> OpenTable:
    if table.target is None:
        return table
    rows = len(table.frame)
    order, held = np.random.default_rng(SPLIT_SEED).permutation(rows), int(rows * TEST_SHARE)
    train, test = (table.frame.iloc[at].reset_index(drop=True) for at in (order[held:], order[:held]))
    return replace(table, frame=train, test=test)


def _excerpt(set_name: str, state: str) -> Callable[[str], OpenTable]:
    def load_excerpt(name: str) -> OpenTable:
        raw = nist.load_excerpt(state, nist.SETS[set_name].split())
        frame, schema = nist.to_types(raw), nist.make_schema(raw)
        tuned = state == "national2019"
        return OpenTable(
            name=name, frame=frame, test=None, schema=schema, target=None, tuned=tuned, sha256=checksum(frame),
            about=f"NIST's excerpt {state}, columns '{set_name}'",
        )  # fmt: skip

    return load_excerpt


def _yardstick(name: str) -> OpenTable:
    yard = TABLES[name]()
    labels = {n: yard.frame[n].astype(str) for n in yard.schema.modelled if not yard.schema[n].numeric}
    frame = yard.frame.assign(**labels)[list(yard.schema.modelled)]
    numbers = {n: yard.schema[n] for n in yard.schema.modelled if yard.schema[n].numeric}
    return OpenTable(
        name=name, frame=frame, test=None, schema=facts(frame, numbers), target=yard.target, tuned=True,
        sha256=checksum(frame), about="of the yardstick",
    )  # fmt: skip


def _file(name: str) -> Callable[[], Path]:
    return lambda: folder() / name


FILES: dict[str, tuple[Callable[[], Path], Callable[[str], OpenTable]]] = {
    f"nist_{state[:2]}_{columns}": (_file(f"nist/{state}.csv"), _excerpt(columns, state))
    for state in ("national2019", "tx2019", "ma2019")
    for columns in ("demographic", "industry", "family")
} | {name: (_file(f"{name}.csv"), _yardstick) for name in ("adult", "compas")}
"""Tables of files, each with its path and its loader."""
