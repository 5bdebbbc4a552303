"""The linear attribute attacker: a regression of the sensitive column on all others, every column standardized.

With Z the standardized table and j the sensitive column, Z_j is regressed on the others (the response included) by
least squares. From the coefficients of all regressions, without the intercept: MAB, their mean absolute value; WCAB,
their greatest; and MR2, the mean adjusted R2. Reference: Griesbauer et al. (2025), section 2.5 and appendix H.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.lab.tables.table import ExactTable, ordered_values

LABELS = 20
"""Labels of a column that get an indicator: the most frequent ones of the real table, but for the very first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DesignLayout:
    """Which indicators stand for the labels of each column that is not ordered; taken from the real table."""

    shown: Mapping[str, Ints]
    names: tuple[str, ...]

    def features(self, sensitive: str) -> tuple[str, ...]:
        """Names of the features that predict the sensitive column."""
        out: list[str] = []
        for name in self.names:
            if name != sensitive:
                out += [f"{name}={code}" for code in self.shown[name]] if name in self.shown else [name]
        return tuple(out)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """One regression: coefficients without the intercept (which is 0), R2 and adjusted R2."""

    coefficients: Floats
    r2: float
    adjusted: float


def layout_of(real: ExactTable) -> DesignLayout:
    """Indicators for the labels of the real table."""
    shown: dict[str, Ints] = {}
    for name in real.names:
        if not real.schema[name].ordered:
            counts = np.bincount(real.codes[name], minlength=real.schema.size(name))
            order = np.argsort(-counts, kind="stable")
            shown[name] = order[1 : LABELS + 1][counts[order[1 : LABELS + 1]] > 0]
    return DesignLayout(shown=shown, names=real.names)


def predictors(table: ExactTable, layout: DesignLayout, sensitive: str) -> Floats:
    """All columns but the sensitive one as numbers: null is the mean of the table, labels are indicators."""
    blocks = [_column(table, layout, name) for name in layout.names if name != sensitive]
    return np.concatenate(blocks, axis=1) if blocks else np.empty((table.rows, 0))


def filled(values: Floats) -> Floats:
    """Unknown values become the mean of the known ones."""
    null = np.isnan(values)
    if not null.any():
        return values
    return np.where(null, 0.0 if null.all() else values[~null].mean(), values)


def standardized(values: Floats) -> Floats:
    """(x - mean) / standard deviation, column by column; a constant column is 0."""
    centered = values - values.mean(axis=0)
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])
    # Differences below rounding of the values themselves are no spread.
    flat = spread <= 1e-12 * np.maximum(np.abs(values).max(axis=0), 1e-300)
    return np.where(flat, 0.0, centered / np.where(flat, 1.0, spread))


def regress(x: Floats, y: Floats) -> Fit:
    """Least squares of a standardized y on standardized x; of collinear solutions the shortest."""
    beta = np.asarray(np.linalg.lstsq(x, y, rcond=1e-10)[0] if x.shape[1] else (), dtype=np.float64)
    total, rest = float(y @ y), float(((y - x @ beta) ** 2).sum())
    r2 = 1.0 - rest / total if total > 0 else 0.0
    degrees = len(y) - 1 - int((x != 0).any(axis=0).sum())
    adjusted = 1.0 - (1.0 - r2) * (len(y) - 1) / degrees if degrees > 0 else r2
    return Fit(coefficients=beta, r2=r2, adjusted=adjusted)


def regress_table(table: ExactTable, layout: DesignLayout, sensitive: str, rows: Ints | None = None) -> Fit:
    """The attacker's regression on (some rows of) a table."""
    x, y = predictors(table, layout, sensitive), filled(ordered_values(table, sensitive))
    if rows is not None:
        x, y = x[rows], y[rows]
    return regress(standardized(x), standardized(y))


def _column(table: ExactTable, layout: DesignLayout, name: str) -> Floats:
    if name not in layout.shown:
        return filled(ordered_values(table, name))[:, None]
    return (table.codes[name][:, None] == layout.shown[name][None, :]).astype(np.float64)
