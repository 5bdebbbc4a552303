r"""Residual tests: whether a released table is consistent with the model, given its noise and sampling.

Each table is compared in two ways, and its p-value is twice the smaller of both (Bonferroni).

All cells together: chi-square, which detects many small residuals.

Each cell of a table of counts: Chernoff's bound, which detects one large residual among many cells. A row adds a number
in [0, 1] of mean p to a cell, and the generating function of such a number is largest for one that is 0 or 1. So with n
rows, noise of variance s^2 and independent Gaussian errors of variance g^2 (of the share, which was counted on drawn
rows, and of n), a residual of at least t has a probability of at most exp(K(u) - u t) for every u > 0, with

    K(u) = n log(1 - p + p e^u) - n p u + g^2 u^2 / 2 + log E exp(u e).

The last term is at most s^2 u^2 / 2 for discrete Gaussian noise e (Canonne, Kamath and Steinke 2020, Corollary 17), and
known for discrete Laplace noise. The bound holds for any u, so a grid of them is enough.

With few rows, noise hides shifts from both tests. So rows of the model are also compared with the margins estimated
from its measurements (`compute_margin_shifts`): both have the same noise, and a shift of a tenth is always detected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats
from sklar.inference.columns import RowCount, estimate_row_count
from sklar.inference.fitted import Fitted
from sklar.inference.tables import all_tables, group_masses, is_interaction, measured_part, partitions_of
from sklar.model.kept import copied_margins
from sklar.model.linked import LinkedModel
from sklar.model.margins.margin import Margin
from sklar.model.significance import FALSE_ALARM_RATE
from sklar.release.measurements import Measurement

MIN_SAMPLING_VARIANCE = 1.0
"""Lower bound of a cell's sampling variance: cells the model leaves empty would invalidate the normal approximation."""
MAX_MARGIN_SHIFT = 0.1
"""A table contradicts the model if the model's share in a cell differs by more than this from the margin estimated from
the measurements. Rows follow the margins except for rounding and rules between columns, which change shares by a few
hundredths at most; a shift of 0.2 is then detected at any noise."""
CHERNOFF_TILTS = np.geomspace(0.05, 4.0, 48)
"""Values of u for Chernoff's bound, in units of the best one for a Gaussian; a finer grid lowers a p-value of 1e-6 by
less than a tenth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """Comparison of one table with the model.

    Attributes:
        at: Position among the tables.
        statistic: Sum of squared residuals over its expectation; about 1 if the model fits.
        p_value: Upper bound for the probability of residuals as large if the rows come from the model.
        contradicts: Whether the p-value is significant among all tables (Holm), or the shift is too large.
        shift: Largest difference between the share of a cell and the estimated margin; None if not compared.
    """

    at: int
    statistic: float
    p_value: float
    contradicts: bool
    shift: float | None


def compute_residuals(
    tables: Sequence[Measurement],
    shares: Sequence[Floats],
    rows: Sequence[RowCount],
    drawn: float,
    shifts: Sequence[float | None] | None = None,
) -> tuple[Residual, ...]:
    """Compare every table with the shares that rows of the model have in its cells.

    A cell's count, of n `rows`, is released as Poisson(n p) or less spread, plus noise of variance s^2; the share p was
    counted on `drawn` rows. So squared residuals have mean v = s^2 + n p (1 + n / drawn). Counts are compared by the
    sum of squares over v, which follows chi-square; interactions by the plain sum of squares of what is left after
    projecting, with the degrees of freedom that give it its mean and variance (Satterthwaite). The model was fitted to
    these tables, which makes residuals smaller: false alarms are rarer than stated, never more frequent.
    """
    from scipy.stats import chi2

    found: list[tuple[float, float]] = []
    for table, share, known in zip(tables, shares, rows, strict=True):
        n = known.rows
        pooled = _pooled_share(table, share, n, drawn)
        chance = np.maximum(n * pooled, MIN_SAMPLING_VARIANCE) * (1.0 + n / drawn)
        left = measured_part(table, table.values.astype(np.float64)) - measured_part(table, n * share)
        mean, variance = _moments(table, table.sigma**2 + chance, chance)
        total = float(np.sum(left**2 if is_interaction(table) else left**2 / (table.sigma**2 + chance)))
        freedom = 2.0 * mean**2 / variance
        p_value = float(chi2.sf(total / mean * freedom, freedom))
        if table.noise.kind == "laplace" and not is_interaction(table):
            # Squared Laplace noise has heavier tails than chi-square; Fisher's combination of p-values allows for it.
            p_value = float(chi2.sf(-2.0 * np.log(_cell_p_values(table, left, chance)).sum(), 2 * left.size))
        if not is_interaction(table):
            p_value = min(2.0 * min(p_value, _largest_cell(table, share, pooled, known, drawn)), 1.0)
        found.append((total / mean, p_value))
    bad = reject_by_holm([p for _, p in found], FALSE_ALARM_RATE)
    moved = [None] * len(tables) if shifts is None else shifts
    return tuple(
        Residual(
            at=at, statistic=statistic, p_value=p, shift=shift,
            contradicts=at in bad or (shift is not None and shift > MAX_MARGIN_SHIFT),
        )
        for at, ((statistic, p), shift) in enumerate(zip(found, moved, strict=True))
    )  # fmt: skip


def compute_margin_shifts(
    fitted: Fitted, tables: Sequence[Measurement], shares: Sequence[Floats]
) -> list[float | None]:
    """Return the largest difference of shares from the estimated margins per table; None for several columns."""
    estimated, parts = list(fitted.method.refit_margins(fitted.evidence())), list[Margin]()
    for part in fitted.model.parts if isinstance(fitted.model, LinkedModel) else (fitted.model,):
        parts += copied_margins(part, estimated[len(parts) : len(parts) + len(part.margins)])
    margins = {margin.column: margin.dense() for margin in parts}
    return [
        float(np.abs(share - group_masses(partitions_of(table)[0], margins[names[0]], table.values.size)).max())
        if len(names := table.query.columns) == 1
        else None
        for table, share in zip(tables, shares, strict=True)
    ]


def rows_behind(fitted: Fitted, tables: Sequence[Measurement]) -> list[RowCount]:
    """Return the number of rows that each table counts, with its error estimated from all tables of the fit.

    In longitudinal data each view counts rows of its own, and the number of persons with a second row is never public.
    """
    linked, public = isinstance(fitted.model, LinkedModel), fitted.setting.rows
    measured: dict[str, list[Measurement]] = {}
    for table in all_tables(fitted.measurements):
        measured.setdefault(_get_view(table) if linked else "", []).append(table)
    rows = [fitted.rows_behind(table.query.columns) for table in tables]
    sigma = {view: estimate_row_count(own, "", None if linked else public).sigma for view, own in measured.items()}
    errors = [sigma[_get_view(table) if linked else ""] for table in tables]
    return [RowCount(rows=n, sigma=min(error, n)) for n, error in zip(rows, errors, strict=True)]


def _get_view(table: Measurement) -> str:
    return table.query.columns[0].partition(": ")[0]


def _cell_p_values(table: Measurement, left: Floats, chance: Floats) -> Floats:
    """Return the probability of a larger residual of either sign in each cell: a normal variable plus Laplace noise."""
    from scipy.special import log_ndtr

    spread, distance = np.sqrt(chance), np.abs(left)
    z, ratio, decays = distance / spread, spread / table.noise.scale, distance / table.noise.scale
    slower, faster = (np.exp(ratio**2 / 2 + sign * decays + log_ndtr(-sign * z - ratio)) for sign in (-1.0, 1.0))
    return np.clip(2.0 * np.exp(log_ndtr(-z)) + slower - faster, 1e-300, 1.0)


def _pooled_share(table: Measurement, share: Floats, n: float, drawn: float) -> Floats:
    """Return the pooled share of rows of the model and of the table: the estimate if both have one distribution.

    The share of drawn rows alone may be 0 by chance where a larger table has some hundred rows.
    """
    if is_interaction(table):
        return share
    own = n / (n + drawn)
    return (1.0 - own) * share + own * np.clip(table.values / n, 0.0, 1.0)


def _largest_cell(table: Measurement, share: Floats, pooled: Floats, known: RowCount, drawn: float) -> float:
    """Return an upper bound for the probability that any cell of a table has such a residual by chance alone."""
    n, p = known.rows, pooled.ravel()
    left = np.abs(table.values - n * share).ravel()
    below = (table.values < n * share).ravel()
    least = min(MIN_SAMPLING_VARIANCE / n, 0.5)
    p = np.clip(np.where(below, 1.0 - p, p), least, 1.0 - least)  # fewer rows inside are more rows outside
    extra = n * n * p * (1.0 - p) / drawn + np.square(share.ravel() * known.sigma)
    tilt = np.outer(CHERNOFF_TILTS, left / (n * p * (1.0 - p) + extra + table.sigma**2))
    tilt = np.minimum(tilt, 30.0 if table.noise.kind == "gaussian" else 0.99 / table.noise.scale)
    log_mgf = n * (np.log1p(p * np.expm1(tilt)) - p * tilt) + extra * tilt**2 / 2 + _log_mgf(table, tilt)
    exponent = np.min(log_mgf - tilt * left, axis=0)
    return min(float(left.size * 2.0 * np.exp(exponent.min())), 1.0)


def _log_mgf(table: Measurement, tilt: Floats) -> Floats:
    """Return the logarithm of E exp(u e), or a bound, for the noise e on one cell."""
    if table.noise.kind == "gaussian":
        return table.sigma**2 * tilt**2 / 2
    step, q = table.resolution, np.exp(-table.resolution / table.noise.scale)
    both = np.log1p(-q * np.exp(tilt * step)) + np.log1p(-q * np.exp(-tilt * step))
    return 2.0 * np.log1p(-q) - both


def reject_by_holm(p_values: Sequence[float], level: float) -> frozenset[int]:
    """Return the hypotheses that Holm's procedure (1979) rejects at family-wise error `level`, under any dependence."""
    rejected: set[int] = set()
    for place, at in enumerate(np.argsort(p_values, kind="stable").tolist()):
        if p_values[at] > level / (len(p_values) - place):
            break
        rejected.add(at)
    return frozenset(rejected)


def _moments(table: Measurement, variance: Floats, chance: Floats) -> tuple[float, float]:
    """Return the mean and variance of the sum of squares of independent residuals, standardized or projected.

    The variance of a square is 2 + k, with k the excess kurtosis: a Poisson count adds its mean to the fourth cumulant.
    Projected residuals mix many cells and are taken for normal: with P the projection, tr(P V) and
    2 tr((P V)^2) = 2 v' (P o P) v; P is a product over axes of I - 1/k.
    """
    if not is_interaction(table):
        return float(variance.size), 2.0 * variance.size + float(np.sum(chance / variance**2))
    spread = variance
    for axis, size in enumerate(variance.shape):
        squares = (np.eye(size) - 1.0 / size) ** 2
        spread = np.moveaxis(np.tensordot(squares, spread, axes=(1, axis)), 0, axis)
    kept = float(np.prod([1.0 - 1.0 / size for size in variance.shape]))
    return kept * float(variance.sum()), 2.0 * float(np.sum(variance * spread))
