"""The pair copulas of a vine, in the vocabulary of vinecopulib: independence, the Gaussian and the checkerboard.

hfunc1(u1, u2) = P(U2 <= u2 | U1 = u1), hfunc2(u1, u2) = P(U1 <= u1 | U2 = u2); hinv1(u1, p) is the u2 with
hfunc1(u1, u2) = p, and hinv2(p, u2) the u1 with hfunc2(u1, u2) = p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from sklar.arrays import Floats
from sklar.model.axis import UNIFORM_MARGIN, clip_open, make_search_guide, make_search_guides


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentPair:
    """The product copula: a conditional uniform is the uniform itself."""

    def hfunc1(self, u1: Floats, u2: Floats) -> Floats:
        return u2

    def hfunc2(self, u1: Floats, u2: Floats) -> Floats:
        return u1


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianPair:
    """The Gaussian copula with correlation `corr` strictly between -1 and 1; below, x and y are normal scores."""

    corr: float

    def pdf(self, u1: Floats, u2: Floats) -> Floats:
        """Return exp(-(r^2 (x^2 + y^2) - 2 r x y) / (2 (1 - r^2))) / sqrt(1 - r^2)."""
        return gaussian_density(self.corr, ndtri(u1), ndtri(u2))

    def hfunc1(self, u1: Floats, u2: Floats) -> Floats:
        """Return Phi((y - r x) / sqrt(1 - r^2))."""
        return clip_open(ndtr((ndtri(u2) - self.corr * ndtri(u1)) / np.sqrt(1 - self.corr**2)))

    def hfunc2(self, u1: Floats, u2: Floats) -> Floats:
        """Return Phi((x - r y) / sqrt(1 - r^2))."""
        return self.hfunc1(u2, u1)

    def hinv1(self, u1: Floats, p: Floats) -> Floats:
        """Return Phi(sqrt(1 - r^2) Phi^-1(p) + r x)."""
        return clip_open(ndtr(ndtri(p) * np.sqrt(1 - self.corr**2) + self.corr * ndtri(u1)))

    def hinv2(self, p: Floats, u2: Floats) -> Floats:
        """Return Phi(sqrt(1 - r^2) Phi^-1(p) + r y)."""
        return self.hinv1(u2, p)


def gaussian_density(corr: float, x: Floats, y: Floats) -> Floats:
    """Return the density of the Gaussian copula at normal scores x, y."""
    rest = 1.0 - corr**2
    return np.exp((2 * corr * x * y - corr**2 * (x**2 + y**2)) / (2 * rest)) / np.sqrt(rest)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checkerboard:
    """A copula whose density is constant on each cell of a grid; its h-functions (`tabulate`) are piecewise linear.

    Rows of the cells' masses sum to ``diff(edges1)`` and columns to ``diff(edges2)``.
    """

    edges1: Floats
    edges2: Floats
    mass: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassPairs:
    """A pair copula for each class of one more column: Gaussian ones by their correlations, or checkerboards.

    Classes are the intervals of the column's axis between `edges`; the column is one that the pair is conditioned on.
    """

    column: int
    edges: Floats
    pairs: tuple[Checkerboard, ...] | tuple[GaussianPair, ...]

    @property
    def corrs(self) -> Floats | None:
        """The correlation in each class; None of checkerboards."""
        found = [pair.corr for pair in self.pairs if isinstance(pair, GaussianPair)]
        return np.array(found) if found else None


def make_checkerboard(edges1: Floats, edges2: Floats, table: Floats) -> Checkerboard:
    """Return the checkerboard copula nearest in relative entropy to a non-negative table."""
    return Checkerboard(edges1=edges1, edges2=edges2, mass=fit_margins(table, np.diff(edges1), np.diff(edges2)))


MIN_CLASS_MASS = 1e-15
"""Share of a group that holds nothing, as in a class of no rows: less than rounding, and one can divide by it."""


def fit_margins(table: Floats, mass1: Floats, mass2: Floats, sweeps: int = 60) -> Floats:
    """Scale rows and columns of a non-negative table until it has the given margins (Sinkhorn).

    A trace of the product of the margins is added first, so that a solution exists and no cell is empty: the
    h-functions of the copula are then strictly increasing.
    """
    mass1, mass2 = np.maximum(mass1, MIN_CLASS_MASS), np.maximum(mass2, MIN_CLASS_MASS)
    scaled = np.maximum(table, 0.0) + 1e-7 * np.outer(mass1, mass2)
    for _ in range(sweeps):
        scaled = scaled * (mass1 / scaled.sum(axis=1))[:, None]
        scaled = scaled * (mass2 / scaled.sum(axis=0))[None, :]
    return scaled


def kendall_tau(copula: Checkerboard) -> float:
    """Return Kendall's tau of a checkerboard copula.

    tau = P(concordant) - P(discordant) for two independent pairs. Within a cell, a row or a column both orders are
    equally likely, so only pairs of cells that differ on both axes count.
    """
    mass = copula.mass
    below = np.zeros_like(mass)
    below[1:, 1:] = np.cumsum(np.cumsum(mass, axis=0), axis=1)[:-1, :-1]
    above = np.zeros_like(mass)
    above[1:, :-1] = np.cumsum(np.cumsum(mass[:, ::-1], axis=0), axis=1)[:-1, :-1][:, ::-1]
    return float(2.0 * np.sum(mass * (below - above)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Conditional:
    """The distributions of one axis given the other, as tables that are searched in constant time.

    Of the axis there are cut points, `edges`, and of the one conditioned on, `given`; each row of `cdf` is the CDF at
    the edges for one cell of the latter. Each has its guide (see `sklar.model.axis.guide`).
    """

    edges: Floats
    given: Floats
    cdf: Floats
    edges_guide: np.ndarray
    given_guide: np.ndarray
    cdf_guide: np.ndarray

    def forward(self, u: Floats, v: Floats) -> Floats:
        """Return CDF at u given v."""
        from sklar.model.kernels import apply_h_function

        columns = np.ascontiguousarray(u), np.ascontiguousarray(v)
        return apply_h_function(
            self.edges, self.edges_guide, self.given, self.given_guide, self.cdf, UNIFORM_MARGIN, *columns
        )

    def inverse(self, p: Floats, v: Floats) -> Floats:
        """Return the u with forward(u, v) = p."""
        from sklar.model.kernels import invert_h_function

        columns = np.ascontiguousarray(p), np.ascontiguousarray(v)
        return invert_h_function(
            self.edges, self.given, self.given_guide, self.cdf, self.cdf_guide, UNIFORM_MARGIN, *columns
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tabulated:
    """The h-functions of a checkerboard with everything prepared that does not depend on the arguments."""

    first: Conditional
    second: Conditional

    def hfunc1(self, u1: Floats, u2: Floats) -> Floats:
        return self.second.forward(u2, u1)

    def hfunc2(self, u1: Floats, u2: Floats) -> Floats:
        return self.first.forward(u1, u2)

    def hinv1(self, u1: Floats, p: Floats) -> Floats:
        return self.second.inverse(p, u1)

    def hinv2(self, p: Floats, u2: Floats) -> Floats:
        return self.first.inverse(p, u2)


def tabulate(copula: Checkerboard) -> Tabulated:
    """Prepare the h-functions, to be evaluated many times."""
    return Tabulated(
        first=_conditional(copula.edges1, copula.edges2, copula.mass),
        second=_conditional(copula.edges2, copula.edges1, copula.mass.T),
    )


def _conditional(edges: Floats, given: Floats, mass: Floats) -> Conditional:
    cdf = np.zeros((mass.shape[1], mass.shape[0] + 1))
    cdf[:, 1:] = np.cumsum(mass / mass.sum(axis=0), axis=0).T
    cdf[:, -1] = 1.0
    edges, given = np.ascontiguousarray(edges, dtype=float), np.ascontiguousarray(given, dtype=float)
    return Conditional(
        edges=edges,
        given=given,
        cdf=cdf,
        edges_guide=make_search_guide(edges),
        given_guide=make_search_guide(given),
        cdf_guide=make_search_guides(cdf),
    )
