"""Worst-case neighbours for an audit: small public tables that differ by one person, as rows and as codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.accounting.unit import Neighbours, Unit
from sklar.errors import UsageError
from sklar.lab.audit.exact import Codes
from sklar.lab.audit.statistic import Side
from sklar.sample.rng import generator
from sklar.schema import Category, Integer, Schema
from sklar.schema.coordinates import coordinates

TOP = 11
LABELS = ("often", "seldom", "alone")
SCHEMA = Schema(
    {
        "age": Integer(0, TOP, nullable=True),
        "pay": Integer(0, TOP, nullable=True),
        "kind": Category(list(LABELS), nullable=True),
    }
)
ROWS = 60
"""Of the public tables: enough for every label but one to occur, few enough for quick fits. Noise on counts does not
depend on it."""
ROWS_OF: Mapping[str, int] = {"dpcopula-mle": 40_000, "vine": 1_000}
"""Methods that refuse tables of so few rows, or do otherwise with them than with most."""
KEY = "person"
"""What tells persons apart, where neighbours differ by whole ones."""
BEYOND = 10
"""A person who comes or goes has so many times the rows that are used."""
Row = tuple[int | None, int | None, str | None]
PEOPLE: Mapping[str, Row] = {
    "lone label": (6, 6, "alone"),
    "extreme value": (0, TOP, "often"),
    "all null": (None, None, None),
}
"""A person whose label nobody has; one whose numbers contradict all others; one without any value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourPair:
    """Two neighbouring tables, which differ by one person, as Arrow tables and as codes. Nothing comes from real rows.

    Attributes:
        schema: What the codes are of.
        codes: One row a person for either table. Of a person with several, all of them equal, it stands for their vote.
    """

    name: str
    one: Any
    other: Any
    schema: Schema
    codes: tuple[Codes, Codes]

    def side(self, unit: Unit, *, is_other: bool) -> Side:
        """What is known about fits on one of the tables."""
        return Side(schema=self.schema, unit=unit, one=self.codes[0], other=self.codes[1], is_other=is_other)


def neighbour_pairs(
    method: str, neighbours: Neighbours, names: Sequence[str] | None = None, schema: Schema = SCHEMA
) -> list[NeighbourPair]:
    """A public table with each of the people added, or in the place of the last row.

    Its numbers rise together, so that one who contradicts moves all rank correlations as far as can be. Where the
    schema says who a person is, all others have one row, and this one far more than are used.
    """
    chosen = tuple(PEOPLE) if names is None else names
    unknown = [name for name in chosen if name not in PEOPLE]
    if unknown:
        raise UsageError(f"there is no pair of neighbours '{unknown[0]}'; there are: {', '.join(PEOPLE)}.")
    rows = ROWS_OF.get(method, ROWS)
    ages = (np.sort(np.arange(rows) % (TOP - 1)) + 1).tolist()
    base = list(zip(ages, ages, [LABELS[i % 2] for i in range(rows)], strict=True))
    kept = base if neighbours == "add-remove" else base[:-1]
    return [_pair(name, base, [*kept, PEOPLE[name]], schema) for name in chosen]


def _pair(name: str, base: Sequence[Row], other: Sequence[Row], schema: Schema) -> NeighbourPair:
    by, codes = coordinates(schema), (dict(_codes(_table(base))), dict(_codes(_table(other))))
    if schema.person is None:
        return NeighbourPair(name=name, one=_table(base), other=_table(other), schema=by.schema, codes=codes)
    used = schema.person.bound
    if by.rows_of_person is not None:
        sizes = [np.zeros(len(rows), dtype=np.int64) for rows in (base, other)]
        sizes[1][-1] = used - 1  # as a code
        for table, size in zip(codes, sizes, strict=True):
            table[by.rows_of_person] = size
    many = [*other[:-1], *[other[-1]] * (BEYOND * used)]
    keys = [*range(len(other) - 1), *[-1] * (BEYOND * used)]
    one, two = _table(base, range(len(base))), _table(many, keys)
    return NeighbourPair(name=name, one=one, other=two, schema=by.schema, codes=codes)


def _table(rows: Sequence[Row], keys: Sequence[int] | None = None) -> Any:
    import pyarrow as pa

    columns = dict(zip(SCHEMA.names, zip(*rows, strict=True), strict=True))
    return pa.table(columns if keys is None else {KEY: list(keys), **columns})


def _codes(table: Any) -> Codes:
    from sklar.lab.tables.reading import read_table

    return read_table(table, SCHEMA, generator(0), role="audit").codes
