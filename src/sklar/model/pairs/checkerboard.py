"""The checkerboard copula: piecewise constant density on a grid of the unit square."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.model.lookup import guide, guides, interval_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checkerboard:
    """A copula whose density is constant on each cell of a grid; its h-functions are piecewise linear.

    Attributes:
        edges1: cut points of the first axis, from 0 to 1.
        edges2: cut points of the second axis, from 0 to 1.
        mass: probability of each cell; rows sum to ``diff(edges1)`` and columns to ``diff(edges2)``.
    """

    edges1: np.ndarray
    edges2: np.ndarray
    mass: np.ndarray

    def pdf(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """Density at (u1, u2)."""
        density = self.mass / np.outer(np.diff(self.edges1), np.diff(self.edges2))
        return density[interval_of(self.edges1, u1), interval_of(self.edges2, u2)]

    def hfunc1(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """P(U2 <= u2 | U1 = u1)."""
        return tabulate(self).hfunc1(u1, u2)

    def hfunc2(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """P(U1 <= u1 | U2 = u2)."""
        return tabulate(self).hfunc2(u1, u2)

    def hinv1(self, u1: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The u2 with hfunc1(u1, u2) = p."""
        return tabulate(self).hinv1(u1, p)

    def hinv2(self, p: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """The u1 with hfunc2(u1, u2) = p."""
        return tabulate(self).hinv2(p, u2)


def checkerboard(edges1: np.ndarray, edges2: np.ndarray, table: np.ndarray) -> Checkerboard:
    """The checkerboard copula nearest in relative entropy to a non-negative table."""
    return Checkerboard(edges1=edges1, edges2=edges2, mass=fit_margins(table, np.diff(edges1), np.diff(edges2)))


def fit_margins(table: np.ndarray, mass1: np.ndarray, mass2: np.ndarray, sweeps: int = 60) -> np.ndarray:
    """Scale rows and columns of a non-negative table until it has the given margins (Sinkhorn).

    A trace of the product of the margins is added first, so that a solution exists and no cell is empty: the
    h-functions of the copula are then strictly increasing.
    """
    scaled = np.maximum(table, 0.0) + 1e-7 * np.outer(mass1, mass2)
    for _ in range(sweeps):
        scaled = scaled * (mass1 / scaled.sum(axis=1))[:, None]
        scaled = scaled * (mass2 / scaled.sum(axis=0))[None, :]
    return scaled


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Conditional:
    """The distributions of one axis given the other, as tables that are searched in constant time.

    Attributes:
        edges: cut points of the axis.
        given: cut points of the axis conditioned on.
        cdf: CDF at `edges` for each cell of `given` (row).
        edges_guide: index into `edges`.
        given_guide: index into `given`.
        cdf_guide: index into each row of `cdf`.
    """

    edges: np.ndarray
    given: np.ndarray
    cdf: np.ndarray
    edges_guide: np.ndarray
    given_guide: np.ndarray
    cdf_guide: np.ndarray

    def forward(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """CDF at u given v."""
        from sklar.model.kernels import forward

        return forward(self.edges, self.edges_guide, self.given, self.given_guide, self.cdf, *_columns(u, v))

    def inverse(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The u with forward(u, v) = p."""
        from sklar.model.kernels import inverse

        return inverse(self.edges, self.given, self.given_guide, self.cdf, self.cdf_guide, *_columns(p, v))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tabulated:
    """The h-functions of a checkerboard with everything prepared that does not depend on the arguments."""

    first: Conditional
    second: Conditional

    def hfunc1(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """P(U2 <= u2 | U1 = u1)."""
        return self.second.forward(u2, u1)

    def hfunc2(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """P(U1 <= u1 | U2 = u2)."""
        return self.first.forward(u1, u2)

    def hinv1(self, u1: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The u2 with hfunc1(u1, u2) = p."""
        return self.second.inverse(p, u1)

    def hinv2(self, p: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """The u1 with hfunc2(u1, u2) = p."""
        return self.first.inverse(p, u2)


def tabulate(copula: Checkerboard) -> Tabulated:
    """Prepare the h-functions, to be evaluated many times."""
    return Tabulated(
        first=_conditional(copula.edges1, copula.edges2, copula.mass),
        second=_conditional(copula.edges2, copula.edges1, copula.mass.T),
    )


def _conditional(edges: np.ndarray, given: np.ndarray, mass: np.ndarray) -> Conditional:
    cdf = np.zeros((mass.shape[1], mass.shape[0] + 1))
    cdf[:, 1:] = np.cumsum(mass / mass.sum(axis=0), axis=0).T
    cdf[:, -1] = 1.0
    return Conditional(
        edges=np.ascontiguousarray(edges, dtype=float),
        given=np.ascontiguousarray(given, dtype=float),
        cdf=cdf,
        edges_guide=guide(edges),
        given_guide=guide(given),
        cdf_guide=guides(cdf),
    )


def _columns(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Contiguous arrays of one type, so that one compiled version serves all calls."""
    return np.ascontiguousarray(u, dtype=np.float64), np.ascontiguousarray(v, dtype=np.float64)


def kendall_tau(copula: Checkerboard) -> float:
    """Kendall's tau of a checkerboard copula.

    tau = P(concordant) - P(discordant) for two independent pairs. Within a cell, a row or a column both orders are
    equally likely, so only pairs of cells that differ on both axes count.
    """
    mass = copula.mass
    below = np.zeros_like(mass)
    below[1:, 1:] = np.cumsum(np.cumsum(mass, axis=0), axis=1)[:-1, :-1]
    above = np.zeros_like(mass)
    above[1:, :-1] = np.cumsum(np.cumsum(mass[:, ::-1], axis=0), axis=1)[:-1, :-1][:, ::-1]
    return float(2.0 * np.sum(mass * (below - above)))
