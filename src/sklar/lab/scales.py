"""How a column is laid out in a picture: cells in which one sees its values, also skewed ones, and ticks below."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.lab.tables.table import CELLS, ExactTable
from sklar.sample.binary import cell_text
from sklar.schema import Column, Datetime
from sklar.schema.grid import RESOLUTIONS, from_ticks

CROWDED, FULLEST = 0.8, 4
"""If so large a share of the rows fills so few of the equal cells, the rest of the picture is empty, and other cells
are taken: logarithmic ones, or equal ones between the tails. An even column fills four of 32 cells with an eighth."""
SPIKE = 0.4
"""A single value with so large a share is set aside when cells are chosen: it needs one cell, whatever they are."""
TAIL = 0.005
"""Share of rows beyond either end of equal cells between the tails."""
DECADES = 1.5
"""Values above 0 that span so many powers of ten between their tails are drawn on a logarithmic scale."""
TICKS = 4
"""Texts below a picture, about."""
LEAST = 1e-300
"""Steps below this have no round numbers."""
APART = 0.12
"""Share of the axis between two texts, at least: nearer ones would overlap."""
DATE = 10
"""Letters of an ISO date."""
NAMED = 6
"""Labels that are named one by one; of more, every so many."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PictureScale:
    """The cells of a column in a picture.

    Attributes:
        edges: Of a column of numbers: where its cells begin, and where the last ends. Empty for labels.
        labels: Text of each cell: of numbers what it spans.
        ticks: Texts along the axis, each with its place from 0 to 1.
        note: How the cells were chosen, if they are not equal.
    """

    column: Column
    edges: Floats
    labels: tuple[str, ...]
    ticks: tuple[tuple[float, str], ...]
    note: str = ""

    def cells(self, table: ExactTable, name: str) -> Ints:
        """The cell of each row; -1 for null and for labels that are not listed."""
        if not len(self.edges):
            codes = table.codes[name].astype(np.int64)
            return np.where(codes < len(self.labels), codes, -1)
        values = table.numbers[name]
        found = np.searchsorted(self.edges, values, side="right") - 1
        return np.where(np.isnan(values), -1, np.clip(found, 0, len(self.labels) - 1))


def make_scale(name: str, real: ExactTable, synthetic: ExactTable) -> PictureScale:
    """The scale on which both tables show a column."""
    column = real.schema[name]
    if not column.numeric:
        labels = tuple(cell_text(column, code, code + 1) for code in range(column.value_cells))
        return PictureScale(column=column, edges=np.empty(0), labels=labels, ticks=label_ticks(labels))
    values = real.numbers[name]
    edges, note = _edges(column, values[~np.isnan(values)])
    ends = np.concatenate([values, synthetic.numbers[name]])
    if note and np.isfinite(ends).any():
        edges[0], edges[-1] = min(edges[0], np.nanmin(ends)), max(edges[-1], np.nanmax(ends))
    labels = tuple(_span_text(column, a, b) for a, b in pairwise(edges))
    return PictureScale(column=column, edges=edges, labels=labels, ticks=_number_ticks(column, edges, note), note=note)


def _span_text(column: Column, start: float, end: float) -> str:
    """What a cell spans; of whole numbers, its first and last."""
    last = end - 1 if column.kind == "integer" else end
    first, text = number_text(column, start), number_text(column, last)
    if isinstance(column, Datetime) and (end - start) * RESOLUTIONS[column.resolution] >= RESOLUTIONS["day"]:
        first, text = first[:DATE], text[:DATE]
    return first if last <= start else f"{first} to {text}"


def number_text(column: Column, number: float) -> str:
    """A number of a column as people write it: years without commas, moments as dates."""
    if not isinstance(column, Datetime):
        return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.4g}"
    moment = _moment(column, number)
    return str(moment.date()) if column.resolution == "day" else moment.isoformat(" ", "minutes")


def _moment(column: Datetime, tick: float) -> datetime:
    """The moment of a tick; what lies beyond the column's own span, as the end of a cell may, is its end."""
    first, last = column.span
    return from_ticks(min(max(round(tick), first), last), column.resolution)


