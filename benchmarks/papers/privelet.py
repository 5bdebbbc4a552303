"""Privelet+ (Xiao, Wang, Gehrke 2010): noise on wavelet coefficients of the table of all cells, for range queries.

Columns of at most SMALL values are left as they are; along the others the table gets a Haar transform. A coefficient
of a node above 2^l cells has weight 2^l, so that a row more or less changes the weighted sum of coefficients by the
product of 1 + log2(m) over the transformed columns, each padded to m values. Laplace noise of that sensitivity over
epsilon and the weight gives epsilon-DP, up to the rounding of numpy's noise. Delta is 0.
"""

from __future__ import annotations

import math

import numpy as np

from sklar.lab.metrics.queries import RangeQueries

SMALL = 16
"""Columns of as few values get no wavelets: noise on each of them is smaller."""


def invert(coefficients: np.ndarray, axis: int) -> np.ndarray:
    """Cells from Haar coefficients along an axis: the mean first, then nodes level by level from the root."""
    cells = np.moveaxis(coefficients, axis, 0)
    means = cells[:1]
    while len(means) < len(cells):
        node = cells[len(means) : 2 * len(means)]
        finer = np.empty((2 * len(means), *means.shape[1:]), dtype=cells.dtype)
        finer[0::2], finer[1::2] = means + node, means - node
        means = finer
    return np.moveaxis(means, 0, axis)


def weights(size: int) -> np.ndarray:
    """Weights of the coefficients of an axis, in the order of `invert`."""
    levels = [2 ** (size.bit_length() - 1 - level) for level in range(size.bit_length() - 1)]
    return np.concatenate([[size], *(np.full(2**level, weight) for level, weight in enumerate(levels))])


def draw_noise(sizes: tuple[int, ...], epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Noise of every cell; axes with wavelets are padded to a power of two."""
    padded = [size if size <= SMALL else 1 << (size - 1).bit_length() for size in sizes]
    waves = [axis for axis, size in enumerate(sizes) if size > SMALL]
    scale = math.prod(1 + math.log2(padded[axis]) for axis in waves) / epsilon
    noise = rng.random(padded, dtype=np.float32) - np.float32(0.5)
    noise = np.sign(noise) * np.float32(-scale) * np.log1p(-2 * np.abs(noise) * np.float32(1 - 1e-7))
    for axis in waves:
        shape = [-1 if at == axis else 1 for at in range(len(sizes))]
        noise /= weights(padded[axis]).astype(np.float32).reshape(shape)
    for axis in waves:
        noise = invert(noise, axis)
    return noise[tuple(slice(size) for size in sizes)]


def answer_ranges(noise: np.ndarray, exact: np.ndarray, queries: RangeQueries) -> np.ndarray:
    """Exact counts of ranges and the noise of their cells, by sums from the first cell on."""
    sums = noise.astype(np.float64)
    for axis in range(sums.ndim):
        np.cumsum(sums, axis=axis, out=sums)
    sums = np.pad(sums, [(1, 0)] * sums.ndim)
    out = exact.astype(float)
    for corner in range(1 << sums.ndim):
        high = np.array([corner >> axis & 1 for axis in range(sums.ndim)], dtype=bool)
        places = np.where(high, queries.high + 1, queries.low)
        out += (-1.0) ** np.count_nonzero(~high) * sums[tuple(places.T)]
    return out
