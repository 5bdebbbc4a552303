"""Difference of phi_k, a correlation for columns of any kind.

phi_k is the correlation of the bivariate normal distribution whose chi-square on the same table of counts would be
the one observed, less what noise would give; between 0 and 1. As in the phik package and in Galloni et al. (2023):
numbers in 10 equal cells between the least and the greatest value of the table at hand (so it does not see a shift of
a table), nulls left out. The score is the mean of |phi_k(real) - phi_k(synthetic)| over all pairs; lower is better.
Reference: Baak et al. (2020).
"""

from __future__ import annotations

import sys
from functools import cache, lru_cache

import numpy as np

from sklar.arrays import Floats
from sklar.lab.metrics.correlations.matrices import Correlations, correlation_score, listed_values, pairwise_matrix
from sklar.lab.metrics.score import About, Score
from sklar.lab.tables.table import ExactTable

BINS = 10
"""Cells of a column of numbers, as in the phik package; the value of phi_k depends on it."""
ROWS = 100_000
"""Larger tables are subsampled to this many rows."""
COLUMNS = 40
"""With more columns, phi_k is taken of this many chosen at random: their pairs grow with the square."""
NODES = 24
"""Of the integral behind phi_k; with twice as many, nothing changes in nine digits."""
ABOUT = About(
    name="phik",
    title="Correlations of all kinds: phi_k difference",
    says="Absolute difference of phi_k, averaged over all pairs of columns.",
    reference="Baak et al. 2020; Galloni et al. 2023",
    lower=0.0, upper=1.0, better="lower", good=0.04, fair=0.12,
)  # fmt: skip


def phik_matrix(table: ExactTable, names: tuple[str, ...] | None = None) -> Floats:
    """phi_k of all pairs of the named columns; NaN where a column has fewer than two different values."""
    return pairwise_matrix([_cells(table, name) for name in (table.names if names is None else names)], phik_of_cells)


def phik_of_cells(left: Floats, right: Floats) -> float:
    """phi_k of two columns of cells; NaN if one of them has fewer than two cells that occur."""
    rows, row = np.unique(left, return_inverse=True)
    columns, column = np.unique(right, return_inverse=True)
    if len(rows) < 2 or len(columns) < 2:
        return float("nan")
    counts = np.bincount(row * len(columns) + column, minlength=len(rows) * len(columns))
    return _phik_of_counts(counts.reshape(len(rows), len(columns)).astype(float))


def _phik_of_counts(counts: Floats) -> float:
    """The correlation r with noise + scale * chi2(r) = chi2 of the counts, where noise is the degrees of freedom.

    chi2(r) is that of normals of correlation r against independent ones, on as many equal cells between -5 and 5; the
    scale makes it the largest possible at r = 1.
    """
    from scipy.optimize import brentq

    chi2, noise = _chi_square(counts), float((counts.shape[0] - 1) * (counts.shape[1] - 1))
    most = counts.sum() * (min(counts.shape) - 1)
    if chi2 <= noise:
        return 0.0
    if chi2 >= most or np.isclose(chi2, most, atol=1e-14):
        return 1.0
    scale = (most - noise) / _normal_chi_square(1.0, *counts.shape)

    def miss(corr: float) -> float:
        return noise + scale * _normal_chi_square(corr, *counts.shape) - chi2

    return float(brentq(miss, 0.0, 1.0, xtol=1e-5))  # type: ignore[arg-type]


def _chi_square(counts: Floats) -> float:
    """Pearson's, of a table whose rows and columns all occur; of two by two cells with Yates' correction."""
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    gaps = np.abs(counts - expected)
    if counts.shape == (2, 2):
        gaps -= np.minimum(0.5, gaps)
    return float((gaps**2 / expected).sum())


@lru_cache(maxsize=10_000)
def _normal_chi_square(corr: float, rows: int, columns: int) -> float:
    """Of one normal pair of this correlation against an independent one; tables of one shape ask for the same ones.

    Phi2(h, k; r) - Phi(h) Phi(k) = (1 / 2 pi) int_0^arcsin(r) exp(-(h^2 + k^2 - 2 h k sin u) / (2 cos^2 u)) du, by
    Gauss and Legendre (Drezner and Wesolowsky 1990).
    """
    from scipy.special import ndtr

    x, y = np.linspace(-5, 5, rows + 1)[:, None], np.linspace(-5, 5, columns + 1)
    places, weights = _legendre()
    half = np.arcsin(corr) / 2
    angles = half * (1 + places[:, None, None])
    if corr < 1:
        heights = np.exp((x * y * np.sin(angles) - (x**2 + y**2) / 2) / np.cos(angles) ** 2)
        excess = np.tensordot(weights, heights, 1) * half / (2 * np.pi)
    else:
        excess = np.minimum(ndtr(x), ndtr(y)) - ndtr(x) * ndtr(y)
    gaps = np.diff(np.diff(excess, axis=0), axis=1)
    return float((gaps**2 / (np.diff(ndtr(x), axis=0) * np.diff(ndtr(y)))).sum())


@cache
def _legendre() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(NODES)


def phik(real: ExactTable, synthetic: ExactTable, names: tuple[str, ...] | None = None) -> Score:
    """Mean absolute difference over all pairs of columns."""
    chosen = real.names if names is None else names
    one, two = phik_matrix(real, chosen), phik_matrix(synthetic, chosen)
    found = Correlations(measure="phi_k", columns=chosen, real=one, synthetic=two)
    note = None if len(chosen) == len(real.names) else f"{len(chosen)} columns chosen at random."
    return correlation_score(ABOUT, found, min(real.rows, synthetic.rows), ordered=False, reason=note)


def phik_names(names: tuple[str, ...], rng: np.random.Generator, first: str | None = None) -> tuple[str, ...]:
    """All columns, or COLUMNS of them drawn at random (with the target among them)."""
    if len(names) <= COLUMNS:
        return names
    chosen = set(rng.choice(len(names), COLUMNS, replace=False).tolist())
    return tuple(name for at, name in enumerate(names) if at in chosen or name == first)


def _cells(table: ExactTable, name: str) -> Floats:
    """The cell of each row; NaN for null."""
    values = listed_values(table, name)
    return _equal_cells(values) if name in table.numbers else values


def _equal_cells(values: Floats) -> Floats:
    """Cells closed on the right between the least and the greatest value, as the phik package makes them."""
    known = ~np.isnan(values)
    if not known.any():
        return values
    low, high = float(values[known].min()), float(values[known].max())
    edges = np.linspace(low - max(1e-14 * abs(low), sys.float_info.min), high, BINS + 1)
    cells = np.searchsorted(edges, np.where(known, values, high), side="left") - 1
    return np.where(known, np.clip(cells, 0, BINS - 1), np.nan)
