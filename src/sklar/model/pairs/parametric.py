"""Parametric pair copulas: six one-parameter families, their rotations, and their CDFs on a grid.

The formulas are those of Joe (2014), "Dependence Modeling with Copulas", chapter 4; the bivariate Student CDF follows
Dunnett and Sobel (1954) for an even number of degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sklar.arrays import Floats
from sklar.model.axis import clip_open
from sklar.model.correlation.bivariate import bivariate_normal_cdf

STUDENT_DF = 4
"""Degrees of freedom of every Student copula: fewer have heavier tails. Fixed, so that each family has one parameter;
even, as the finite sum of its CDF requires."""
MAX_PARAMETER = {"clayton": 28.0, "gumbel": 50.0, "frank": 35.0, "joe": 30.0}
"""Largest parameter of each Archimedean family. All have a Kendall's tau above 0.89 there; on the grids of a fit a
stronger member is not distinguishable from them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Facts about a family that the search for the best member needs.

    Attributes:
        rotations: turns of the unit square that give distinct members with positive Kendall's tau at 0 and 180.
        symmetric: whether a negative parameter gives negative dependence (else rotations by 90 and 270 do).
        handicap: chi-square a member must gain over simpler families before it is preferred.
    """

    rotations: tuple[int, ...]
    symmetric: bool
    handicap: float


FAMILIES: dict[str, Family] = {
    "gaussian": Family(rotations=(0,), symmetric=True, handicap=0.0),
    "frank": Family(rotations=(0,), symmetric=True, handicap=0.0),
    "student": Family(rotations=(0,), symmetric=True, handicap=1.0),
    "clayton": Family(rotations=(0, 180), symmetric=False, handicap=1.0),
    "gumbel": Family(rotations=(0, 180), symmetric=False, handicap=1.0),
    "joe": Family(rotations=(0, 180), symmetric=False, handicap=1.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParametricPair:
    """A member of one of FAMILIES, rotated by 0, 90, 180 or 270 degrees; its parameter follows from Kendall's tau."""

    family: str
    rotation: int
    tau: float

    @property
    def name(self) -> str:
        """The family, and the rotation if there is one."""
        return self.family if self.rotation == 0 else f"{self.family} {self.rotation}"

    @property
    def parameter(self) -> float:
        """The correlation of an elliptical copula, or the parameter of an Archimedean one before its rotation."""
        return parameter_from_tau(self.family, self.tau if FAMILIES[self.family].symmetric else abs(self.tau))

    def cdf(self, first: Floats, second: Floats) -> Floats:
        """Returns C(u, v) for every u in `first` and v in `second`, as a table."""
        u, v = clip_open(first)[:, None], clip_open(second)[None, :]
        # A rotation replaces (U, V) by (1 - U, V), (1 - U, 1 - V) or (U, 1 - V).
        if self.rotation == 90:
            return v - self._unrotated(1 - u, v)
        if self.rotation == 180:
            return u + v - 1 + self._unrotated(1 - u, 1 - v)
        if self.rotation == 270:
            return u - self._unrotated(u, 1 - v)
        return self._unrotated(u, v)

    def _unrotated(self, u: Floats, v: Floats) -> Floats:
        return CDFS[self.family](u, v, self.parameter)


@lru_cache(maxsize=1_000)
def parameter_from_tau(family: str, tau: float) -> float:
    """Returns the parameter at which a family has this Kendall's tau, within MAX_PARAMETER."""
    if family in ("gaussian", "student"):
        return float(np.sin(np.pi / 2 * tau))
    if family == "clayton":
        return min(2 * tau / (1 - tau), MAX_PARAMETER[family])
    if family == "gumbel":
        return min(1 / (1 - tau), MAX_PARAMETER[family])
    return _invert_tau(family, tau)


def _invert_tau(family: str, tau: float) -> float:
    """Solves tau(parameter) = tau for the families without a closed inverse; Frank's is odd in its parameter."""
    from scipy.optimize import brentq

    tau_of, least = (_frank_tau, 1e-3) if family == "frank" else (_joe_tau, 1.0)
    most, size = MAX_PARAMETER[family], abs(tau)
    if size <= tau_of(least):
        return float(np.copysign(least, tau))
    if size >= tau_of(most):
        return float(np.copysign(most, tau))
    root: float = brentq(lambda parameter: tau_of(parameter) - size, least, most, xtol=1e-12)  # pyright: ignore
    return float(np.copysign(root, tau))


