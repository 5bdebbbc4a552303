"""From noisy counts of public cells to bounds of a column. Post-processing: it costs nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.accounting.composition.discovery import smallest_above
from sklar.accounting.noise import Noise
from sklar.arrays import Ints
from sklar.methods.facts.marks import PAY
from sklar.schema.grid import from_ticks, parse_time, to_ticks
from sklar.schema.numbers import Datetime, Integer, Real

FALSE_ALARM = 1e-4
"""Probability with which empty cells look occupied somewhere."""
WIDTHS = (1, 2, 4, 8, 16)
NEXT_STDS = 3.5
"""Cells right beside the occupied ones are likely tails of them: less is asked of their sum."""


def occupied_range(noisy_counts: Ints, noise: Noise) -> tuple[int, int] | None:
    """First and last cell that are clearly occupied; None if all counts look like noise.

    Runs of 1, 2, 4, 8 and 16 cells are looked at, since mass that is spread thinly shows in a sum before it shows in a
    cell. A run of w cells is occupied if its sum is at least t sqrt(w), where noise alone lifts a cell to t with
    probability FALSE_ALARM over the number of runs. The range starts as the cells that are occupied by themselves, or
    else as any occupied run. It then grows, as long as a run wholly outside of it is occupied, or a run right beside it
    sums to NEXT_STDS standard deviations, to the cell of that run at which the sum of (count - one standard deviation)
    is largest.
    """
    least = smallest_above(noise, FALSE_ALARM / (len(noisy_counts) * len(WIDTHS)))
    clear = np.flatnonzero(noisy_counts >= least)
    if clear.size:
        first, last = int(clear[0]), int(clear[-1])
    else:
        first = last = _further(noisy_counts, least, noise.std) - 1
    if last < 0:
        return None
    before = _grown(noisy_counts[:first][::-1], least, noise.std)
    after = _grown(noisy_counts[last + 1 :], least, noise.std)
    return first - before, last + after


def with_bounds(
    column: Numeric, search: Search, found: tuple[int, int] | None, *, keep_listed: bool = False
) -> Numeric:
    """The column with measured bounds, or with those of the public search where nothing stood out.

    Bounds that were searched within stated ones rest on those: they are `assumed`.
    """
    bounded = unbounded(column, search) if found is None else _between(column, search, *found)
    return _marked(bounded, "assumed" if keep_listed else "public" if found is None else "measured")


def unbounded(column: Numeric, search: Search) -> Numeric:
    """The column over the widest public range that it can have: a small step does not go with the widest of all."""
    ranges = ((first, search.cells - 1 - first) for first in range(search.cells // 2 + 1))
    columns = (_between(column, search, *cells) for cells in ranges)
    return next((one for one in columns if not one.faults()), _between(column, search, 0, search.cells - 1))


def _between(column: Numeric, search: Search, first: int, last: int) -> Numeric:
    """The column with the bounds of these cells in the place of those that are to be paid for."""
    paid = _paid(column)
    bounds = {"lower": column.lower, "upper": column.upper}
    bounds |= {fact: value for fact, value in _values(search, first, last).items() if fact in paid}
    if isinstance(column, Real) and bounds["lower"] == bounds["upper"]:  # all in one point: a real range has a width
        wider = _values(search, max(first - 1, 0), min(last + 1, search.cells - 1))
        bounds |= {fact: value for fact, value in wider.items() if fact in paid}
    return replace(column, **_widened(column, {fact: bounds[fact] for fact in paid}))


def _marked(column: Numeric, word: str) -> Numeric:
    return replace(column, source={**dict(column.sources), **dict.fromkeys(_paid(column), word)})


def _paid(column: Numeric) -> list[str]:
    return [fact for fact in ("lower", "upper") if column.provenance(fact) == PAY]


def _values(search: Search, first: int, last: int) -> dict[str, Any]:
    return {"lower": search.lowest[first], "upper": search.highest[last]}


def _grown(outside: Ints, least: float, std: float) -> int:
    """How many of the cells outside the range, next to it first, belong to it."""
    grown = 0
    while more := _further(outside[grown:], least, std) or _beside(outside[grown:], std):
        grown += more
    return grown


def _beside(outside: Ints, std: float) -> int:
    for width in WIDTHS:
        run = outside[:width]
        if run.sum() >= NEXT_STDS * std * math.sqrt(width):
            return _end(run, std)
    return 0


def _further(outside: Ints, least: float, std: float) -> int:
    """Cells up to the end of the farthest occupied run of the smallest width that shows one; 0 if there is none."""
    for width in WIDTHS:
        if width > len(outside):
            break
        runs = np.lib.stride_tricks.sliding_window_view(outside, width)
        starts = np.flatnonzero(runs.sum(axis=1) >= least * math.sqrt(width))
        if starts.size:
            return int(starts[-1]) + _end(runs[starts[-1]], std)
    return 0


def _end(run: Ints, std: float) -> int:
    """Cells of a run up to the one at which the sum of (count - std) is largest."""
    return 1 + int(np.argmax(np.cumsum(run - std)))


def _widened(column: Numeric, bounds: dict[str, Any]) -> dict[str, Any]:
    """Bounds that hold the values which the schema itself states, as atoms or instead of missing ones."""
    stated: list[Any] = [] if column.missing_value is None else [column.missing_value]
    stated += column.atoms if isinstance(column, Integer | Real) else ()
    in_order = parse_time if isinstance(column, Datetime) else float
    if "lower" in bounds:
        bounds["lower"] = min([bounds["lower"], *stated], key=in_order)
    if "upper" in bounds:
        bounds["upper"] = max([bounds["upper"], *stated], key=in_order)
    return bounds


# The public cells in which bounds are searched: round numbers that grow with their size, or calendar years.
#
# Numbers: 17 round values for every power of ten, from 1e-12 (whole numbers: from 1, with 1 to 20 each) to 1e15, on
# both
# sides of 0, which is a cell of its own. A cell includes the round number that is its end away from 0, so bounds become
# round numbers. Times: the years 1800 to 2199. A bound of the schema that need not be paid for ends the search.


MANTISSAS = ("1", "1.2", "1.4", "1.6", "1.8", "2", "2.2", "2.5", "3", "3.5", "4", "4.5", "5", "6", "7", "8", "9")
SMALLEST_POWER, LARGEST_POWER = -12, 15
FIRST_YEAR, LAST_YEAR = 1800, 2199
MOST_YEARS = 540
"""So that every day of the search is a cell of its own, which years can be made of."""

Numeric = Integer | Real | Datetime


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Search:
    """Where the bounds of a column are searched.

    Attributes:
        column: A column over the public range, to be counted; nullable, so that no missing value looks like a bound.
        lookup: From its base codes to cells 0, 1, 2, ..., and one more for null.
        lowest: Smallest value of each cell, as the schema would state it.
        highest: Largest value of each cell.
    """

    column: Numeric
    lookup: npt.NDArray[np.int32]
    lowest: tuple[Any, ...]
    highest: tuple[Any, ...]

    @property
    def cells(self) -> int:
        """Number of cells, without that of null."""
        return len(self.lowest)


def search_cells(column: Numeric, *, keep_listed: bool = False) -> Search:
    """The cells for a column, from public facts only: stated bounds that are to be paid for are not used."""
    lower = column.lower if keep_listed or column.provenance("lower") != PAY else None
    upper = column.upper if keep_listed or column.provenance("upper") != PAY else None
    if isinstance(column, Datetime):
        return _years(column, None if lower is None else str(lower), None if upper is None else str(upper))
    return _numbers(column, lower, upper)


def _numbers(column: Integer | Real, lower: Any, upper: Any) -> Search:
    whole = isinstance(column, Integer)
    far = 10**LARGEST_POWER
    low = -far if lower is None else lower
    high = max(far, low + far) if upper is None else upper
    low = min(-far, high - far) if lower is None else low
    if isinstance(column, Integer):
        starts = sorted({low, *(x for x in _whole_starts() if low < x <= high)})
        public: Numeric = Integer(int(low), int(high), edges=(*starts, int(high) + 1), nullable=True)
    else:
        starts = sorted({float(low), *(x for x in _real_starts() if low < x < high)})
        public = Real(float(low), float(high), edges=(*starts, float(high)), nullable=True)
    starts, ends = public.grid.starts.tolist(), [*public.grid.starts[1:].tolist(), public.grid.stop]
    lookup = np.arange(public.size, dtype=np.int32)
    if whole:
        return Search(column=public, lookup=lookup, lowest=tuple(starts), highest=tuple(end - 1 for end in ends))
    # Cells start one step above a round number, or end at one below 0; the bound to state is the round number itself.
    lowest = [max(low, math.nextafter(x, -math.inf)) if x > 0 else x for x in starts]
    highest = [min(high, math.nextafter(x, -math.inf)) if x > 0 else x for x in ends]
    return Search(column=public, lookup=lookup, lowest=tuple(lowest), highest=tuple(highest))


def _whole_starts() -> list[int]:
    round_values = [*range(1, 21), *(int(x) for x in _round_values(1) if x > 20)]
    return [0, 1, *(x + 1 for x in round_values), *(-x for x in round_values)]


def _real_starts() -> list[float]:
    round_values = _round_values(SMALLEST_POWER)
    above = [math.nextafter(x, math.inf) for x in (0.0, *round_values)]
    return [0.0, *above, *(-x for x in round_values)]


def _round_values(smallest_power: int) -> list[float]:
    powers = range(smallest_power, LARGEST_POWER)
    return [float(f"{m}e{power}") for power in powers for m in MANTISSAS] + [float(f"1e{LARGEST_POWER}")]


def _years(column: Datetime, lower: str | None, upper: str | None) -> Search:
    first, last = _range_of_days(lower, upper)
    # Whole days are counted, however short the range: a calendar would take them apart.
    days = Datetime(first, last, resolution="day", format=column.format, calendar=(), nullable=True)
    starts = days.grid.starts
    years = starts.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64)
    found, cells = np.unique(years, return_inverse=True)
    lookup = np.concatenate([cells, [len(found)]]).astype(np.int32)
    listed = [int(year) + 1970 for year in found]
    lowest = [f"{year:04d}-01-01" for year in listed]
    highest = [_end_of_year(year, column.resolution) for year in listed]
    return Search(column=days, lookup=lookup, lowest=tuple(lowest), highest=tuple(highest))


def _range_of_days(lower: str | None, upper: str | None) -> tuple[str, str]:
    """Days from the first to the last year of the search, at most MOST_YEARS of them."""
    first = FIRST_YEAR if lower is None else parse_time(lower).year
    last = LAST_YEAR if upper is None else parse_time(upper).year
    first = min(max(first, last - MOST_YEARS), last) if lower is None else first
    last = max(min(last, first + MOST_YEARS), first) if upper is None else min(last, first + MOST_YEARS)
    return f"{first:04d}-01-01", f"{last:04d}-12-31"


def _end_of_year(year: int, resolution: str) -> str:
    """The last moment of a year in this resolution, as a schema would state it."""
    end = from_ticks(to_ticks(f"{year:04d}-12-31T23:59:59.999999", resolution), resolution)
    return end.date().isoformat() if resolution == "day" else end.isoformat()
