"""Columns of a table on the scale of a vine: margins, axes, pseudo-observations, and which of them are discrete."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, Ints, Mask
from sklar.lab.tables.table import ExactTable
from sklar.model.axis import Scale
from sklar.model.margins.margin import Margin
from sklar.schema.table import Schema

Margins = Literal["quantiles", "smoothed"]
"""How columns become ranks and back. "quantiles", as in the software of TVineSynth: interpolated sample quantiles,
every column of numbers continuous, labels in the order of the schema. "smoothed", ours: no rare number is repeated,
numbers of few values are discrete, and labels are put into an order."""
FEW_VALUES = 20
"""Ours: numeric columns with at most so many different values are discrete, which is exact and takes longer to fit."""
HEAVY_ATOM = 0.2
"""Ours: numeric columns where one value, or null, has more than this share are discrete: most of their rows tie."""
ROWS_PER_CELL = 10
"""Ours: a base code seen this often keeps its own mass; others share that of a run of codes with about this many rows.
More rows a cell repeat less of the rows, and blur more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VineColumns:
    """All columns of a table, ready for a vine.

    Attributes:
        u: F(x) of each row in each column; ranks over rows + 1 in continuous columns.
        lower: F(x-); equal to u in continuous columns.
        discrete: Which columns have atoms.
    """

    margins: tuple[Margin, ...]
    scales: tuple[Scale, ...]
    u: Floats
    lower: Floats
    discrete: Mask


def vine_columns(
    table: ExactTable, names: tuple[str, ...], target: str | None = None, how: Margins = "smoothed"
) -> VineColumns:
    """Margins, axes and pseudo-observations of the named columns.

    Nulls of a number are put between the values where the rest of their rows points. Where margins are smoothed, labels
    without an order are laid out by the mean rank of the response (by falling frequency without one), so that
    neighbours on the axis are alike.
    """
    response = None if target is None else mid_ranks(_numbers(table, target))
    margins = tuple(column_margin(table.schema, name, table.codes[name], how) for name in names)
    places = null_places(table, names)
    discrete = np.array([is_discrete(table, name, how) for name in names], dtype=bool)
    scales: list[Scale] = []
    u = np.empty((table.rows, len(names)), order="F")
    lower = np.empty_like(u)
    for at, (name, margin) in enumerate(zip(names, margins, strict=True)):
        order = np.arange(len(margin.mass))
        if how == "smoothed" and not table.schema[name].ordered:
            order = _label_order(table.codes[name], margin.mass, None if name == target else response)
        scales.append(axis(margin, order, places.get(name)))
        low, high = atom_limits(scales[at], margin, table.codes[name])
        if discrete[at]:
            lower[:, at], u[:, at] = low, high
        else:
            known = ~np.isnan(table.numbers[name])
            place = np.where(known, table.numbers[name], np.inf)
            u[:, at] = np.where(known, _open_ranks(place, low, known), (low + high) / 2)
            lower[:, at] = u[:, at]
    return VineColumns(margins=margins, scales=tuple(scales), u=u, lower=lower, discrete=discrete)


def _open_ranks(values: Floats, low: Floats, known: Mask) -> Floats:
    """Ranks over rows + 1 of the known values, moved up by the share of nulls that lie below them on the axis."""
    rows, missing = len(values), int((~known).sum())
    ranks = mid_ranks(values)
    above = np.zeros(rows) if not missing else np.where(low >= low[~known][0], missing, 0)
    return (ranks + above) / (rows + 1)


def null_places(table: ExactTable, names: tuple[str, ...]) -> dict[str, float]:
    """For each number with nulls, the quantile of its values at which the other columns would put the null rows.

    Each other column predicts the rank of this one by its rank correlation; the prediction for the null rows is their
    mean. Nulls that come by chance land in the middle, where they disturb the dependence least.
    """
    nullable = [name for name in names if name in table.numbers and np.isnan(table.numbers[name]).any()]
    if not nullable:
        return {}
    ranks = {name: mid_ranks(_numbers(table, name)) / (table.rows + 1) - 0.5 for name in names if name not in nullable}
    return {name: _null_place(table.numbers[name], list(ranks.values())) for name in nullable}


def _null_place(values: Floats, others: list[Floats]) -> float:
    missing = np.isnan(values)
    if missing.sum() + 2 > len(values):
        return 0.5
    own = mid_ranks(values[~missing]) / (len(values) - missing.sum()) - 0.5
    corr = np.array([pearson(own, other[~missing]) for other in others])
    shift = np.array([other[missing].mean() for other in others])
    return float(np.clip(0.5 + (corr * shift).sum() / max((corr**2).sum(), 1e-9), 0, 1)) if len(corr) else 0.5


def pearson(left: Floats, right: Floats) -> float:
    """Pearson's correlation; 0 with a constant column."""
    return 0.0 if np.ptp(left) == 0 or np.ptp(right) == 0 else float(np.corrcoef(left, right)[0, 1])


def is_discrete(table: ExactTable, name: str, how: Margins) -> bool:
    """Labels are; where margins are smoothed, numbers too of which ranks would tie too often."""
    if not table.schema[name].numeric:
        return True
    _, counts = np.unique(table.codes[name], return_counts=True)
    return how == "smoothed" and (len(counts) <= FEW_VALUES or counts.max() > HEAVY_ATOM * table.rows)


def axis(margin: Margin, order: Ints, null_place: float | None) -> Scale:
    """The cells of a margin end to end in this order, nulls where they belong."""
    if null_place is not None:  # the null code is the last cell
        reach = np.cumsum(margin.mass[:-1]) / max(1 - margin.mass[-1], 1e-12)
        order = np.insert(order[:-1], int(np.searchsorted(reach, null_place)), order[-1])
    edges = np.concatenate([[0.0], np.cumsum(margin.mass[order])])
    return Scale(order=order, edges=np.minimum(edges / edges[-1], 1.0), starts=margin.starts, widths=margin.widths())


