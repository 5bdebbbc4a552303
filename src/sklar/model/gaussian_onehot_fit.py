"""Fit the scores of values: correlations from joint probabilities, then what makes them hold in decoded rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sklar.model.gaussian_bivariate import solve_latent_corr
from sklar.model.gaussian_latent import factor_of, latent_blocks
from sklar.model.gaussian_nearest import nearest_correlation
from sklar.model.gaussian_onehot import OneHotModel
from sklar.model.margin import Margin

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEAST_PROBABILITY = 1e-9
ROUGH = 1e-4
"""Accuracy of the nearest correlation matrix: far below the noise, and half the work."""
OFFSET_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Which score belongs to which value.

    Attributes:
        sizes: Number of groups of each column.
        starts: Where the scores of each column start; one more for the end.
        owner: Column of each score.
        value: Group of each score.
    """

    sizes: tuple[int, ...]
    starts: Ints
    owner: Ints
    value: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """How hard to try that decoded rows meet the joint probabilities.

    Attributes:
        rows: Rows simulated in each round.
        rounds: Rounds that compare decoded pairs with their targets and move the correlations.
        sweeps: Rounds that move offsets so that decoded margins hold.
    """

    rows: int = 50_000
    rounds: int = 2
    sweeps: int = 16


def lay_out_scores(sizes: tuple[int, ...]) -> Layout:
    """No score for a column of one group, one for two groups (the second's), else one for each."""
    values = [np.arange(1, 2) if size == 2 else np.arange(size if size > 2 else 0) for size in sizes]
    counts = [len(v) for v in values]
    return Layout(
        sizes=sizes,
        starts=np.cumsum([0, *counts]).astype(np.int64),
        owner=np.repeat(np.arange(len(sizes)), counts),
        value=np.concatenate([np.zeros(0, dtype=np.int64), *values]).astype(np.int64),
    )


def fit_onehot(
    layout: Layout,
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
    wanted = latent_correlations(layout, scores, joint)
    free = layout.owner[:, None] == layout.owner
    corr = nearest_correlation(wanted, free=free, rounds=1, tolerance=ROUGH)
    model = OneHotModel(
        margins=margins,
        groups=groups,
        starts=layout.starts,
        offsets=scores.copy(),
        thresholds=-scores,
        corr=corr,
        rows_estimate=rows_estimate,
    )
    return _decoded(model, layout, p, scores, wanted, free, decoding, rng) if max(layout.sizes) > 2 else model


def latent_correlations(layout: Layout, scores: Floats, joint: Floats) -> Floats:
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


def _decoded(
    model: OneHotModel,
    layout: Layout,
    p: Floats,
    scores: Floats,
    wanted: Floats,
    free: NDArray[np.bool_],
    decoding: Decoding,
    rng: np.random.Generator,
) -> OneHotModel:
    """Move correlations against what decoding does to them, then offsets until the margins hold."""
    aim = wanted.copy()
    model = _with_offsets(model, layout, p, decoding, rng)
    for _ in range(decoding.rounds):
        seen = latent_correlations(layout, scores, _decoded_pairs(model, layout, decoding.rows, rng))
        aim = np.clip(np.where(free, aim, aim + 0.7 * (wanted - seen)), -1.0, 1.0)
        model = replace(model, corr=nearest_correlation(aim, free=free, rounds=1, tolerance=ROUGH))
        model = _with_offsets(model, layout, p, decoding, rng)
    return model


def _with_offsets(
    model: OneHotModel, layout: Layout, p: Floats, decoding: Decoding, rng: np.random.Generator
) -> OneHotModel:
    """Offsets for which the decoded values have the wanted probabilities, on one fixed set of scores."""
    offsets = model.offsets.copy()
    rows = int(np.clip((1 << 24) // max(len(offsets), 1), 5_000, OFFSET_ROWS))
    blocks = [s for _, s in latent_blocks(factor_of(model.corr), rows, rng, balanced=True, entries=1 << 25)]
    sample = np.concatenate(blocks, axis=1)
    for column, size in enumerate(layout.sizes):
        if size > 2:
            at = slice(int(layout.starts[column]), int(layout.starts[column + 1]))
            offsets[at] = _column_offsets(sample[at], offsets[at], p[at], decoding.sweeps)
    return replace(model, offsets=offsets)


def _column_offsets(sample: NDArray[np.float32], offsets: Floats, p: Floats, sweeps: int) -> Floats:
    rows = sample.shape[1]
    found = offsets.copy()
    target = p / p.sum()
    for _ in range(sweeps):
        share = np.bincount(np.argmax(sample + found.astype(np.float32)[:, None], axis=0), minlength=len(p)) / rows
        step = np.log((target + 0.5 / rows) / (share + 0.5 / rows))
        found += 0.5 * np.clip(step, -2.0, 2.0) / np.maximum(np.abs(_normal_scores(np.clip(target, 1e-9, 0.5))), 1.0)
    return found - found.mean()


def _decoded_pairs(model: OneHotModel, layout: Layout, rows: int, rng: np.random.Generator) -> Floats:
    """Joint probabilities of the values of scores in simulated rows."""
    total = np.zeros((len(layout.owner), len(layout.owner)))
    for _, picked in model.group_blocks(rows, rng, balanced=True):
        hot = (picked[layout.owner] == layout.value[:, None]).astype(np.float32)
        total += hot @ hot.T
    return total / rows


def _normal_scores(p: Floats) -> Floats:
    from scipy.special import ndtri  # not at import time: slow to load

    return np.asarray(ndtri(p), dtype=np.float64)
