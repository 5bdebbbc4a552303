"""The public grid of a numeric column: the finest cells that counts, margins and samples ever speak of.

A grid is a sorted array of cell starts; cell i holds the values in [starts[i], starts[i + 1]). An atom is a cell
that holds exactly one value: one unit wide for integers, one unit in the last place wide for reals.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints, Mask

DEFAULT_CELLS = 2048
"""Of the finest grid of a real or of a wide range of integers: finer ones keep more of the values, at more memory."""
UNIT_RANGE = 200_000
"""Integer ranges up to this size get one cell per integer."""
ROUND_ATOMS = 100
"""Wider integer ranges get about this many atoms at round values."""
MAX_CELLS = 1_000_000
"""Of a grid, and labels of a column: what a table of counts over one column may have."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """Half-open cells over the value range of one numeric column.

    Attributes:
        starts: First value of each cell, ascending; int64 for integers and datetimes, float64 for reals.
        stop: End of the last cell (exclusive).
        is_atom: True where the cell holds a single value that was singled out (a bound, a declared or a round value).
    """

    starts: npt.NDArray[Any]
    stop: int | float
    is_atom: Mask
    integer: bool

    @property
    def cells(self) -> int:
        return len(self.starts)

    @property
    def widths(self) -> Floats:
        """Length of each cell in value units (number of integers, for integers)."""
        if not self.integer:
            return np.diff(self.starts, append=self.stop)
        # Unsigned differences stay exact where int64 would overflow (a range beyond 2^63).
        ends = np.concatenate([self.starts[1:].astype(np.uint64), np.array([self.stop % 2**64], np.uint64)])
        return (ends - self.starts.astype(np.uint64)).astype(np.float64)

    def code(self, values: npt.NDArray[Any]) -> Ints:
        """Cell of each value; values outside the range go to the first or last cell."""
        found = np.searchsorted(self.starts, values, side="right") - 1
        return np.clip(found, 0, self.cells - 1)


@lru_cache(maxsize=4096)
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


@lru_cache(maxsize=4096)
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


RESOLUTIONS: dict[str, int] = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
"""Microseconds in one tick."""

EPOCH = datetime(1970, 1, 1)


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 date or date and time without a zone; ValueError otherwise."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError("time zones are not supported in bounds; give UTC without a zone")
    return moment


def to_ticks(text: str, resolution: str) -> int:
    """Ticks of an ISO date or time, rounded down to the resolution."""
    return (parse_time(text) - EPOCH) // timedelta(microseconds=1) // RESOLUTIONS[resolution]


def from_ticks(tick: int, resolution: str) -> datetime:
    """The moment at which a tick starts."""
    return EPOCH + timedelta(microseconds=tick * RESOLUTIONS[resolution])


def multiples(first: Floats, stop: Floats, decimals: int) -> tuple[Floats, Floats]:
    """First multiple of 10^-decimals in each [first, stop), in units of it, and how many there are.

    The product with 10^decimals is rounded, so both ends are checked against the value that k / 10^decimals gives.
    """
    scale = 10.0**decimals
    with np.errstate(over="ignore", invalid="ignore"):
        start, end = np.ceil(first * scale), np.ceil(stop * scale)
        start = np.where((start - 1) / scale >= first, start - 1, start)
        start = np.where(start / scale < first, start + 1, start)
        end = np.where((end - 1) / scale >= stop, end - 1, end)
        end = np.where(end / scale < stop, end + 1, end)
        return start, np.nan_to_num(np.maximum(end - start, 0))


def decimal_span(low: float, high: float, decimals: int) -> tuple[float, float]:
    """First and last multiple of 10^-decimals in [low, high], in units of it; first > last if there is none."""
    first, count = multiples(np.array([low]), np.array([np.nextafter(high, np.inf)]), decimals)
    return float(first[0]), float(first[0] + count[0] - 1)


def into_span(values: Floats, low: float, high: float, decimals: int) -> Floats:
    """Values moved to the nearest multiple of 10^-decimals inside [low, high], or into it if it holds none."""
    first, last = decimal_span(low, high, decimals)
    if not first <= last:
        return np.clip(values, low, high)
    return np.clip(values, first / 10.0**decimals, last / 10.0**decimals)


def held(grid: Grid, decimals: int) -> Mask:
    """Which cells hold a multiple of 10^-decimals."""
    return multiples(grid.starts, np.append(grid.starts[1:], grid.stop), decimals)[1] > 0


def nearest(first: Floats, stop: Floats, decimals: int) -> Floats:
    """The number of so many decimals that a cell [first, stop) without any stands for: the nearest to its middle."""
    return np.round(first + (stop - first) / 2.0, decimals)
