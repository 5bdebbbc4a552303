"""The coarse public grid on which margins are compared: about 32 equal cells for numbers, labels as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.lab.tables.table import ExactTable
from sklar.schema import Column, Schema

CELLS = 32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CoarseGrid:
    """Lookups from base codes to coarse cells; from public facts only, so the same for every table.

    Attributes:
        lookups: For each modelled column, the coarse cell of each base code.
        sizes: Number of coarse cells of each column.
        value_cells: How many of them stand for numbers or listed labels; the others are `other` and null.
    """

    lookups: Mapping[str, npt.NDArray[np.int64]]
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


def _lookup(column: Column, cells: int) -> tuple[npt.NDArray[np.int64], int]:
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
