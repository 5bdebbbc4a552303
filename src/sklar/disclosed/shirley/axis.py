"""One variable of a vine as ranks: those of the rows, and those of rows that would be drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.disclosed.shirley.steps import Steps

Floats = NDArray[np.float64]
CELLS = 128
"""Cells of the unit interval over which correlations of copulas are summed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankAxis:
    """A variable cut into cells none of which crosses the border of a level.

    Attributes:
        rows: Mid-ranks of the rows.
        points: Middle of each cell.
        weights: Width of each cell.
        borders: Where one cell ends and the next begins, 0 and 1 left out.
        firsts: Position of the first cell of each level.
    """

    rows: Floats
    points: Floats
    weights: Floats
    borders: Floats
    firsts: NDArray[np.int64]


def rank_axis(steps: Steps, column: int) -> RankAxis:
    """The axis of one variable. With many levels, every cell stands for one."""
    lower = steps.lower[:, column]
    starts = np.unique(lower)
    edges = np.linspace(0.0, 1.0, CELLS + 1)
    firsts = np.arange(CELLS)
    if len(starts) <= CELLS:
        starts = np.unique(np.concatenate([[0.0], starts[starts < 1.0]]))
        edges = np.unique(np.concatenate([edges, starts]))
        firsts = np.searchsorted(edges, starts)
    points, weights = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    return RankAxis(rows=mid_ranks(lower), points=points, weights=weights, borders=edges[1:-1], firsts=firsts)


def table_correlation(table: Floats) -> float:
    """Spearman's correlation of a table of probabilities, ranks in the middle of each line and column."""
    lines, columns = table.sum(axis=1), table.sum(axis=0)
    one, two = np.cumsum(lines) - lines / 2, np.cumsum(columns) - columns / 2
    one, two = one - lines @ one / lines.sum(), two - columns @ two / columns.sum()
    scale = float(np.sqrt((lines @ one**2) * (columns @ two**2)))
    return float(one @ table @ two) / scale if scale > 0 else float("nan")


def correlation(left: Floats, right: Floats) -> float:
    """Pearson's correlation; NaN if one side is constant."""
    left, right = left - left.mean(), right - right.mean()
    scale = float(np.sqrt((left @ left) * (right @ right)))
    return float(left @ right) / scale if scale > 0 else float("nan")


def mid_ranks(values: Floats) -> Floats:
    """Ranks, equal values sharing the mean of theirs."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2.0)[where]
