"""The posterior of a distribution on a grid, given noisy tables of it.

Let p be a distribution on the cells of a grid and m its prior mean. A measured table is y_k = A_k p + noise of variance
s_k^2 per cell, where A_k sums the grid's cells to those of the table. The prior weighs as much as c rows: its log
density is -c KL(p || m), so that p has covariance (diag(m) - m m^T) / c near m. The mode of the posterior minimizes

    KL(p || m) + sum_k |A_k p - y_k|^2 / (2 c s_k^2).

The strength c is estimated from the same tables (empirical Bayes). The squared distance of a table from the prior mean
is expected to be f_k s_k^2 + (1 - |A_k m|^2) / c, where f_k is the number of dimensions that carry noise. Hence

    1 / c = sum_k (|y_k - A_k m|^2 - f_k s_k^2) / sum_k (1 - |A_k m|^2).

The same posterior serves pairs of columns (a grid), pairs within classes (a grid with a third axis) and the whole table
(`sklar.model.vine.calibration`, where particles of the vine take the place of grid cells).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sklar.arrays import Floats

MAX_STRENGTH = 1e5
"""Largest strength of a prior: tables that agree with it to this extent do not move it visibly."""
GRID_SWEEPS, GRID_TOLERANCE = 60, 1e-5
"""Largest number of sweeps over the tables of a grid, and the mean change of mass at which they end."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridTable:
    """A table of a distribution on a grid.

    Attributes:
        cells: The cell of the table that each cell of the grid belongs to.
        observed: Measured probabilities of the table's cells.
        variance: Noise variance of each; 0 for exact constraints such as margins.
        dimensions: Number of dimensions that carry noise; None if every cell does.
    """

    cells: np.ndarray
    observed: np.ndarray
    variance: float = 0.0
    dimensions: int | None = None

    def evaluate(self, masses: Floats) -> Floats:
        """Return the table of a distribution on the grid, flat."""
        return np.bincount(self.cells, masses.ravel(), self.observed.size).astype(np.float64)

    def compare(self, masses: Floats) -> Comparison:
        """Return the table beside that of an expected distribution on the grid."""
        dimensions = self.observed.size if self.dimensions is None else self.dimensions
        return Comparison(self.evaluate(masses), self.observed.ravel(), self.variance, dimensions)


class Comparison(NamedTuple):
    """A table as it is expected and as it was observed, with the variance and the dimensions of its noise."""

    expected: Floats
    observed: Floats
    variance: float
    dimensions: int


def estimate_strength(
    tables: Iterable[Comparison], least: float, deviations: float = 0.0, most: float = MAX_STRENGTH
) -> float:
    """Estimate the strength c of a prior from tables by empirical Bayes, within bounds.

    The distance u of a table that noise does not explain has standard deviation s^2 sqrt(2 f) + 2 s sqrt(u).

    Args:
        tables: Each expected table beside the observed one.
        least: Smallest strength.
        deviations: Number of standard deviations by which distances must exceed the noise to count.
        most: Largest strength.
    """
    unexplained, scale = 0.0, 0.0
    for expected, observed, variance, dimensions in tables:
        excess = float(np.sum((observed - expected) ** 2)) - dimensions * variance
        deviation = variance * np.sqrt(2 * dimensions) + 2 * np.sqrt(variance * max(excess, 0.0))
        unexplained += excess - deviations * deviation
        scale += 1.0 - float(expected @ expected)
    return float(np.clip(scale / unexplained, least, most)) if unexplained > 0 else most


def estimate_on_grid(
    prior: Floats, tables: Sequence[GridTable], margins: Sequence[GridTable], least: float, caution: float = 1.0
) -> Floats:
    """Return the posterior mode on a grid.

    Args:
        prior: Prior mean, of the grid's shape.
        tables: Measured tables.
        margins: Exact constraints.
        least: Smallest strength of the prior.
        caution: Factor of the strength, above 1 where the same tables are used again later.
    """
    strength = caution * estimate_strength([table.compare(prior) for table in tables], least)
    return move_to_tables(prior, [*(replace(t, variance=strength * t.variance) for t in tables), *margins])


def move_to_tables(prior: Floats, tables: Sequence[GridTable]) -> Floats:
    """Return the distribution p that minimizes KL(p || prior) + sum_k |A_k p - y_k|^2 / (2 v_k)."""
    weights = np.ascontiguousarray(prior.ravel() / prior.sum())
    observed = [table.observed.ravel().astype(np.float64) for table in tables]
    variances = [np.full(table.observed.size, max(table.variance, 1e-16)) for table in tables]
    cells = np.array([table.cells for table in tables], dtype=np.uint16)
    sweep_tables(observed, variances, np.zeros(sum(map(len, observed))), cells, weights, GRID_SWEEPS, GRID_TOLERANCE)
    return (weights / weights.sum()).reshape(prior.shape)


def margins_of_grid(shape: tuple[int, ...], first: Floats, second: Floats) -> list[GridTable]:
    """Return the margins of a grid of two axes as exact constraints."""
    row, column = np.indices(shape).reshape(2, -1)
    return [GridTable(cells=row, observed=first), GridTable(cells=column, observed=second)]


def sweep_tables(
    observed: Sequence[Floats], variances: Sequence[Floats], dual: Floats, cells: np.ndarray, weights: Floats,
    sweeps: int, tolerance: float,
) -> None:  # fmt: skip
    """Minimize over the dual of one table at a time, in turn; `dual` and `weights` change in place.

    Args:
        observed: Observed probabilities of each table.
        variances: Squared tolerance of each of their cells.
        dual: Log-weights of the cells of all tables, end to end.
        cells: Cell of each particle (column) in each table (row).
        weights: Weights of the particles.
        sweeps: Largest number of rounds over all tables.
        tolerance: Rounds end when tables change by less mass than this on average.
    """
    from sklar.model.kernels import soft_fit

    offsets = table_offsets(observed)
    mass, factor = np.zeros((2, np.diff(offsets).max()))
    first = np.bincount(cells[0], weights)
    mass[: len(first)] = first
    whole, tolerances = np.concatenate(observed), np.concatenate(variances)
    soft_fit(cells, offsets, whole, tolerances, dual, weights, sweeps, tolerance, mass, factor)


def table_offsets(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Return where each table begins when all are laid end to end, and the total length."""
    return np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64)
