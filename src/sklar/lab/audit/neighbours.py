"""Worst-case neighbours for an audit: small public tables that differ by one person, as rows and as codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.accounting.unit import Neighbours
from sklar.errors import UsageError
from sklar.lab.audit.exact import Codes
from sklar.sample.rng import generator
from sklar.schema import Category, Integer, Schema
from sklar.schema.coordinates import coordinates

MAX_NUMBER = 11
LABELS = ("often", "seldom", "alone")
SCHEMA = Schema(
    {
        "age": Integer(0, MAX_NUMBER, nullable=True),
        "pay": Integer(0, MAX_NUMBER, nullable=True),
        "kind": Category(list(LABELS), nullable=True),
    }
)
DEFAULT_ROWS = 60
"""Rows of the public tables: enough for every label but one to occur, and few enough for quick fits. The noise on
counts does not depend on it."""
ROWS_BY_METHOD: Mapping[str, int] = {"dpcopula-mle": 40_000, "vine": 1_000}
"""Rows for methods that reject small tables or treat them differently from large ones."""
KEY = "person"
"""Column that identifies persons, when neighbours differ by a whole person."""
ROWS_PER_USED_ROW = 10
"""The differing person has this multiple of the rows that are used, so that the limit is tested."""
Row = tuple[int | None, int | None, str | None]
PEOPLE: Mapping[str, Row] = {
    "lone label": (6, 6, "alone"),
    "extreme value": (0, MAX_NUMBER, "often"),
    "all null": (None, None, None),
}
"""A person with a unique label; one whose numbers contradict the correlation; one without any value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourPair:
    """Two tables that differ by one person, as Arrow tables and as codes. Nothing comes from real rows.

    Attributes:
        codes: One row per person for either table; the equal rows of one person share one vote and are one row here.
    """

    name: str
    one: Any
    other: Any
    codes: tuple[Codes, Codes]


def neighbour_pairs(
    method: str, neighbours: Neighbours, names: Sequence[str] | None = None, schema: Schema = SCHEMA
) -> list[NeighbourPair]:
    """Return a public table paired with a copy in which one person is added or replaces the last row.

    The numbers increase together, so that a contradicting person has the largest effect on rank correlations. If the
    schema identifies persons, all others have one row, and the differing person has far more than are used.
    """
    chosen = tuple(PEOPLE) if names is None else names
    unknown = [name for name in chosen if name not in PEOPLE]
    if unknown:
        raise UsageError(f"there is no pair of neighbours '{unknown[0]}'; there are: {', '.join(PEOPLE)}.")
    rows = ROWS_BY_METHOD.get(method, DEFAULT_ROWS)
    ages = (np.sort(np.arange(rows) % (MAX_NUMBER - 1)) + 1).tolist()
    base = list(zip(ages, ages, [LABELS[i % 2] for i in range(rows)], strict=True))
    kept = base if neighbours == "add-remove" else base[:-1]
    return [_make_pair(name, base, [*kept, PEOPLE[name]], schema) for name in chosen]


def _make_pair(name: str, base: Sequence[Row], other: Sequence[Row], schema: Schema) -> NeighbourPair:
    by, codes = coordinates(schema), (dict(_read_codes(_make_table(base))), dict(_read_codes(_make_table(other))))
    if schema.person is None:
        return NeighbourPair(name=name, one=_make_table(base), other=_make_table(other), codes=codes)
    used = schema.person.bound
    if by.rows_of_person is not None:
        sizes = [np.zeros(len(rows), dtype=np.int64) for rows in (base, other)]
        sizes[1][-1] = used - 1  # as a code
        for table, size in zip(codes, sizes, strict=True):
            table[by.rows_of_person] = size
    repeats = ROWS_PER_USED_ROW * used
    many, keys = [*other[:-1], *[other[-1]] * repeats], [*range(len(other) - 1), *[-1] * repeats]
    one, two = _make_table(base, range(len(base))), _make_table(many, keys)
    return NeighbourPair(name=name, one=one, other=two, codes=codes)


def _make_table(rows: Sequence[Row], keys: Sequence[int] | None = None) -> Any:
    import pyarrow as pa

    columns = dict(zip(SCHEMA.names, zip(*rows, strict=True), strict=True))
    return pa.table(columns if keys is None else {KEY: list(keys), **columns})


def _read_codes(table: Any) -> Codes:
    from sklar.lab.tables.reading import read_table

    return read_table(table, SCHEMA, generator(0), role="audit").codes
