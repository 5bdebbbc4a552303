"""The public grid of a numeric column: the finest cells of counts, margins and samples.

A grid is a sorted array of cell starts; cell i contains the values in [starts[i], starts[i + 1]). An atom is a cell
that contains exactly one value: one unit wide for integers, one unit in the last place wide for reals.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints, Mask

DEFAULT_CELLS = 2048
"""Cells of the finest grid of a real or of a wide range of integers: more cells keep more detail, at more memory."""
MAX_UNIT_CELLS = 200_000
"""Largest integer range with one cell per integer."""
MAX_ROUND_ATOMS = 100
"""About the number of atoms at round values in a wider integer range."""
MAX_CELLS = 1_000_000
"""Most cells of a grid, and most labels of a column."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """Half-open cells over the value range of one numeric column.

    Attributes:
        starts: First value of each cell, ascending; int64 for integers and datetimes, float64 for reals. stop: End of
            the last cell (exclusive). is_atom: True for a cell of one chosen value (a bound, a declared or a round
            value). step: Distance of possible values; a cell of this width contains one of them. 0 for reals without a
            declared step.
    """

    starts: npt.NDArray[Any]
    stop: int | float
    is_atom: Mask
    integer: bool
    step: float = 0.0

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
        """Return the cell of each value; values outside the range go to the first or last cell."""
        found = np.searchsorted(self.starts, values, side="right") - 1
        return np.clip(found, 0, self.cells - 1)


@lru_cache(maxsize=4096)
def integer_grid(
    lower: int, upper: int, bins: int | None, edges: tuple[int, ...], atoms: tuple[int, ...], step: int = 1
) -> Grid:
    """Return unit cells for a short range; else equal cells with atoms at the declared or round values.

    For multiples of a step it is the grid of their numbers 0, 1, 2, ..., times the step.
    """
    if step > 1:
        numbers = integer_grid(
            -(-lower // step), upper // step, bins, tuple(dict.fromkeys(-(-edge // step) for edge in edges)),
            tuple(atom // step for atom in atoms),
        )  # fmt: skip
        starts, stop = numbers.starts * np.int64(step), numbers.stop * step
        return Grid(starts=starts, stop=stop, is_atom=numbers.is_atom, integer=True, step=step)
    span = upper - lower + 1
    if not edges and (span <= MAX_UNIT_CELLS if bins is None else span <= bins):
        starts = np.arange(lower, upper + 1, dtype=np.int64)
        return Grid(starts=starts, stop=upper + 1, is_atom=np.zeros(span, bool), integer=True, step=1)
    count = min(bins or DEFAULT_CELLS, span)
    cuts = list(edges[:-1]) or [lower + -(-span * i // count) for i in range(count)]
    singled = sorted(set(atoms) | (set() if edges or bins else set(_round_values(lower, upper))))
    starts = sorted(set(cuts) | set(singled) | {a + 1 for a in singled if a < upper})
    is_atom = np.isin(starts, singled)
    return Grid(starts=np.array(starts, dtype=np.int64), stop=upper + 1, is_atom=is_atom, integer=True, step=1)


@lru_cache(maxsize=4096)
def real_grid(
    lower: float, upper: float, bins: int | None, edges: tuple[float, ...], atoms: tuple[float, ...],
    step: Fraction | None = None,
) -> Grid:  # fmt: skip
    """Return equal cells (or the given ones), with atoms at both bounds, where clipped values land, and declared
    values.

    For multiples of a step (if no edges are given) all cells contain the same number of them, in their middle.
    """
    if step is not None and not edges:
        first, last = find_multiple_range(lower, upper, step)
        whole = tuple(round(Fraction(atom) / step) for atom in atoms)
        numbers = integer_grid(int(first), int(last), bins or DEFAULT_CELLS, (), whole)
        starts = (2.0 * numbers.starts - 1.0) * float(step) / 2.0
        stop = (2.0 * numbers.stop - 1.0) * float(step) / 2.0
        return Grid(starts=starts, stop=stop, is_atom=numbers.is_atom, integer=False, step=float(step))
    cuts = np.array(edges) if edges else np.linspace(lower, upper, (bins or DEFAULT_CELLS) + 1)
    singled = np.unique(np.array([lower, upper, *atoms], dtype=float))
    after = np.nextafter(singled[singled < upper], np.inf)
    starts = np.unique(np.concatenate([cuts, singled, after]))
    starts = starts[starts <= upper]
    stop = float(np.nextafter(upper, np.inf))
    return Grid(starts=starts, stop=stop, is_atom=np.isin(starts, singled), integer=False)


def _round_values(lower: int, upper: int) -> list[int]:
    """Return the multiples of a power of ten (or five times it), about MAX_ROUND_ATOMS of them at most."""
    step = 1
    while (upper - lower) // step > MAX_ROUND_ATOMS:
        step *= 5 if str(step)[0] == "1" and (upper - lower) // (step * 5) <= MAX_ROUND_ATOMS else 10
    return list(range(-(-lower // step) * step, upper + 1, step))


RESOLUTIONS: dict[str, int] = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
"""Microseconds in one tick of each resolution."""

EPOCH = datetime(1970, 1, 1)


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 date or date and time without a zone; ValueError otherwise."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError("time zones are not supported in bounds; give UTC without a zone")
    return moment


def to_ticks(text: str, resolution: str) -> int:
    """Return the ticks of an ISO date or time, rounded down to the resolution."""
    return (parse_time(text) - EPOCH) // timedelta(microseconds=1) // RESOLUTIONS[resolution]


def from_ticks(tick: int, resolution: str) -> datetime:
    """Return the date and time at which a tick starts."""
    return EPOCH + timedelta(microseconds=tick * RESOLUTIONS[resolution])


Unit = int | Fraction
"""The unit whose multiples numbers are: 10^-d for d digits after the point (an int), or a step (a Fraction)."""


def get_ratio(unit: Unit) -> tuple[float, float]:
    """Return numerator and denominator of a unit: k times the one, over the other, is its k-th multiple, rounded."""
    if isinstance(unit, Fraction):
        return float(unit.numerator), float(unit.denominator)
    return 1.0, 10.0**unit


def find_multiples(first: Floats, stop: Floats, unit: Unit) -> tuple[Floats, Floats]:
    """Return the first multiple of the unit in each [first, stop), in units of it, and the number of multiples.

    The quotient by the unit is rounded, so both ends are checked against the value that the k-th multiple has.
    """
    over, under = get_ratio(unit)
    with np.errstate(over="ignore", invalid="ignore"):
        start, end = np.ceil(first * under / over), np.ceil(stop * under / over)
        start = np.where((start - 1) * over / under >= first, start - 1, start)
        start = np.where(start * over / under < first, start + 1, start)
        end = np.where((end - 1) * over / under >= stop, end - 1, end)
        end = np.where(end * over / under < stop, end + 1, end)
        return start, np.nan_to_num(np.maximum(end - start, 0))


def weigh_multiples(first: Floats, stop: Floats, unit: Unit | None) -> Floats:
    """Return the number of multiples of a unit in each [first, stop), times the unit; without a unit, the length."""
    if unit is None:
        return stop - first
    over, under = get_ratio(unit)
    return find_multiples(first, stop, unit)[1] * over / under


def find_multiple_range(low: float, high: float, unit: Unit) -> tuple[float, float]:
    """Return the first and last multiple of the unit in [low, high], in units of it; first > last if there is none."""
    first, count = find_multiples(np.array([low]), np.array([np.nextafter(high, np.inf)]), unit)
    return float(first[0]), float(first[0] + count[0] - 1)


def clip_to_multiples(values: Floats, low: float, high: float, unit: Unit) -> Floats:
    """Clip values to the multiples of the unit inside [low, high], or to the range if it contains none."""
    first, last = find_multiple_range(low, high, unit)
    if not first <= last:
        return np.clip(values, low, high)
    over, under = get_ratio(unit)
    return np.clip(values, first * over / under, last * over / under)


def has_multiples(grid: Grid, unit: Unit) -> Mask:
    """Return which cells contain a multiple of the unit."""
    return find_multiples(grid.starts, np.append(grid.starts[1:], grid.stop), unit)[1] > 0


def find_nearest_multiple(first: Floats, stop: Floats, unit: Unit) -> Floats:
    """Return the multiple nearest to the middle of a cell [first, stop), for cells that contain none."""
    over, under = get_ratio(unit)
    return np.rint((first + (stop - first) / 2.0) * under / over) * over / under
