"""The looser accounting that published papers use: advanced composition and the classic Gaussian mechanism.

Reference: Dwork, Roth (2014), "The Algorithmic Foundations of Differential Privacy", Theorems 3.20 and A.1.
"""

from __future__ import annotations

import math

from sklar.accounting.budget import validate_count, validate_delta, validate_epsilon, validate_positive
from sklar.errors import BudgetError


def advanced_composition(epsilon: float, times: int, delta: float) -> float:
    """Return the total epsilon of `times` epsilon-DP mechanisms at `delta`: sqrt(2 k ln(1/delta)) e + k e (exp(e) -
    1)."""
    times, slack = validate_count(times, "the number of mechanisms"), _log_inverse(delta)
    epsilon = validate_positive(epsilon, "epsilon")
    return math.sqrt(2 * times * slack) * epsilon + times * epsilon * math.expm1(min(epsilon, 700.0))


def advanced_composition_share(total: float, times: int, delta: float) -> float:
    """Return the epsilon of each of `times` mechanisms whose advanced composition is `total` (never above it)."""
    total = validate_epsilon(total)
    low, high = 0.0, total
    while high - low > 1e-15 * total:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if advanced_composition(middle, times, delta) <= total else (low, middle)
    return low


def classic_gaussian_sigma(epsilon: float, delta: float, l2: float = 1.0) -> float:
    """Return sqrt(2 ln(1.25/delta)) l2 / epsilon; valid for epsilon below 1 only, so refused beyond."""
    epsilon, slack = validate_epsilon(epsilon), _log_inverse(delta)
    if epsilon >= 1:
        raise BudgetError(f"the classic Gaussian mechanism holds for epsilon below 1 only; {epsilon:g} was given.")
    return math.sqrt(2 * (math.log(1.25) + slack)) * validate_positive(l2, "an L2 bound") / epsilon


def _log_inverse(delta: float) -> float:
    delta = validate_delta(delta)
    if delta == 0:
        raise BudgetError("this accounting needs a delta above 0.")
    return -math.log(delta)