def atom_limits(scale: Scale, margin: Margin, codes: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """F(x-) and F(x) of each row, x being its margin cell."""
    place = np.empty(len(scale.order), dtype=np.int64)
    place[scale.order] = np.arange(len(scale.order))
    cell = place[np.searchsorted(margin.starts, codes, side="right") - 1]
    return scale.edges[cell], scale.edges[cell + 1]


def _label_order(codes: NDArray[np.integer], mass: Floats, response: Floats | None) -> Ints:
    if response is None:
        return np.argsort(-mass, kind="stable")
    counts = np.bincount(codes, minlength=len(mass))
    sums = np.bincount(codes, weights=response, minlength=len(mass))
    return np.argsort(np.where(counts > 0, sums / np.maximum(counts, 1), np.inf), kind="stable")


def _numbers(table: ExactTable, name: str) -> Floats:
    """Values in their order; nulls after all others."""
    values = table.numbers.get(name)
    found = table.codes[name].astype(np.float64) if values is None else np.asarray(values, dtype=np.float64)
    return np.where(np.isnan(found), np.inf, found)


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 1, equal values sharing the mean of theirs."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2.0)[where]


def column_margin(schema: Schema, name: str, codes: NDArray[np.integer], how: Margins) -> Margin:
    """The shares of labels and nulls as they are, and those of numbers by sample quantiles, or smoothed.

    Smoothed, a value shared by ten rows or more keeps its share, and the rest is cut into cells of about ten rows,
    uniform inside. The outermost cells reach as far as the mean of their rows suggests (twice the mean excess), so that
    no extreme value shows.
    """
    column = schema[name]
    counts = np.bincount(codes, minlength=column.size).astype(np.float64)
    numbers = column.value_cells if column.numeric else 0
    starts, mass = (_quantile_cells if how == "quantiles" else _cells)(counts[:numbers])
    rest = np.arange(numbers, column.size)
    starts, mass = np.concatenate([starts, rest]), np.concatenate([mass, counts[numbers:]])
    return Margin(column=name, starts=starts, mass=mass, size=column.size)


def _quantile_cells(counts: Floats) -> tuple[Ints, Floats]:
    """Starts and masses of cells such that quantiles are the interpolated ones of the rows.

    Row k of n, by size, is the quantile at (k - 1/3) / (n + 1/3), straight lines between them (type 8 of Hyndman and
    Fan 1996, as TVineSynth's software has it). In units of a row, equal rows put all but one on their code, the way to
    the next code has one, spread evenly from the middle of the one to that of the other, and the ends have 2/3 more.
    """
    seen = np.flatnonzero(counts)
    if not len(seen):
        return np.zeros(min(len(counts), 1), dtype=np.int64), np.zeros(min(len(counts), 1))
    half = 0.5 / np.diff(seen)
    own = counts[seen] - 1 + np.append(half, 2 / 3) + np.append(2 / 3, half)
    places = np.concatenate([[0], seen, seen + 1])
    starts, where = np.unique(places, return_inverse=True)
    mass = np.bincount(where, weights=np.concatenate([[0.0], own, 1 - 2 * half, [0.0]]))
    inside = starts < len(counts)
    rows = counts.sum()
    return starts[inside], mass[inside] * rows / (rows + 1 / 3)


def _cells(counts: Floats) -> tuple[Ints, Floats]:
    """Starts and masses of cells over value codes: frequent codes alone, rare ones in runs of about ten rows."""
    frequent = counts >= ROWS_PER_CELL
    edges = np.flatnonzero(np.diff(np.concatenate([[False], frequent, [False]]).astype(int)) != 0)
    borders = np.unique(np.concatenate([[0], edges, np.flatnonzero(frequent), [len(counts)]]))
    cells: list[tuple[int, float]] = []
    for low, high in pairwise(borders.tolist()):
        cells += [(low, float(counts[low]))] if frequent[low] else _runs(counts, low, high)
    return np.array([start for start, _ in cells], dtype=np.int64), np.array([mass for _, mass in cells])


def _runs(counts: Floats, low: int, high: int) -> list[tuple[int, float]]:
    """The rare codes low..high-1 cut into cells of about ten rows, and what lies outside of the outermost."""
    seen = low + np.flatnonzero(counts[low:high])
    rows = np.repeat(seen, counts[seen].astype(np.int64))
    groups = np.array_split(rows, max(len(rows) // ROWS_PER_CELL, 1))
    inner = [(int(a[-1]) + int(b[0]) + 1) // 2 for a, b in pairwise(groups)]
    cuts = np.unique([low, *inner, high])
    if len(rows) and low == 0:
        cuts = _trim(cuts, groups[0])
    if len(rows) and high == len(counts):
        cuts = -_trim(-cuts[::-1], -1 - groups[-1])[::-1]
    found = np.diff(np.searchsorted(np.clip(rows, cuts[0], cuts[-1] - 1), cuts))
    below = [(low, 0.0)] if cuts[0] > low else []
    above = [(int(cuts[-1]), 0.0)] if cuts[-1] < high else []
    return [*below, *zip(cuts[:-1].tolist(), found.astype(float).tolist(), strict=True), *above]


def _trim(cuts: Ints, outer: Ints) -> Ints:
    """Move the first cut so that the first cell is centred on the mean of its rows."""
    excess = float(cuts[1]) - 0.5 - float(outer.mean())
    moved = int(np.clip(round(float(cuts[1]) - 2 * excess), cuts[0], cuts[1] - 1))
    return np.concatenate([[moved], cuts[1:]])
