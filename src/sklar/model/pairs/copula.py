"""What a vine asks of a pair copula, and the two closed forms: independence and the Gaussian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from sklar.model.axis import clip_open


class PairCopula(Protocol):
    """A copula of two variables, in the vocabulary of vinecopulib."""

    def pdf(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """Density at (u1, u2)."""
        ...

    def hfunc1(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """P(U2 <= u2 | U1 = u1)."""
        ...

    def hfunc2(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """P(U1 <= u1 | U2 = u2)."""
        ...

    def hinv1(self, u1: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The u2 with hfunc1(u1, u2) = p."""
        ...

    def hinv2(self, p: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """The u1 with hfunc2(u1, u2) = p."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentPair:
    """The product copula."""

    def pdf(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """Density 1 everywhere."""
        return np.ones(np.broadcast_shapes(u1.shape, u2.shape))

    def hfunc1(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """u2, whatever u1."""
        return u2

    def hfunc2(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """u1, whatever u2."""
        return u1

    def hinv1(self, u1: np.ndarray, p: np.ndarray) -> np.ndarray:
        """p itself."""
        return p

    def hinv2(self, p: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """p itself."""
        return p


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianPair:
    """The Gaussian copula with correlation `corr` strictly between -1 and 1."""

    corr: float

    def pdf(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """exp(-(r^2 (x^2 + y^2) - 2 r x y) / (2 (1 - r^2))) / sqrt(1 - r^2) with x, y the normal scores."""
        return gaussian_density(self.corr, ndtri(u1), ndtri(u2))

    def hfunc1(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """Phi((y - r x) / sqrt(1 - r^2))."""
        return clip_open(ndtr((ndtri(u2) - self.corr * ndtri(u1)) / np.sqrt(1 - self.corr**2)))

    def hfunc2(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """Phi((x - r y) / sqrt(1 - r^2))."""
        return self.hfunc1(u2, u1)

    def hinv1(self, u1: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Phi(sqrt(1 - r^2) Phi^-1(p) + r x)."""
        return clip_open(ndtr(ndtri(p) * np.sqrt(1 - self.corr**2) + self.corr * ndtri(u1)))

    def hinv2(self, p: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """Phi(sqrt(1 - r^2) Phi^-1(p) + r y)."""
        return self.hinv1(u2, p)


def gaussian_density(corr: float, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Density of the Gaussian copula at normal scores x, y."""
    rest = 1.0 - corr**2
    return np.exp((2 * corr * x * y - corr**2 * (x**2 + y**2)) / (2 * rest)) / np.sqrt(rest)


def simulate_pair(copula: PairCopula, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Draw `rows` pairs, as an array of shape (rows, 2)."""
    first, p = clip_open(rng.random(rows)), clip_open(rng.random(rows))
    return np.column_stack([first, copula.hinv1(first, p)])
