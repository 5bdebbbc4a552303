"""Zero-concentrated differential privacy: conversions between rho, epsilon and delta.

References: Bun, Steinke (2016), "Concentrated Differential Privacy"; Canonne, Kamath, Steinke (2020), "The Discrete
Gaussian for Differential Privacy", Proposition 12.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sklar.accounting.budget import validate_delta, validate_number
from sklar.errors import BudgetError

TERM_TOLERANCE = 1e-14
"""Relative tolerance for rounding in each term of a conversion: above the few 2^-53 by which a term is off."""


def rho_to_epsilon(rho: float, delta: float) -> float:
    """Return epsilon of rho-zCDP at `delta`, by the best Renyi order.

    epsilon = min over a > 1 of  a rho + (log(1/delta) + (a - 1) log(1 - 1/a) - log a) / (a - 1).

    Every order gives a valid bound, so a minimum found approximately errs on the safe side.
    """
    rho, delta = _validate(rho, delta)
    if rho == 0:
        return 0.0
    guess = math.sqrt(-math.log(delta) / rho)
    return max(0.0, _minimize(lambda t: (1 + t) * rho * (1 + TERM_TOLERANCE) + _order_cost(t, delta), guess))


def epsilon_to_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho for which `rho_to_epsilon` stays within `epsilon`.

    rho = max over a > 1 of (epsilon - (log(1/delta) + (a - 1) log(1 - 1/a) - log a) / (a - 1)) / a.
    """
    epsilon, delta = _validate(epsilon, delta)
    if epsilon == 0:
        return 0.0
    guess = 2 * -math.log(delta) / epsilon
    return max(0.0, -_minimize(lambda t: (_order_cost(t, delta) - epsilon * (1 - TERM_TOLERANCE)) / (1 + t), guess))


def pure_to_rho(epsilon: float) -> float:
    """Return rho of an epsilon-DP mechanism: epsilon tanh(epsilon / 2), a little less than the usual epsilon^2 / 2.

    Proof. Every epsilon-DP mechanism is a post-processing of randomized response with the same epsilon (Kairouz, Oh,
    Viswanath 2015), whose privacy loss is +epsilon with probability e^epsilon / (1 + e^epsilon) and -epsilon else. So

        D_a = log[ cosh((a - 1/2) epsilon) / cosh(epsilon / 2) ] / (a - 1).

    With u = (a - 1/2)^2 and a (a - 1) = u - 1/4 this reads D_a / a = (G(u) - G(1/4)) / (u - 1/4) for
    G(u) = log cosh(epsilon sqrt u). G is concave, since G'(u) = (epsilon^2 / 2) tanh(x) / x at x = epsilon sqrt u and
    tanh(x) / x falls. The slope of a chord of a concave function falls as its far end moves away, so the largest
    D_a / a over a > 1 is the limit at a = 1, G'(1/4) = epsilon tanh(epsilon / 2). It is attained, hence best possible.
    """
    return epsilon * math.tanh(epsilon / 2)


def choice_to_rho(epsilon: float) -> float:
    """Return rho of an exponential mechanism: epsilon^2 / 8, as its loss has a range of length epsilon."""
    return epsilon**2 / 8


def _order_cost(t: float, delta: float) -> float:
    """Return (log(1/delta) + (a - 1) log(1 - 1/a) - log a) / (a - 1) at a = 1 + t, raised above its rounding errors."""
    first, second, third = -math.log(delta) / t, math.log1p(t) / t, math.log1p(1 / t)
    return first - second - third + TERM_TOLERANCE * (first + second + third)


def _minimize(value: Callable[[float], float], guess: float) -> float:
    """Return the least value over t > 0: a coarse search around `guess` on a log scale, then golden section."""
    center = math.log(guess) if guess > 0 else 0.0
    coarse = [center + step / 4 for step in range(-120, 121)]
    best = min(range(len(coarse)), key=lambda i: value(math.exp(coarse[i])))
    low, high = coarse[max(best - 1, 0)], coarse[min(best + 1, len(coarse) - 1)]
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if value(math.exp(left)) <= value(math.exp(right)):
            high = right
        else:
            low = left
    return min(value(math.exp((low + high) / 2)), value(math.exp(coarse[best])))


def _validate(amount: float, delta: float) -> tuple[float, float]:
    amount, delta = validate_number(amount, "the privacy loss"), validate_delta(delta)
    if amount < 0:
        raise BudgetError(f"a privacy loss is at least 0; {amount:g} was given.")
    if delta == 0:
        raise BudgetError("zCDP converts to an epsilon only at a delta above 0.")
    return amount, delta
