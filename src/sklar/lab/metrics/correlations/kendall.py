"""Difference of Kendall's tau-b.

Mean over pairs of ordered columns of |tau_real - tau_synthetic|, tau-b (ties corrected) over the rows in which both
columns have a value, as scipy.stats.kendalltau and pandas. Between 0 and 2, lower is better. It is slower than the
other correlations, so tables are subsampled to fewer rows with more pairs. Reference: Kendall (1945).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.lab.metrics.correlations.matrices import is_varying, order_score, pairwise_matrix
from sklar.lab.metrics.score import About, Score
from sklar.lab.tables.table import ExactTable, ordered_names, ordered_values

MAX_ROW_PAIRS = 4_000_000
"""Maximum of rows times pairs of columns; the number of rows is this over the number of pairs, within KENDALL_ROWS."""
KENDALL_ROWS = (1_000, 50_000)
"""The minimum and maximum number of rows: tau of fewer is mostly noise."""
ABOUT = About(
    name="kendall",
    title="Rank correlations: Kendall difference",
    says="Absolute difference of Kendall's tau-b, averaged over pairs of ordered columns.",
    reference="Kendall 1945", upper=2.0, good=0.02, fair=0.07,
)  # fmt: skip


def kendall_rows(columns: int) -> int:
    """Return the number of rows to use with this number of ordered columns."""
    return int(np.clip(MAX_ROW_PAIRS // max(1, math.comb(columns, 2)), *KENDALL_ROWS))


def kendall_matrix(table: ExactTable) -> Floats:
    """Return tau-b of all pairs of ordered columns; NaN for constant columns."""
    return pairwise_matrix([ordered_values(table, name) for name in ordered_names(table.schema)], kendall_tau)


def kendall_tau(left: Floats, right: Floats) -> float:
    """Return tau-b; NaN if a column is constant."""
    from scipy.stats import kendalltau

    if not is_varying(left) or not is_varying(right):
        return float("nan")
    if len(left) == 2:  # scipy divides by the number of rows minus two for a variance that is not needed here
        return float(np.sign(left[1] - left[0]) * np.sign(right[1] - right[0]))
    found: Any = kendalltau(left, right, method="asymptotic")
    return float(found.statistic)


def kendall(real: ExactTable, synthetic: ExactTable) -> Score:
    """Return the mean absolute difference over the pairs of ordered columns."""
    return order_score(ABOUT, "Kendall", kendall_matrix, real, synthetic)
