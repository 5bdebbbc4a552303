"""Latent normals given the class: one multivariate normal per class, whose mixture has mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from sklar.arrays import Floats, Ints
from sklar.model.latent.scores import Marked

MAX_EXPLAINED_VARIANCE = 0.81
"""The classes explain at most this share of a latent's variance."""
SLAB_SHARES, _SPREADS = (0.03, 0.06, 0.1, 0.2, 0.4, 0.7, 1.0), np.geomspace(1e-4, 0.6, 24)
"""Grids of w and t, the share and the variance of the slab, that are averaged over: finer ones cost time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassNormals:
    """z given class k is N(means[k], factors[k] factors[k]').

    Attributes:
        share: Probability of each class; a single 1 without a target.
        means: Classes x d; factors are classes x d x d, lower triangular.
        within: Standard deviation of each latent inside a class, the same for all classes.
        seen: Classes x d: shares of the classes among the rows in which a latent is read (not null).
    """

    share: Floats
    means: Floats
    factors: Floats
    within: Floats
    seen: Floats

    @property
    def size(self) -> int:
        """Number of latents, d."""
        return self.means.shape[1]

    def place(self, noise: Floats, classes: Ints) -> Floats:
        """Return latents from standard normals (rows x d) and the class of each row."""
        out = np.empty_like(noise)
        for k in range(len(self.share)):
            rows = classes == k
            out[rows] = noise[rows] @ self.factors[k].T + self.means[k]
        return out

    def uniform(self, z: Floats, latent: int) -> Floats:
        """Return values of one latent -> uniforms, by its distribution over the rows in which it is read."""
        u = np.zeros_like(z)
        for share, mean in zip(self.seen[:, latent], self.means[:, latent], strict=True):
            u += share * ndtr((z - mean) / self.within[latent])
        return np.clip(u, 0.0, 1.0)

    def quantile(self, u: Floats, latent: int) -> Floats:
        """Return the inverse of `uniform` by bisection; 0 and 1 go to minus and plus infinity."""
        low, high = np.full(u.shape, -40.0), np.full(u.shape, 40.0)
        for _ in range(60):
            middle = (low + high) / 2
            below = self.uniform(middle, latent) < u
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.where(u <= 0, -np.inf, np.where(u >= 1, np.inf, (low + high) / 2))


def class_normals(
    share: Floats, scores: Floats, shifts: Floats, pooled: Floats, differences: Floats, marked: Sequence[Marked] = ()
) -> ClassNormals:
    """Return normals from moments.

    With standardized class variables c (mean 0, covariance I), E[c_m z] = shifts[m] gives class means c_k' shifts; the
    covariance inside class k is  pooled - shifts' shifts + sum_m c_km differences[m],  made positive definite with the
    diagonal 1 - |shifts|^2. Values and the null marker of one column are independent inside a class: they are never
    seen together.

    Args:
        scores: c of each class, classes x M; shifts are M x d.
        pooled: Correlation of z over all classes, d x d.
        differences: M x d x d, symmetric with zero diagonal.
        marked: Columns whose nulls have a latent of their own.
    """
    explained = (shifts**2).sum(axis=0)
    shifts = shifts * np.sqrt(MAX_EXPLAINED_VARIANCE / np.maximum(explained, MAX_EXPLAINED_VARIANCE))
    within = np.sqrt(1.0 - (shifts**2).sum(axis=0))
    inside = pooled - shifts.T @ shifts
    factors = np.empty((len(share), *pooled.shape))
    for k, c in enumerate(scores):
        covariance = inside + np.tensordot(c, differences, axes=1)
        for pair in marked:
            covariance[[pair.values, pair.marker], [pair.marker, pair.values]] = 0.0
        correlation = nearby_correlation(covariance / within[:, None] / within)
        factors[k] = np.linalg.cholesky(correlation) * within[:, None]
    seen = np.repeat(share[:, None], len(within), axis=1)
    normals = ClassNormals(share=share, means=scores @ shifts, factors=factors, within=within, seen=seen)
    return replace(normals, seen=_shares_seen(normals, marked)) if marked else normals


def _shares_seen(normals: ClassNormals, marked: Sequence[Marked]) -> Floats:
    """Return class shares among rows that are not null, by Bayes' rule, for the latents of columns with a marker."""
    seen = normals.seen.copy()
    for pair in marked:
        threshold = normals.quantile(np.array([pair.present]), pair.marker)
        present = ndtr((threshold - normals.means[:, pair.marker]) / normals.within[pair.marker])
        seen[:, pair.values] = normals.share * present / (normals.share @ present)
    return seen


def shrink_normal(noisy: Floats, variance: Floats) -> Floats:
    """Return the posterior means under one normal prior: noisy * t / (t + variance), averaged over t by likelihood.

    The rule of Efron and Morris (1973) with a log-uniform prior on t, so that a few entries cannot claim much.
    """
    return shrink_mixture(noisy, variance, np.ones_like(noisy), _SPREADS, (1.0,))


def shrink_spike_slab(noisy: Floats, variance: Floats) -> Floats:
    """Return the posterior means under (1 - w) delta_0 + w N(0, t), averaged over w and t by likelihood.

    Johnstone and Silverman (2004), with a normal slab and a flat prior over a grid of w and log t.
    """
    return shrink_mixture(noisy, variance, np.ones_like(noisy), _SPREADS, SLAB_SHARES)


def shrink_mixture(noisy: Floats, variance: Floats, weight: Floats, spreads: Floats, shares: Sequence[float]) -> Floats:
    """Return posterior means of e, where noisy = weight * e + noise, e ~ (1 - w) delta_0 + w N(0, t); w, t averaged
    over."""
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
    """Return a symmetric matrix of correlations with zero diagonal: factors above the noise, then spike and slab on the
    rest.

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
    return make_symmetric(factors[upper] + rest, size)


def whiten(noise: Floats) -> Floats:
    """Return rows of noise with a mean of exactly 0 and covariance I, when there are enough rows: less chance, same
    distribution."""
    rows, size = noise.shape
    if rows <= 2 * size:
        return noise
    centred = noise - noise.mean(axis=0)
    factor = np.linalg.cholesky(centred.T @ centred / rows)
    return np.linalg.solve(factor, centred.T).T


def make_symmetric(upper: Floats, size: int) -> Floats:
    """Return the symmetric matrix with zero diagonal whose upper triangle, row by row, is given."""
    out = np.zeros((size, size))
    out[np.triu_indices(size, 1)] = upper
    return out + out.T


def nearby_correlation(matrix: Floats, floor: float = 1e-2) -> Floats:
    """Return a correlation matrix with eigenvalues of about `floor` or more: lift the eigenvalues, rescale, repeat."""
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
