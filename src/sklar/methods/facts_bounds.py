"""From noisy counts of public cells to bounds of a column. Post-processing: it costs nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.accounting.discovery import smallest_above
from sklar.accounting.noise import Noise
from sklar.methods.facts_grid import Numeric, Search
from sklar.methods.facts_marks import PAY
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.ticks import parse_time

FALSE_ALARM = 1e-4
"""Probability with which empty cells look occupied somewhere."""
WIDTHS = (1, 2, 4, 8, 16)
NEXT_STDS = 3.5
"""Cells right beside the occupied ones are likely tails of them: less is asked of their sum."""


def occupied_range(noisy_counts: npt.NDArray[np.int64], noise: Noise) -> tuple[int, int] | None:
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


def with_bounds(column: Numeric, search: Search, found: tuple[int, int] | None) -> Numeric:
    """The column with measured bounds, or with those of the public search where nothing stood out."""
    first, last = found or (0, search.cells - 1)
    paid = [fact for fact in ("lower", "upper") if column.provenance(fact) == PAY]
    bounds = {"lower": column.lower, "upper": column.upper}
    bounds |= {fact: value for fact, value in _values(search, first, last).items() if fact in paid}
    if isinstance(column, Real) and bounds["lower"] == bounds["upper"]:  # all in one point: a real range has a width
        wider = _values(search, max(first - 1, 0), min(last + 1, search.cells - 1))
        bounds |= {fact: value for fact, value in wider.items() if fact in paid}
    word = "measured" if found else "public"
    source = {**dict(column.sources), **dict.fromkeys(paid, word)}
    return replace(column, **_widened(column, {fact: bounds[fact] for fact in paid}), source=source)


def _values(search: Search, first: int, last: int) -> dict[str, Any]:
    return {"lower": search.lowest[first], "upper": search.highest[last]}


def _grown(outside: npt.NDArray[np.int64], least: float, std: float) -> int:
    """How many of the cells outside the range, next to it first, belong to it."""
    grown = 0
    while more := _further(outside[grown:], least, std) or _beside(outside[grown:], std):
        grown += more
    return grown


def _beside(outside: npt.NDArray[np.int64], std: float) -> int:
    for width in WIDTHS:
        run = outside[:width]
        if run.sum() >= NEXT_STDS * std * math.sqrt(width):
            return _end(run, std)
    return 0


def _further(outside: npt.NDArray[np.int64], least: float, std: float) -> int:
    """Cells up to the end of the farthest occupied run of the smallest width that shows one; 0 if there is none."""
    for width in WIDTHS:
        if width > len(outside):
            break
        runs = np.lib.stride_tricks.sliding_window_view(outside, width)
        starts = np.flatnonzero(runs.sum(axis=1) >= least * math.sqrt(width))
        if starts.size:
            return int(starts[-1]) + _end(runs[starts[-1]], std)
    return 0


def _end(run: npt.NDArray[np.int64], std: float) -> int:
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
