"""A public table beside releases: what it expects of them, and how well they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import eval_legendre

from sklar.arrays import Floats, Ints
from sklar.model.margins.fit import Histogram
from sklar.model.margins.likelihood import Observation
from sklar.model.pairs.copula import fit_margins
from sklar.model.prior_comparison import (
    Posterior,
    PriorComparison,
    compute_extra_variance,
    compute_share_variance,
    shrink_to_prior,
)
from sklar.schema.columns import Column
from sklar.schema.prior import PublicColumn, PublicPrior
from sklar.schema.table import Schema

POLYNOMIAL_DEGREE = 4
"""Degree of the polynomial by which the margin of an ordered column may differ smoothly from the public one."""
MIN_SHARE_FACTOR = 0.1
"""The smallest factor by which that polynomial may change a share of the public table."""
SMOOTHING_ROWS = 30.0
"""Rows of independent columns that are added to tables of pairs of a public table, so that no cell is empty."""


def least_phi(prior: PublicPrior, rows: float) -> float:
    """Return the smallest phi (variance of the difference, see `sklar.model.prior_comparison`) of a public table.

    It is that of two samples of people from the same population.
    """
    return 1 / max(rows, 1.0) + 1 / max(prior.rows, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicMargin:
    """What a public table expects of a column once releases were compared with it.

    Attributes:
        shares: Of its base codes, moved smoothly towards the releases.
        phi: How far they may still be off: see `sklar.model.prior_comparison`.
        rows: Rows of the public table.
    """

    shares: Floats
    phi: float
    rows: int

    def bins(self, lookup: Ints, bins: int, rows: float) -> tuple[Floats, Floats]:
        """Return (counts, deviations) expected of bins of base codes (-1 for none): one more histogram for a margin."""
        shares = _sum_bins(lookup, self.shares, bins)
        return rows * shares, rows * np.sqrt(
            compute_extra_variance(self.phi, compute_share_variance(shares, self.rows))
        )

    def cells(self, starts: Ints, rows: float) -> Observation:
        """Return the expected counts of the cells of a margin."""
        cells = np.arange(len(starts))
        counts, sigma = self.bins(np.repeat(cells, np.diff(np.append(starts, len(self.shares)))), len(starts), rows)
        return Observation(parent=cells, counts=counts, sigma=sigma)


def shrink_margins_to_prior(
    prior: PublicPrior | None, schema: Schema, seen: Mapping[str, Sequence[Histogram]], rows: float
) -> dict[str, PublicMargin]:
    """Return what the public table expects of each of its columns, after a comparison with all released histograms."""
    names = [name for name in seen if prior is not None and name in prior.by_name]
    if prior is None or not names:
        return {}
    shares = {name: prior.by_name[name].counts / prior.rows for name in names}
    smooth = {name: _polynomials(schema[name], shares[name]) for name in names}
    compared = [_compare(prior, shares[name], smooth[name], seen[name], rows) for name in names]
    margins: dict[str, PublicMargin] = {}
    for name, one in zip(names, shrink_to_prior(compared, least_phi(prior, rows)), strict=True):
        moved = shares[name] * np.maximum(1 + smooth[name] @ one.moved, MIN_SHARE_FACTOR)
        margins[name] = PublicMargin(shares=moved / moved.sum(), phi=one.phi, rows=prior.rows)
    return margins


def _compare(
    prior: PublicPrior, shares: Floats, smooth: Floats, seen: Sequence[Histogram], rows: float
) -> PriorComparison:
    expected = [_sum_bins(one.lookup, shares, len(one.counts)) for one in seen]
    lines = [
        np.stack([_sum_bins(one.lookup, shares * line, len(one.counts)) for line in smooth.T], axis=1) for one in seen
    ]
    return PriorComparison(
        observed=np.concatenate([one.counts / rows for one in seen]),
        expected=np.concatenate(expected),
        variance=np.concatenate([np.full(len(one.counts), (one.sigma / rows) ** 2) for one in seen]),
        spread=np.concatenate([compute_share_variance(own, prior.rows) for own in expected]),
        smooth=np.concatenate(lines),
    )


def _sum_bins(lookup: Ints, shares: Floats, bins: int) -> Floats:
    inside = lookup >= 0
    return np.bincount(lookup[inside], shares[inside], bins).astype(np.float64)


def _polynomials(column: Column, shares: Floats) -> Floats:
    """Return orthonormal polynomials of the place along an ordered column, by base code; 0 for labels, `other` and
    null.

    A population that differs by a few of them has coefficients of variance phi if it differs by chance alone.
    """
    values = column.value_cells
    if not column.ordered or values < 3:
        return np.zeros((len(shares), POLYNOMIAL_DEGREE))
    inside = shares[:values]
    place = (np.cumsum(inside) - inside / 2) / max(float(inside.sum()), 1e-300)
    lines = np.zeros((len(shares), POLYNOMIAL_DEGREE))
    for degree in range(1, POLYNOMIAL_DEGREE + 1):
        lines[:values, degree - 1] = np.sqrt(2 * degree + 1) * eval_legendre(degree, 2 * place - 1)
    return lines


def expected_table(
    prior: PublicPrior, names: tuple[str, str], lookups: tuple[Ints, Ints], masses: tuple[Floats, Floats]
) -> Floats | None:
    """Return the table of two columns with the public table's dependence and the given margins; None if it lacks a
    column.

    Groups of its own that are cut are spread by its own counts of their codes.
    """
    counts = prior.table(*names)
    if counts is None:
        return None
    first, second = (
        _spread_groups(prior.by_name[name], lookup, len(mass))
        for name, lookup, mass in zip(names, lookups, masses, strict=True)
    )
    smooth = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(prior.rows, 1)
    return fit_margins(first @ (counts + SMOOTHING_ROWS / max(prior.rows, 1) * smooth) @ second.T, *masses)


def _spread_groups(column: PublicColumn, lookup: Ints, groups: int) -> Floats:
    """Return how the rows of each of its groups (columns) fall on other groups (rows)."""
    # A trace everywhere, for codes that no row has there.
    weight = column.counts + 1e-6
    cells = np.bincount(lookup * column.size + column.groups, weight, groups * column.size)
    spread = cells.reshape(groups, column.size)
    return spread / spread.sum(axis=0)


def compare_table(
    prior: PublicPrior, expected: Floats, counts: Floats, sigma: float, rows: float, *, free: float = 1.0
) -> PriorComparison:
    """Return a released table beside the expected one; `free` is less than one where its margins were put in."""
    return PriorComparison(
        observed=counts / rows,
        expected=expected,
        variance=(sigma / rows) ** 2,
        spread=compute_share_variance(expected, prior.rows),
        free=free,
    )


def shrink_all_to_prior(prior: PublicPrior, compared: Sequence[PriorComparison], rows: float) -> list[Posterior]:
    """Shrink each comparison to the public table by how well they agree."""
    return shrink_to_prior(compared, least_phi(prior, rows))
