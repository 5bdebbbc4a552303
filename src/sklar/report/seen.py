"""Text alternatives of charts that compare two tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MIN_VISIBLE_DIFFERENCE = 0.005
"""Shares of rows that differ by less than this are described as equal."""
Grid = Sequence[Sequence[float]]


def numbers_seen(labels: Sequence[str], real: Sequence[float], synthetic: Sequence[float]) -> str:
    """Describe the peaks of both tables along an axis, and the range in which they differ most.

    Args:
        labels: Label of each cell, from left to right.
        real: Share of the real rows in each cell.
        synthetic: Share of the synthetic rows in each cell.
    """
    if not labels or not max([*real, *synthetic]) > 0:
        return "there are no values"
    tops = [int(np.argmax(shares)) for shares in (real, synthetic)]
    if abs(tops[0] - tops[1]) <= 1:
        peak = f"both peak at {labels[tops[0]]}"
    else:
        peak = f"real peaks at {labels[tops[0]]}, synthetic at {labels[tops[1]]}"
    first, last, gap = widest_gap(np.subtract(synthetic, real).tolist())
    if abs(gap) < MIN_VISIBLE_DIFFERENCE:
        return f"{peak}; no stretch differs by half a point"
    return f"{peak}; synthetic is {_format_points(gap)} {_stretch(labels, first, last)}"


def labels_seen(labels: Sequence[str], real: Sequence[float], synthetic: Sequence[float]) -> str:
    """Describe the most frequent label of both tables, and the one with the largest difference."""
    if not labels or not max([*real, *synthetic]) > 0:
        return "there are no values"
    one, two = (int(np.argmax(shares)) for shares in (real, synthetic))
    most = f"most frequent in both is {labels[one]} ({real[one]:.1%} real, {synthetic[one]:.1%} synthetic)"
    if one != two:
        most = f"most frequent is {labels[one]} in the real table, {labels[two]} in the synthetic one"
    differences = np.subtract(synthetic, real)
    far = int(np.argmax(np.abs(differences)))
    if abs(differences[far]) < MIN_VISIBLE_DIFFERENCE:
        return f"{most}; no label differs by half a point"
    return f"{most}; furthest off is {labels[far]}, synthetic {_format_points(float(differences[far]))}"


def pair_seen(labels: tuple[Sequence[str], Sequence[str]], real: Grid, synthetic: Grid) -> str:
    """Describe the densest cells of both tables, and the share of rows that would have to move."""
    one, two = np.asarray(real), np.asarray(synthetic)
    if not one.size or not max(one.max(), two.max()) > 0:
        return "there are no values"
    cells = [divmod(int(np.argmax(shares)), shares.shape[1]) for shares in (one, two)]
    named = [f"{labels[0][i]} and {labels[1][j]}" for i, j in cells]
    most = f"real is densest at {named[0]}, synthetic at {named[1]}"
    if named[0] == named[1]:
        most = f"both are densest at {named[0]}"
    return f"{most}; {np.abs(one - two).sum() / 2:.1%} of the synthetic rows would have to move"


def correlations_seen(columns: Sequence[str], real: Grid, synthetic: Grid) -> str:
    """Describe the strongest pair, and the one whose correlation differs most."""
    one, two = (np.triu(np.nan_to_num(np.asarray(matrix, dtype=float)), 1) for matrix in (real, synthetic))
    if len(columns) < 2:
        return "there are no two columns"

    def describe(at: int) -> str:
        i, j = divmod(at, len(columns))
        return f"{columns[i]} and {columns[j]}, {one[i, j]:.2f} real and {two[i, j]:.2f} synthetic"

    return (
        f"strongest: {describe(int(np.abs(one).argmax()))}; furthest off: {describe(int(np.abs(two - one).argmax()))}"
    )


def widest_gap(differences: Sequence[float]) -> tuple[int, int, float]:
    """Return first and last cell of the run with the largest sum of differences of one sign, and that sum."""
    best = (0, 0, 0.0)
    for sign in (1.0, -1.0):
        start, total = 0, 0.0
        for at, gap in enumerate(differences):
            if total <= 0:
                start, total = at, 0.0
            total += sign * gap
            if total > abs(best[2]) + 1e-12:
                best = (start, at, sign * total)
    return best


def _format_points(gap: float) -> str:
    return f"{abs(gap) * 100:.1f} points {'higher' if gap > 0 else 'lower'}"


def _stretch(labels: Sequence[str], first: int, last: int) -> str:
    """Describe a run of cells by its ends, or by the other end if it reaches an end of the axis."""
    start, end = labels[first].partition(" to ")[0], labels[last].rpartition(" to ")[2]
    if first == 0 and last == len(labels) - 1:
        return "over all values"
    if first == last and " to " not in labels[first]:
        return f"at {start}"
    if last == len(labels) - 1:
        return f"from {start} on"
    return f"up to {end}" if first == 0 else f"from {start} to {end}"
