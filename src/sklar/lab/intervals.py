"""Estimates with confidence intervals: all formulas of the lab, each with its reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from sklar.arrays import Floats

LEVEL = 0.95
"""Confidence of all intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number and its confidence interval."""

    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """Return plain data for JSON."""
        return asdict(self)

    def contains(self, value: float) -> bool:
        """Check whether the interval contains this value."""
        return self.low <= value <= self.high

    def clip(self, low: float, high: float) -> Estimate:
        """Clip the estimate and its interval to the possible values."""
        return Estimate(**{name: min(max(value, low), high) for name, value in self.to_dict().items()})


def exact_estimate(value: float) -> Estimate:
    """Return a known number as an estimate without error."""
    return Estimate(value=value, low=value, high=value)


def symmetric_interval(value: float, half: float) -> Estimate:
    """Return a symmetric interval of this half width."""
    return Estimate(value=value, low=value - half, high=value + half)


def normal_interval(value: float, error: float, level: float = LEVEL) -> Estimate:
    """Return the normal interval of a standard error, for example from bootstraps (Efron 1979)."""
    return symmetric_interval(value, normal_quantile((1 + level) / 2) * float(error))


def clopper_pearson(hits: int, trials: int, level: float = LEVEL) -> Estimate:
    """Estimate a share with its exact interval (Clopper and Pearson 1934)."""
    return Estimate(
        value=hits / trials if trials else 0.0,
        low=clopper_pearson_low(hits, trials, (1 - level) / 2),
        high=clopper_pearson_high(hits, trials, (1 - level) / 2),
    )


def clopper_pearson_low(hits: int, trials: int, tail: float) -> float:
    """Return the smallest share at which at least this number of hits has a probability of at least `tail`."""
    from scipy.special import betaincinv

    return float(betaincinv(hits, trials - hits + 1, tail)) if hits > 0 else 0.0


def clopper_pearson_high(hits: int, trials: int, tail: float) -> float:
    """Return the greatest share at which at most this number of hits has a probability of at least `tail`."""
    from scipy.special import betaincinv

    return float(betaincinv(hits + 1, trials - hits, 1 - tail)) if hits < trials else 1.0


def newcombe_difference(one: Estimate, other: Estimate) -> Estimate:
    """Estimate one - other of two independent shares from their intervals (Newcombe 1998, method 10)."""
    value = one.value - other.value
    below = math.hypot(one.value - one.low, other.high - other.value)
    above = math.hypot(one.high - one.value, other.value - other.low)
    return Estimate(value=value, low=value - below, high=value + above)


def student_mean(values: Sequence[float] | Floats, level: float = LEVEL) -> Estimate:
    """Estimate the mean of independent values (Student 1908); the interval of a single value is infinite."""
    return _estimate_mean(values, level, 1.0)


def corrected_resampled_t(values: Sequence[float] | Floats, level: float = LEVEL) -> Estimate:
    """Estimate the mean over k folds that share most of their training rows (Nadeau and Bengio 2003).

    The variance over folds is too small, so 1/k becomes 1/k + 1/(k - 1): for values with mean m and variance s^2 the
    interval is m +- t(k - 1) * s * sqrt(1/k + 1/(k - 1)).
    """
    k = len(values)
    return _estimate_mean(values, level, 1.0 + k / (k - 1) if k > 1 else 1.0)


def _estimate_mean(values: Sequence[float] | Floats, level: float, widening: float) -> Estimate:
    found = np.asarray(values, dtype=np.float64)
    centre = float(found.mean())
    if len(found) < 2:
        return symmetric_interval(centre, math.inf)
    error = float(found.std(ddof=1)) * math.sqrt(widening / len(found))
    return symmetric_interval(centre, student_quantile(len(found) - 1, (1 + level) / 2) * error)


def hedges_difference(one: Floats, other: Floats, tail: float) -> Estimate:
    """Estimate (mean' - mean) / common standard deviation of two samples.

    Its variance is 1/n + 1/n' + mu^2 / (2 (n + n')) to first order (Hedges 1981); `tail` is the error on either side.
    """
    n, m = len(one), len(other)
    spread = math.sqrt((one.var(ddof=1) * (n - 1) + other.var(ddof=1) * (m - 1)) / (n + m - 2))
    difference = float(other.mean() - one.mean())
    if spread <= 0:
        return exact_estimate(math.inf if difference > 0 else 0.0)
    mu = difference / spread
    error = math.sqrt(1 / n + 1 / m + mu**2 / (2 * (n + m)))
    return symmetric_interval(mu, student_quantile(n + m - 2, 1 - tail) * error)


def delong_auc(positives: Floats, negatives: Floats, level: float = LEVEL) -> Estimate:
    """Estimate the probability that a positive exceeds a negative, ties counting half (DeLong et al. 1988)."""
    above = mid_shares(positives, negatives)
    below = 1.0 - mid_shares(negatives, positives)
    value = float(above.mean())
    parts = [float(x.var(ddof=1)) / len(x) for x in (above, below) if len(x) > 1]
    # If all positives exceed all negatives, the formula gives 0, but a finite sample is never certain.
    min_variance = 1.0 / (4.0 * len(positives) * len(negatives))
    return normal_interval(value, math.sqrt(max(sum(parts), min_variance)), level).clip(0.0, 1.0)


def mid_shares(values: Floats, others: Floats) -> Floats:
    """Return for each value the share of the others below it, ties counting half."""
    ordered = np.sort(others)
    left, right = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return (left + right) / (2.0 * len(others))


def delta_method_r2(truth: Floats, guess: Floats) -> Estimate:
    """Estimate R2 = 1 - mean(e^2) / mean(s^2) with the delta method (Cramer 1946, section 27.7)."""
    errors, spread = (truth - guess) ** 2, (truth - truth.mean()) ** 2
    total = float(spread.mean())
    if total <= 0:
        return exact_estimate(0.0)
    ratio = float(errors.mean()) / total
    residual = (errors - ratio * spread) / total
    return normal_interval(1.0 - ratio, float(residual.std(ddof=1)) / math.sqrt(len(truth)))


def privacy_score_interval(scores: Floats, rows: tuple[int, int]) -> Estimate:
    """Estimate the mean privacy score over games that share rows.

    A score is S = 1 - F(t) with F the distribution of members' scores and t the median over members and others. To
    first order its error is the mean of the errors of the two shares above t, each with variance S (1 - S) / N for N
    different rows: the variance is S (1 - S) (1 / N_members + 1 / N_others) / 4. Games with few targets add their own
    variance over the number of games. The share is shrunk to 1/2 by four rows, as in Agresti and Coull (1998).
    """
    value, smaller = float(scores.mean()), min(rows)
    shrunk = (value * smaller + 2) / (smaller + 4)
    spread = shrunk * (1 - shrunk) * (1 / rows[0] + 1 / rows[1]) / 4
    games = float(scores.var(ddof=1)) / len(scores) if len(scores) > 1 else 0.0
    half = student_quantile(smaller + 3, (1 + LEVEL) / 2) * math.sqrt(spread + games)
    return symmetric_interval(value, half).clip(0.0, 1.0)


def privacy_gain_interval(gains: Floats) -> Estimate:
    """Estimate the mean privacy gain over targets (rows) and games (columns).

    Targets of a game share models, so only games are independent. Games with equal results have no variance but are not
    certain: one more table of each kind with the opposite result gives N targets and games a standard error of at least
    sqrt(2 p (1 - p) / N), p = 1 / (N + 2).
    """
    found = student_mean(gains.mean(axis=0))
    p = 1.0 / (gains.size + 2)
    narrowest = normal_interval(found.value, math.sqrt(2 * p * (1 - p) / gains.size))
    low, high = min(found.low, narrowest.low), max(found.high, narrowest.high)
    return Estimate(value=found.value, low=low, high=high).clip(0.0, 2.0)


def student_quantile(degrees: float, share: float) -> float:
    """Return a quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, share))


def normal_quantile(share: float) -> float:
    """Return a quantile of the normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(share))
