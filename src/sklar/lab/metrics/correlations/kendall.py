"""Difference of Kendall's tau-b.

Mean over pairs of ordered columns of |tau_real - tau_synthetic|, tau-b (ties corrected) over the rows in which both
columns have a value, as scipy.stats.kendalltau and pandas. Between 0 and 2, lower is better. It costs more than the
other correlations, so tables are subsampled to a number of rows that falls with the number of pairs. Reference:
Kendall (1945).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.lab.metrics.correlations.matrices import order_score, pairwise_matrix, varies
from sklar.lab.metrics.score import About, Score
from sklar.lab.tables.table import ExactTable, ordered_names, ordered_values

WORK = 4_000_000
"""Rows times pairs that are worked through; the rows used are this over the number of pairs, within ROWS."""
ROWS = (1_000, 50_000)
"""The fewest and the most rows used, however many pairs there are: tau of fewer is mostly noise."""
ABOUT = About(
    name="kendall",
    title="Rank correlations: Kendall difference",
    says="Absolute difference of Kendall's tau-b, averaged over pairs of ordered columns.",
    reference="Kendall 1945",
    lower=0.0, upper=2.0, better="lower", good=0.02, fair=0.07,
)  # fmt: skip


def kendall_rows(columns: int) -> int:
    """Rows that are used for so many ordered columns."""
    return int(np.clip(WORK // max(1, math.comb(columns, 2)), *ROWS))


def kendall_matrix(table: ExactTable) -> Floats:
    """tau-b of the ordered columns; NaN where a column is constant."""
    return pairwise_matrix([ordered_values(table, name) for name in ordered_names(table.schema)], kendall_tau)


def kendall_tau(left: Floats, right: Floats) -> float:
    """tau-b; NaN if a column is constant."""
    from scipy.stats import kendalltau

    if not varies(left) or not varies(right):
        return float("nan")
    if len(left) == 2:  # the library divides by the number of rows less two, for a variance that nobody asked for
        return float(np.sign(left[1] - left[0]) * np.sign(right[1] - right[0]))
    found: Any = kendalltau(left, right, method="asymptotic")
    return float(found.statistic)


def kendall(real: ExactTable, synthetic: ExactTable) -> Score:
    """Mean absolute difference over the pairs of ordered columns."""
    return order_score(ABOUT, "Kendall", kendall_matrix, real, synthetic)
