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
every numeric column continuous, labels in the order of the schema. "smoothed", ours: no rare number is reproduced,
numeric columns with few values are discrete, and labels are sorted."""
MAX_DISCRETE_VALUES = 20
"""Ours: numeric columns with at most this number of different values are discrete: exact, but slower to fit."""
MAX_CONTINUOUS_ATOM = 0.2
"""Ours: numeric columns in which one value, or null, has a larger share are discrete, because most rows tie."""
ROWS_PER_CELL = 10
"""Ours: a base code with at least this number of rows keeps its own mass; others are merged into cells of about this
number of rows. Larger cells reproduce less of the rows and blur more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VineColumns:
    """All columns of a table in the form that a vine is fitted to.

    Attributes:
        u: F(x) of each row in each column; ranks over rows + 1 in continuous columns.
        lower: F(x-); equal to u in continuous columns.
        discrete: Mask of the columns with atoms.
    """

    margins: tuple[Margin, ...]
    scales: tuple[Scale, ...]
    u: Floats
    lower: Floats
    discrete: Mask


def prepare_columns(
    table: ExactTable, names: tuple[str, ...], target: str | None = None, how: Margins = "smoothed"
) -> VineColumns:
    """Compute margins, axes and pseudo-observations of the named columns.

    The nulls of a numeric column are placed between its values where the other columns of their rows predict them. With
    smoothed margins, unordered labels are sorted by the mean rank of the response (by decreasing frequency without
    one), so that neighbours on the axis are similar.
    """
    response = None if target is None else mid_ranks(_put_nulls_last(table, target))
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
        scales.append(lay_out_axis(margin, order, places.get(name)))
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
    """Return ranks over rows + 1 of the known values, shifted by the share of nulls below them on the axis."""
    rows, missing = len(values), int((~known).sum())
    ranks = mid_ranks(values)
    above = np.zeros(rows) if not missing else np.where(low >= low[~known][0], missing, 0)
    return (ranks + above) / (rows + 1)


def null_places(table: ExactTable, names: tuple[str, ...]) -> dict[str, float]:
    """Predict for each numeric column with nulls the quantile of its values at which to place them.

    Each other column predicts the rank of this one by its rank correlation; the predictions for the null rows are
    averaged. Nulls at random land in the middle, where they disturb the dependence least.
    """
    nullable = [name for name in names if name in table.numbers and np.isnan(table.numbers[name]).any()]
    if not nullable:
        return {}
    others = [_put_nulls_last(table, name) for name in names if name not in nullable]
    ranks = [mid_ranks(values) / (table.rows + 1) - 0.5 for values in others]
    return {name: _null_place(table.numbers[name], ranks) for name in nullable}


def _null_place(values: Floats, others: list[Floats]) -> float:
    missing = np.isnan(values)
    if missing.sum() + 2 > len(values):
        return 0.5
    own = mid_ranks(values[~missing]) / (len(values) - missing.sum()) - 0.5
    corr = np.array([pearson(own, other[~missing]) for other in others])
    shift = np.array([other[missing].mean() for other in others])
    return float(np.clip(0.5 + (corr * shift).sum() / max((corr**2).sum(), 1e-9), 0, 1)) if len(corr) else 0.5


def pearson(left: Floats, right: Floats) -> float:
    """Return Pearson's correlation; 0 with a constant column."""
    return 0.0 if np.ptp(left) == 0 or np.ptp(right) == 0 else float(np.corrcoef(left, right)[0, 1])


def is_discrete(table: ExactTable, name: str, how: Margins) -> bool:
    """Check whether a column is discrete: labels, and with smoothed margins numbers with many ties."""
    if not table.schema[name].numeric:
        return True
    _, counts = np.unique(table.codes[name], return_counts=True)
    return how == "smoothed" and (len(counts) <= MAX_DISCRETE_VALUES or counts.max() > MAX_CONTINUOUS_ATOM * table.rows)


def lay_out_axis(margin: Margin, order: Ints, null_place: float | None) -> Scale:
    """Lay out the cells of a margin in this order, with nulls at the given quantile."""
    if null_place is not None:  # the null code is the last cell
        reach = np.cumsum(margin.mass[:-1]) / max(1 - margin.mass[-1], 1e-12)
        order = np.insert(order[:-1], int(np.searchsorted(reach, null_place)), order[-1])
    edges = np.concatenate([[0.0], np.cumsum(margin.mass[order])])
    return Scale(order=order, edges=np.minimum(edges / edges[-1], 1.0), starts=margin.starts, widths=margin.widths())


