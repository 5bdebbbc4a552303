"""A table for comparison: base codes of all modelled columns, and the numbers themselves where columns have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.schema import Column, Schema

Codes = npt.NDArray[Any]
Numbers = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExactTable:
    """Rows of a table under the schema's value rules.

    Attributes:
        schema: The public facts.
        codes: Base codes by column.
        numbers: Values of the integer, real and datetime (in ticks) columns, clipped to their bounds, NaN for null.
        total: Rows of the table they were taken from.
    """

    schema: Schema
    codes: Mapping[str, Codes]
    numbers: Mapping[str, Numbers]
    total: int

    @property
    def rows(self) -> int:
        """Number of rows held."""
        return len(next(iter(self.codes.values())))

    @property
    def names(self) -> tuple[str, ...]:
        """The modelled columns, in order."""
        return self.schema.modelled

    def take(self, rows: Rows) -> ExactTable:
        """Some of the rows."""
        return ExactTable(
            schema=self.schema,
            codes={name: codes[rows] for name, codes in self.codes.items()},
            numbers={name: numbers[rows] for name, numbers in self.numbers.items()},
            total=self.total,
        )

    def sample(self, rows: int, rng: np.random.Generator) -> ExactTable:
        """At most so many rows, drawn at random without replacement, in their order."""
        if rows >= self.rows:
            return self
        return self.take(np.sort(rng.choice(self.rows, rows, replace=False)))

    def halves(self, rng: np.random.Generator) -> tuple[ExactTable, ExactTable]:
        """Two disjoint random halves."""
        order = rng.permutation(self.rows)
        middle = self.rows // 2
        return self.take(np.sort(order[:middle])), self.take(np.sort(order[middle:]))


def ordered_names(schema: Schema) -> tuple[str, ...]:
    """Columns whose values have an order."""
    return tuple(name for name in schema.modelled if schema[name].ordered)


def numeric_names(schema: Schema) -> tuple[str, ...]:
    """Columns of numbers or moments."""
    return tuple(name for name in schema.modelled if schema[name].numeric)


def ordered_values(table: ExactTable, name: str) -> Numbers:
    """Values of an ordered column: numbers, or positions of ordinal labels and booleans; NaN for null and other."""
    if name in table.numbers:
        return table.numbers[name]
    column = table.schema[name]
    values = table.codes[name].astype(np.float64)
    values[values >= column.value_cells] = np.nan
    return values


LOST = 0.95
"""A column of which so many values of one table, but less than half of another, are null or unlisted is told."""


def lost_columns(table: ExactTable, other: ExactTable) -> list[str]:
    """Columns nearly all values of which are null or not listed in the schema, but not so in the other table."""

    def lost(one: ExactTable, name: str) -> float:
        return float((one.codes[name] >= one.schema[name].value_cells).mean())

    return [name for name in table.names if lost(table, name) > LOST and lost(other, name) < 0.5]


def cell_starts(column: Column) -> npt.NDArray[Any]:
    """First value of each cell of a numeric column."""
    return column.grid.starts  # type: ignore[attr-defined]
