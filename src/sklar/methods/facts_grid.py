"""The public cells in which bounds are searched: round numbers that grow with their size, or calendar years.

Numbers: 17 round values for every power of ten, from 1e-12 (whole numbers: from 1, with 1 to 20 each) to 1e15, on both
sides of 0, which is a cell of its own. A cell includes the round number that is its end away from 0, so bounds become
round numbers. Times: the years 1800 to 2199. A bound of the schema that need not be paid for ends the search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.methods.facts_marks import PAY
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.ticks import from_ticks, parse_time, to_ticks

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
    days = Datetime(first, last, resolution="day", format=column.format, nullable=True)
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
