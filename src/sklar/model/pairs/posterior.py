"""The posterior of the distribution of two columns, given all measured tables of the pair.

Every table of the pair, coarse or fine, is a measurement of one distribution on one grid, whose cells are the common
refinement of all tables (`sklar.model.posterior` has the formulas). The prior mean is, in this order,

* the nearest member of a parametric family, for two ordered columns that depend on each other,
* the Gaussian copula of the correlation that score sums give, shrunk by its noise,
* independence,

with the expected number of joint nulls added, without the cells that public rules exclude, and with the released
margins. Score sums enter twice: as a term of the family's likelihood, and as the prior mean of pairs without one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from sklar.arrays import Floats
from sklar.model.axis import UNIFORM_MARGIN, interval_of
from sklar.model.pairs.copula import Checkerboard, fit_margins, kendall_tau, make_checkerboard
from sklar.model.pairs.families import cell_masses, fit_family
from sklar.model.pairs.hints import Pair, gaussian_cells
from sklar.model.pairs.nulls import nulls_together
from sklar.model.pairs.tables import MeasuredTable
from sklar.model.posterior import GridTable, estimate_on_grid, margins_of_grid

MIN_STRENGTH = 1.0
"""Smallest strength of the prior of a pair: it never counts for less than one row."""
VARIANCE_FACTOR = 2.0
"""How often each table is used: here, and once more when the whole model is calibrated. Its variance is multiplied by
this number here, since noise that is taken for information twice remains. Without it the error of pairs rises by 1 to
2% on half of 13 tables."""
MIN_PRIOR_MASS = 1e-15
"""Prior mass of cells that are possible but that the prior mean leaves empty, so that tables can fill them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairEstimate:
    """The estimated distribution of a pair: probabilities of the cells of a grid, and the family of its prior mean."""

    edges: Pair
    mass: Floats
    family: str

    @property
    def copula(self) -> Checkerboard:
        """The checkerboard copula with these cells."""
        return make_checkerboard(*self.edges, self.mass)

    @property
    def tau(self) -> float:
        """Kendall's tau."""
        return kendall_tau(self.copula)


def estimate_pair(tables: Sequence[MeasuredTable], rows: float, fine: Pair | None = None) -> PairEstimate:
    """Estimate the distribution of two columns from all measured tables of the pair.

    Args:
        tables: The measured tables; the first one is the finest. Families are fitted to it, and it has what else is
            known about the pair: joint nulls, a correlation, impossible cells.
        rows: The (noisy) number of rows.
        fine: Ends of further intervals of two ordered axes, to carry the shape of a family inside the tables' cells;
            None for columns without an order.
    """
    first = tables[0]
    cuts = [table.edges for table in tables] + ([] if fine is None else [fine])
    grid = reduce(merge_edges, [cut[0] for cut in cuts]), reduce(merge_edges, [cut[1] for cut in cuts])
    masses = np.diff(grid[0]), np.diff(grid[1])
    prior, family = _prior_mean(first, rows, grid, has_order=fine is not None)
    prior = np.maximum(prior + nulls_together(first.nulls, masses) / rows, 0.0)
    if first.possible is None:
        prior = np.maximum(prior, MIN_PRIOR_MASS)
    else:
        row, column = _find_cells(first, grid)
        prior = keep_possible(prior, first.possible[row][:, column], masses)
    seen = [_put_on_grid(table, rows, grid) for table in tables]
    margins = margins_of_grid(prior.shape, *masses)
    mass = estimate_on_grid(prior / prior.sum(), seen, margins, MIN_STRENGTH, caution=VARIANCE_FACTOR)
    return PairEstimate(edges=grid, mass=mass, family=family)


def keep_possible(prior: Floats, possible: Floats, masses: Pair) -> Floats:
    """Return a distribution with the same margins and less, or no, mass where rules allow rows in part, or nowhere."""
    return np.where(possible > 0, fit_margins(prior * possible, *masses), 0.0)


def _prior_mean(table: MeasuredTable, rows: float, grid: Pair, *, has_order: bool) -> tuple[Floats, str]:
    """Return the prior mean of the cells of the grid, and its family."""
    if has_order:
        counts = table.possible_counts - nulls_together(table.nulls, table.masses)
        member = fit_family(counts, table.sigma, rows, table.edges, table.hint, table.tops)
        if member is not None:
            return cell_masses(member, *grid, table.tops), member.name
    if table.hint is not None:
        return gaussian_cells(*grid, table.hint.corr, table.tops)[0], "checkerboard"
    return np.outer(np.diff(grid[0]), np.diff(grid[1])), "checkerboard"


def _put_on_grid(table: MeasuredTable, rows: float, grid: Pair) -> GridTable:
    row, column = _find_cells(table, grid)
    cells = (row[:, None] * table.counts.shape[1] + column).ravel()
    variance = (table.sigma / rows) ** 2
    return GridTable(cells=cells, observed=table.possible_counts / rows, variance=variance, dimensions=table.dimensions)


def _find_cells(table: MeasuredTable, grid: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column of a table that the intervals of a finer grid lie in."""
    row, column = (interval_of(e, (g[1:] + g[:-1]) / 2) for e, g in zip(table.edges, grid, strict=True))
    return row, column


def merge_edges(first: Floats, second: Floats) -> Floats:
    """Return all cut points of two grids, without near-duplicates."""
    merged = np.union1d(first, second)
    merged = merged[np.concatenate([[True], np.diff(merged) > UNIFORM_MARGIN])]
    merged[-1] = 1.0
    return merged
