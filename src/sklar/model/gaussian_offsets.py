"""Offsets of scores for which the largest of a column falls on each of its groups as often as wanted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int32]

MOST_STEPS = 40
NEAR = 0.25
"""The slope of a share is read off this part of the rows, those with the closest decisions."""
MANY = 2_000
"""Rows that tell how far scores of one row differ."""
ENOUGH = 0.1
"""Shares are met once they are off by this part of what chance alone puts between them and the model's."""


def fit_offsets(sample: Singles, start: Floats, target: Floats) -> Floats:
    """Offsets o for which argmax_i (s_i + o_i) is i for a share target_i of the rows.

    They maximize the concave function target'o - mean max_i (s_i + o_i), whose gradient is target minus shares
    (semi-discrete optimal transport; Merigot 2011). Newton steps: the derivative of share i by o_j is minus the density
    of rows at the border between i and j, which the rows near it tell. A step that does not bring the shares nearer is
    shortened.

    Args:
        sample: Scores, one line a group (at least two) and one column a row (at least one).
        start: First offsets.
        target: Wanted shares; they sum to 1.
    """
    rows = sample.shape[1]
    enough = ENOUGH * float(np.sqrt(target / rows).sum())
    apart = sample[:, :MANY] - sample[:, :MANY].mean(axis=0)
    largest = max(float(np.sqrt((apart**2).mean())), 1e-9)  # offsets are as large as scores of one row differ
    # A start for scores that differ by about 1 is of no use where they hardly differ.
    offsets = min((start, largest * start), key=lambda given: float(np.abs(_short(sample, given, target)).sum()))
    best, least, step, radius = offsets, np.inf, np.zeros(len(start)), largest
    for _ in range(MOST_STEPS):
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


def _short(sample: Singles, offsets: Floats, target: Floats) -> Floats:
    first, _, _ = _leaders(sample[:, :MANY], offsets)
    return target - np.bincount(first, minlength=len(target)) / len(first)


def _leaders(sample: Singles, offsets: Floats) -> tuple[Ints, Ints, Singles]:
    """The group with the largest sum of score and offset in every row, the one behind it, and by how much."""
    from sklar.model.gaussian_kernels import lead  # not at import time: numba is slow to load

    rows = sample.shape[1]
    first, second, gap = np.empty(rows, np.int32), np.empty(rows, np.int32), np.empty(rows, np.float32)
    lead(sample, offsets.astype(np.float32), first, second, gap)
    return first, second, gap


def _slopes(first: Ints, second: Ints, gap: Singles, size: int) -> Floats:
    """Derivatives of shares by offsets: a symmetric matrix whose lines sum to 0."""
    band = max(float(np.quantile(gap, NEAR)), 1e-12)
    near = gap < band
    pairs = np.bincount(first[near] * size + second[near], minlength=size * size).reshape(size, size)
    border = (pairs + pairs.T) / (2 * band * len(gap))
    return np.diag(border.sum(axis=1)) - border