def _frank_tau(theta: float) -> float:
    """Return tau = 1 - 4 (1 - D(theta)) / theta, with Debye's function D(x) = (1 / x) int_0^x t / (exp(t) - 1) dt."""
    from scipy.special import spence

    integral = np.pi**2 / 6 + theta * np.log(-np.expm1(-theta)) - spence(-np.expm1(-theta))
    return float(1 - 4 / theta * (1 - integral / theta))


def _joe_tau(theta: float) -> float:
    """Return tau = 1 - x (psi(1 + x) - psi(2)) / (x - 1) with x = 2 / theta and the digamma function psi."""
    from scipy.special import digamma, polygamma

    x = 2 / theta
    step = x - 1
    if abs(step) < 1e-3:  # the quotient cancels near theta = 2: use its Taylor series
        slope = polygamma(1, 2.0) + polygamma(2, 2.0) * step / 2 + polygamma(3, 2.0) * step**2 / 6
    else:
        slope = (digamma(1 + x) - digamma(2.0)) / step
    return float(1 - x * slope)


def _gaussian_cdf(u: Floats, v: Floats, corr: float) -> Floats:
    from scipy.special import ndtri

    return bivariate_normal_cdf(ndtri(u), ndtri(v), corr)


def _student_cdf(u: Floats, v: Floats, corr: float) -> Floats:
    """Return the bivariate Student CDF at the quantiles of u and v, as a finite sum.

    With D = STUDENT_DF, s = sqrt(1 - r^2) and angles a, b that depend on (h, k), the CDF is
    atan2(s, -r) / 2 pi plus D / 2 terms for each of h and k, each a power of (1 + h^2 / D)^-1 times a partial sum
    of the incomplete beta function of cos^2 a (Dunnett and Sobel 1954, equation 10).
    """
    from scipy.special import stdtrit

    h, k = stdtrit(STUDENT_DF, u), stdtrit(STUDENT_DF, v)
    rest = (1 - corr) * (1 + corr)
    value = np.arctan2(np.sqrt(rest), -corr) / (2 * np.pi)
    return value + _student_terms(h, k, corr, rest) + _student_terms(k, h, corr, rest)


def _student_terms(h: Floats, k: Floats, corr: float, rest: float) -> Floats:
    """Return the terms of the Student CDF in powers of (1 + h^2 / STUDENT_DF)^-1."""
    beyond = k - corr * h
    share = beyond**2 / np.maximum(beyond**2 + rest * (STUDENT_DF + h**2), 1e-300)
    power = h / np.sqrt(16 * (STUDENT_DF + h**2))
    beta = 2 / np.pi * np.arctan2(np.sqrt(share), np.sqrt(1 - share))
    density = 2 / np.pi * np.sqrt(share * (1 - share))
    total = np.zeros(np.broadcast(h, k).shape)
    for j in range(1, STUDENT_DF // 2 + 1):
        total += power * (1 + np.sign(beyond) * beta)
        beta = beta + density
        density = density * (2 * j) * (1 - share) / (2 * j + 1)
        power = power * (2 * j - 1) / (2 * j * (1 + h**2 / STUDENT_DF))
    return total


def _frank_cdf(u: Floats, v: Floats, theta: float) -> Floats:
    return -np.log1p(np.expm1(-theta * u) * np.expm1(-theta * v) / np.expm1(-theta)) / theta


def _clayton_cdf(u: Floats, v: Floats, theta: float) -> Floats:
    """Return (u^-theta + v^-theta - 1)^(-1 / theta), relative to the larger power so that none overflows."""
    a, b = -theta * np.log(u), -theta * np.log(v)
    largest = np.maximum(a, b)
    return np.exp(-(largest + np.log(np.exp(a - largest) + np.exp(b - largest) - np.exp(-largest))) / theta)


def _gumbel_cdf(u: Floats, v: Floats, theta: float) -> Floats:
    a, b = -np.log(u), -np.log(v)
    largest = np.maximum(a, b)
    return np.exp(-largest * ((a / largest) ** theta + (b / largest) ** theta) ** (1 / theta))


def _joe_cdf(u: Floats, v: Floats, theta: float) -> Floats:
    a, b = (1 - u) ** theta, (1 - v) ** theta
    return 1 - (a + b - a * b) ** (1 / theta)


CDFS = {
    "gaussian": _gaussian_cdf,
    "frank": _frank_cdf,
    "student": _student_cdf,
    "clayton": _clayton_cdf,
    "gumbel": _gumbel_cdf,
    "joe": _joe_cdf,
}
