"""Shrinkage of many noisy correlations at once, and repair of the matrices they form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SHARES = (0.03, 0.06, 0.1, 0.2, 0.4, 0.7, 1.0)
_SPREADS = np.geomspace(1e-4, 0.6, 24)


def shrink_normal(noisy: Floats, variance: Floats) -> Floats:
    """Posterior means under one normal prior: noisy * t / (t + variance), averaged over t by likelihood.

    The rule of Efron and Morris (1973) with a log-uniform prior on t, so that a few entries cannot claim much.
    """
    return shrink_mixture(noisy, variance, np.ones_like(noisy), _SPREADS, (1.0,))


def shrink_spike_slab(noisy: Floats, variance: Floats) -> Floats:
    """Posterior means under (1 - w) delta_0 + w N(0, t), averaged over w and t by likelihood.

    Johnstone and Silverman (2004), with a normal slab and a flat prior over a grid of w and log t.
    """
    return shrink_mixture(noisy, variance, np.ones_like(noisy), _SPREADS, _SHARES)


def shrink_mixture(noisy: Floats, variance: Floats, weight: Floats, spreads: Floats, shares: Sequence[float]) -> Floats:
    """Posterior means of e, where noisy = weight * e + noise, e ~ (1 - w) delta_0 + w N(0, t); w, t averaged over."""
    if not noisy.size:
        return noisy
    logs: list[float] = []
    means: list[Floats] = []
    null = -0.5 * noisy**2 / variance - 0.5 * np.log(variance)
    for spread in spreads:
        total = variance + weight**2 * spread
        slab = -0.5 * noisy**2 / total - 0.5 * np.log(total)
        for share in shares:
            both = np.logaddexp(np.log(share) + slab, np.log1p(-share) + null) if share < 1 else slab
            logs.append(float(both.sum()))
            means.append(np.exp(np.log(share) + slab - both) * noisy * weight * spread / total)
    plausible = np.exp(np.array(logs) - max(logs))
    return plausible @ np.array(means) / plausible.sum()


def shrink_factors(noisy: Floats, variance: float, slopes: Floats) -> Floats:
    """A symmetric matrix of correlations with zero diagonal: factors above the noise, then spike and slab on the rest.

    `noisy * slopes` carries noise of equal variance v, whose largest eigenvalue is about 2 sqrt(v d); an eigenvalue x
    above that edge is lowered to sqrt(x^2 - 4 v d) (Gavish and Donoho, 2017).
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
    for _ in range(20 if len(fixed) else 0):
        values, vectors = np.linalg.eigh(fixed)
        if values[0] >= 0.99 * floor:
            break
        fixed = (vectors * np.maximum(values, floor)) @ vectors.T
        scale = np.sqrt(np.diag(fixed))
        fixed = fixed / scale[:, None] / scale
    np.fill_diagonal(fixed, 1.0)
    return fixed
