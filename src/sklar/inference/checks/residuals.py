"""Residual checks: whether the rows behind a released table can have come from the model, noise and chance allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats
from sklar.inference.tables import is_interaction, measured_part
from sklar.release.measurements import Measurement

FALSE_ALARMS = 0.01
"""How often at most any table at all is named although the rows do come from the model."""
LEAST_CHANCE = 1.0
"""Variance of chance that a cell has at least: cells the model leaves empty would make the normal law useless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """One table against the model.

    Attributes:
        at: Position among the tables.
        statistic: Sum of squared residuals, in units of what noise and chance give on average; about 1 if all is well.
        p_value: Probability of one as large where the rows come from the model.
        contradicts: Whether it is too small for chance, with all tables looked at (Holm).
    """

    at: int
    statistic: float
    p_value: float
    contradicts: bool


def residuals(
    tables: Sequence[Measurement], shares: Sequence[Floats], rows: Sequence[float], drawn: float
) -> tuple[Residual, ...]:
    """Chi-square of every table against the shares that rows of the model have in its cells.

    A cell's count, of n `rows`, is released as Poisson(n p) or less spread, plus noise of variance s^2; the share p was
    counted on `drawn` rows. So squared residuals have mean v = s^2 + n p (1 + n / drawn). Counts are compared by the
    sum of squares over v, which follows chi-square; interactions by the plain sum of squares of what is left after
    projecting, with the degrees of freedom that give it its mean and variance (Satterthwaite). The model was fitted to
    these tables, which makes residuals smaller: alarms are rarer than stated, never more frequent.
    """
    from scipy.stats import chi2

    found: list[tuple[float, float]] = []
    for table, share, n in zip(tables, shares, rows, strict=True):
        chance = np.maximum(n * share, LEAST_CHANCE) * (1.0 + n / drawn)
        left = measured_part(table, table.values.astype(np.float64)) - measured_part(table, n * share)
        mean, variance = _moments(table, table.sigma**2 + chance)
        total = float(np.sum(left**2 if is_interaction(table) else left**2 / (table.sigma**2 + chance)))
        freedom = 2.0 * mean**2 / variance
        found.append((total / mean, float(chi2.sf(total / mean * freedom, freedom))))
    bad = holm([p for _, p in found], FALSE_ALARMS)
    return tuple(
        Residual(at=at, statistic=statistic, p_value=p, contradicts=at in bad)
        for at, (statistic, p) in enumerate(found)
    )


def holm(p_values: Sequence[float], level: float) -> frozenset[int]:
    """Which hypotheses are rejected so that any false rejection at all happens with probability `level` at most.

    Whatever their dependence (Holm 1979).
    """
    rejected: set[int] = set()
    for place, at in enumerate(np.argsort(p_values, kind="stable").tolist()):
        if p_values[at] > level / (len(p_values) - place):
            break
        rejected.add(at)
    return frozenset(rejected)


def _moments(table: Measurement, variance: Floats) -> tuple[float, float]:
    """Mean and variance of the sum of squares of independent normals: weighted to 1 each, or projected.

    With P the projection, tr(P V) and 2 tr((P V)^2) = 2 v' (P o P) v; P is a product over axes of I - 1/k.
    """
    if not is_interaction(table):
        return float(variance.size), 2.0 * variance.size
    spread = variance
    for axis, size in enumerate(variance.shape):
        squares = (np.eye(size) - 1.0 / size) ** 2
        spread = np.moveaxis(np.tensordot(squares, spread, axes=(1, axis)), 0, axis)
    kept = float(np.prod([1.0 - 1.0 / size for size in variance.shape]))
    return kept * float(variance.sum()), 2.0 * float(np.sum(variance * spread))
