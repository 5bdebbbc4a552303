"""The public grid on which every peer works: codes from schema.toml alone, and back to values.

Numbers go to at most 32 equal cells (as many as there are integers, if fewer), labels to their place, then one code
for other labels and one for null. Nothing is learned from the rows, so no peer gets a domain that it has not paid for.
Needs only numpy, pandas and pyarrow: it runs in the environments of the peers, which do not have Sklar.
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

CELLS = 32
"""Most cells of a column of numbers, unless a peer asks for others."""
TICKS = {"day": "D", "hour": "h", "minute": "m", "second": "s", "millisecond": "ms", "microsecond": "us"}


@dataclass(frozen=True, kw_only=True)
class Column:
    """Public facts about one column: `labels` or bounds, and how many codes it has."""

    name: str
    kind: str
    nullable: bool
    labels: tuple[Any, ...] = ()
    lower: float = 0.0
    upper: float = 0.0
    unit: str = ""
    most: int = CELLS

    @property
    def cells(self) -> int:
        """Codes of values, other labels included."""
        if self.labels:
            return len(self.labels)
        return self.most if self.kind == "real" else int(min(self.most, self.upper - self.lower + 1))

    @property
    def size(self) -> int:
        """All codes."""
        return self.cells + self.nullable

    @property
    def width(self) -> float:
        """Of a cell of numbers."""
        return (self.upper - self.lower + (self.kind != "real")) / self.cells


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a peer was asked for."""

    columns: tuple[Column, ...]
    codes: pd.DataFrame
    values: pd.DataFrame
    epsilon: float
    delta: float
    rows: int
    output: Path

    @property
    def sizes(self) -> dict[str, int]:
        """Codes of each column."""
        return {column.name: column.size for column in self.columns}

    def write(self, codes: pd.DataFrame, promise: str) -> None:
        """Write a synthetic table of codes as values, and what the peer really promises."""
        rng = np.random.default_rng()
        out = {c.name: decode(c, pd.to_numeric(codes[c.name]).to_numpy(), rng) for c in self.columns}
        self.write_values(pd.DataFrame(out), promise)

    def write_values(self, values: pd.DataFrame, promise: str) -> None:
        """Write a synthetic table of values."""
        values.to_parquet(self.output, index=False)
        (self.output.parent / "promise.txt").write_text(promise)


def read_task(words: list[str] | None = None, cells: int = CELLS) -> Task:
    """The task in the words train, schema, epsilon, delta, rows, output; an epsilon of "" is none."""
    train, schema, epsilon, delta, rows, output = sys.argv[-6:] if words is None else words
    columns = read_columns(Path(schema), cells)
    values = pd.read_parquet(train)
    codes = pd.DataFrame({column.name: encode(column, values[column.name]) for column in columns})
    return Task(
        columns=columns, codes=codes, values=values, epsilon=float(epsilon or "nan"), delta=float(delta),
        rows=int(rows), output=Path(output),
    )  # fmt: skip


def read_columns(path: Path, cells: int = CELLS) -> tuple[Column, ...]:
    """The modelled columns of a schema file."""
    facts = tomllib.loads(path.read_text())["columns"]
    return tuple(_column(name, fact, cells) for name, fact in facts.items() if fact["kind"] not in ("id", "ignore"))


def _column(name: str, fact: dict[str, Any], cells: int) -> Column:
    kind, nullable = fact["kind"], bool(fact.get("nullable", False))
    if kind in ("category", "ordinal"):
        return Column(name=name, kind=kind, nullable=nullable, labels=(*fact["values"], fact["other"]))
    if kind == "boolean":
        return Column(name=name, kind=kind, nullable=nullable, labels=(False, True))
    unit = TICKS[fact["resolution"]] if kind == "datetime" else ""
    bounds = [
        float(np.datetime64(fact[end], unit).astype(np.int64)) if unit else fact[end] for end in ("lower", "upper")
    ]
    return Column(name=name, kind=kind, nullable=nullable, lower=bounds[0], upper=bounds[1], unit=unit, most=cells)


def encode(column: Column, values: pd.Series) -> np.ndarray:
    """Codes of a column."""
    null = values.isna().to_numpy()
    if column.labels:
        places = {label: at for at, label in enumerate(column.labels)}
        codes = values.map(places).fillna(len(column.labels) - 1).to_numpy().astype(np.int64)
    else:
        numbers = numbers_of(column, values)
        codes = np.clip(((numbers - column.lower) / column.width).astype(np.int64), 0, column.cells - 1)
    codes[null] = column.cells if column.nullable else 0
    return codes


def numbers_of(column: Column, values: pd.Series) -> np.ndarray:
    """Numbers or ticks of a column; the lower bound for null."""
    if not column.unit:
        return pd.to_numeric(values, errors="coerce").fillna(column.lower).to_numpy(float)
    moments = pd.to_datetime(values).to_numpy().astype(f"datetime64[{column.unit}]")
    numbers = moments.astype(np.int64).astype(float)
    numbers[np.isnat(moments)] = column.lower
    return numbers


def decode(column: Column, codes: np.ndarray, rng: np.random.Generator) -> pd.Series:
    """Values of a column: labels, or numbers drawn evenly inside their cells."""
    codes = np.clip(codes.astype(np.int64), 0, column.size - 1)
    null = codes == column.cells
    cells = np.where(null, 0, codes)
    if column.labels:
        values = pd.Series(np.array(column.labels, dtype=object)[cells])
    else:
        numbers = column.lower + (cells + rng.random(len(cells))) * column.width
        if column.kind != "real":
            numbers = np.clip(np.floor(numbers), column.lower, column.upper).astype(np.int64)
        values = pd.Series(numbers.astype(f"datetime64[{column.unit}]") if column.unit else numbers)
    return values.astype(object).where(~null, None) if null.any() else values.infer_objects()
