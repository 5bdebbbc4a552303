"""Priors on a log-density that is smooth along a chain of ordered cells.

Each prior is a proper density of theta, the log-ratio of a cell's mass to its base measure: differences D theta of some
order are independent, Gaussian or Student-t, and what D does not see (polynomials along the chain) is wide
Gaussian, so that evidences of different orders are comparable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Ints, Mask

DEGREES_OF_FREEDOM = 3.0
"""Tails of the Student-t increments: heavy enough to let a spike pass, light enough to shrink noise."""
POLYNOMIAL_STDS = (60.0, 20.0, 60.0)
"""Prior standard deviation (root mean square over cells) of the free polynomials of degree 0, 1 and 2. A narrow bump on
a wide range has a mean and a quadratic part of several tens."""
OUTSIDE_CHAIN_STD = 5.0
"""Prior standard deviation of theta for cells outside the chain (atoms, missing values, other)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriorStructure:
    """The part of a prior that does not depend on its strength.

    Attributes:
        terms: D with rows scaled by the square root of the local spacing weight; shape (k - nulls, k).
        penalty: D'D.
        fixed: Precision matrix of everything outside D (free polynomials, cells apart).
        log_norm: log pseudo-determinant of D'D plus log determinant of `fixed` on its own range.
        heavy: Student-t terms instead of Gaussian ones.
    """

    terms: Floats
    penalty: Floats
    chain: Ints
    fixed: Floats
    log_norm: float
    heavy: bool = False


def make_smoothness_prior(position: Floats, chained: Mask, order: int, heavy: bool = False) -> PriorStructure:
    """Return a discrete version of the penalty integral of (d^order theta / dx^order)^2 on irregular spacing.

    Divided differences of the given order, squared and weighted by the local spacing; the strength multiplies it. For
    orders 1, 2 and 3 the limit of infinite strength is a uniform, exponential and Gaussian density. Cells outside the
    chain are independent of it. Positions are mid-points, in units such that 1 is a natural spacing.
    """
    x = position[chained]
    floor = 1e-3 if order == 1 else 0.05  # cells narrower than this are treated as this far apart: conditioning
    widths = [np.maximum((x[step + 1 :] - x[: -step - 1]) / (step + 1), floor) for step in range(order)]
    differences = np.eye(len(x))
    for gap in widths:
        differences = np.diff(differences, axis=0) / gap[:, None]
    weight = np.maximum((x[order:] - x[:-order]) / order, floor)
    return _embed(differences * np.sqrt(weight)[:, None], _free_polynomials(widths, len(x)), chained, heavy)


def _free_polynomials(widths: list[Floats], k: int) -> Floats:
    """Return orthonormal basis of what the differences do not see: integrating 1, once per gap, undoes them."""
    columns = []
    for degree in range(len(widths)):
        column = np.ones(k - degree)
        for gap in reversed(widths[:degree]):
            column = np.concatenate([[0.0], np.cumsum(column * gap)])
        columns.append(column / np.abs(column).max())
    return np.linalg.qr(np.stack(columns, axis=1))[0]


def _embed(terms: Floats, nulls: Floats, chained: Mask, heavy: bool) -> PriorStructure:
    """Place a prior on the chained cells into all cells, and give the others independent Gaussians."""
    k, cells = len(chained), np.flatnonzero(chained)
    wide, apart = 1.0 / (np.array(POLYNOMIAL_STDS[: nulls.shape[1]]) ** 2 * len(cells)), 1.0 / OUTSIDE_CHAIN_STD**2
    fixed = np.zeros((k, k))
    fixed[np.ix_(cells, cells)] = (nulls * wide) @ nulls.T
    outside = np.flatnonzero(~chained)
    fixed[outside, outside] = apart
    placed = np.zeros((len(terms), k))
    placed[:, cells] = terms
    log_norm = np.linalg.slogdet(terms @ terms.T)[1] + np.log(wide).sum() + len(outside) * np.log(apart)
    return PriorStructure(
        terms=placed, penalty=placed.T @ placed, chain=cells, fixed=fixed, log_norm=float(log_norm), heavy=heavy
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DensityAxis:
    """A monotone map of [0, 1] onto itself: t -> log(1 + t/shift) / log(1 + 1/shift), or t itself without a shift.

    The logarithm starts to bend at `shift`.
    """

    shift: float | None = None

    def forward(self, t: Floats) -> Floats:
        """Return the position on the axis."""
        return t if self.shift is None else np.log1p(t / self.shift) / np.log1p(1.0 / self.shift)


@dataclass(frozen=True, slots=True, kw_only=True)
class DensityKind:
    """Priors that differ in strength only: the axis on which the log-density is smooth, the order, heavy tails."""

    axis: DensityAxis
    order: int
    heavy: bool = False