def atom_limits(scale: Scale, margin: Margin, codes: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """Return F(x-) and F(x) of each row, where x is its margin cell."""
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


def _put_nulls_last(table: ExactTable, name: str) -> Floats:
    values = np.asarray(table.numbers.get(name, table.codes[name]), dtype=np.float64)
    return np.where(np.isnan(values), np.inf, values)


def mid_ranks(values: Floats) -> Floats:
    """Return ranks from 1; ties share their mean rank. (Importing scipy.stats takes longer than a small fit.)"""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2.0)[where]


def column_margin(schema: Schema, name: str, codes: NDArray[np.integer], how: Margins) -> Margin:
    """Estimate a margin: observed shares for labels and nulls, sample quantiles or smoothed cells for numbers.

    With smoothing, a value with ten rows or more keeps its share, and the rest is cut into cells of about ten rows,
    uniform inside. The outermost cells extend to twice the mean excess of their rows, so that no extreme value is
    reproduced.
    """
    column = schema[name]
    counts = np.bincount(codes, minlength=column.size).astype(np.float64)
    numbers = column.value_cells if column.numeric else 0
    starts, mass = (_quantile_cells if how == "quantiles" else _smoothed_cells)(counts[:numbers])
    rest = np.arange(numbers, column.size)
    starts, mass = np.concatenate([starts, rest]), np.concatenate([mass, counts[numbers:]])
    return Margin(column=name, starts=starts, mass=mass, size=column.size)


def _quantile_cells(counts: Floats) -> tuple[Ints, Floats]:
    """Return starts and masses of cells whose quantiles are the interpolated sample quantiles.

    The k-th smallest of n rows is the quantile at (k - 1/3) / (n + 1/3), with linear interpolation between them (type 8
    of Hyndman and Fan 1996, as in TVineSynth's software). In units of a row, equal rows put all but one on their code;
    the interval to the next code has one, spread evenly from middle to middle; and the ends have 2/3 more.
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


def _smoothed_cells(counts: Floats) -> tuple[Ints, Floats]:
    """Return starts and masses of cells over value codes: frequent codes alone, rare ones merged to about ten rows."""
    frequent = counts >= ROWS_PER_CELL
    edges = np.flatnonzero(np.diff(np.concatenate([[False], frequent, [False]]).astype(int)) != 0)
    borders = np.unique(np.concatenate([[0], edges, np.flatnonzero(frequent), [len(counts)]]))
    cells: list[tuple[int, float]] = []
    for low, high in pairwise(borders.tolist()):
        cells += [(low, float(counts[low]))] if frequent[low] else _merge_rare_codes(counts, low, high)
    return np.array([start for start, _ in cells], dtype=np.int64), np.array([mass for _, mass in cells])


def _merge_rare_codes(counts: Floats, low: int, high: int) -> list[tuple[int, float]]:
    """Cut the rare codes low..high-1 into cells of about ten rows, with empty cells outside the outermost."""
    seen = low + np.flatnonzero(counts[low:high])
    rows = np.repeat(seen, counts[seen].astype(np.int64))
    groups = np.array_split(rows, max(len(rows) // ROWS_PER_CELL, 1))
    inner = [(int(a[-1]) + int(b[0]) + 1) // 2 for a, b in pairwise(groups)]
    cuts = np.unique([low, *inner, high])
    if len(rows) and low == 0:
        cuts = _trim_first_cell(cuts, groups[0])
    if len(rows) and high == len(counts):
        cuts = -_trim_first_cell(-cuts[::-1], -1 - groups[-1])[::-1]
    found = np.diff(np.searchsorted(np.clip(rows, cuts[0], cuts[-1] - 1), cuts))
    below = [(low, 0.0)] if cuts[0] > low else []
    above = [(int(cuts[-1]), 0.0)] if cuts[-1] < high else []
    return [*below, *zip(cuts[:-1].tolist(), found.astype(float).tolist(), strict=True), *above]


def _trim_first_cell(cuts: Ints, outer: Ints) -> Ints:
    """Move the first cut so that the first cell is centred on the mean of its rows."""
    excess = float(cuts[1]) - 0.5 - float(outer.mean())
    moved = int(np.clip(round(float(cuts[1]) - 2 * excess), cuts[0], cuts[1] - 1))
    return np.concatenate([[moved], cuts[1:]])
