"""Unbiased estimates, with intervals, of a model's error from noisy tables that it was not fitted to.

With y = t + e, noise of variance s^2 on each of d free numbers, and m a table independent of e, Q = ||y - m||^2 has
mean ||t - m||^2 + d s^2. For Gaussian noise Q / s^2 is noncentral chi-square with noncentrality ||t - m||^2 / s^2,
whose exact interval inverts its distribution. For several tables of unequal noise, and for Laplace noise, the noise's
part of Q has mean sum d s^2 and variance sum (k - 1) d s^4, k the kurtosis (3, and 6); it is approximated by the
multiple of a chi-square that has both (Satterthwaite 1946), which is conservative for Laplace noise where errors exceed
the noise. A normal approximation would miss the upper end in 6 to 12% of cases instead of 2.5%, up to 40 free numbers,
since chance that makes Q small makes its variance look small too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.inference.tables import free_dimensions, is_interaction, measured_part
from sklar.release.measurements import Measurement

CONFIDENCE = 0.95
KURTOSIS = {"gaussian": 3.0, "laplace": 6.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorScore:
    """How far the model is from the true table, in shares of rows: the root mean square over cells, with an interval.

    Attributes:
        names: The columns; empty for several tables together.
        label: The step that released the table.
        tables: Number of tables.
        cells: Number of cells of these tables.
        interaction: Whether only dependence is compared, without the margins.
        value: Estimate; 0 where it is below the noise level.
        low: Lower end of the interval. Where the scored fit had more noise than the published one, as in fission, it
            applies to the published one if all of its error were noise.
        high: Upper end of the interval.
    """

    names: tuple[str, ...]
    label: str
    tables: int
    cells: int
    interaction: bool
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SquaredError:
    """Squared distance of a noisy table from a model, in shares of its rows."""

    table: Measurement
    distance: float
    rows: float

    @property
    def variance(self) -> float:
        """Variance of the noise on one cell."""
        return (self.table.sigma / self.rows) ** 2

    @property
    def excess(self) -> float:
        """Unbiased estimate of the squared error."""
        return self.distance - free_dimensions(self.table) * self.variance


def squared_error(table: Measurement, share: Floats, rows: float) -> SquaredError:
    """Return the distance of a table from the model's shares of its cells."""
    left = measured_part(table, table.values / rows) - measured_part(table, share)
    return SquaredError(table=table, distance=float(np.sum(left**2)), rows=rows)


def score_table(error: SquaredError, added: float = 0.0, confidence: float = CONFIDENCE) -> ErrorScore:
    """Return the error of one table; with `added`, of a fit whose noise has 1 + added times the variance."""
    table = error.table
    return _score([error], tuple(table.query.columns), table.label, added, confidence)


def score_together(
    errors: Sequence[SquaredError], added: float = 0.0, confidence: float = CONFIDENCE
) -> ErrorScore | None:
    """Return the error of several tables together: squared errors and the variances of their estimates add up."""
    return _score(errors, (), "", added, confidence) if errors else None


def _score(
    errors: Sequence[SquaredError], names: tuple[str, ...], label: str, added: float, confidence: float
) -> ErrorScore:
    cells, (low, high) = sum(error.table.values.size for error in errors), _ends(errors, confidence)
    return ErrorScore(
        names=names, label=label, tables=len(errors), cells=cells,
        interaction=all(is_interaction(error.table) for error in errors),
        value=_typical(sum(error.excess for error in errors), cells), low=_typical(low / (1 + added), cells),
        high=_typical(high, cells),
    )  # fmt: skip


def _ends(errors: Sequence[SquaredError], confidence: float) -> tuple[float, float]:
    """Return the ends of the interval of the squared error."""
    noise = [(KURTOSIS[error.table.noise.kind], free_dimensions(error.table), error.variance) for error in errors]
    mean, spread = sum(d * v for _, d, v in noise), sum((k - 1) * d * v**2 for k, d, v in noise)
    unit, distance = spread / (2 * mean), sum(error.distance for error in errors)
    low, high = (
        estimate_noncentrality(distance / unit, mean / unit, level) * unit
        for level in ((1 + confidence) / 2, (1 - confidence) / 2)
    )
    return low, high


def _typical(squared: float, cells: int) -> float:
    """Return the root mean square over cells, from the sum of squares."""
    return math.sqrt(max(squared, 0.0) / cells)


def estimate_noncentrality(statistic: float, freedom: float, level: float) -> float:
    """Return the noncentrality at which a noncentral chi-square is below `statistic` with probability `level`.

    These are the ends of an exact interval; 0 if even the central chi-square is below it with less probability.
    """
    from scipy.optimize import brentq
    from scipy.stats import chi2, ncx2

    if chi2.cdf(statistic, freedom) <= level:
        return 0.0
    top = statistic + 20.0 * math.sqrt(2.0 * freedom + 4.0 * statistic) + 50.0
    found: Any = brentq(lambda x: ncx2.cdf(statistic, freedom, x) - level, 1e-12, top)
    return float(found)
