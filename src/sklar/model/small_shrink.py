"""Shrinkage of many noisy correlations at once, and repair of the matrices they form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.999)
_SPREADS = np.geomspace(1e-4, 0.6, 24)


def shrink_normal(noisy: Floats, variance: Floats) -> Floats:
    """Empirical Bayes under one normal: noisy * t / (t + variance), with the prior variance t of largest likelihood.

    With equal variances this is the rule of Efron and Morris (1973); likelihood keeps very noisy entries, whose
    squares say little, from spoiling t.
    """
    likelihood = [-0.5 * (noisy**2 / (variance + t) + np.log(variance + t)).sum() for t in _SPREADS]
    spread = _SPREADS[int(np.argmax(likelihood))]
    return noisy * spread / (spread + variance)


def shrink_spike_slab(noisy: Floats, variance: Floats) -> Floats:
    """Posterior means under (1 - w) delta_0 + w N(0, t), with w and t of largest likelihood on a grid.

    Johnstone and Silverman (2004), with a normal slab.
    """
    if not noisy.size:
        return noisy
    best, answer = -np.inf, noisy
    null = -0.5 * noisy**2 / variance - 0.5 * np.log(variance)
    for spread in _SPREADS:
        slab = -0.5 * noisy**2 / (variance + spread) - 0.5 * np.log(variance + spread)
        for share in _SHARES:
            both = np.logaddexp(np.log(share) + slab, np.log1p(-share) + null)
            if both.sum() > best:
                best = float(both.sum())
                answer = np.exp(np.log(share) + slab - both) * spread / (spread + variance) * noisy
    return answer


def shrink_factors(noisy: Floats, variance: float, slopes: Floats) -> Floats:
    """A symmetric matrix of correlations with zero diagonal: factors above the noise, then spike and slab on the rest.

    `noisy * slopes` carries noise of equal variance v, whose largest eigenvalue is about 2 sqrt(v d); an eigenvalue x of
    it above that edge is lowered to sqrt(x^2 - 4 v d) (Gavish and Donoho, 2017).
    """
    size = len(noisy)
    upper = np.triu_indices(size, 1)
    edge = 2.0 * np.sqrt(variance * size)
    values, vectors = np.linalg.eigh(noisy * slopes)
    big = values > edge
    factors = (vectors[:, big] * np.sqrt(values[big] ** 2 - edge**2)) @ vectors[:, big].T / slopes
    rest = shrink_spike_slab((noisy - factors)[upper], variance / slopes[upper] ** 2)
    return symmetric(factors[upper] + rest, size)


def symmetric(upper: Floats, size: int) -> Floats:
    """The symmetric matrix with zero diagonal whose upper triangle, row by row, is given."""
    out = np.zeros((size, size))
    out[np.triu_indices(size, 1)] = upper
    return out + out.T


def nearby_correlation(matrix: Floats, floor: float = 1e-2) -> Floats:
    """A correlation matrix with eigenvalues of about `floor` or more: lift the eigenvalues, rescale, repeat."""
    fixed = np.clip((matrix + matrix.T) / 2, -0.99, 0.99)
    np.fill_diagonal(fixed, 1.0)
    for _ in range(20):
        values, vectors = np.linalg.eigh(fixed)
        if values[0] >= 0.99 * floor:
            break
        fixed = (vectors * np.maximum(values, floor)) @ vectors.T
        scale = np.sqrt(np.diag(fixed))
        fixed = fixed / scale[:, None] / scale
    np.fill_diagonal(fixed, 1.0)
    return fixed
