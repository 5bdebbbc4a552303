"""Priors on a log-density: smooth along a chain of ordered cells, or exchangeable between levels.

Each prior is a proper density of theta, the log-ratio of a cell's mass to its base measure:
a structure matrix D maps theta to independent terms, each Gaussian or Student-t with its own scale, and the null
space of D (polynomials along the chain) gets a wide Gaussian, so that evidences of different orders are comparable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DEGREES_OF_FREEDOM = 3.0
"""Tails of the Student-t increments: heavy enough to let a spike pass, light enough to shrink noise."""

WIDE = 10.0
"""Prior standard deviation (root mean square over cells) of each polynomial left free by the smoothness penalty."""

APART = 5.0
"""Prior standard deviation of theta for cells outside the chain (atoms, missing values, other)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Structure:
    """The part of a prior that does not depend on its strength.

    Attributes:
        terms: D with rows scaled by the square root of the local spacing weight; shape (k - nulls, k).
        fixed: Precision matrix of everything outside D (free polynomials, cells apart).
        log_norm: log pseudo-determinant of D'D plus log determinant of `fixed` on its own range.
        heavy: Student-t terms instead of Gaussian ones.
    """

    terms: Floats
    fixed: Floats
    log_norm: float
    heavy: bool = False


def exchangeable(chained: NDArray[np.bool_]) -> Structure:
    """Order 0: thetas of the chained cells scatter around their common mean."""
    cells = np.flatnonzero(chained)
    k = len(cells)
    center = np.eye(k) - 1.0 / k
    basis = np.linalg.svd(center)[2][: k - 1]
    return _embed(basis, np.full((k, 1), k**-0.5), chained)


def smooth(position: Floats, chained: NDArray[np.bool_], order: int, heavy: bool = False) -> Structure:
    """A discrete version of the penalty integral of (d^order theta / dx^order)^2 on irregular spacing.

    Divided differences of the given order, squared and weighted by the local spacing; the strength multiplies it.

    Args:
        position: Mid-points of all cells, in units such that 1 is a natural spacing.
        chained: Which cells belong to the chain; the others are independent of it.
        order: 1, 2 or 3 (the limit of infinite strength: uniform, exponential, Gaussian density).
        heavy: Student-t terms.
    """
    x = position[chained]
    floor = 1e-3 if order == 1 else 0.05  # cells narrower than this are treated as this far apart: conditioning
    differences = np.eye(len(x))
    for step in range(order):
        gap = (x[step + 1 :] - x[: -step - 1]) / (step + 1)
        differences = np.diff(differences, axis=0) / np.maximum(gap, floor)[:, None]
    weight = np.maximum((x[order:] - x[:-order]) / order, floor)
    terms = differences * np.sqrt(weight)[:, None]
    centered = (x - x.mean()) / max(np.ptp(x), 1e-12)
    nulls = np.linalg.qr(_null_space(terms, centered, order))[0]
    return _embed(terms, nulls, chained, heavy=heavy)


def _null_space(terms: Floats, centered: Floats, order: int) -> Floats:
    """Polynomials of degree below `order`; recomputed numerically where the spacing floor bends them."""
    vandermonde = centered[:, None] ** np.arange(order)
    if np.abs(terms @ vandermonde).max(initial=0.0) < 1e-9 * np.abs(terms).max(initial=1.0):
        return vandermonde
    return np.linalg.svd(terms)[2][-order:].T


def _embed(terms: Floats, nulls: Floats, chained: NDArray[np.bool_], heavy: bool = False) -> Structure:
    """Place a prior on the chained cells into all cells, and give the others independent Gaussians."""
    k, cells = len(chained), np.flatnonzero(chained)
    wide, apart = 1.0 / (WIDE**2 * len(cells)), 1.0 / APART**2
    fixed = np.zeros((k, k))
    fixed[np.ix_(cells, cells)] = wide * nulls @ nulls.T
    outside = np.flatnonzero(~chained)
    fixed[outside, outside] = apart
    placed = np.zeros((len(terms), k))
    placed[:, cells] = terms
    log_norm = np.linalg.slogdet(terms @ terms.T)[1] + nulls.shape[1] * np.log(wide) + len(outside) * np.log(apart)
    return Structure(terms=placed, fixed=fixed, log_norm=float(log_norm), heavy=heavy)
