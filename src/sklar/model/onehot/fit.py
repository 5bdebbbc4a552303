"""Fit the scores of values: noisy tables made to agree, correlations from joint probabilities, then what makes them
hold in decoded rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.model.correlation.bivariate import solve_latent_corr
from sklar.model.correlation.nearest import nearest_correlation
from sklar.model.margins.margin import Margin
from sklar.model.margins.transforms import project_to_simplex
from sklar.model.onehot.decoding import NEAREST_MATRIX_TOLERANCE, Decoding, fit_decoding, score_weights
from sklar.model.onehot.model import OneHotModel, ScoreLayout

MIN_PROBABILITY = 1e-9
"""Probabilities are kept this far from 0 and 1, so that normal scores stay finite."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairBatch:
    """All noisy tables of one shape: the columns of each pair, and counts (pairs, groups of first, of second)."""

    first: Ints
    second: Ints
    tables: Floats


def batches_of(sizes: tuple[int, ...], counts: Ints) -> Iterator[PairBatch]:
    """Yield tables that lie one after the other, (0, 1), (0, 2), ..., gathered by shape."""
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
    histograms: list[Floats],
    sizes: tuple[int, ...],
    counts: Ints,
    rows: float | None,
    summed: Sequence[Floats] | None = None,
) -> tuple[list[Floats], float]:
    """Return probabilities of the groups of each column, and the number of rows.

    All cells carry noise of one variance. A histogram's count has it once (or as often as `summed` says, if it is a sum
    of released counts), a count summed out of a pair's table once for each group of the other column: the two
    kinds are averaged by inverse variance. What remains is projected on the probabilities. Without a public number of
    rows, totals are averaged in the same way.
    """
    often = [np.ones(size) for size in sizes] if summed is None else summed
    weight = np.ones(len(sizes))
    total = [histogram / times for histogram, times in zip(histograms, often, strict=True)]
    whole, precision = 0.0, 0.0
    for histogram, times in zip(histograms, often, strict=True):
        whole, precision = whole + histogram.sum() / times.sum(), precision + 1.0 / times.sum()
    for batch in batches_of(sizes, counts):
        a, b = batch.tables.shape[1:]
        rowsums, colsums = batch.tables.sum(axis=2), batch.tables.sum(axis=1)
        for column, sums, other in ((batch.first, rowsums, b), (batch.second, colsums, a)):
            np.add.at(weight, column, 1.0 / other)
            _add_lines(total, column, sums / other)
        whole, precision = whole + float(batch.tables.sum()) / (a * b), precision + len(batch.tables) / (a * b)
    found = rows if rows is not None else max(whole / precision, 1.0)
    weights = [w + (1.0 / times - 1.0) for w, times in zip(weight, often, strict=True)]
    return [project_to_simplex(t / w, found) for t, w in zip(total, weights, strict=True)], float(found)


def _add_lines(total: list[Floats], column: Ints, lines: Floats) -> None:
    """Add each line to the vector of its column."""
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    for at, sums in zip(starts, np.add.reduceat(lines[order], starts, axis=0), strict=True):
        total[int(ordered[at])] += sums


def consistent_tables(batch: PairBatch, margins: list[Floats], rows: float) -> Floats:
    """Return the joint probabilities nearest (in L2) to the noisy tables among those, of any sign, that have the given
    margins."""
    noisy = batch.tables / rows
    left = np.stack([margins[j] for j in batch.first])
    right = np.stack([margins[k] for k in batch.second])
    a, b = noisy.shape[1:]
    row_gap = left - noisy.sum(axis=2)
    column_gap = right - noisy.sum(axis=1)
    whole_gap = 1.0 - noisy.sum(axis=(1, 2))
    return noisy + row_gap[:, :, None] / b + column_gap[:, None, :] / a - whole_gap[:, None, None] / (a * b)


def shrunk_excess(tables: Floats, left: Floats, right: Floats, cell_std: float, strength: float) -> Floats:
    """Return the joint probabilities whose excess over independence is drawn to 0 where the noise may have made it.

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


def fit_onehot(
    layout: ScoreLayout,
    probabilities: Floats,
    joint: Floats,
    margins: tuple[Margin, ...],
    groups: tuple[Ints, ...],
    rows_estimate: int,
    decoding: Decoding,
    rng: np.random.Generator,
) -> OneHotModel:
    """Return the model behind given probabilities of values and of pairs of values.

    Args:
        probabilities: Probability of each score's value.
        joint: Joint probability of the values of two scores; entries of two scores of one column are not used.
        groups: First base code of every group, for each column.
    """
    p = np.clip(probabilities, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    scores = _normal_scores(p)
    if decoding.weighted:
        wanted, free = latent_correlations(layout, scores, joint), layout.owner[:, None] == layout.owner
        corr = nearest_correlation(
            wanted, free=free, rounds=1, tolerance=NEAREST_MATRIX_TOLERANCE, weights=score_weights(scores)
        )
    else:
        corr = nearest_correlation(plain_correlations(layout, p, scores, joint), tolerance=NEAREST_MATRIX_TOLERANCE)
    model = onehot_model(layout, p, corr, margins, groups, rows_estimate)
    return fit_decoding(model, layout, p, joint, decoding, rng) if max(layout.sizes) > 2 else model


def onehot_model(
    layout: ScoreLayout, p: Floats, corr: Floats, margins: tuple[Margin, ...], groups: tuple[Ints, ...], rows: int
) -> OneHotModel:
    """Return the model with these correlations; offsets are those of columns of two groups."""
    scores = _normal_scores(np.clip(p, MIN_PROBABILITY, 1 - MIN_PROBABILITY))
    return OneHotModel(
        margins=margins,
        groups=groups,
        starts=layout.starts,
        offsets=scores.copy(),
        thresholds=-scores,
        corr=corr,
        rows_estimate=rows,
    )


def latent_correlations(layout: ScoreLayout, scores: Floats, joint: Floats) -> Floats:
    """Return correlations of scores of different columns; inside a column of A groups -1/(A - 1), which sums to
    nothing."""
    matrix = np.eye(len(scores))
    first, second = np.triu_indices(len(scores), 1)
    apart = layout.owner[first] != layout.owner[second]
    first, second = first[apart], second[apart]
    matrix[first, second] = solve_latent_corr(scores[first], scores[second], joint[first, second])
    matrix = matrix + np.triu(matrix, 1).T
    for low, high in pairwise(layout.starts.tolist()):
        if high - low > 1:
            matrix[low:high, low:high] = -1.0 / (high - low - 1)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def plain_correlations(layout: ScoreLayout, p: Floats, scores: Floats, joint: Floats) -> Floats:
    """Return correlations of all scores as in the paper: also of values of one column, whose joint probability is 0.

    A value without rows, or with all of them, says nothing and is correlated with none.
    """
    matrix = np.eye(len(scores))
    usable = np.flatnonzero((p > MIN_PROBABILITY) & (p < 1 - MIN_PROBABILITY))
    first, second = (usable[at] for at in np.triu_indices(len(usable), 1))
    both = np.where(layout.owner[first] == layout.owner[second], 0.0, joint[first, second])
    matrix[first, second] = solve_latent_corr(scores[first], scores[second], both)
    return matrix + np.triu(matrix, 1).T


def _normal_scores(p: Floats) -> Floats:
    from scipy.special import ndtri  # not at import time: slow to load

    return np.asarray(ndtri(p), dtype=np.float64)
