"""From noisy counts of public cells to bounds of a column. Post-processing: it costs nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.accounting.composition.discovery import find_noise_quantile
from sklar.accounting.noise import Noise
from sklar.arrays import Floats, Ints
from sklar.methods.facts.marks import PAY
from sklar.schema.grid import from_ticks, parse_time, to_ticks
from sklar.schema.numbers import Datetime, Integer, Real

FALSE_ALARM_RATE = 3e-5
"""Probability with which empty cells look occupied somewhere. A false range is a wide one, which ruins the column; at
1e-3 one column in 300 came out more than 30 times too wide, at 3e-5 one in 800."""
RUN_WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
"""Numbers of neighbouring cells that are added up when occupied ones are sought."""
NEXT_STDS, NEXT_WIDTHS = 2.5, (1, 2, 3)
"""Cells right beside the occupied ones are likely tails of them: their sum has a lower threshold. Wider runs would
reach over decades by chance."""
MIN_SIGN_STDS, MIN_SIGN_SHARE = 4.0, 0.02
"""Numbers of a sign occur if their count is above both: standard deviations of its noise, share of the values."""
MIN_RUN_SCORE = 2.0
"""Standard deviations that the best run of cells of a sign needs where the sign is known to occur and no run is
clear."""
OUTER_SHARES = (0.5, 0.65, 0.8, 1.0)
"""Share of a side's values beyond which its cells carry the line of the tail; more where fewer than two cells do."""
UNSEEN_STDS = 1.0
"""Values beyond the last occupied cell that its noise may hide, in standard deviations of it."""
MIN_LINE_EDGES = 4
"""A line through fewer edges may be steep by chance, and is followed less far."""
MIN_TAIL_SHARE = 1e-4
"""Bounds aim at leaving this share of the values outside, or half a value."""
MAX_LOWER_RATIO = 0.15
"""A lower bound above 0 becomes 0 if it is below this share of the upper one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyCells:
    """Noisy counts of the cells of a search, and of its values below, at and above zero.

    Attributes:
        counts: One for each cell, without null.
        noise: Of each count.
        signs: Counts of negative values, zeros and positive values; None for points in time.
        sign_std: Standard deviation of the noise of each of these.
    """

    counts: Ints
    noise: Noise
    signs: tuple[int, int, int] | None = None
    sign_std: float = 0.0

    @property
    def total(self) -> float:
        """Estimated number of values, at least 1."""
        return max(float(self.counts.sum() if self.signs is None else sum(self.signs)), 1.0)

    def occurs(self, count: int) -> bool:
        """Return whether values of a sign with this noisy count are there at all."""
        return count > max(MIN_SIGN_STDS * self.sign_std, MIN_SIGN_SHARE * self.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRange:
    """Where the values of a column lie, estimated from noisy counts.

    Attributes:
        lower: As numbers, or years.
        upper: The same.
        cut: Estimated share of the values that lie outside.
        lost: Which signs ("negative", "positive") occur, yet show in no cell.
    """

    lower: float
    upper: float
    cut: float
    lost: tuple[str, ...] = ()


def find_range(search: Search, cells: NoisyCells) -> FoundRange | None:
    """Estimate the range of a column; None if all counts look like noise.

    No test can see a tail of fewer values than the noise hides. So the range of occupied cells is extended: a line
    through the logs of the outer half of the occupied edges (of points in time, through their years) is followed to the
    share of values beyond that bounds aim at.
    """
    cells = replace(cells, counts=_without_absent_signs(search, cells))
    found, lost = _with_signs(search, cells, occupied_range(cells.counts, cells.noise))
    if found is None:
        return None
    values = np.maximum(cells.counts, 0).astype(float)
    up, cut_above = _tail_end(search.tops, values, found, cells)
    mirrored = (len(values) - 1 - found[1], len(values) - 1 - found[0])
    down, cut_below = _tail_end(-search.bottoms[::-1], values[::-1], mirrored, cells)
    lower, upper = -down, up
    if not search.dated:
        lower = 0.0 if 0 < lower < MAX_LOWER_RATIO * upper else lower
        upper = 0.0 if MAX_LOWER_RATIO * lower < upper < 0 else upper
        lower, upper = -_round_up(-lower) + 0.0, _round_up(upper) + 0.0  # -0.0 + 0.0 is 0.0
    return FoundRange(lower=lower, upper=upper, cut=cut_above + cut_below, lost=lost)


def occupied_range(noisy_counts: Ints, noise: Noise) -> tuple[int, int] | None:
    """Return first and last cell that are clearly occupied; None if all counts look like noise.

    Runs of up to 24 cells are looked at, since mass that is spread thinly shows in a sum before it shows in a cell. A
    run of w cells is occupied if its sum is at least t sqrt(w), where noise alone lifts a cell to t with probability
    FALSE_ALARM_RATE over three times the number of cells (runs overlap, so all widths together are about three tests a
    cell). The range starts as the cells that are occupied by themselves, or else as any occupied run. It then grows, as
    long as a run wholly outside of it is occupied, or a run right beside it sums to NEXT_STDS standard deviations, to
    the cell of that run at which the sum of (count - half a standard deviation) is largest.
    """
    least = _clear_count(noisy_counts, noise)
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


def _clear_count(noisy_counts: Ints, noise: Noise) -> int:
    """Return the noisy count that no empty cell reaches, except with probability FALSE_ALARM_RATE."""
    return find_noise_quantile(noise, FALSE_ALARM_RATE / (3 * len(noisy_counts)))


def _without_absent_signs(search: Search, cells: NoisyCells) -> Ints:
    """Return the counts of cells, 0 for those of a sign that does not occur: their noise cannot stretch the range
    then."""
    counts = cells.counts.copy()
    if cells.signs is None:
        return counts
    for own, count in ((search.tops < 0, cells.signs[0]), (search.bottoms > 0, cells.signs[2])):
        if own.any() and not cells.occurs(count) and counts[own].max() < _clear_count(counts, cells.noise):
            counts[own] = 0
    return counts


def _with_signs(
    search: Search, cells: NoisyCells, found: tuple[int, int] | None
) -> tuple[tuple[int, int] | None, tuple[str, ...]]:
    """Return the occupied range, extended to the best run of each sign that is known to occur and is not in it yet."""
    if cells.signs is None:
        return found, ()
    lost: list[str] = []
    zero = np.flatnonzero((search.bottoms <= 0) & (search.tops >= 0))
    if found is None and zero.size and cells.occurs(cells.signs[1]):
        found = int(zero[0]), int(zero[0])
    for sign, word, count in ((-1, "negative", cells.signs[0]), (1, "positive", cells.signs[2])):
        own = np.flatnonzero(search.bottoms > 0) if sign > 0 else np.flatnonzero(search.tops < 0)
        seen = found is not None and own.size and found[0] <= own[-1] and found[1] >= own[0]
        if not own.size or seen or not cells.occurs(count):
            continue
        run = _best_run(cells.counts[own], cells.noise.std)
        if run is None:
            lost.append(word)
            continue
        first, last = int(own[run[0]]), int(own[run[1]])
        found = (first, last) if found is None else (min(found[0], first), max(found[1], last))
    return found, tuple(lost)


def _best_run(noisy_counts: Ints, std: float) -> tuple[int, int] | None:
    """Return the first and last cell of the most significant run; None if there is none."""
    best, place = MIN_RUN_SCORE, None
    for width in (w for w in RUN_WIDTHS if w <= min(12, len(noisy_counts))):
        sums = np.convolve(noisy_counts, np.ones(width), "valid") / (std * math.sqrt(width))
        at = int(np.argmax(sums))
        if sums[at] >= best:
            best, place = float(sums[at]), (at, at + width - 1)
    return place


@dataclass(frozen=True, slots=True, kw_only=True)
class TailLimits:
    """What the line of a tail is held to; chosen on normal, lognormal, zero-inflated, Pareto, t and age columns.

    Attributes:
        flattest, steepest: Slope of the edges in the log of the share of values beyond, or in two normal scores of it.
        usual: Slope where fewer than two edges are seen.
        shortest, longest: How far the line is followed.
        few: How far it is followed at most through fewer than MIN_LINE_EDGES edges.
    """

    flattest: float
    steepest: float
    usual: float
    shortest: float
    longest: float
    few: float


LOG_TAIL = TailLimits(flattest=0.02, steepest=1.0, usual=0.15, shortest=0.2, longest=6.0, few=2.0)
"""In logs of numbers."""
YEAR_TAIL = TailLimits(flattest=0.1, steepest=8.0, usual=0.5, shortest=1.0, longest=40.0, few=20.0)
"""In years."""


def _tail_end(tops: Floats, values: Floats, found: tuple[int, int], cells: NoisyCells) -> tuple[float, float]:
    """Return (the upper end of the range, the share of values beyond), with cells in ascending order of their tops."""
    first, last = found
    seen, edges = values[first : last + 1], tops[first : last + 1]
    rows = max(cells.total, float(seen.sum()), 1.0)
    beyond = np.append(np.cumsum(seen[::-1])[::-1][1:], 0.0) + UNSEEN_STDS * cells.noise.std
    shares = np.clip(beyond / rows, 1e-9, 0.999)
    if cells.signs is None:
        return _follow(edges, shares, 1.0, rows, YEAR_TAIL)
    sign = np.sign(edges[-1])
    if not sign:
        return 0.0, 0.0
    own = np.sign(edges) == sign
    at = int(np.argmax(own))
    side = min(1.0, float(shares[at] + seen[at] / rows)) if sign > 0 else 1.0
    end, cut = _follow(sign * np.log(sign * edges[own]), shares[own], side, rows, LOG_TAIL)
    return float(sign * math.exp(sign * end)), cut


def _follow(edges: Floats, shares: Floats, side: float, rows: float, limits: TailLimits) -> tuple[float, float]:
    """Return (where the lines of edges against the share beyond end, the share beyond that)."""
    outer = np.ones(len(edges), bool)
    for share in OUTER_SHARES:
        outer = shares < share * side
        if outer.sum() >= 2:
            break
    last = float(shares[-1])
    aim = min(MIN_TAIL_SHARE, 0.5 / rows, last)
    steps = [_line_step(scale(shares[outer]), edges[outer], scale(aim) - scale(last), limits) for scale in TAIL_SCALES]
    longest = limits.longest if outer.sum() >= MIN_LINE_EDGES else limits.few
    wanted = max(sum(steps) / len(steps), limits.shortest)
    step = min(wanted, longest)
    return float(edges[-1]) + step, aim ** (step / wanted) * last ** (1 - step / wanted)


def _exponential_scale(share: Any) -> Any:
    return -np.log(share)


def _normal_scale(share: Any) -> Any:
    from scipy.special import ndtri  # not at import time: scipy is slow to load

    return -2 * ndtri(share)  # twice: slopes are then equal on both scales


TAIL_SCALES = (_exponential_scale, _normal_scale)
"""Tails are lines on one of these: those of power-law tails on the first, lognormal ones on the second. Their mean
leaves 0.1% of a lognormal column outside and 0.4% of a Pareto one (exponent 1.5), in ranges 2 to 5 times too wide at
most (2,000 rows, two columns, a tenth of epsilon 1); the first alone gives ranges 3 times as wide."""


def _line_step(x: Floats, edges: Floats, ahead: float, limits: TailLimits) -> float:
    """Return how far the line of edges against x rises over this distance."""
    slope = limits.usual
    if len(x) >= 2 and np.ptp(x) > 0.3:
        slope = float(np.clip(np.polyfit(x, edges, 1)[0], limits.flattest, limits.steepest))
    return slope * ahead


def _round_up(value: float) -> float:
    """Return the next of 1, 1.2, 1.5, 2, 2.5, 3, 4, ..., 9 times a power of ten, or of their negatives, that is not
    smaller."""
    if value == 0:
        return 0.0
    size = abs(value)
    power = math.floor(math.log10(size))
    powers = (power - 1, power, power + 1)
    near = [float(f"{m}e{k}") for k in powers for m in ("1", "1.2", "1.5", "2", "2.5", *"3456789")]
    if value > 0:
        return min(x for x in near if x >= size * (1 - 1e-12))
    return -max(x for x in near if x <= size * (1 + 1e-12))


def with_bounds(column: Numeric, search: Search, found: FoundRange | None, *, keep_listed: bool = False) -> Numeric:
    """Return the column with measured bounds, or with those of the public search where nothing was significant.

    Bounds that were searched within stated ones rest on those: they are `assumed`.
    """
    bounded = remove_bounds(column, search) if found is None else _between(column, search, found.lower, found.upper)
    if bounded.faults():  # a small step does not go with a range this wide
        bounded = remove_bounds(column, search)
    return _marked(bounded, "assumed" if keep_listed else "public" if found is None else "measured")


def remove_bounds(column: Numeric, search: Search) -> Numeric:
    """Return the column over the widest public range that it can have: a small step does not go with the widest of
    all."""
    ranges = ((search.bottoms[first], search.tops[-1 - first]) for first in range(search.cells // 2 + 1))
    columns = (_between(column, search, *ends) for ends in ranges)
    widest = _between(column, search, search.bottoms[0], search.tops[-1])
    return next((one for one in columns if not one.faults()), widest)


def _between(column: Numeric, search: Search, lower: float, upper: float) -> Numeric:
    """Return the column with these bounds in the place of those that are to be paid for."""
    paid = _paid(column)
    ends = {"lower": max(lower, search.bottoms[0]), "upper": min(upper, search.tops[-1])}
    bounds: dict[str, Any] = {fact: _stated(column, fact, value) for fact, value in ends.items()}
    bounds = {fact: bounds[fact] if fact in paid else getattr(column, fact) for fact in bounds}
    if not isinstance(column, Datetime) and bounds["lower"] == bounds["upper"]:  # all in one point
        fact = "upper" if "upper" in paid else "lower"
        bounds[fact] += 1 if fact == "upper" else -1
    return replace(column, **_widened(column, {fact: bounds[fact] for fact in paid}))


def _stated(column: Numeric, fact: str, value: float) -> Any:
    """Return a bound as a schema states it; outwards, where it must be whole."""
    if isinstance(column, Integer):
        return math.floor(value) if fact == "lower" else math.ceil(value)
    if isinstance(column, Real):
        return float(value)
    year = math.floor(value) if fact == "lower" else math.ceil(value)
    return f"{year:04d}-01-01" if fact == "lower" else _end_of_year(year, column.resolution)


def _marked(column: Numeric, word: str) -> Numeric:
    return replace(column, source={**dict(column.sources), **dict.fromkeys(_paid(column), word)})


def _paid(column: Numeric) -> list[str]:
    return [fact for fact in ("lower", "upper") if column.provenance(fact) == PAY]


def _grown(outside: Ints, least: float, std: float) -> int:
    """Return how many of the cells outside the range, next to it first, belong to it."""
    grown = 0
    while more := _further(outside[grown:], least, std) or _beside(outside[grown:], std):
        grown += more
    return grown


def _beside(outside: Ints, std: float) -> int:
    for width in NEXT_WIDTHS:
        run = outside[:width]
        if run.sum() >= NEXT_STDS * std * math.sqrt(width):
            return _end(run, std)
    return 0


def _further(outside: Ints, least: float, std: float) -> int:
    """Return cells up to the end of the farthest occupied run of the smallest width that shows one; 0 if there is
    none."""
    for width in RUN_WIDTHS:
        if width > len(outside):
            break
        runs = np.lib.stride_tricks.sliding_window_view(outside, width)
        starts = np.flatnonzero(runs.sum(axis=1) >= least * math.sqrt(width))
        if starts.size:
            return int(starts[-1]) + _end(runs[starts[-1]], std)
    return 0


def _end(run: Ints, std: float) -> int:
    """Return cells of a run up to the one at which the sum of (count - std / 2) is largest."""
    return 1 + int(np.argmax(np.cumsum(run - 0.5 * std)))


def _widened(column: Numeric, bounds: dict[str, Any]) -> dict[str, Any]:
    """Return bounds that hold the values which the schema itself states, as atoms or instead of missing ones."""
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
# Numbers: six round values for every power of ten, from 1e-9 (whole numbers: from 1) to 1e15, on both sides of 0, which
# is a cell of its own. Fewer cells show fainter tails, and what lies between two of them the line of the tail bridges.
# A cell includes the round number that is its end away from 0, so bounds become round numbers. Times: the years 1800
# to 2199, several a cell where years are long past. A bound of the schema that need not be paid for ends the search.


MANTISSAS = ("1", "1.5", "2", "3", "5", "7")
SMALLEST_POWER, LARGEST_POWER = -9, 15
"""Powers of ten between which the ends of numbers are sought."""
FIRST_YEAR, LAST_YEAR = 1800, 2199
"""Years between which the ends of dates are sought."""
YEARS_PER_CELL = ((1900, 20), (2000, 10), (2010, 5), (2040, 1))
"""Years per cell before each of these years; ten after the last. Dates of birth are spread over a century."""
MAX_YEARS = 540
"""So that every day of the search is a cell of its own, which years can be made of."""

Numeric = Integer | Real | Datetime


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Search:
    """Where the bounds of a column are searched.

    Attributes:
        column: A column over the public range, to be counted; nullable, so that no missing value looks like a bound.
        lookup: From its base codes to cells 0, 1, 2, ..., and one more for null.
        bottoms: Smallest number, or year, of each cell.
        tops: Largest number, or year, of each cell.
    """

    column: Numeric
    lookup: npt.NDArray[np.int32]
    bottoms: Floats
    tops: Floats

    @property
    def cells(self) -> int:
        """Number of cells, without that of null."""
        return len(self.tops)

    @property
    def dated(self) -> bool:
        """Whether the cells are years."""
        return isinstance(self.column, Datetime)

    @property
    def sign_lookup(self) -> npt.NDArray[np.int32]:
        """From base codes to negative, zero, positive and null."""
        signs = np.where(self.tops < 0, 0, np.where(self.bottoms > 0, 2, 1))
        # A cell from 0 to its top holds positive numbers, unless it is 0 itself.
        signs = np.where((self.bottoms == 0) & (self.tops > 0), 2, signs)
        signs = np.where((self.tops == 0) & (self.bottoms < 0), 0, signs)
        return np.append(signs, 3)[self.lookup].astype(np.int32)


def search_cells(column: Numeric, *, keep_listed: bool = False) -> Search:
    """Return the cells for a column, from public facts only: stated bounds that are to be paid for are not used."""
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
        edges = (*starts, int(high) + 1)
        public: Numeric = Integer(int(low), int(high), edges=edges, format=column.format, nullable=True)
    else:
        starts = sorted({float(low), *(x for x in _real_starts() if low < x < high)})
        edges = (*starts, float(high))
        public = Real(float(low), float(high), edges=edges, format=column.format, nullable=True)
    starts, ends = public.grid.starts.tolist(), [*public.grid.starts[1:].tolist(), public.grid.stop]
    lookup = np.arange(public.size, dtype=np.int32)
    if whole:
        bottoms, tops = starts, [end - 1 for end in ends]
    else:
        # Cells start one step above a round number, or end at one below 0; the bound to state is the round number.
        bottoms = [max(low, math.nextafter(x, -math.inf)) if x > 0 else x for x in starts]
        tops = [min(high, math.nextafter(x, -math.inf)) if x > 0 else x for x in ends]
    return Search(column=public, lookup=lookup, bottoms=np.array(bottoms, float), tops=np.array(tops, float))


def _whole_starts() -> list[int]:
    round_values = [int(x) for x in _round_values(0) if x.is_integer()]
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
    years = days.grid.starts.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970
    listed, places = np.unique(years, return_inverse=True)
    _, cells = np.unique([_year_block(int(year)) for year in listed], return_inverse=True)
    lookup = np.append(cells[places], cells[-1] + 1).astype(np.int32)
    firsts = np.flatnonzero(np.diff(cells, prepend=-1))
    lasts = np.append(firsts[1:], len(listed)) - 1
    return Search(column=days, lookup=lookup, bottoms=listed[firsts].astype(float), tops=listed[lasts].astype(float))


def _year_block(year: int) -> int:
    """Return the first year of the cell of a year."""
    length = next((years for end, years in YEARS_PER_CELL if year < end), 10)
    return year - year % length


def _range_of_days(lower: str | None, upper: str | None) -> tuple[str, str]:
    """Return days from the first to the last year of the search, at most MAX_YEARS of them."""
    first = FIRST_YEAR if lower is None else parse_time(lower).year
    last = LAST_YEAR if upper is None else parse_time(upper).year
    first = min(max(first, last - MAX_YEARS), last) if lower is None else first
    last = max(min(last, first + MAX_YEARS), first) if upper is None else min(last, first + MAX_YEARS)
    return f"{first:04d}-01-01", f"{last:04d}-12-31"


def _end_of_year(year: int, resolution: str) -> str:
    """Return the last moment of a year in this resolution, as a schema would state it."""
    end = from_ticks(to_ticks(f"{year:04d}-12-31T23:59:59.999999", resolution), resolution)
    return end.date().isoformat() if resolution == "day" else end.isoformat()
