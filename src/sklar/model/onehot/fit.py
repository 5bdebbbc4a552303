"""Fit the scores of values: correlations from joint probabilities, then what makes them hold in decoded rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sklar.model.correlation.bivariate import solve_latent_corr
from sklar.model.correlation.nearest import nearest_correlation
from sklar.model.margins.margin import Margin
from sklar.model.onehot.decoding import ROUGH, Decoding, fit_decoding, score_weights
from sklar.model.onehot.model import OneHotModel, ScoreLayout

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEAST_PROBABILITY = 1e-9


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
    """The model behind given probabilities of values and of pairs of values.

    Args:
        layout: Which score belongs to which value.
        probabilities: Probability of each score's value.
        joint: Joint probability of the values of two scores; entries of two scores of one column are not used.
        margins: Margins over base codes.
        groups: First base code of every group, for each column.
        rows_estimate: Number of rows.
        decoding: How hard to try.
        rng: Source of randomness for the simulated rounds.
    """
    p = np.clip(probabilities, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    scores = _normal_scores(p)
    if decoding.weighted:
        wanted, free = latent_correlations(layout, scores, joint), layout.owner[:, None] == layout.owner
        corr = nearest_correlation(wanted, free=free, rounds=1, tolerance=ROUGH, weights=score_weights(scores))
    else:
        corr = nearest_correlation(plain_correlations(layout, p, scores, joint), tolerance=ROUGH)
    model = onehot_model(layout, p, corr, margins, groups, rows_estimate)
    return fit_decoding(model, layout, p, joint, decoding, rng) if max(layout.sizes) > 2 else model


def onehot_model(
    layout: ScoreLayout,
    p: Floats,
    corr: Floats,
    margins: tuple[Margin, ...],
    groups: tuple[Ints, ...],
    rows_estimate: int,
) -> OneHotModel:
    """The model with these correlations; offsets are those of columns of two groups."""
    scores = _normal_scores(np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY))
    return OneHotModel(
        margins=margins,
        groups=groups,
        starts=layout.starts,
        offsets=scores.copy(),
        thresholds=-scores,
        corr=corr,
        rows_estimate=rows_estimate,
    )


def latent_correlations(layout: ScoreLayout, scores: Floats, joint: Floats) -> Floats:
    """Correlations of scores of different columns; inside a column of A groups -1/(A - 1), which sums to nothing."""
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
    """Correlations of all scores as in the paper: also of values of one column, whose joint probability is 0.

    A value without rows, or with all of them, tells nothing and is correlated with none.
    """
    matrix = np.eye(len(scores))
    telling = np.flatnonzero((p > LEAST_PROBABILITY) & (p < 1 - LEAST_PROBABILITY))
    first, second = (telling[at] for at in np.triu_indices(len(telling), 1))
    both = np.where(layout.owner[first] == layout.owner[second], 0.0, joint[first, second])
    matrix[first, second] = solve_latent_corr(scores[first], scores[second], both)
    return matrix + np.triu(matrix, 1).T


def _normal_scores(p: Floats) -> Floats:
    from scipy.special import ndtri  # not at import time: slow to load

    return np.asarray(ndtri(p), dtype=np.float64)
