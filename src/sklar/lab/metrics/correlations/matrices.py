"""Differences between correlation matrices: which pairs count, and how undefined correlations count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from sklar.arrays import Floats
from sklar.lab.metrics.score import About, Part, Score, mean_score
from sklar.lab.tables.table import ExactTable, ordered_names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Correlations:
    """Correlations of both tables; NaN if undefined."""

    measure: str
    columns: tuple[str, ...]
    real: Floats
    synthetic: Floats


def correlation_score(
    about: About, found: Correlations, rows: int, *, ordered: bool = True, reason: str | None = None
) -> Score:
    """Return the mean of |real - synthetic| over the pairs of columns, with the matrices as details.

    A correlation is undefined (NaN) if a column is constant. If it is undefined in one table only, it counts as 0
    there; if in both, the pair is left out.
    """
    differences = np.abs(np.nan_to_num(found.real) - np.nan_to_num(found.synthetic))
    undefined = np.isnan(found.real) & np.isnan(found.synthetic)
    parts = [
        Part(columns=(found.columns[i], found.columns[j]), value=float(differences[i, j]))
        for i, j in combinations(range(len(found.columns)), 2)
        if not undefined[i, j]
    ]
    why = f"there are no two {'ordered ' if ordered else ''}columns that vary."
    return replace(mean_score(about, parts, rows=rows, reason=reason, why_none=why), behind=found)


def order_score(
    about: About, measure: str, matrix: Callable[[ExactTable], Floats], real: ExactTable, synthetic: ExactTable
) -> Score:
    """Return the mean absolute difference over the pairs of ordered columns."""
    names = ordered_names(real.schema)
    found = Correlations(measure=measure, columns=names, real=matrix(real), synthetic=matrix(synthetic))
    return correlation_score(about, found, min(real.rows, synthetic.rows))


def pairwise_matrix(columns: Sequence[Floats], measure: Callable[[Floats, Floats], float]) -> Floats:
    """Compute `measure(x, y)` for all pairs, over the rows where both have a value; NaN if undefined."""
    out = np.eye(len(columns))
    for i, j in combinations(range(len(columns)), 2):
        both = ~(np.isnan(columns[i]) | np.isnan(columns[j]))
        out[i, j] = out[j, i] = measure(columns[i][both], columns[j][both])
    return out


def listed_values(table: ExactTable, name: str) -> Floats:
    """Return the values of any column: numbers, or positions in the list of labels (also nominal); NaN for null."""
    if name in table.numbers:
        return table.numbers[name]
    null, codes = table.schema[name].null_code, table.codes[name].astype(float)
    return codes if null is None else np.where(codes == null, np.nan, codes)


def is_varying(values: Floats) -> bool:
    """Check whether a column has at least two different values."""
    return len(values) > 1 and bool((values != values[0]).any())
