r"""Combining rule for implicates: tables drawn from replicas of a model, each analysed as if its rows were data.

Let theta be the truth, t the model's value, t_1 ... t_m those of its replicas, and q_i the estimate from the table
drawn from replica i, with the variance v_i that a program reports for independent rows. Then

    q_i = t_i + e_i,    var(e_i) = v,    t_i - t ~ t - theta (the bootstrap), with variance V.

Given the model, the q_i are independent with mean t and variance V + v. So their variance b estimates V + v, their mean
estimates t with variance (V + v) / m, and as an estimate of theta it has

    T = V + (V + v) / m,    estimated by    (b - v) + b / m = (1 + 1/m) b - v,    v the mean of the v_i.

It has the form of the rule for fully synthetic data of Raghunathan, Reiter and Rubin (2003), but here V contains the
noise of the mechanism and the sampling variance of the fitted rows, since replicas draw rows too. The sampling variance
alone is about v for implicates of the same number of rows as the table. So V is at least v times the rows of an
implicate over those of the table, and no variance is negative. By Satterthwaite's rule, b having m - 1 degrees of
freedom, T has (m - 1) (T / ((1 + 1/m) b))^2, and at least (m - 1) / 2 because of the bound on V; interval ends are
quantiles of Student's t. (In simulations of 20,000 cases, 95% intervals cover theta in 95 to 98% for m = 20, and in 95
to 100% for m = 5.)

The mechanism's bias is in t once and in the q_i twice. If `model` is given, the same statistic of (many rows of) the
model itself, the estimate is 2 t - mean(q), free of the bias that the replicas show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from sklar.arrays import Floats
from sklar.errors import UsageError
from sklar.inference.estimates import validate_confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """The combined estimate of several implicates.

    Attributes:
        error: Standard error of `value`.
        freedom: Degrees of freedom of the interval from `low` to `high`.
        effective_share: Effective sample size as a fraction of the table's rows: 0.23 means that 1,000 rows count as
            about 230.
    """

    value: float
    low: float
    high: float
    error: float
    freedom: float
    confidence: float
    effective_share: float


def combine(
    estimates: Iterable[float],
    variances: Iterable[float],
    *,
    model: float | None = None,
    rows_ratio: float = 1.0,
    confidence: float = 0.95,
) -> Combined:
    """Combine the estimates of several implicates into one estimate with an interval.

    Args:
        estimates: The estimate from each implicate.
        variances: The squared standard error of each, as computed for independent rows.
        model: The estimate from many rows of the model itself, if available: removes the bias of the mechanism.
        rows_ratio: Rows of an implicate over rows of the fitted table, if they differ.
        confidence: Coverage of the interval.
    """
    q, v = _parse_numbers(estimates, "estimates"), _parse_numbers(variances, "variances")
    if len(q) != len(v) or len(q) < 2:
        raise UsageError(
            f"combine needs two or more estimates and a variance for each; got {len(q)} estimates, {len(v)} variances."
        )
    if (v < 0).any() or not rows_ratio > 0 or (model is not None and not math.isfinite(model)):
        raise UsageError(
            "variances must not be negative, rows_ratio must be positive and model must be a finite number."
        )
    confidence, count = validate_confidence(confidence), len(q)
    between, within, centre = float(np.var(q, ddof=1)), float(v.mean()), float(q.mean())
    spread = max(between - within, within * rows_ratio)
    whole = spread + max(between, spread + within) / count
    part = whole / ((1 + 1 / count) * max(between, spread + within)) if whole > 0 else 1.0
    freedom = (count - 1) * max(part**2, 0.5)
    value = centre if model is None else 2 * model - centre
    width = float(stdtrit(freedom, (1 + confidence) / 2)) * math.sqrt(whole) if whole > 0 else 0.0
    effective_share = min(within * rows_ratio / whole, 1.0) if whole > 0 else 1.0
    return Combined(
        value=value, low=value - width, high=value + width, error=math.sqrt(whole), freedom=freedom,
        confidence=confidence, effective_share=effective_share,
    )  # fmt: skip


def _parse_numbers(values: Iterable[float], what: str) -> Floats:
    try:
        found = np.array([float(value) for value in values])
    except (TypeError, ValueError):
        found = np.array([math.nan])
    if not np.isfinite(found).all():
        raise UsageError(f"the {what} to combine must be finite numbers, one for each implicate.")
    return found
