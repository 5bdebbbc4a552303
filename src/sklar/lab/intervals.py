"""Estimates with confidence intervals: every formula of the laboratory once, each with its reference."""

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
        """As plain data."""
        return asdict(self)

    def contains(self, value: float) -> bool:
        """Whether the interval holds this value."""
        return self.low <= value <= self.high

    def clip(self, low: float, high: float) -> Estimate:
        """The interval within the possible values."""
        return Estimate(**{name: min(max(value, low), high) for name, value in self.to_dict().items()})


def exactly(value: float) -> Estimate:
    """A number that is known, not measured."""
    return Estimate(value=value, low=value, high=value)


def within(value: float, half: float) -> Estimate:
    """A symmetric interval of this half width."""
    return Estimate(value=value, low=value - half, high=value + half)


def normal_interval(value: float, error: float, level: float = LEVEL) -> Estimate:
    """The normal interval of a standard error, as one from bootstraps (Efron 1979)."""
    return within(value, normal_quantile((1 + level) / 2) * float(error))


def clopper_pearson(hits: int, trials: int, level: float = LEVEL) -> Estimate:
    """A share with its exact interval (Clopper and Pearson 1934), whatever the share."""
    return Estimate(
        value=hits / trials if trials else 0.0,
        low=clopper_pearson_low(hits, trials, (1 - level) / 2),
        high=clopper_pearson_high(hits, trials, (1 - level) / 2),
    )


def clopper_pearson_low(hits: int, trials: int, tail: float) -> float:
    """The least share for which as many hits or more have a chance of at least `tail`."""
    from scipy.special import betaincinv

    return float(betaincinv(hits, trials - hits + 1, tail)) if hits > 0 else 0.0


def clopper_pearson_high(hits: int, trials: int, tail: float) -> float:
    """The greatest share for which as many hits or fewer have a chance of at least `tail`."""
    from scipy.special import betaincinv

    return float(betaincinv(hits + 1, trials - hits, 1 - tail)) if hits < trials else 1.0


def newcombe_difference(one: Estimate, other: Estimate) -> Estimate:
    """one - other of two independent shares, from their intervals (Newcombe 1998, method 10)."""
    value = one.value - other.value
    below = math.hypot(one.value - one.low, other.high - other.value)
    above = math.hypot(one.high - one.value, other.value - other.low)
    return Estimate(value=value, low=value - below, high=value + above)


def student_mean(values: Sequence[float] | Floats, level: float = LEVEL) -> Estimate:
    """The mean of independent values (Student 1908); one value alone has no interval, which is told as infinite."""
    return _mean(values, level, 1.0)


def corrected_resampled_t(values: Sequence[float] | Floats, level: float = LEVEL) -> Estimate:
    """The mean over k folds that share most of their training rows (Nadeau and Bengio 2003).

    The variance over folds is too small by itself, so 1/k becomes 1/k + 1/(k - 1): for values with mean m and variance
    s^2 the interval is m +- t(k - 1) * s * sqrt(1/k + 1/(k - 1)).
    """
    k = len(values)
    return _mean(values, level, 1.0 + k / (k - 1) if k > 1 else 1.0)


def _mean(values: Sequence[float] | Floats, level: float, widening: float) -> Estimate:
    found = np.asarray(values, dtype=np.float64)
    centre = float(found.mean())
    if len(found) < 2:
        return within(centre, math.inf)
    error = float(found.std(ddof=1)) * math.sqrt(widening / len(found))
    return within(centre, student_quantile(len(found) - 1, (1 + level) / 2) * error)


