"""A table for comparison: base codes of all modelled columns, and the numbers themselves where columns have them.

Margins are compared on the coarse public grid: numbers in equal cells, labels as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints
from sklar.sample.decode import Values, decode_column
from sklar.sample.rng import generator
from sklar.schema import Column, Schema

if TYPE_CHECKING:
    import pyarrow as pa

CELLS = 32
"""Coarse cells of a column of numbers: more tell more apart, and leave fewer rows in each."""
LOST = 0.95
"""A column of which so many values of one table, but less than half of another, are null or unlisted is told."""
Codes = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExactTable:
    """Rows of a table under the schema's value rules.

    Attributes:
        codes: Base codes by column.
        numbers: Values of the integer, real and datetime (in ticks) columns, clipped to their bounds, NaN for null.
        total: Rows of the table they were taken from.
    """

    schema: Schema
    codes: Mapping[str, Codes]
    numbers: Mapping[str, Floats]
    total: int

    @property
    def rows(self) -> int:
        """Number of rows held."""
        return len(next(iter(self.codes.values())))

    @property
    def names(self) -> tuple[str, ...]:
        """The modelled columns, in order."""
        return self.schema.modelled

    def take(self, rows: Ints) -> ExactTable:
        """Some of the rows."""
        codes = {name: codes[rows] for name, codes in self.codes.items()}
        return replace(self, codes=codes, numbers={name: numbers[rows] for name, numbers in self.numbers.items()})

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


def ordered_values(table: ExactTable, name: str) -> Floats:
    """Values of an ordered column: numbers, or positions of ordinal labels and booleans; NaN for null and other."""
    if name in table.numbers:
        return table.numbers[name]
    column = table.schema[name]
    values = table.codes[name].astype(np.float64)
    values[values >= column.value_cells] = np.nan
    return values


def lost_columns(table: ExactTable, other: ExactTable) -> list[str]:
    """Columns nearly all values of which are null or not listed in the schema, but not so in the other table."""

    def lost(one: ExactTable, name: str) -> float:
        return float((one.codes[name] >= one.schema[name].value_cells).mean())

    return [name for name in table.names if lost(table, name) > LOST and lost(other, name) < 0.5]


def as_arrow(schema: Schema, table: ExactTable) -> pa.Table:
    """The rows as typed values: clipped to bounds, unlisted labels as `other`."""
    from sklar.export.arrow import to_arrow

    return to_arrow(schema, table_values(schema, table))


def table_values(schema: Schema, table: ExactTable) -> dict[str, Values]:
    """The values of its columns, clipped to bounds, unlisted labels as `other`."""
    return {name: _values(schema, table, name) for name in table.names}


def _values(schema: Schema, table: ExactTable, name: str) -> Values:
    column = schema[name]
    if name not in table.numbers:
        return decode_column(column, table.codes[name].astype(np.int32), generator(0))
    numbers = table.numbers[name]
    null = np.isnan(numbers)
    data = np.where(null, 0.0, numbers)
    return Values(data=data if column.kind == "real" else np.rint(data).astype(np.int64), null=null)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CoarseGrid:
    """Lookups from base codes to coarse cells; from public facts only, so the same for every table.

    Attributes:
        lookups: For each modelled column, the coarse cell of each base code.
        sizes: Number of coarse cells of each column.
        value_cells: How many of them stand for numbers or listed labels; the others are `other` and null.
    """

    lookups: Mapping[str, Ints]
    sizes: Mapping[str, int]
    value_cells: Mapping[str, int]


def coarse_grid(schema: Schema, cells: int = CELLS) -> CoarseGrid:
    """The coarse grid of a schema."""
    found = {name: _lookup(schema[name], cells) for name in schema.modelled}
    return CoarseGrid(
        lookups={name: lookup for name, (lookup, _) in found.items()},
        sizes={name: int(lookup.max()) + 1 for name, (lookup, _) in found.items()},
        value_cells={name: values for name, (_, values) in found.items()},
    )


def coarse_codes(table: ExactTable, grid: CoarseGrid, names: Sequence[str] | None = None) -> npt.NDArray[Any]:
    """Coarse cells of all rows, one row of the matrix a column, in the narrowest type."""
    chosen = table.names if names is None else names
    widest = max(grid.sizes[name] for name in chosen)
    out = np.empty((len(chosen), table.rows), dtype=np.min_scalar_type(widest - 1))
    for at, name in enumerate(chosen):
        out[at] = grid.lookups[name].astype(out.dtype)[table.codes[name]]
    return out


def _lookup(column: Column, cells: int) -> tuple[Ints, int]:
    if not column.numeric:
        return np.arange(column.size), column.value_cells
    starts, stop = column.grid.starts, column.grid.stop  # type: ignore[attr-defined]
    integer = column.kind != "real"
    low = float(starts[0])
    span = float(stop) - low if integer else float(column.upper) - low  # type: ignore[attr-defined]
    count = int(min(cells, span)) if integer else cells
    places = np.clip(np.floor((starts.astype(np.float64) - low) / (span / count) * (1 + 1e-12)), 0, count - 1)
    groups = np.unique(places, return_inverse=True)[1].astype(np.int64)
    extra = np.arange(column.size - len(groups)) + int(groups.max()) + 1
    return np.concatenate([groups, extra]), int(groups.max()) + 1
