"""The axis of a column in a chart: cells that show its values, even skewed ones, and ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.lab.tables.table import COARSE_CELLS, ExactTable
from sklar.sample.binary import cell_text
from sklar.schema import Column, Datetime
from sklar.schema.grid import RESOLUTIONS, from_ticks

MAX_CROWDED_SHARE, CROWDED_CELLS = 0.8, 4
"""If the fullest equal cells (the second number) have more than this share of the rows, the rest of the chart would be
empty, and other cells are used: logarithmic, or equal between the tails. A uniform column has an eighth in 4 of 32."""
MIN_SPIKE_SHARE = 0.4
"""A single value with at least this share is ignored when cells are chosen: it takes one cell in any case."""
TAIL_SHARE = 0.005
"""Share of rows beyond either end of equal cells between the tails."""
MIN_LOG_DECADES = 1.5
"""Positive values that span this number of powers of ten between their tails get a logarithmic scale."""
TARGET_TICKS = 4
"""Approximate number of ticks."""
MIN_TICK_STEP = 1e-300
"""Smaller steps have no round numbers."""
MIN_TICK_DISTANCE = 0.12
"""Minimum distance of two ticks as a share of the axis: closer texts would overlap."""
DATE_LENGTH = 10
"""Number of characters of an ISO date."""
MAX_LABEL_TICKS = 6
"""Maximum number of labels on an axis; with more, some are skipped."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PictureScale:
    """The cells of a column in a chart.

    Attributes:
        edges: Edges of the cells of a numeric column; empty for labels.
        labels: Text of each cell; for numbers its range.
        ticks: Texts along the axis, each with its position from 0 to 1.
        note: How the cells were chosen, if they are not equal.
    """

    column: Column
    edges: Floats
    labels: tuple[str, ...]
    ticks: tuple[tuple[float, str], ...]
    note: str = ""

    def cells(self, table: ExactTable, name: str) -> Ints:
        """Return the cell of each row; -1 for null and for labels that are not listed."""
        if not len(self.edges):
            codes = table.codes[name].astype(np.int64)
            return np.where(codes < len(self.labels), codes, -1)
        values = table.numbers[name]
        found = np.searchsorted(self.edges, values, side="right") - 1
        return np.where(np.isnan(values), -1, np.clip(found, 0, len(self.labels) - 1))


def make_scale(name: str, real: ExactTable, synthetic: ExactTable) -> PictureScale:
    """Choose the cells of a column for both tables."""
    column = real.schema[name]
    if not column.numeric:
        labels = tuple(cell_text(column, code, code + 1) for code in range(column.value_cells))
        return PictureScale(column=column, edges=np.empty(0), labels=labels, ticks=label_ticks(labels))
    values = real.numbers[name]
    edges, note = _choose_edges(column, values[~np.isnan(values)])
    ends = np.concatenate([values, synthetic.numbers[name]])
    if note and np.isfinite(ends).any():
        edges[0], edges[-1] = min(edges[0], np.nanmin(ends)), max(edges[-1], np.nanmax(ends))
    labels = tuple(_range_text(column, a, b) for a, b in pairwise(edges))
    return PictureScale(
        column=column, edges=edges, labels=labels, ticks=_place_number_ticks(column, edges, note), note=note
    )


def _range_text(column: Column, start: float, end: float) -> str:
    """Format the range of a cell; for whole numbers, the first and the last."""
    last = end - 1 if column.kind == "integer" else end
    first, text = number_text(column, start), number_text(column, last)
    if isinstance(column, Datetime) and (end - start) * RESOLUTIONS[column.resolution] >= RESOLUTIONS["day"]:
        first, text = first[:DATE_LENGTH], text[:DATE_LENGTH]
    return first if last <= start else f"{first} to {text}"


def number_text(column: Column, number: float) -> str:
    """Format a number of a column: years without commas, times as dates."""
    if not isinstance(column, Datetime):
        return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.4g}"
    time = _to_datetime(column, number)
    return str(time.date()) if column.resolution == "day" else time.isoformat(" ", "minutes")


def _to_datetime(column: Datetime, tick: float) -> datetime:
    """Convert a tick to a datetime, clipped to the range of the column, which the end of a cell may exceed."""
    first, last = column.span
    return from_ticks(min(max(round(tick), first), last), column.resolution)


