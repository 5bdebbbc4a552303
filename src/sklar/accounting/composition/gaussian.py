"""The Gaussian mechanism of sensitivity 1, exactly: delta at epsilon, and the least noise for (epsilon, delta).

Reference: Balle, Wang (2018), "Improving the Gaussian Mechanism for Differential Privacy", Theorem 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sklar.accounting.budget import validate_delta, validate_epsilon
from sklar.errors import BudgetError

LOG_TOLERANCE = 4e-14
"""Relative tolerance for rounding in the logs of normal probabilities."""


def analytic_gaussian_delta(sigma: float, epsilon: float) -> float:
    """Return delta = Phi(1/(2 sigma) - epsilon sigma) - e^epsilon Phi(-1/(2 sigma) - epsilon sigma), never below it."""
    return math.exp(float(log_gaussian_deltas(1 / sigma, epsilon)))


def log_gaussian_deltas(shift: float, epsilon: Any) -> Any:
    """Return log delta at each epsilon (a number or an array, of any sign) of a Gaussian moved by `shift` deviations;
    never below it. Without a shift log (1 - e^epsilon)^+, the loss being 0.

    The two terms are compared in logs, where scipy's are within 10^-14 of themselves, as are epsilon and the arguments,
    which move a log by at most twice itself times their relative error. `LOG_TOLERANCE` is above the sum of all that.
    """
    import numpy as np
    from scipy.special import log_ndtr  # not at import time: scipy is slow to load

    with np.errstate(divide="ignore"):
        if not shift:
            return np.log(-np.expm1(np.minimum(epsilon, 0.0)))
        upper = log_ndtr(0.5 * shift - epsilon / shift)
        lower = epsilon + log_ndtr(-0.5 * shift - epsilon / shift)
        room = LOG_TOLERANCE * (1 + np.abs(upper) + np.abs(lower) + np.abs(epsilon))
        # lower <= upper in exact arithmetic.
        return upper + np.log(room - np.expm1(np.minimum(lower - upper, 0.0)))


def analytic_gaussian_epsilon(sigma: float, delta: float) -> float:
    """Return the least epsilon, never below it, at which the Gaussian mechanism of sensitivity 1 has this delta."""
    if analytic_gaussian_delta(sigma, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0 / sigma
    while analytic_gaussian_delta(sigma, high) > delta:
        low, high = high, 2 * high
    return _least(low, high, lambda middle: analytic_gaussian_delta(sigma, middle) <= delta)


def analytic_gaussian_sigma(epsilon: float, delta: float) -> float:
    """Return the least sigma for which the Gaussian mechanism of sensitivity 1 is (epsilon, delta)-DP."""
    epsilon, delta = validate_epsilon(epsilon), validate_delta(delta)
    if delta == 0:
        raise BudgetError("the Gaussian mechanism needs a delta above 0.")
    low = high = 1.0 / epsilon
    while analytic_gaussian_delta(high, epsilon) > delta:
        high *= 2
    while analytic_gaussian_delta(low, epsilon) <= delta:
        low /= 2
    return _least(low, high, lambda middle: analytic_gaussian_delta(middle, epsilon) <= delta)


def _least(low: float, high: float, enough: Callable[[float], bool]) -> float:
    """Find by bisection, from above, the least number that is enough, between one that is not and one that is."""
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