def hedges_difference(one: Floats, other: Floats, tail: float) -> Estimate:
    """(mean' - mean) / common spread of two samples, with the error of a standardized difference.

    Its variance is 1/n + 1/n' + mu^2 / (2 (n + n')) to first order (Hedges 1981); `tail` on either side.
    """
    n, m = len(one), len(other)
    spread = math.sqrt((one.var(ddof=1) * (n - 1) + other.var(ddof=1) * (m - 1)) / (n + m - 2))
    gap = float(other.mean() - one.mean())
    if spread <= 0:
        return exactly(math.inf if gap > 0 else 0.0)
    mu = gap / spread
    return within(mu, student_quantile(n + m - 2, 1 - tail) * math.sqrt(1 / n + 1 / m + mu**2 / (2 * (n + m))))


def delong_auc(positives: Floats, negatives: Floats, level: float = LEVEL) -> Estimate:
    """Chance that a positive exceeds a negative, ties counting half, with the interval of DeLong et al. (1988)."""
    above = mid_shares(positives, negatives)
    below = 1.0 - mid_shares(negatives, positives)
    value = float(above.mean())
    parts = [float(x.var(ddof=1)) / len(x) for x in (above, below) if len(x) > 1]
    # With all positives above all negatives the formula says 0; so sure one is never of a finite sample.
    least = 1.0 / (4.0 * len(positives) * len(negatives))
    return normal_interval(value, math.sqrt(max(sum(parts), least)), level).clip(0.0, 1.0)


def mid_shares(values: Floats, others: Floats) -> Floats:
    """For each value, the share of the others below it, ties counting half."""
    ordered = np.sort(others)
    left, right = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return (left + right) / (2.0 * len(others))


def delta_method_r2(truth: Floats, guess: Floats) -> Estimate:
    """R2 = 1 - mean(e^2) / mean(s^2), with its standard error by the delta method (Cramer 1946, section 27.7)."""
    errors, spread = (truth - guess) ** 2, (truth - truth.mean()) ** 2
    total = float(spread.mean())
    if total <= 0:
        return exactly(0.0)
    ratio = float(errors.mean()) / total
    residual = (errors - ratio * spread) / total
    return normal_interval(1.0 - ratio, float(residual.std(ddof=1)) / math.sqrt(len(truth)))


def privacy_score_interval(scores: Floats, rows: tuple[int, int]) -> Estimate:
    """Interval of a mean privacy score over games that share rows.

    A score is S = 1 - F(t) with F the law of members' scores and t the median over members and others. To first
    order its error is the mean of the errors of the two shares above t, of variance S (1 - S) / N each, N the number
    of different rows: the variance is S (1 - S) (1 / N_members + 1 / N_others) / 4. Games of few targets add their own
    spread over the number of games. The share is pulled to 1/2 by four rows, as in Agresti and Coull (1998).
    """
    value, least = float(scores.mean()), min(rows)
    pulled = (value * least + 2) / (least + 4)
    spread = pulled * (1 - pulled) * (1 / rows[0] + 1 / rows[1]) / 4
    games = float(scores.var(ddof=1)) / len(scores) if len(scores) > 1 else 0.0
    half = student_quantile(least + 3, (1 + LEVEL) / 2) * math.sqrt(spread + games)
    return within(value, half).clip(0.0, 1.0)


def privacy_gain_interval(gains: Floats) -> Estimate:
    """Mean privacy gain over targets (rows) and games (columns).

    Targets of a game share models, so games are the independent ones. Games that all end alike leave no spread, but no
    certainty either: as one more table of each kind that goes the other way would do, N targets and games give a
    standard error of at least sqrt(2 p (1 - p) / N), p = 1 / (N + 2).
    """
    found = student_mean(gains.mean(axis=0))
    least = 1.0 / (gains.size + 2)
    sure = normal_interval(found.value, math.sqrt(2 * least * (1 - least) / gains.size))
    low, high = min(found.low, sure.low), max(found.high, sure.high)
    return Estimate(value=found.value, low=low, high=high).clip(0.0, 2.0)


def student_quantile(degrees: float, share: float) -> float:
    """Quantile of Student's distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, share))


def normal_quantile(share: float) -> float:
    """Quantile of the normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(share))
