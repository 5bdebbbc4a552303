"""The public grid of a numeric column: the finest cells that counts, margins and samples ever speak of.

A grid is a sorted array of cell starts; cell i holds the values in [starts[i], starts[i + 1]). An atom is a cell
that holds exactly one value: one unit wide for integers, one unit in the last place wide for reals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

DEFAULT_CELLS = 2048
UNIT_RANGE = 200_000
"""Integer ranges up to this size get one cell per integer."""
ROUND_ATOMS = 100
"""Wider integer ranges get about this many atoms at round values."""
MAX_CELLS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """Half-open cells over the value range of one numeric column.

    Attributes:
        starts: First value of each cell, ascending; int64 for integers and datetimes, float64 for reals.
        stop: End of the last cell (exclusive).
        is_atom: True where the cell holds a single value that was singled out (a bound, a declared or a round value).
        integer: Whether values are integers.
    """

    starts: npt.NDArray[Any]
    stop: int | float
    is_atom: npt.NDArray[np.bool_]
    integer: bool

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.starts)

    @property
    def widths(self) -> npt.NDArray[np.float64]:
        """Length of each cell in value units (number of integers, for integers)."""
        if not self.integer:
            return np.diff(self.starts, append=self.stop)
        # Unsigned differences stay exact where int64 would overflow (a range beyond 2^63).
        ends = np.concatenate([self.starts[1:].astype(np.uint64), np.array([self.stop % 2**64], np.uint64)])
        return (ends - self.starts.astype(np.uint64)).astype(np.float64)

    def code(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Cell of each value; values outside the range go to the first or last cell."""
        found = np.searchsorted(self.starts, values, side="right") - 1
        return np.clip(found, 0, self.cells - 1)


def integer_grid(lower: int, upper: int, bins: int | None, edges: tuple[int, ...], atoms: tuple[int, ...]) -> Grid:
    """Unit cells for a short range; else equal cells with atoms at the declared or round values."""
    span = upper - lower + 1
    if not edges and (span <= UNIT_RANGE if bins is None else span <= bins):
        starts = np.arange(lower, upper + 1, dtype=np.int64)
        return Grid(starts=starts, stop=upper + 1, is_atom=np.zeros(span, bool), integer=True)
    cuts = list(edges[:-1]) or _equal_integer_cuts(lower, span, bins or DEFAULT_CELLS)
    singled = sorted(set(atoms) | (set() if edges or bins else set(_round_values(lower, upper))))
    starts = sorted(set(cuts) | set(singled) | {a + 1 for a in singled if a < upper})
    is_atom = np.isin(starts, singled)
    return Grid(starts=np.array(starts, dtype=np.int64), stop=upper + 1, is_atom=is_atom, integer=True)


def real_grid(lower: float, upper: float, bins: int | None, edges: tuple[float, ...], atoms: tuple[float, ...]) -> Grid:
    """Equal cells (or the given ones), with atoms at both bounds, where clipped values land, and at declared values."""
    cuts = np.array(edges) if edges else np.linspace(lower, upper, (bins or DEFAULT_CELLS) + 1)
    singled = np.unique(np.array([lower, upper, *atoms], dtype=float))
    after = np.nextafter(singled[singled < upper], np.inf)
    starts = np.unique(np.concatenate([cuts, singled, after]))
    starts = starts[starts <= upper]
    stop = float(np.nextafter(upper, np.inf))
    return Grid(starts=starts, stop=stop, is_atom=np.isin(starts, singled), integer=False)


def _equal_integer_cuts(lower: int, span: int, cells: int) -> list[int]:
    count = min(cells, span)
    return [lower + -(-span * i // count) for i in range(count)]


def _round_values(lower: int, upper: int) -> list[int]:
    """Multiples of the power of ten (or five times it) that gives at most about ROUND_ATOMS values in range."""
    step = 1
    while (upper - lower) // step > ROUND_ATOMS:
        step *= 5 if str(step)[0] == "1" and (upper - lower) // (step * 5) <= ROUND_ATOMS else 10
    return list(range(-(-lower // step) * step, upper + 1, step))
