"""A table for comparison: base codes of all modelled columns, and the values of numeric columns.

Margins are compared on the coarse public grid: numbers in equal cells, labels unchanged.
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

COARSE_CELLS = 32
"""Coarse cells of a numeric column: more show finer differences but leave fewer rows in each."""
MIN_LOST_SHARE = 0.95
"""A column is reported if this share of its values in one table, but less than half in another, is null or unlisted."""
Codes = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExactTable:
    """Rows of a table under the schema's value rules.

    Attributes:
        codes: Base codes by column.
        numbers: Values of the integer, real and datetime (in ticks) columns, clipped to their bounds, NaN for null.
        total: Number of rows of the whole table.
    """

    schema: Schema
    codes: Mapping[str, Codes]
    numbers: Mapping[str, Floats]
    total: int

    @property
    def rows(self) -> int:
        """Return the number of rows in memory."""
        return len(next(iter(self.codes.values())))

    @property
    def names(self) -> tuple[str, ...]:
        """Return the modelled columns in order."""
        return self.schema.modelled

    def take(self, rows: Ints) -> ExactTable:
        """Select rows."""
        codes = {name: codes[rows] for name, codes in self.codes.items()}
        return replace(self, codes=codes, numbers={name: numbers[rows] for name, numbers in self.numbers.items()})

    def sample(self, rows: int, rng: np.random.Generator) -> ExactTable:
        """Draw at most `rows` rows without replacement, in row order."""
        if rows >= self.rows:
            return self
        return self.take(np.sort(rng.choice(self.rows, rows, replace=False)))

    def halves(self, rng: np.random.Generator) -> tuple[ExactTable, ExactTable]:
        """Split into two disjoint random halves."""
        order = rng.permutation(self.rows)
        middle = self.rows // 2
        return self.take(np.sort(order[:middle])), self.take(np.sort(order[middle:]))


def ordered_names(schema: Schema) -> tuple[str, ...]:
    """Return the columns whose values have an order."""
    return tuple(name for name in schema.modelled if schema[name].ordered)


def numeric_names(schema: Schema) -> tuple[str, ...]:
    """Return the columns of numbers or times."""
    return tuple(name for name in schema.modelled if schema[name].numeric)


def ordered_values(table: ExactTable, name: str) -> Floats:
    """Return the values of an ordered column: numbers, or positions of labels and booleans; NaN for null and other."""
    if name in table.numbers:
        return table.numbers[name]
    column = table.schema[name]
    values = table.codes[name].astype(np.float64)
    values[values >= column.value_cells] = np.nan
    return values


def lost_columns(table: ExactTable, other: ExactTable) -> list[str]:
    """Return the columns whose values are nearly all null or unlisted, but not in the other table."""

    def lost(one: ExactTable, name: str) -> float:
        return float((one.codes[name] >= one.schema[name].value_cells).mean())

    return [name for name in table.names if lost(table, name) > MIN_LOST_SHARE and lost(other, name) < 0.5]


def as_arrow(schema: Schema, table: ExactTable) -> pa.Table:
    """Convert the rows to Arrow: clipped to bounds, unlisted labels as `other`."""
    from sklar.export.arrow import to_arrow

    return to_arrow(schema, table_values(schema, table))


def table_values(schema: Schema, table: ExactTable) -> dict[str, Values]:
    """Return the values of all columns, clipped to bounds, unlisted labels as `other`."""
    return {name: _decode_values(schema, table, name) for name in table.names}


def _decode_values(schema: Schema, table: ExactTable, name: str) -> Values:
    column = schema[name]
    if name not in table.numbers:
        return decode_column(column, table.codes[name].astype(np.int32), generator(0))
    numbers = table.numbers[name]
    null = np.isnan(numbers)
    data = np.where(null, 0.0, numbers)
    return Values(data=data if column.kind == "real" else np.rint(data).astype(np.int64), null=null)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CoarseGrid:
    """Lookups from base codes to coarse cells, from public facts only, so equal for all tables.

    Attributes:
        lookups: For each modelled column, the coarse cell of each base code.
        sizes: Number of coarse cells of each column.
        value_cells: Number of these for numbers or listed labels; the others are `other` and null.
    """

    lookups: Mapping[str, Ints]
    sizes: Mapping[str, int]
    value_cells: Mapping[str, int]


def coarse_grid(schema: Schema, cells: int = COARSE_CELLS) -> CoarseGrid:
    """Make the coarse grid of a schema."""
    found = {name: _make_coarse_lookup(schema[name], cells) for name in schema.modelled}
    return CoarseGrid(
        lookups={name: lookup for name, (lookup, _) in found.items()},
        sizes={name: int(lookup.max()) + 1 for name, (lookup, _) in found.items()},
        value_cells={name: values for name, (_, values) in found.items()},
    )


def coarse_codes(table: ExactTable, grid: CoarseGrid, names: Sequence[str] | None = None) -> npt.NDArray[Any]:
    """Return the coarse cells of all rows, one matrix row per column, in the smallest type."""
    chosen = table.names if names is None else names
    widest = max(grid.sizes[name] for name in chosen)
    out = np.empty((len(chosen), table.rows), dtype=np.min_scalar_type(widest - 1))
    for at, name in enumerate(chosen):
        out[at] = grid.lookups[name].astype(out.dtype)[table.codes[name]]
    return out


def _make_coarse_lookup(column: Column, cells: int) -> tuple[Ints, int]:
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
