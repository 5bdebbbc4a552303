"""Differences between matrices of correlations: which pairs count, and what an undefined correlation means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sklar.arrays import Floats
from sklar.lab.metrics.score import Part


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Correlations:
    """Correlations of both tables; NaN where they are undefined."""

    measure: str
    columns: tuple[str, ...]
    real: Floats
    synthetic: Floats

    def differences(self) -> list[Part]:
        """|real - synthetic| for each pair of columns."""
        return differences(self.columns, self.real, self.synthetic)


def differences(names: Sequence[str], real: Floats, synthetic: Floats) -> list[Part]:
    """|real - synthetic| for each pair of columns.

    A correlation is undefined (NaN) where a column is constant. Where it is so in one table only it counts as 0 there;
    where it is so in both, the pair is left out.
    """
    parts: list[Part] = []
    for i, j in combinations(range(len(names)), 2):
        one, two = real[i, j], synthetic[i, j]
        if np.isnan(one) and np.isnan(two):
            continue
        parts.append(Part(columns=(names[i], names[j]), value=float(abs(np.nan_to_num(one) - np.nan_to_num(two)))))
    return parts


def pairwise_matrix(columns: Sequence[Floats], measure: object) -> Floats:
    """`measure(x, y)` for all pairs, over the rows where both have a value; NaN where it is undefined."""
    out = np.eye(len(columns))
    for i, j in combinations(range(len(columns)), 2):
        both = ~(np.isnan(columns[i]) | np.isnan(columns[j]))
        out[i, j] = out[j, i] = measure(columns[i][both], columns[j][both])  # type: ignore[operator]
    return out


def varies(values: Floats) -> bool:
    """Whether a column has at least two different values."""
    return len(values) > 1 and bool((values != values[0]).any())
