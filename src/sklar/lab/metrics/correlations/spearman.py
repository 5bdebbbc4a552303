"""Difference of Spearman's rank correlations.

Mean over pairs of ordered columns of |corr_real - corr_synthetic|, where corr is Pearson's correlation of mid-ranks
over the rows in which both columns have a value (as pandas' DataFrame.corr(method="spearman")). Between 0 and 2,
lower is better. Reference: Spearman (1904).

The Mean Correlation Delta of Gambs et al. (2021, appendix A) is sum_{i,j} |C_o(i,j) - C_s(i,j)| / m^2 over the full
matrix of all m columns, both triangles and the diagonal (which adds nothing), nominal labels as encoded.
`correlation_delta` computes it with labels in the order of the schema: (m - 1) / m times the mean over all pairs.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sklar.arrays import Floats
from sklar.lab.metrics.correlations.matrices import (
    Correlations,
    correlation_score,
    is_varying,
    listed_values,
    order_score,
    pairwise_matrix,
)
from sklar.lab.metrics.score import About, Score
from sklar.lab.tables.table import ExactTable, ordered_names, ordered_values

MAX_SPEARMAN_ROWS = 200_000
"""Larger tables are subsampled to this number of rows before ranking."""
ABOUT = About(
    name="spearman",
    title="Rank correlations: Spearman difference",
    says="Absolute difference of Spearman correlations, averaged over pairs of ordered columns.",
    reference="Spearman 1904", upper=2.0, good=0.03, fair=0.10,
)  # fmt: skip
DELTA = About(
    name="correlation_delta",
    title="Rank correlations: mean correlation delta",
    says="Absolute difference of Spearman correlations, averaged over the full matrix of all columns.",
    reference="Gambs et al. 2021, appendix A", upper=2.0, good=0.03, fair=0.10,
)  # fmt: skip


def spearman_matrix(table: ExactTable) -> Floats:
    """Return the correlations of the ordered columns; NaN for constant columns."""
    return _correlate_ranks(table, [ordered_values(table, name) for name in ordered_names(table.schema)])


def _correlate_ranks(table: ExactTable, columns: list[Floats]) -> Floats:
    from scipy.stats import rankdata

    if len(columns) < 2 or table.rows < 2 or any(np.isnan(column).any() for column in columns):
        return pairwise_matrix(columns, spearman_correlation)
    with np.errstate(invalid="ignore"):  # 0 / 0 for constant columns
        out = np.corrcoef(rankdata(columns, axis=1))
    np.fill_diagonal(out, 1.0)
    return out


def spearman_correlation(left: Floats, right: Floats) -> float:
    """Return Pearson's correlation of mid-ranks; NaN if a column is constant."""
    from scipy.stats import rankdata

    if not is_varying(left) or not is_varying(right):
        return float("nan")
    return float(np.corrcoef(rankdata(left), rankdata(right))[0, 1])


def spearman(real: ExactTable, synthetic: ExactTable) -> Score:
    """Return the mean absolute difference over the pairs of ordered columns."""
    return order_score(ABOUT, "Spearman", spearman_matrix, real, synthetic)


def correlation_delta(real: ExactTable, synthetic: ExactTable) -> Score:
    """Return the mean absolute difference over the full matrix; undefined correlations count as 0."""
    names = real.names
    one, two = (_correlate_ranks(table, [listed_values(table, name) for name in names]) for table in (real, synthetic))
    found = Correlations(measure="Spearman", columns=names, real=one, synthetic=two)
    score = correlation_score(DELTA, found, min(real.rows, synthetic.rows), ordered=False)
    if score.value is None:
        return score
    return replace(score, value=2 * math.fsum(part.value for part in score.parts) / len(names) ** 2)
