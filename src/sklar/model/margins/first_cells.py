"""Public first cells of a column when rows are few: 32 and singled-out values for numbers, else every base code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.schema.columns import Column
from sklar.schema.grid import Grid
from sklar.schema.numbers import Integer

FIRST_CELLS = 32
UNIT_CELLS = 40
"""Integer columns with at most this many base codes are counted code by code."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FirstCells:
    """How the base codes of a column are counted first.

    Attributes:
        parent: Bin of each base code.
        bins: Number of bins.
        widths: For numbers on coarse cells, the width of each value code as a share of the range; else None.
        chain: For numbers on coarse cells, the bin that each value code shares with its neighbours, were it no atom.
        atoms: Value codes that have a bin of their own and may turn out to be heavy.
        values: Number of value codes; the codes after them are `other` and null.
        other: Base code of unlisted values, or -1.
        ordered: Whether neighbouring value codes are alike.
    """

    parent: Ints
    bins: int
    widths: Floats | None
    chain: Ints
    atoms: Ints
    values: int
    other: int
    ordered: bool

    @property
    def size(self) -> int:
        """Number of base codes."""
        return len(self.parent)

    @property
    def coarse(self) -> bool:
        """Whether several base codes share a bin, so that a second, finer look pays."""
        return self.widths is not None


def first_cells(column: Column, cells: int = FIRST_CELLS) -> FirstCells:
    """The first bins of a column: functions of the schema alone."""
    other = -1 if column.other_code is None else column.other_code
    if column.numeric:
        grid = cast(Integer, column).grid
        if not (grid.integer and grid.cells <= UNIT_CELLS) and grid.cells > 3:
            return _coarse(grid, column.size, cells, other)
    ordered = column.ordered and column.value_cells > 2
    none = np.zeros(0, np.int64)
    parent = np.arange(column.size)
    return FirstCells(
        parent=parent,
        bins=column.size,
        widths=None,
        chain=none,
        atoms=none,
        values=column.value_cells,
        other=other,
        ordered=ordered,
    )


def _coarse(grid: Grid, size: int, cells: int, other: int) -> FirstCells:
    widths = grid.widths / grid.widths.sum()
    single = _singled_out(grid)
    starts = np.cumsum(widths) - widths
    regular = np.flatnonzero(~single)
    cell = np.minimum((starts[regular] * cells + 1e-9).astype(np.int64), cells - 1)
    used, bins = np.unique(cell, return_inverse=True)
    # An atom sits in the bin of the regular code before it (or after it, at the lower end).
    before = np.maximum(np.searchsorted(regular, np.arange(grid.cells), side="right") - 1, 0)
    chain = bins[before]
    parent = np.empty(size, np.int64)
    parent[: grid.cells] = np.where(single, len(used) + np.cumsum(single) - 1, chain)
    parent[grid.cells :] = len(used) + single.sum() + np.arange(size - grid.cells)
    atoms, count = np.flatnonzero(single), int(parent.max()) + 1
    return FirstCells(
        parent=parent, bins=count, widths=widths, chain=chain, atoms=atoms, values=grid.cells, other=other, ordered=True
    )


def _singled_out(grid: Grid) -> Mask:
    """Atoms of the schema, and both bounds of an integer range, where clipped values land."""
    single = grid.is_atom.copy()
    if grid.integer:
        single[[0, -1]] |= grid.widths[[0, -1]] == 1
    if single.all():
        single[:] = False
    return single
