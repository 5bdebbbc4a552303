"""Histograms out of noisy numbers: from frequencies, from Haar differences, and from counts made probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sklar.arrays import Floats


def counts_from_frequencies(noisy: Floats, bins: int) -> Floats:
    """Return noisy counts of all bins: the inverse cosine transform with the frequencies that were not kept set to 0.

    Enhanced Fourier perturbation, with a real transform (Acs, Castelluccia, Chen 2012, "Differentially private
    histogram publishing through lossy compression").
    """
    from scipy.fft import idct  # not at import time: slow to load

    whole = np.zeros(bins)
    whole[: len(noisy)] = noisy
    return np.asarray(idct(whole, norm="ortho"), dtype=np.float64)


def counts_from_differences(noisy: Floats, bins: int) -> Floats:
    """Return noisy counts of all bins from the total and the left-minus-right (Haar) differences, breadth first.

    A node with total t and difference d has halves (t + d) / 2 and (t - d) / 2: every count is a sum of few noisy
    numbers, and so is every range (Xiao, Wang, Gehrke 2010, "Differential privacy via wavelet transforms").
    """
    level = noisy[:1].astype(np.float64)
    first = 1
    while first < len(noisy):
        difference = noisy[first : 2 * first]
        below = np.empty(2 * first)
        below[0::2], below[1::2] = (level + difference) / 2, (level - difference) / 2
        level, first = below, 2 * first
    return level[:bins]


def merge_runs(noisy: Floats, variance: float) -> Floats:
    """Return noisy counts with runs of neighbours replaced by their means, so that the expected squared error is least.

    A run of s bins with noise of variance v each has a squared error of noisy counts about their mean that exceeds the
    true one by (s - 1) v, and its mean has noise of v / s in s bins: the expected error is that of the noisy counts,
    minus (s - 2) v. Over n bins in k runs that is SSE - (n - 2 k) v, for Laplace noise of one row SSE - 2 (n - 2 k) /
    epsilon^2 (Xu et al. 2013, NoiseFirst). Its minimum over all partitions is found by dynamic programming.
    """
    bins = len(noisy)
    sums, squares = (np.concatenate([[0.0], np.cumsum(x)]) for x in (noisy, noisy**2))
    best, start = np.zeros(bins + 1), np.zeros(bins + 1, dtype=np.int64)
    for end in range(1, bins + 1):
        inside = squares[end] - squares[:end] - (sums[end] - sums[:end]) ** 2 / np.arange(end, 0, -1)
        cost = best[:end] + inside + 2 * variance
        start[end] = np.argmin(cost)
        best[end] = cost[start[end]]
    merged, end = np.empty(bins), bins
    while end:
        merged[start[end] : end] = noisy[start[end] : end].mean()
        end = int(start[end])
    return merged


def clip_and_normalize(noisy: ArrayLike) -> Floats:
    """Return counts with negative ones set to 0, scaled to sum to one; uniform when nothing is left."""
    counts = np.maximum(np.asarray(noisy, dtype=np.float64), 0.0)
    total = counts.sum()
    return counts / total if total > 0 else np.full(counts.shape, 1.0 / counts.size)


def project_to_simplex(noisy: ArrayLike, total: float) -> Floats:
    """Return probabilities nearest (in L2) to noisy counts / total.

    The projection of y on {x >= 0, sum x = total} is max(y - t, 0), with the threshold t found by sorting
    (Held, Wolfe and Crowder, 1974). A total that is not positive counts as tiny.
    """
    counts = np.asarray(noisy, dtype=np.float64)
    total = max(float(total), 1e-9)
    falling = np.sort(counts, axis=None)[::-1]
    excess = np.cumsum(falling) - total
    ranks = np.arange(1, falling.size + 1)
    kept = int(np.flatnonzero(falling - excess / ranks > 0)[-1]) if falling.size else 0
    return clip_and_normalize(counts - excess[kept] / (kept + 1))
