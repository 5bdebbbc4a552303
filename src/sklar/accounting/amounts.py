"""Which numbers are usable as epsilon, delta, rho, a noise scale or a number of tables; refusals in plain sentences."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from sklar.errors import BudgetError

SMALLEST_EPSILON = 1e-6
"""Below this the noise would pass 10^6 times the number of tables: no count of people survives it."""
LARGEST_EPSILON = 1e6
"""Above this the promise is empty and exp(epsilon) no number."""
SMALLEST_RHO = 1e-14
"""About the rho of the smallest epsilon."""
LARGEST_RHO = 1e6
"""Same limit as for epsilon."""
ROUNDING = 1e-9
"""Relative excess that a sum of shares may show through floating-point rounding and that is not spending."""


def checked_number(value: Any, name: str) -> float:
    """`value` as a finite float; anything else (text, True, NaN, infinity) is refused by name."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise BudgetError(f"{name} must be a number, not {type(value).__name__}.")
    number = _as_float(value)
    if not math.isfinite(number):
        raise BudgetError(f"{name} must be a finite number; {number} was given.")
    return number


def checked_epsilon(value: Any, name: str = "epsilon") -> float:
    """An epsilon that noise can be calibrated to."""
    return _within(checked_number(value, name), name, SMALLEST_EPSILON, LARGEST_EPSILON)


def checked_rho(value: Any, name: str = "rho") -> float:
    """A rho that noise can be calibrated to."""
    return _within(checked_number(value, name), name, SMALLEST_RHO, LARGEST_RHO)


def checked_delta(value: Any, name: str = "delta") -> float:
    """A delta in [0, 1)."""
    number = checked_number(value, name)
    if not 0.0 <= number < 1.0:
        raise BudgetError(f"{name} must be at least 0 and below 1; {number:g} was given.")
    return number


def checked_positive(value: Any, name: str) -> float:
    """A finite number above 0."""
    number = checked_number(value, name)
    if number <= 0:
        raise BudgetError(f"{name} must be above 0; {number:g} was given.")
    return number


def checked_count(value: Any, name: str) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise BudgetError(f"{name} must be a whole number, not {type(value).__name__}.")
    if int(value) < 1:
        raise BudgetError(f"{name} must be at least 1; {int(value)} was given.")
    return int(value)


def exceeds(spent: float, allowed: float) -> bool:
    """Whether `spent` is more than `allowed`, beyond what rounding explains."""
    return not spent <= allowed * (1 + ROUNDING)


def _as_float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _within(number: float, name: str, smallest: float, largest: float) -> float:
    if number <= 0:
        raise BudgetError(f"{name} must be above 0; {number:g} was given.")
    if number < smallest:
        raise BudgetError(
            f"{name} = {number:g} is too small to calibrate: the noise would drown any table of people. "
            f"Use at least {smallest:g}."
        )
    if number > largest:
        raise BudgetError(f"{name} = {number:g} promises nothing. Use at most {largest:g}.")
    return number
