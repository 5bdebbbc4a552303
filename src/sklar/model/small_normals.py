"""Latent normals given the class: one multivariate normal per class, whose mixture has mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sklar.model.small_latent import Marked
from sklar.model.small_shrink import nearby_correlation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_EXPLAINED = 0.81
"""The classes explain at most this share of a latent's variance."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassNormals:
    """z given class k is N(means[k], factors[k] factors[k]').

    Attributes:
        share: Probability of each class; a single 1 without a target.
        means: Classes x d.
        factors: Classes x d x d, lower triangular.
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
        """Latents from standard normals (rows x d) and the class of each row."""
        out = np.empty_like(noise)
        for k in range(len(self.share)):
            rows = classes == k
            out[rows] = noise[rows] @ self.factors[k].T + self.means[k]
        return out

    def uniform(self, z: Floats, latent: int) -> Floats:
        """Values of one latent -> uniforms, by its distribution over the rows in which it is read."""
        u = np.zeros_like(z)
        for share, mean in zip(self.seen[:, latent], self.means[:, latent], strict=True):
            u += share * ndtr((z - mean) / self.within[latent])
        return np.clip(u, 0.0, 1.0)

    def quantile(self, u: Floats, latent: int) -> Floats:
        """Inverse of `uniform` by bisection; 0 and 1 go to minus and plus infinity."""
        low, high = np.full(u.shape, -40.0), np.full(u.shape, 40.0)
        for _ in range(60):
            middle = (low + high) / 2
            below = self.uniform(middle, latent) < u
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.where(u <= 0, -np.inf, np.where(u >= 1, np.inf, (low + high) / 2))


def class_normals(
    share: Floats,
    scores: Floats,
    shifts: Floats,
    pooled: Floats,
    differences: Floats,
    marked: Sequence[Marked] = (),
) -> ClassNormals:
    """Normals from moments.

    With standardized class variables c (mean 0, covariance I), E[c_m z] = shifts[m] gives class means c_k' shifts; the
    covariance inside class k is  pooled - shifts' shifts + sum_m c_km differences[m],  made positive definite with the
    diagonal 1 - |shifts|^2. Values and the null marker of one column are independent inside a class: they are never
    seen together.

    Args:
        share: Class probabilities.
        scores: c of each class, classes x M.
        shifts: M x d.
        pooled: Correlation of z over all classes, d x d.
        differences: M x d x d, symmetric with zero diagonal.
        marked: Columns whose nulls have a latent of their own.
    """
    explained = (shifts**2).sum(axis=0)
    shifts = shifts * np.sqrt(MOST_EXPLAINED / np.maximum(explained, MOST_EXPLAINED))
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
    return replace(normals, seen=_seen(normals, marked)) if marked else normals


def _seen(normals: ClassNormals, marked: Sequence[Marked]) -> Floats:
    """Class shares among rows that are not null, by Bayes' rule, for the latents of columns with a marker."""
    seen = normals.seen.copy()
    for pair in marked:
        threshold = normals.quantile(np.array([pair.present]), pair.marker)
        present = ndtr((threshold - normals.means[:, pair.marker]) / normals.within[pair.marker])
        seen[:, pair.values] = normals.share * present / (normals.share @ present)
    return seen