def label_ticks(labels: tuple[str, ...]) -> tuple[tuple[float, str], ...]:
    """Names below the middles of cells: all of a few, else every so many."""
    every = max(1, -(-len(labels) // NAMED))
    return tuple(((at + 0.5) / len(labels), label) for at, label in enumerate(labels) if at % every == 0)


def _edges(column: Column, values: Floats) -> tuple[Floats, str]:
    """Edges of the cells, and a word about them if they are not equal cells over the whole range."""
    low, high = _range(column)
    even = _equal(column, low, high)
    if len(values) < CELLS or (column.kind != "real" and high - low <= CELLS):
        return even, ""
    rest = _without_spike(values)
    if len(rest) < CELLS or np.sort(np.histogram(rest, even)[0])[-FULLEST:].sum() <= CROWDED * len(rest):
        return even, ""
    positive = rest[rest > 0]
    if low >= 0 and len(positive) > 1:
        first, last = np.quantile(positive, [TAIL, 1 - TAIL])
        if math.log10(last / first) >= DECADES:
            inner = np.geomspace(first, last, CELLS - 1)
            return _rounded(column, [low if low < first else first, *inner, float(rest.max())]), "logarithmic scale"
    first, last = np.quantile(rest, [TAIL, 1 - TAIL])
    inner = _equal(column, first, max(last, np.nextafter(first, np.inf)))
    return inner, "without the empty range; the outermost cells hold the tails"


def _range(column: Column) -> tuple[float, float]:
    starts, stop = column.grid.starts, column.grid.stop  # type: ignore[attr-defined]
    return float(starts[0]), float(stop) if column.kind != "real" else float(column.upper)  # type: ignore[attr-defined]


def _equal(column: Column, low: float, high: float) -> Floats:
    """Equal cells; of whole numbers each holds equally many."""
    if column.kind == "real":
        return np.linspace(low, high if high > low else low + 1.0, CELLS + 1)
    step = max(1, math.ceil((high - low) / CELLS))
    return np.arange(math.floor(low), math.ceil(high) + step, step, dtype=np.float64)


def _rounded(column: Column, edges: list[float]) -> Floats:
    return np.unique(np.floor(edges) if column.kind != "real" else np.array(edges))


def _without_spike(values: Floats) -> Floats:
    """The values but the most frequent one, if that holds very many of them."""
    found, counts = np.unique(values, return_counts=True)
    top = int(counts.argmax())
    return values[values != found[top]] if counts[top] >= SPIKE * len(values) else values


def _number_ticks(column: Column, edges: Floats, note: str) -> tuple[tuple[float, str], ...]:
    low, high = float(edges[0]), float(edges[-1])
    if isinstance(column, Datetime):
        chosen = _moments(column, low, high)
    elif note.startswith("log"):
        tens = range(math.floor(math.log10(max(edges[1], 1e-300))), math.ceil(math.log10(high)) + 1)
        powers = [10.0**ten for ten in tens if low <= 10.0**ten <= high]
        chosen = {x: short(x) for x in (low, *powers[:: max(1, -(-len(powers) // TICKS))])}
    else:
        chosen = {x: short(x) for x in round_numbers(low, high, whole=column.kind == "integer")}
    places = np.interp(list(chosen), edges, np.linspace(0.0, 1.0, len(edges)))
    kept: list[tuple[float, str]] = []
    for place, text in zip(places.tolist(), chosen.values(), strict=True):
        if not kept or place - kept[-1][0] >= APART:
            kept.append((place, text))
    return tuple(kept)


def round_numbers(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Round numbers in a range, about TICKS of them."""
    rough = high / TICKS - low / TICKS
    if not LEAST < rough < math.inf:
        return [low]
    ten = 10.0 ** math.floor(math.log10(rough))
    step = next(ten * factor for factor in (1, 2, 2.5, 5, 10) if ten * factor >= rough * (1 - 1e-9))
    step = max(1.0, float(round(step))) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [at * step for at in range(first, last + 1)]


def short(number: float) -> str:
    """A round number in few letters: 250k, 1.5M; years and other numbers below ten thousand as they are."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= max(size, 10_000):
            return f"{number / size:.4g}{letter}"
    return f"{number:.4g}"


def _moments(column: Datetime, low: float, high: float) -> dict[float, str]:
    """Years where there are several, else days."""
    day = RESOLUTIONS["day"] / RESOLUTIONS[column.resolution]
    if high - low < 3 * 365 * day:
        return {x: str(_moment(column, x).date()) for x in (low, (low + high) / 2)}
    years = [int(year) for year in round_numbers(*(_moment(column, x).year for x in (low, high)), whole=True)]
    ticks = {float(column.tick(f"{max(1, year):04d}-01-01")): str(year) for year in years}
    return {x: text for x, text in ticks.items() if low <= x <= high}
