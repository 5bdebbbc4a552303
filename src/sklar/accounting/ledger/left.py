"""What a capped ledger still admits, in the custodian's units: the largest epsilon of one more fit at a given delta.

A fit of (epsilon, delta) reserves by how it is accounted for: the rho of zCDP, or up to half the squared shift of the
one Gaussian that is (epsilon, delta)-DP (`calibrate`, `adaptive`), which is a little more. The number told here is for
the dearest way, so it holds for every method. By zCDP some 5% more (at delta 1e-9) may still be admitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context

from sklar.accounting.budget import ROUNDING, SMALLEST_EPSILON, Budget, checked_delta
from sklar.accounting.composition.exact import SMALLEST_DELTA
from sklar.accounting.composition.gaussian import analytic_gaussian_epsilon
from sklar.accounting.composition.zcdp import pure_to_rho, rho_to_epsilon
from sklar.accounting.ledger.filters import left_of_cap
from sklar.accounting.ledger.records import FitRecord, Header

COMMON_DELTA = 1e-9
"""Delta of a fit that names none."""


def left_epsilon(header: Header, fits: Sequence[FitRecord], delta: float) -> float:
    """The largest epsilon that one more fit at this delta may have; 0 if none is admitted, infinite without a cap."""
    cap, delta = header.cap, checked_delta(delta)
    left = left_of_cap(header, fits)
    if cap is None or left is None:
        return math.inf
    measure, amount = left
    if measure == "epsilon":
        found = 0.0 if delta else amount
    elif not fits and _may_take_all(header, cap, delta):
        found = max(cap.epsilon or 0.0, _epsilon_of(amount, delta))
    else:
        found = _epsilon_of(amount, delta)
    return found if found >= SMALLEST_EPSILON else 0.0


def describe_left(header: Header, fits: Sequence[FitRecord], delta: float | None = None) -> str:
    """The same as a clause; by default at the delta that most fits have, or 0 where no other is admitted."""
    if header.cap is None:
        return "as much as you like, since there is no cap"
    chosen = common_delta(header, fits) if delta is None else delta
    epsilon, at = left_epsilon(header, fits, chosen), f"at delta {plain(chosen)}"
    if epsilon:
        return f"one more fit of epsilon up to {rounded_down(epsilon)} {at}"
    pure = left_epsilon(header, fits, 0.0) if chosen else 0.0
    return f"nothing {at}" + (f", one more fit of epsilon up to {rounded_down(pure)} at delta 0" if pure else "")


def common_delta(header: Header, fits: Sequence[FitRecord]) -> float:
    """The delta to tell what is left at: that of a fit that names none, as far as the cap has one."""
    if header.cap is None:
        return COMMON_DELTA
    pure = bool(fits) and fits[0].pure
    return 0.0 if pure else min(COMMON_DELTA, header.cap.delta)


def rounded_down(number: float) -> str:
    """Three digits, never more than the number but for what rounding explains."""
    short = Context(prec=3, rounding=ROUND_FLOOR).create_decimal_from_float(number * (1 + ROUNDING / 10))
    return plain(float(short))


def plain(number: float) -> str:
    """A number as a person would write it: 1e-9, not 1e-09."""
    return f"{number:g}".replace("e-0", "e-")


def _may_take_all(header: Header, cap: Budget, delta: float) -> bool:
    """Whether a first fit may have all of the cap: a pure one, or one that is covered alone or adds up within it."""
    return delta <= cap.delta and (delta == 0 or header.set_aside is None)


def _epsilon_of(rho: float, delta: float) -> float:
    """The largest epsilon whose dearest reservation at this delta is within rho."""
    if rho <= 0:
        return 0.0
    if delta == 0:
        return _inverse_of_pure(rho)
    epsilon = rho_to_epsilon(rho, delta)
    if delta >= SMALLEST_DELTA:
        epsilon = min(epsilon, analytic_gaussian_epsilon(1 / math.sqrt(2 * rho), delta))
    return epsilon * (1 - ROUNDING)


def _inverse_of_pure(rho: float) -> float:
    """The epsilon of a pure fit that counts this rho, from below."""
    low, high = 0.0, rho + 2.0  # epsilon tanh(epsilon / 2) > epsilon - 2
    while high - low > ROUNDING * high:
        middle = (low + high) / 2
        low, high = (middle, high) if pure_to_rho(middle) <= rho else (low, middle)
    return low
