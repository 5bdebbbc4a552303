"""From noisy histograms and noisy tables of all pairs to margins and joint probabilities that agree with each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.model.margins.transforms import project_to_simplex

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairBatch:
    """All noisy tables of one shape.

    Attributes:
        first: First column of each pair.
        second: Second column of each pair.
        tables: Noisy counts, (pairs, groups of the first, groups of the second).
    """

    first: Ints
    second: Ints
    tables: Floats


def batches_of(sizes: tuple[int, ...], counts: NDArray[np.int64]) -> Iterator[PairBatch]:
    """Tables that lie one after the other, (0, 1), (0, 2), ..., gathered by shape."""
    first, second = np.triu_indices(len(sizes), 1)
    groups = np.array(sizes, dtype=np.int64)
    cells = groups[first] * groups[second]
    start = np.cumsum(cells) - cells
    shape = groups[first] * (int(groups.max(initial=1)) + 1) + groups[second]
    for key in np.unique(shape):
        at = np.flatnonzero(shape == key)
        a, b = int(groups[first[at[0]]]), int(groups[second[at[0]]])
        tables = counts[start[at][:, None] + np.arange(a * b)].astype(np.float64).reshape(-1, a, b)
        yield PairBatch(first=first[at], second=second[at], tables=tables)


def combined_margins(
    histograms: list[Floats], sizes: tuple[int, ...], counts: NDArray[np.int64], rows: float | None
) -> tuple[list[Floats], float]:
    """Probabilities of the groups of each column, and the number of rows.

    All cells carry noise of one variance. A histogram's count has it once, a count summed out of a pair's table as many
    times as the other column has groups: the two kinds are averaged by inverse variance. What remains is projected on
    the probabilities. Without a public number of rows, totals are averaged likewise.
    """
    weight = np.ones(len(sizes))
    total = [histogram.astype(np.float64).copy() for histogram in histograms]
    whole, precision = 0.0, 0.0
    for histogram in histograms:
        whole, precision = whole + histogram.sum() / len(histogram), precision + 1.0 / len(histogram)
    for batch in batches_of(sizes, counts):
        a, b = batch.tables.shape[1:]
        rowsums, colsums = batch.tables.sum(axis=2), batch.tables.sum(axis=1)
        for column, sums, other in ((batch.first, rowsums, b), (batch.second, colsums, a)):
            np.add.at(weight, column, 1.0 / other)
            _add_lines(total, column, sums / other)
        whole, precision = whole + float(batch.tables.sum()) / (a * b), precision + len(batch.tables) / (a * b)
    found = rows if rows is not None else max(whole / precision, 1.0)
    return [project_to_simplex(t / w, found) for t, w in zip(total, weight, strict=True)], float(found)


def _add_lines(total: list[Floats], column: Ints, lines: Floats) -> None:
    """Add each line to the vector of its column."""
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    for at, sums in zip(starts, np.add.reduceat(lines[order], starts, axis=0), strict=True):
        total[int(ordered[at])] += sums


def consistent_tables(batch: PairBatch, margins: list[Floats], rows: float) -> Floats:
    """Joint probabilities nearest (in L2) to the noisy tables among those, of any sign, that have the given margins."""
    noisy = batch.tables / rows
    left = np.stack([margins[j] for j in batch.first])
    right = np.stack([margins[k] for k in batch.second])
    a, b = noisy.shape[1:]
    row_gap = left - noisy.sum(axis=2)
    column_gap = right - noisy.sum(axis=1)
    whole_gap = 1.0 - noisy.sum(axis=(1, 2))
    return noisy + row_gap[:, :, None] / b + column_gap[:, None, :] / a - whole_gap[:, None, None] / (a * b)


def shrunk_excess(tables: Floats, left: Floats, right: Floats, cell_std: float, strength: float) -> Floats:
    """Joint probabilities whose excess over independence is drawn to 0 where the noise may have made it.

    excess (1 - (strength std / excess)^2)_+, the positive-part rule of James and Stein for each cell, with the noise
    that is left after the margins were met: std sqrt((1 - 1/A) (1 - 1/B)).
    """
    a, b = tables.shape[1:]
    std = strength * cell_std * np.sqrt((1 - 1 / a) * (1 - 1 / b))
    independent = left[:, :, None] * right[:, None, :]
    excess = tables - independent
    with np.errstate(divide="ignore", invalid="ignore"):
        keep = np.where(excess != 0, np.maximum(1 - (std / excess) ** 2, 0.0), 0.0)
    return independent + keep * excess
