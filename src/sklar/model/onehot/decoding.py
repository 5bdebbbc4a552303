"""Rounds that set the correlations of scores against what decoding does to pairs of values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats
from sklar.model.correlation.bivariate import bivariate_normal_density
from sklar.model.correlation.nearest import nearest_correlation
from sklar.model.correlation.normals import factor_of, latent_blocks
from sklar.model.onehot.model import OneHotModel, ScoreLayout, picked_groups

Singles = NDArray[np.float32]
Groups32 = NDArray[np.int32]
NEAREST_MATRIX_TOLERANCE = 1e-4
"""Accuracy of the nearest correlation matrix: far below the noise, and half the work."""
MAX_SIMULATED_ENTRIES = 1 << 25
"""Numbers in the scores that are simulated at once (128 MB)."""
MIN_SIMULATED_ROWS = 10_000
"""Rows that are simulated at once at least, however many scores there are."""
INITIAL_CORRELATION_ERROR = 0.1
"""How far correlations are off when the rounds start: what chance puts into a simulated pair counts against this."""
MAX_CORRELATION_STEP = 0.5
"""Largest change of a correlation in one round: slopes are those of small changes."""
MAX_NEWTON_STEPS = 40
"""Newton steps for the offsets of a column."""
SLOPE_ROW_SHARE = 0.25
"""The slope of a share is read off this part of the rows, those with the closest decisions."""
SPREAD_ROWS = 2_000
"""Rows that show how far scores of one row differ."""
RELATIVE_SHARE_TOLERANCE = 0.1
"""Shares are met once they are off by this part of what chance alone puts between them and the model's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """How hard to try that decoded rows meet the joint probabilities.

    Attributes:
        rows: Rows simulated in each round.
        rounds: Rounds that compare decoded pairs with their targets and move the correlations.
        last_rows: Rows simulated for the last offsets, which decide the margins.
        weighted: Whether correlation matrices are near if the probabilities of pairs are (see `score_weights`). If not,
            all correlations count equally, those of two values of one column included, as in the paper.
    """

    rows: int = 50_000
    rounds: int = 3
    last_rows: int = 100_000
    weighted: bool = True


def fit_decoding(
    model: OneHotModel, layout: ScoreLayout, p: Floats, joint: Floats, decoding: Decoding, rng: np.random.Generator
) -> OneHotModel:
    """Return correlations for which decoded pairs come near the joint probabilities, and offsets for which margins
    hold.

    Minimizes sum (decoded - wanted)^2 over pairs of values of different columns by projected Gauss-Newton steps. One
    correlation moves its own pair, by about the density of the bivariate normal at the two thresholds, so a step is
    gap / density; the projection is the nearest correlation matrix in the norm in which these steps are measured (see
    `score_weights`). Decoded pairs are simulated with fresh rows every round, so steps shrink as 1 / (1 + t / 2)
    (stochastic approximation; Robbins and Monro 1951): errors of chance are averaged over the rounds, not followed.
    """
    free = layout.owner[:, None] == layout.owner
    weights = score_weights(-model.thresholds) if decoding.weighted else None
    for t in range(decoding.rounds):
        scores = _simulate_scores(model, decoding.rows, rng)
        model = _with_offsets(model, layout, p, scores)
        move = _move(model, joint, _decoded_pairs(model, layout, scores), scores.shape[1])
        aim = model.corr + np.where(free, 0.0, move / (1 + t / 2))
        model = replace(model, corr=nearest_correlation(aim, tolerance=NEAREST_MATRIX_TOLERANCE, weights=weights))
    return _with_offsets(model, layout, p, _simulate_scores(model, decoding.last_rows, rng))


def score_weights(scores: Floats) -> Floats:
    """Change of probability by a correlation of each score: the normal density at its threshold.

    The derivative of Phi2(h, k; r) by r is the bivariate density at (h, k), phi(h) phi(k) at r = 0. Weighing lines of a
    correlation matrix by phi therefore measures its distances in probabilities of pairs. Without weights, values that
    hardly occur, whose correlations are anything between -1 and 1 for a row of noise, would bend those of all others.
    """
    return np.exp(-scores * scores / 2)


def _move(model: OneHotModel, wanted: Floats, seen: Floats, rows: int) -> Floats:
    """By how much correlations should change: (wanted - seen) / slope, less where chance made much of it."""
    scores = -model.thresholds
    slope = bivariate_normal_density(scores[:, None], scores, np.clip(model.corr, -0.99, 0.99))
    slope = np.maximum(slope, bivariate_normal_density(scores[:, None], scores, 0.0))
    chance = np.maximum(np.maximum(wanted, seen), 1.0 / rows) / rows / slope**2
    trust = INITIAL_CORRELATION_ERROR**2 / (INITIAL_CORRELATION_ERROR**2 + chance)
    return np.clip(trust * (wanted - seen) / slope, -MAX_CORRELATION_STEP, MAX_CORRELATION_STEP)


def _simulate_scores(model: OneHotModel, rows: int, rng: np.random.Generator) -> Singles:
    most = max(MIN_SIMULATED_ROWS, MAX_SIMULATED_ENTRIES // max(len(model.corr), 1))
    blocks = latent_blocks(factor_of(model.corr), min(rows, most), rng, balanced=True, entries=MAX_SIMULATED_ENTRIES)
    return np.concatenate([scores for _, scores in blocks], axis=1)


def _with_offsets(model: OneHotModel, layout: ScoreLayout, p: Floats, scores: Singles) -> OneHotModel:
    """Return offsets for which the decoded values have the wanted probabilities on these scores."""
    offsets = model.offsets.copy()
    for column, size in enumerate(layout.sizes):
        if size > 2:
            at = slice(int(layout.starts[column]), int(layout.starts[column + 1]))
            offsets[at] = fit_offsets(scores[at], offsets[at], p[at] / p[at].sum())
    return replace(model, offsets=offsets)


def _decoded_pairs(model: OneHotModel, layout: ScoreLayout, scores: Singles) -> Floats:
    """Return joint probabilities of the values of scores in decoded rows."""
    picked = picked_groups(scores, model.offsets.astype(np.float32), layout.starts, list(layout.sizes))
    hot = (picked[layout.owner] == layout.value[:, None]).astype(np.float32)
    return (hot @ hot.T).astype(np.float64) / scores.shape[1]


def fit_offsets(sample: Singles, start: Floats, target: Floats) -> Floats:
    """Return offsets o for which argmax_i (s_i + o_i) is i for a share target_i of the rows.

    They maximize the concave function target'o - mean max_i (s_i + o_i), whose gradient is target minus shares
    (semi-discrete optimal transport; Merigot 2011). Newton steps: the derivative of share i by o_j is minus the density
    of rows at the border between i and j, which the rows near it show. A step that does not bring the shares nearer is
    shortened. The sample has one line for each group (at least two) and one column for each row (at least one).
    """
    rows = sample.shape[1]
    enough = RELATIVE_SHARE_TOLERANCE * float(np.sqrt(target / rows).sum())
    apart = sample[:, :SPREAD_ROWS] - sample[:, :SPREAD_ROWS].mean(axis=0)
    largest = max(float(np.sqrt((apart**2).mean())), 1e-9)  # offsets are as large as scores of one row differ
    # A start for scores that differ by about 1 is of no use where they hardly differ.
    offsets = min((start, largest * start), key=lambda given: float(np.abs(_shortfall(sample, given, target)).sum()))
    best, least, step, radius = offsets, np.inf, np.zeros(len(start)), largest
    for _ in range(MAX_NEWTON_STEPS):
        first, second, gap = _leaders(sample, offsets)
        short = target - np.bincount(first, minlength=len(target)) / rows
        error = float(np.abs(short).sum())
        if error < least:
            best, least, radius = offsets, error, min(2 * radius, largest)
            # The ridge moves a group that no row is near to, until one is.
            step = np.linalg.solve(_slopes(first, second, gap, len(target)) + np.diag(0.02 * target + 1 / rows), short)
        else:
            radius /= 4
        if least <= enough or radius < 1e-4 * largest:
            break
        offsets = best + step * min(1.0, radius / max(float(np.abs(step).max()), 1e-300))
    return best - best.mean()


def _shortfall(sample: Singles, offsets: Floats, target: Floats) -> Floats:
    first, _, _ = _leaders(sample[:, :SPREAD_ROWS], offsets)
    return target - np.bincount(first, minlength=len(target)) / len(first)


def _leaders(sample: Singles, offsets: Floats) -> tuple[Groups32, Groups32, Singles]:
    """Return the group with the largest sum of score and offset in every row, the one behind it, and by how much."""
    from sklar.model.kernels import find_two_best_groups  # not at import time: numba is slow to load

    rows = sample.shape[1]
    first, second, gap = np.empty(rows, np.int32), np.empty(rows, np.int32), np.empty(rows, np.float32)
    find_two_best_groups(sample, offsets.astype(np.float32), first, second, gap)
    return first, second, gap


def _slopes(first: Groups32, second: Groups32, gap: Singles, size: int) -> Floats:
    """Return derivatives of shares by offsets: a symmetric matrix whose lines sum to 0."""
    band = max(float(np.quantile(gap, SLOPE_ROW_SHARE)), 1e-12)
    near = gap < band
    pairs = np.bincount(first[near] * size + second[near], minlength=size * size).reshape(size, size)
    border = (pairs + pairs.T) / (2 * band * len(gap))
    return np.diag(border.sum(axis=1)) - border
