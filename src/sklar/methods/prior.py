"""A public table beside releases: what it expects of them, and how far they bear it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.model.leaning import Compared, Leaned, lean, share_spread
from sklar.model.margins.likelihood import Observation
from sklar.model.pairs.copula import fit_margins
from sklar.schema.prior import PublicColumn, PublicPrior

SMOOTHED = 30.0
"""Rows of independent columns that are added to tables of pairs of a public table, so that no cell is empty."""


def least_phi(prior: PublicPrior, rows: float) -> float:
    """The phi of a public table of people from the same population: see `sklar.model.leaning`."""
    return 1 / max(rows, 1.0) + 1 / max(prior.rows, 1.0)


def bin_shares(column: PublicColumn, lookup: Ints, bins: int) -> Floats:
    """Shares of bins of base codes in a public table; bin -1 is none."""
    inside = lookup >= 0
    counts = np.bincount(lookup[inside], column.counts[inside], bins).astype(np.float64)
    return counts / max(float(column.counts.sum()), 1.0)


def lean_histograms(
    prior: PublicPrior | None, seen: Mapping[str, tuple[Ints, Floats, float]], rows: float
) -> dict[str, float]:
    """The phi of each column that the public table has, by a released histogram of it (lookup, counts, deviation)."""
    names = [name for name in seen if prior is not None and name in prior.by_name]
    if prior is None or not names:
        return {}
    compared: list[Compared] = []
    for name in names:
        lookup, counts, sigma = seen[name]
        shares = bin_shares(prior.by_name[name], lookup, len(counts))
        compared.append(
            Compared(
                observed=counts / rows,
                expected=shares,
                variance=(sigma / rows) ** 2,
                spread=share_spread(shares, prior.rows),
            )
        )
    found = lean(compared, least_phi(prior, rows))
    return {name: one.phi for name, one in zip(names, found, strict=True)}


def expected_bins(
    prior: PublicPrior, name: str, lookup: Ints, bins: int, rows: float, phi: float
) -> tuple[Floats, Floats]:
    """(counts, deviations) that the public table expects of bins, at its phi: one more histogram for the margin."""
    shares = bin_shares(prior.by_name[name], lookup, bins)
    return rows * shares, rows * np.sqrt(phi * share_spread(shares, prior.rows))


def expected_cells(
    prior: PublicPrior | None, name: str, starts: Ints, size: int, rows: float, phis: Mapping[str, float]
) -> tuple[Observation, ...]:
    """The same for the cells of a margin; none without a prior."""
    if prior is None or name not in phis:
        return ()
    cells = np.arange(len(starts))
    lookup = np.repeat(cells, np.diff(np.append(starts, size)))
    counts, sigma = expected_bins(prior, name, lookup, len(starts), rows, phis[name])
    return (Observation(parent=cells, counts=counts, sigma=sigma),)


def expected_table(
    prior: PublicPrior, names: tuple[str, str], lookups: tuple[Ints, Ints], masses: tuple[Floats, Floats]
) -> Floats | None:
    """The table of two columns with the public table's dependence and the given margins; None if it lacks a column.

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
    return fit_margins(first @ (counts + SMOOTHED / max(prior.rows, 1) * smooth) @ second.T, *masses)


def _spread_groups(column: PublicColumn, lookup: Ints, groups: int) -> Floats:
    """How the rows of each of its groups (columns) fall on other groups (rows)."""
    # A trace everywhere, for codes that nobody has there.
    weight = column.counts + 1e-6
    cells = np.bincount(lookup * column.size + column.groups, weight, groups * column.size)
    spread = cells.reshape(groups, column.size)
    return spread / spread.sum(axis=0)


def compare_table(prior: PublicPrior, expected: Floats, counts: Floats, sigma: float, rows: float) -> Compared:
    """A released table beside the expected one."""
    return Compared(
        observed=counts / rows,
        expected=expected,
        variance=(sigma / rows) ** 2,
        spread=share_spread(expected, prior.rows),
    )


def lean_all(prior: PublicPrior, compared: Sequence[Compared], rows: float) -> list[Leaned]:
    """Lean on the public table as far as each is borne out."""
    return lean(compared, least_phi(prior, rows))
