"""Difference of phi_k, a correlation for columns of any kind.

phi_k is the correlation of the bivariate normal distribution whose chi-square on the same table of counts would be
the observed one, minus the part expected from noise; between 0 and 1. As in the phik package and in Galloni et al.
(2023), numbers are in 10 equal cells between the minimum and maximum of each table (so a shift of a table is not
detected), and nulls are left out. The score is the mean of |phi_k(real) - phi_k(synthetic)| over all pairs; lower is
better. Reference: Baak et al. (2020).
"""

from __future__ import annotations

import sys

import numpy as np

from sklar.arrays import Floats
from sklar.errors import MissingExtraError
from sklar.lab.metrics.correlations.matrices import Correlations, correlation_score, listed_values, pairwise_matrix
from sklar.lab.metrics.score import About, Score
from sklar.lab.tables.table import ExactTable

PHIK_BINS = 10
"""Cells of a numeric column, as in the phik package; the value of phi_k depends on it."""
MAX_PHIK_ROWS = 100_000
"""Larger tables are subsampled to this number of rows."""
MAX_PHIK_COLUMNS = 40
"""With more columns, phi_k is computed for this number of random ones: each pair takes some milliseconds."""
ABOUT = About(
    name="phik",
    title="Correlations of all kinds: phi_k difference",
    says="Absolute difference of phi_k, averaged over all pairs of columns.",
    reference="Baak et al. 2020; Galloni et al. 2023", good=0.04, fair=0.12,
)  # fmt: skip


def phik_matrix(table: ExactTable, names: tuple[str, ...] | None = None) -> Floats:
    """Return phi_k of all pairs of the named columns; NaN if a column has fewer than two different values."""
    return pairwise_matrix([_cells(table, name) for name in (table.names if names is None else names)], phik_of_cells)


def phik_of_cells(left: Floats, right: Floats) -> float:
    """Return phi_k of two columns of cells; NaN if one of them has fewer than two occupied cells."""
    try:
        from phik.phik import phik_from_hist2d
    except ImportError:
        raise MissingExtraError("phi_k needs the package phik: pip install '.[eval]' in the folder of Sklar.") from None
    rows, row = np.unique(left, return_inverse=True)
    columns, column = np.unique(right, return_inverse=True)
    if len(rows) < 2 or len(columns) < 2:
        return float("nan")
    counts = np.bincount(row * len(columns) + column, minlength=len(rows) * len(columns))
    return float(phik_from_hist2d(counts.reshape(len(rows), len(columns)).astype(float)))


def phik(real: ExactTable, synthetic: ExactTable, names: tuple[str, ...] | None = None) -> Score:
    """Return the mean absolute difference over all pairs of columns."""
    chosen = real.names if names is None else names
    one, two = phik_matrix(real, chosen), phik_matrix(synthetic, chosen)
    found = Correlations(measure="phi_k", columns=chosen, real=one, synthetic=two)
    note = None if len(chosen) == len(real.names) else f"{len(chosen)} columns chosen at random."
    return correlation_score(ABOUT, found, min(real.rows, synthetic.rows), ordered=False, reason=note)


def choose_phik_columns(names: tuple[str, ...], rng: np.random.Generator, first: str | None = None) -> tuple[str, ...]:
    """Return all columns, or MAX_PHIK_COLUMNS random ones including the target."""
    if len(names) <= MAX_PHIK_COLUMNS:
        return names
    chosen = set(rng.choice(len(names), MAX_PHIK_COLUMNS, replace=False).tolist())
    return tuple(name for at, name in enumerate(names) if at in chosen or name == first)


def _cells(table: ExactTable, name: str) -> Floats:
    """Return the cell of each row; NaN for null."""
    values = listed_values(table, name)
    return _equal_cells(values) if name in table.numbers else values


def _equal_cells(values: Floats) -> Floats:
    """Return cells closed on the right between minimum and maximum, as in the phik package."""
    known = ~np.isnan(values)
    if not known.any():
        return values
    low, high = float(values[known].min()), float(values[known].max())
    edges = np.linspace(low - max(1e-14 * abs(low), sys.float_info.min), high, PHIK_BINS + 1)
    cells = np.searchsorted(edges, np.where(known, values, high), side="left") - 1
    return np.where(known, np.clip(cells, 0, PHIK_BINS - 1), np.nan)
