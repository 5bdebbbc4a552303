"""Evaluate a binary table, as in dpc's paper: errors of counting queries against the real rows.

Its rows may have several values of one column, or none, so no other metric applies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from os import PathLike
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sklar.errors import UsageError
from sklar.lab.metrics.queries import BinaryTable, QueryProfiles, binary_profiles, check_query_budget
from sklar.lab.tables.reading import read_table
from sklar.report.page import NOTICE
from sklar.rows import CodedPart, open_rows
from sklar.rows.sources import open_source
from sklar.sample.binary import cell_text
from sklar.sample.conditions import NULL, shown_number
from sklar.sample.rng import substreams
from sklar.schema.columns import Column
from sklar.schema.coordinates import Coordinates, coordinates
from sklar.schema.coordinates.derive import keep_columns
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema

Cells = dict[str, list[tuple[int, int]]]
"""For each column the half-open ranges of base codes of its binary columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryEvaluation:
    """Errors of Q1, Q2 and Q3 of a binary table. Computed from real rows without noise: not private."""

    name: str
    rows: dict[str, int]
    queries: QueryProfiles

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"notice": NOTICE, "name": self.name, "rows": self.rows, "queries": asdict(self.queries)}


def evaluate_binary(
    real: Any,
    binary: Any,
    schema: Schema | str | PathLike[str],
    *,
    name: str = "binary",
    query_budget: Sequence[float] = (0.99, 2.0**-30),
    seed: int = 0,
    read: ReadOptions | None = None,
) -> BinaryEvaluation:
    """Evaluate counting queries on a binary table (`sample(binary=True)`, `sklar sample --binary`) and the real one.

    Args:
        real: The real table: a file, a data frame, or any object with the Arrow interface.
        binary: The binary table; its columns have the names and order that `sample` gives them.
        schema: Public facts about the columns, or the path of a schema file.
        name: Name of the binary table in reports.
        query_budget: Epsilon and delta of the references Lap and Gauss.
        seed: Fixes the conjunctions of three values that are queried, and subsamples of very large tables.
        read: How to read the real table.
    """
    facts = schema if isinstance(schema, Schema) else Schema.read(schema)
    budget, streams = check_query_budget(query_budget), substreams(seed, 3)
    names = tuple(open_source(binary, schema=None).column_names)
    by, cells = _match_columns(facts, names)
    made = read_table(binary, Schema({one: Integer(0, 1) for one in names}), streams[0], role="synthetic")
    exact = read_table(real, facts, streams[1], role="real", read=read)
    codes = exact.codes if by.plain else _coordinate_codes(by, real, read)
    owner = np.repeat(np.arange(len(cells)), [len(found) for found in cells.values()])
    columns = [
        (codes[column] >= first) & (codes[column] < stop) for column, found in cells.items() for first, stop in found
    ]
    tables = (
        BinaryTable(bits=np.column_stack(columns).astype(np.uint8), owner=owner),
        BinaryTable(bits=np.column_stack([made.codes[one] for one in names]).astype(np.uint8), owner=owner),
    )
    found = binary_profiles(tables, exact.total, len(cells), budget, streams[2])
    return BinaryEvaluation(name=name, rows={"real": exact.total, "synthetic": made.total}, queries=found)


def _match_columns(schema: Schema, names: Sequence[str]) -> tuple[Coordinates, Cells]:
    """Match the binary columns to values of the declared columns, or else of the schema's coordinates."""
    by = coordinates(schema)
    try:
        return keep_columns(schema), parse_binary_columns(schema, names)
    except UsageError:
        return by, parse_binary_columns(by.schema, names)


def _coordinate_codes(by: Coordinates, real: Any, read: ReadOptions | None) -> dict[str, NDArray[Any]]:
    """Encode all real rows as coordinates."""
    names = by.schema.modelled
    batches = [batch.codes for batch in cast(CodedPart, open_rows(real, by.declared, read)).batches(names)]
    return {name: np.concatenate(parts) for name, parts in zip(names, zip(*batches, strict=True), strict=True)}


def parse_binary_columns(schema: Schema, names: Sequence[str]) -> Cells:
    """Parse the range of base codes of each binary column from its name; ranges of one column are contiguous."""
    left, out = list(names), Cells()
    for column in schema.modelled:
        known = _first_texts(schema[column])
        firsts: list[int] = []
        while left and (found := _parse_first_code(left[0], f"{column}=", known, firsts)) is not None:
            firsts.append(found)
            left.pop(0)
        out[column] = list(pairwise([*firsts, schema.size(column)]))
    written = [f"{name}={cell_text(schema[name], *ends)}" for name, runs in out.items() for ends in runs]
    if left or written != list(names) or any(not runs or runs[0][0] for runs in out.values()):
        raise UsageError(
            "this is not a binary table of this schema: its columns must be the values of the schema's columns in "
            "order, such as age=30..39 and sex=F. `sklar sample --binary` writes such a table"
        )
    return out


def _first_texts(column: Column) -> list[str]:
    """Return for each base code the text with which the name of a cell starting there begins."""
    if not isinstance(column, Integer | Real | Datetime):
        return [cell_text(column, code, code + 1) for code in range(column.size)]
    texts = [shown_number(column, start) for start in column.grid.starts.tolist()]
    return [*texts, *(NULL for _ in range(column.size - len(texts)))]


def _parse_first_code(name: str, prefix: str, known: Sequence[str], before: Sequence[int]) -> int | None:
    """Return the first code after `before` at which a cell of this name may begin; None for another column."""
    text = name.removeprefix(prefix)
    start = before[-1] + 1 if before else 0
    places = (code for code in range(start, len(known)) if text == known[code] or text.startswith(known[code] + ".."))
    return next(places, None) if name.startswith(prefix) else None
