"""Difference of Spearman's rank correlations.

Mean over pairs of ordered columns of |corr_real - corr_synthetic|, where corr is Pearson's correlation of mid-ranks
over the rows in which both columns have a value (as pandas' DataFrame.corr(method="spearman")). Between 0 and 2,
lower is better. Reference: Spearman (1904); as a measure of synthetic tables Gambs et al. (2021).
"""

from __future__ import annotations

import numpy as np

from sklar.arrays import Floats
from sklar.lab.metrics.correlation import Correlations, correlation_score, pairwise_matrix, varies
from sklar.lab.metrics.score import About, Score
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
    from scipy.stats import rankdata

    columns = [ordered_values(table, name) for name in ordered_names(table.schema)]
    if len(columns) < 2 or table.rows < 2 or any(np.isnan(column).any() for column in columns):
        return pairwise_matrix(columns, spearman_correlation)
    with np.errstate(invalid="ignore"):  # 0 / 0 for constant columns
        out = np.corrcoef(rankdata(columns, axis=1))
    np.fill_diagonal(out, 1.0)
    return out


def spearman_correlation(left: Floats, right: Floats) -> float:
    """Pearson's correlation of mid-ranks; NaN if a column is constant."""
    from scipy.stats import rankdata

    if not varies(left) or not varies(right):
        return float("nan")
    return float(np.corrcoef(rankdata(left), rankdata(right))[0, 1])


def spearman(real: ExactTable, synthetic: ExactTable) -> Score:
    """Mean absolute difference over the pairs of ordered columns."""
    one, two = spearman_matrix(real), spearman_matrix(synthetic)
    found = Correlations(measure="Spearman", columns=ordered_names(real.schema), real=one, synthetic=two)
    return correlation_score(ABOUT, found, min(real.rows, synthetic.rows))
