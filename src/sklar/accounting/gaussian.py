"""The Gaussian mechanism of sensitivity 1, exactly: delta at epsilon, and the least noise for (epsilon, delta).

Reference: Balle, Wang (2018), "Improving the Gaussian Mechanism for Differential Privacy", Theorem 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sklar.accounting.amounts import checked_delta, checked_epsilon
from sklar.errors import BudgetError


def analytic_gaussian_delta(sigma: float, epsilon: float) -> float:
    """delta = Phi(1/(2 sigma) - epsilon sigma) - e^epsilon Phi(-1/(2 sigma) - epsilon sigma)."""
    from scipy.special import log_ndtr  # not at import time: scipy is slow to load

    upper = float(log_ndtr(0.5 / sigma - epsilon * sigma))
    lower = epsilon + float(log_ndtr(-0.5 / sigma - epsilon * sigma))
    # lower <= upper in exact arithmetic; the difference is taken in logs to keep tiny deltas accurate.
    return -math.exp(upper) * math.expm1(min(lower - upper, 0.0))


def analytic_gaussian_epsilon(sigma: float, delta: float) -> float:
    """The least epsilon, never below it, for which the Gaussian mechanism of sensitivity 1 is (epsilon, delta)-DP."""
    if analytic_gaussian_delta(sigma, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0 / sigma
    while analytic_gaussian_delta(sigma, high) > delta:
        low, high = high, 2 * high
    return _least(low, high, lambda middle: analytic_gaussian_delta(sigma, middle) <= delta)


def analytic_gaussian_sigma(epsilon: float, delta: float) -> float:
    """The least sigma for which the Gaussian mechanism of sensitivity 1 is (epsilon, delta)-DP."""
    epsilon, delta = checked_epsilon(epsilon), checked_delta(delta)
    if delta == 0:
        raise BudgetError("the Gaussian mechanism needs a delta above 0.")
    low = high = 1.0 / epsilon
    while analytic_gaussian_delta(high, epsilon) > delta:
        high *= 2
    while analytic_gaussian_delta(low, epsilon) <= delta:
        low /= 2
    return _least(low, high, lambda middle: analytic_gaussian_delta(middle, epsilon) <= delta)


def _least(low: float, high: float, enough: Callable[[float], bool]) -> float:
    """The least number that is enough, between one that is not and one that is; never below it."""
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
