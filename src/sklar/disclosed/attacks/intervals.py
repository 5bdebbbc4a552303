"""Estimates with confidence intervals: shares, differences of shares, means, areas under ROC curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

LEVEL = 0.95
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number and its confidence interval."""

    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """As plain data."""
        return {"value": self.value, "low": self.low, "high": self.high}

    def contains(self, value: float) -> bool:
        """Whether the interval holds this value."""
        return self.low <= value <= self.high


def exactly(value: float) -> Estimate:
    """A number that is known, not measured."""
    return Estimate(value=value, low=value, high=value)


def share(hits: int, trials: int, level: float = LEVEL) -> Estimate:
    """A share with its exact interval (Clopper and Pearson 1934), whatever the share."""
    return Estimate(
        value=hits / trials if trials else 0.0,
        low=share_low(hits, trials, (1 - level) / 2),
        high=share_high(hits, trials, (1 - level) / 2),
    )


def share_low(hits: int, trials: int, tail: float) -> float:
    """The least share for which as many hits or more have a chance of at least `tail`."""
    from scipy.special import betaincinv

    return float(betaincinv(hits, trials - hits + 1, tail)) if hits > 0 else 0.0


def share_high(hits: int, trials: int, tail: float) -> float:
    """The greatest share for which as many hits or fewer have a chance of at least `tail`."""
    from scipy.special import betaincinv

    return float(betaincinv(hits + 1, trials - hits, 1 - tail)) if hits < trials else 1.0


def difference(one: Estimate, other: Estimate) -> Estimate:
    """one - other of two independent shares, from their intervals (Newcombe 1998, method 10)."""
    value = one.value - other.value
    below = math.hypot(one.value - one.low, other.high - other.value)
    above = math.hypot(one.high - one.value, other.value - other.low)
    return Estimate(value=value, low=value - below, high=value + above)


def mean(values: Sequence[float] | Numbers, level: float = LEVEL) -> Estimate:
    """The mean of independent values, with Student's interval; one value alone has none, which is told as infinite."""
    found = np.asarray(values, dtype=np.float64)
    center = float(found.mean())
    if len(found) < 2:
        return Estimate(value=center, low=-math.inf, high=math.inf)
    half = student(len(found) - 1, level) * float(found.std(ddof=1)) / math.sqrt(len(found))
    return Estimate(value=center, low=center - half, high=center + half)


def student(degrees: float, level: float = LEVEL) -> float:
    """Quantile of Student's distribution for a two-sided interval."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))


def normal(level: float = LEVEL) -> float:
    """Quantile of the normal distribution for a two-sided interval."""
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def around(value: float, error: float, level: float = LEVEL) -> Estimate:
    """A normal interval from a standard error."""
    half = normal(level) * float(error)
    return Estimate(value=value, low=value - half, high=value + half)


def clipped(estimate: Estimate, low: float, high: float) -> Estimate:
    """The interval within the possible values."""
    return Estimate(
        value=min(max(estimate.value, low), high),
        low=min(max(estimate.low, low), high),
        high=min(max(estimate.high, low), high),
    )


def auc_interval(positives: Numbers, negatives: Numbers, level: float = LEVEL) -> Estimate:
    """Chance that a positive exceeds a negative, ties counting half, with the interval of DeLong et al. (1988)."""
    above = _mid_shares(positives, negatives)
    below = 1.0 - _mid_shares(negatives, positives)
    value = float(above.mean())
    parts = [float(x.var(ddof=1)) / len(x) for x in (above, below) if len(x) > 1]
    # With all positives above all negatives the formula says 0; so sure one is never of a finite sample.
    least = 1.0 / (4.0 * len(positives) * len(negatives))
    return clipped(around(value, math.sqrt(max(sum(parts), least)), level), 0.0, 1.0)


def _mid_shares(values: Numbers, others: Numbers) -> Numbers:
    """For each value, the share of the others below it, ties counting half."""
    ordered = np.sort(others)
    left, right = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return (left + right) / (2.0 * len(others))


def plain(values: Any) -> list[float]:
    """An array as a list of floats, for JSON."""
    return [float(x) for x in np.asarray(values).ravel()]
