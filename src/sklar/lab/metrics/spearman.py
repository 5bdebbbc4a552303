"""Difference of Spearman's rank correlations.

Mean over pairs of ordered columns of |corr_real - corr_synthetic|, where corr is Pearson's correlation of mid-ranks
over the rows in which both columns have a value (as pandas' DataFrame.corr(method="spearman")). Between 0 and 2,
lower is better. Reference: Spearman (1904); as a measure of synthetic tables Gambs et al. (2021).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sklar.arrays import Floats
from sklar.lab.metrics.correlation import Correlations, pairwise_matrix, varies
from sklar.lab.metrics.score import About, Score, mean_score
from sklar.lab.tables.table import ExactTable, ordered_names, ordered_values

ROWS = 200_000
"""Larger tables are subsampled to this many rows before ranking."""
ABOUT = About(
    name="spearman",
    title="Rank correlations: Spearman difference",
    says="Absolute difference of Spearman correlations, averaged over pairs of ordered columns.",
    reference="Spearman 1904; Gambs et al. 2021",
    lower=0.0, upper=2.0, better="lower", good=0.03, fair=0.10,
)  # fmt: skip


def spearman_matrix(table: ExactTable) -> Floats:
    """Correlations of the ordered columns; NaN where a column is constant."""
    columns = [ordered_values(table, name) for name in ordered_names(table.schema)]
    if not columns or any(np.isnan(column).any() for column in columns):
        return pairwise_matrix(columns, spearman_correlation)
    ranks = np.stack([_ranks(column) for column in columns])
    fixed = np.array([not varies(column) for column in columns])
    if fixed.all() or table.rows < 2:
        return np.where(np.eye(len(columns)) > 0, 1.0, np.nan)
    ranks[fixed] = np.arange(table.rows)
    out = np.atleast_2d(np.corrcoef(ranks))
    out[fixed, :] = out[:, fixed] = np.nan
    np.fill_diagonal(out, 1.0)
    return out


def spearman_correlation(left: Floats, right: Floats) -> float:
    """Pearson's correlation of mid-ranks; NaN if a column is constant."""
    if not varies(left) or not varies(right):
        return float("nan")
    return float(np.corrcoef(_ranks(left), _ranks(right))[0, 1])


def spearman(real: ExactTable, synthetic: ExactTable) -> Score:
    """Mean absolute difference over the pairs of ordered columns."""
    found = Correlations(
        measure="Spearman", columns=ordered_names(real.schema), real=spearman_matrix(real),
        synthetic=spearman_matrix(synthetic),
    )  # fmt: skip
    why = "there are no two ordered columns that vary."
    score = mean_score(ABOUT, found.differences(), rows=min(real.rows, synthetic.rows), why_none=why)
    return replace(score, behind=found)


def _ranks(values: Floats) -> Floats:
    """Mid-ranks: equal values share the mean of their places."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2.0)[where]
