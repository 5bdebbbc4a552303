"""Kolmogorov-Smirnov distance of single columns: of numeric ones (`ks`), and of all, as published (`ks_all`).

KS = max over x of |F_real(x) - F_synthetic(x)|, between 0 and 1, lower is better; nulls are left out (their share is
part of the total variation distance). It is computed on the numbers, clipped to the public bounds, not on cells.
Reference: Smirnov (1939). 1 - KS is KSComplement of sdmetrics.

Gambs et al. (2021, appendix A) average D_KS = sup_x |F_t(x) - F_e(x)| over ALL attributes, including categories in the
order of their encoding. `ks_all` does this: labels in the order of the schema, then `other`, and null last. For a
nominal column it depends on that order, so `ks` leaves such columns out.
"""

from __future__ import annotations

import numpy as np

from sklar.arrays import Floats
from sklar.lab.metrics.correlations.matrices import listed_values
from sklar.lab.metrics.score import About, Part, Score, mean_score
from sklar.lab.tables.table import ExactTable, numeric_names

ABOUT = About(
    name="ks",
    title="Numeric columns: Kolmogorov-Smirnov distance",
    says="Largest difference between the cumulative distributions of a column, averaged over numeric columns.",
    reference="Smirnov 1939", good=0.03, fair=0.10,
)  # fmt: skip
ALL = About(
    name="ks_all",
    title="All columns: Kolmogorov-Smirnov distance",
    says="Largest difference between the cumulative distributions of a column, averaged over all columns.",
    reference="Gambs et al. 2021, appendix A", good=0.03, fair=0.10,
)  # fmt: skip


def ks_distance(left: Floats, right: Floats) -> float | None:
    """Return the distance between two samples; 1 if only one of them has values, None if neither has."""
    left, right = np.sort(left[~np.isnan(left)]), np.sort(right[~np.isnan(right)])
    if not len(left) or not len(right):
        return None if len(left) == len(right) else 1.0
    points = np.concatenate([left, right])
    below_left = np.searchsorted(left, points, side="right") / len(left)
    below_right = np.searchsorted(right, points, side="right") / len(right)
    return float(np.abs(below_left - below_right).max())


def ks(real: ExactTable, synthetic: ExactTable) -> Score:
    """Return the mean over numeric columns. A column that is entirely null in one table only counts as 1."""
    names = numeric_names(real.schema)
    found = {name: ks_distance(real.numbers[name], synthetic.numbers[name]) for name in names}
    parts = [Part(columns=(name,), value=value) for name, value in found.items() if value is not None]
    empty = [name for name, value in found.items() if value is None]
    note = f"left out, entirely null: {', '.join(empty)}." if empty else None
    why = "all numeric columns are entirely null." if empty else "there is no numeric column."
    return mean_score(ABOUT, parts, rows=min(real.rows, synthetic.rows), reason=note, why_none=why)


def ks_all(real: ExactTable, synthetic: ExactTable) -> Score:
    """Return the mean over all columns, with null after all values."""
    last = [{n: np.nan_to_num(listed_values(t, n), nan=np.inf) for n in real.names} for t in (real, synthetic)]
    found = {name: ks_distance(last[0][name], last[1][name]) for name in real.names}
    parts = [Part(columns=(name,), value=value) for name, value in found.items() if value is not None]
    return mean_score(ALL, parts, rows=min(real.rows, synthetic.rows), why_none="there are no rows.")
