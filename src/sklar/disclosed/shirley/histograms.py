"""Histograms of single columns with the published noise, which is drawn from an ordinary generator.

This noise is not the one of the DP methods: it is reproducible, comes from floating-point samplers, and protects
nobody, since the vine sees the rows anyway. It is here to reproduce the published accuracy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sklar.accounting.gaussian import analytic_gaussian_sigma
from sklar.disclosed.shirley.options import Options

Floats = NDArray[np.float64]
SENSITIVITY = 2.0
"""Replacing a row moves two counts of a histogram by one each."""
FLOOR = 0.01
"""Least count of a bin that some row falls into: the cumulative distribution has to rise at each of them."""


def noisy_counts(exact: NDArray[np.int64], options: Options, rng: np.random.Generator) -> Floats:
    """Counts of bins with noise of scale 2 / epsilon on each, not below a small positive floor."""
    counts = exact.astype(np.float64)
    if options.epsilon is not None:
        counts = counts + noise(len(counts), options.epsilon, options, rng)
    return np.maximum(counts, FLOOR)


def noise(size: int, epsilon: float, options: Options, rng: np.random.Generator) -> Floats:
    """Noise of the chosen mechanism at sensitivity 2."""
    scale = SENSITIVITY / epsilon
    if options.mechanism == "laplace":
        return rng.laplace(0.0, scale, size)
    if options.mechanism == "geometric":
        # The difference of two geometric variables with failure probability exp(-1/scale).
        success = -math.expm1(-1.0 / scale)
        return (rng.geometric(success, size) - rng.geometric(success, size)).astype(np.float64)
    return rng.normal(0.0, SENSITIVITY * analytic_gaussian_sigma(epsilon, options.noise_delta), size)