def label_ticks(labels: tuple[str, ...]) -> tuple[tuple[float, str], ...]:
    """Place labels below the middles of cells, and skip some if there are many."""
    every = max(1, -(-len(labels) // MAX_LABEL_TICKS))
    return tuple(((at + 0.5) / len(labels), label) for at, label in enumerate(labels) if at % every == 0)


def _choose_edges(column: Column, values: Floats) -> tuple[Floats, str]:
    """Choose the edges of the cells, with a note if they are not equal cells over the whole range."""
    low, high = _get_range(column)
    even = _equal_edges(column, low, high)
    if len(values) < COARSE_CELLS or (column.kind != "real" and high - low <= COARSE_CELLS):
        return even, ""
    rest = _drop_spike(values)
    fullest = np.sort(np.histogram(rest, even)[0])[-CROWDED_CELLS:]
    if len(rest) < COARSE_CELLS or fullest.sum() <= MAX_CROWDED_SHARE * len(rest):
        return even, ""
    positive = rest[rest > 0]
    if low >= 0 and len(positive) > 1:
        first, last = np.quantile(positive, [TAIL_SHARE, 1 - TAIL_SHARE])
        if math.log10(last / first) >= MIN_LOG_DECADES:
            inner = np.geomspace(first, last, COARSE_CELLS - 1)
            edges = [low if low < first else first, *inner, float(rest.max())]
            return np.unique(np.array(edges) if column.kind == "real" else np.floor(edges)), "logarithmic scale"
    first, last = np.quantile(rest, [TAIL_SHARE, 1 - TAIL_SHARE])
    inner = _equal_edges(column, first, max(last, np.nextafter(first, np.inf)))
    return inner, "without the empty range; the outermost cells contain the tails"


def _get_range(column: Column) -> tuple[float, float]:
    starts, stop = column.grid.starts, column.grid.stop  # type: ignore[attr-defined]
    return float(starts[0]), float(stop) if column.kind != "real" else float(column.upper)  # type: ignore[attr-defined]


def _equal_edges(column: Column, low: float, high: float) -> Floats:
    """Return the edges of equal cells; each has the same number of whole numbers."""
    if column.kind == "real":
        return np.linspace(low, high if high > low else low + 1.0, COARSE_CELLS + 1)
    step = max(1, math.ceil((high - low) / COARSE_CELLS))
    return np.arange(math.floor(low), math.ceil(high) + step, step, dtype=np.float64)


def _drop_spike(values: Floats) -> Floats:
    """Drop the most frequent value if it has a large share."""
    found, counts = np.unique(values, return_counts=True)
    top = int(counts.argmax())
    return values[values != found[top]] if counts[top] >= MIN_SPIKE_SHARE * len(values) else values


def _place_number_ticks(column: Column, edges: Floats, note: str) -> tuple[tuple[float, str], ...]:
    low, high = float(edges[0]), float(edges[-1])
    if isinstance(column, Datetime):
        chosen = _place_time_ticks(column, low, high)
    elif note.startswith("log"):
        tens = range(math.floor(math.log10(max(edges[1], 1e-300))), math.ceil(math.log10(high)) + 1)
        powers = [10.0**ten for ten in tens if low <= 10.0**ten <= high]
        chosen = {x: short_text(x) for x in (low, *powers[:: max(1, -(-len(powers) // TARGET_TICKS))])}
    else:
        chosen = {x: short_text(x) for x in round_numbers(low, high, whole=column.kind == "integer")}
    places = np.interp(list(chosen), edges, np.linspace(0.0, 1.0, len(edges)))
    kept: list[tuple[float, str]] = []
    for place, text in zip(places.tolist(), chosen.values(), strict=True):
        if not kept or place - kept[-1][0] >= MIN_TICK_DISTANCE:
            kept.append((place, text))
    return tuple(kept)


def round_numbers(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Return about TARGET_TICKS round numbers in a range."""
    rough = high / TARGET_TICKS - low / TARGET_TICKS
    if not MIN_TICK_STEP < rough < math.inf:
        return [low]
    ten = 10.0 ** math.floor(math.log10(rough))
    step = next(ten * factor for factor in (1, 2, 2.5, 5, 10) if ten * factor >= rough * (1 - 1e-9))
    step = max(1.0, float(round(step))) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [at * step for at in range(first, last + 1)]


def short_text(number: float) -> str:
    """Format a round number with few characters: 250k, 1.5M; numbers below ten thousand, such as years, in full."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= max(size, 10_000):
            return f"{number / size:.4g}{letter}"
    return f"{number:.4g}"


def _place_time_ticks(column: Datetime, low: float, high: float) -> dict[float, str]:
    """Return years if the range has several, else days."""
    day = RESOLUTIONS["day"] / RESOLUTIONS[column.resolution]
    if high - low < 3 * 365 * day:
        return {x: str(_to_datetime(column, x).date()) for x in (low, (low + high) / 2)}
    years = [int(year) for year in round_numbers(*(_to_datetime(column, x).year for x in (low, high)), whole=True)]
    ticks = {float(column.tick(f"{max(1, year):04d}-01-01")): str(year) for year in years}
    return {x: text for x, text in ticks.items() if low <= x <= high}
