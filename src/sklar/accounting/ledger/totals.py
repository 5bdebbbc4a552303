"""The smallest bound on the privacy loss of one fit and of all fits of a ledger; and what a cap still admits.

What is left is stated in the custodian's units, as the largest epsilon of one more fit at a given delta. A fit of
(epsilon, delta) reserves by its accounting: the rho of zCDP, or up to half the squared shift of the one Gaussian that
is (epsilon, delta)-DP (`calibrate`, `adaptive`), which is a little more. The number stated is for the more expensive
accounting, so it holds for every method. By zCDP some 5% more (at delta 1e-9) may still be admitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_FLOOR, Context
from math import fsum

from sklar import notebook
from sklar.accounting.budget import MIN_EPSILON, ROUNDING, validate_delta
from sklar.accounting.composition.exact import (
    MIN_DELTA,
    DominatingPair,
    exact_epsilon,
    find_pair,
    why_not_exact,
)
from sklar.accounting.composition.gaussian import analytic_gaussian_epsilon
from sklar.accounting.composition.zcdp import pure_to_rho, rho_to_epsilon
from sklar.accounting.events import PlannedEvent
from sklar.accounting.ledger.filters import choose_regime, get_set_aside_delta, left_of_cap
from sklar.accounting.ledger.records import Accountant, FitRecord, Header
from sklar.errors import BudgetError

REPORTING_DELTA = 1e-9
"""Delta of totals where neither the cap nor a fit names one."""
COMMON_DELTA = 1e-9
"""Delta of a fit that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalLoss:
    """A bound on a total privacy loss, and the same in zCDP.

    Attributes:
        delta: The delta it holds at, that of discoveries included; 0 for pure sums without discoveries.
        accountant: Which bound it is: "pure" (sum of epsilons), "zcdp" (sum of rhos, converted), "gaussian" (sum of
            squared shifts) or "exact".
    """

    epsilon: float
    delta: float
    rho: float
    accountant: Accountant


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerTotals(TotalLoss):
    """A bound on the privacy loss of all fits of a ledger, and their number.

    Attributes:
        in_advance: Whether the bound needs the budgets of all fits to have been set before the first output. Pure sums
            never need it, nor does the cap itself: a capped ledger stays within its cap for any choice of fits.
    """

    fits: int
    in_advance: bool


def fit_total(fit: FitRecord, delta: float | None = None) -> TotalLoss:
    """Return the bound for one fit alone, at its own delta unless another is given.

    A fit that kept to its plan, or to Gaussian noise, is bounded exactly; one that measured a lost step again is
    bounded by zCDP.
    """
    return fits_total((fit,), delta)


def fits_total(fits: Sequence[FitRecord], delta: float | None = None) -> TotalLoss:
    """Return the bound for fits whose budgets were set together, such as one for facts and one for the model."""
    chosen = _find_conversion_delta(fits) if delta is None else _subtract_discoveries(fits, delta)
    return _find_smallest_bound(fits, chosen, exact=True)


def ledger_totals(header: Header, fits: Sequence[FitRecord], delta: float | None = None) -> LedgerTotals:
    """Return the bound for all fits, at `delta`, else at the cap's delta, else at the largest delta of a fit.

    Under a cap several fits are added as the cap's filter adds them. Without a cap exact composition is used where all
    fits were planned, or had Gaussian noise alone. Deltas of discoveries are added to the delta at which rho is
    converted.
    """
    if delta is not None:
        chosen = _subtract_discoveries(fits, delta)
    elif header.cap is not None:
        chosen = header.cap.delta - get_set_aside_delta(header, fits[0] if fits else None)
    else:
        chosen = _find_conversion_delta(fits)
    exact = header.cap is None or len(fits) == 1 or (bool(fits) and choose_regime(header, fits[0]) == "gaussian")
    best = _find_smallest_bound(fits, chosen, exact=exact)
    in_advance = len(fits) > 1 and best.accountant != "pure"
    return LedgerTotals(**asdict(best), fits=len(fits), in_advance=in_advance)


def _find_conversion_delta(fits: Sequence[FitRecord]) -> float:
    return max((fit.converted_at for fit in fits), default=0.0)


def _subtract_discoveries(fits: Sequence[FitRecord], delta: float) -> float:
    """Return what discoveries leave of a delta, to convert rho at."""
    found = fsum(fit.reserved_delta for fit in fits)
    if found and not found < validate_delta(delta):
        raise BudgetError(f"finding labels spent a delta of {found:g}: ask for the total at a delta above it.")
    return validate_delta(delta) - found


def _find_smallest_bound(fits: Sequence[FitRecord], delta: float, *, exact: bool) -> TotalLoss:
    """Return the smallest bound with rho converted at `delta`, to which the deltas of discoveries are added.

    The latter is valid for zCDP and for exact bounds (see `discovery`).
    """
    rho = fsum(fit.reserved_rho for fit in fits)
    epsilon = fsum(fit.reserved_epsilon for fit in fits)
    found = fsum(fit.reserved_delta for fit in fits)
    bounds = [TotalLoss(epsilon=epsilon, delta=found, rho=rho, accountant="pure")]
    if epsilon == float("inf") and delta == 0:
        delta = REPORTING_DELTA
    if delta > 0:
        bounds.append(TotalLoss(epsilon=rho_to_epsilon(rho, delta), delta=delta + found, rho=rho, accountant="zcdp"))
    pair = _join_pairs(fits, delta) if delta > 0 and exact else None
    if pair is not None:
        bounds.append(TotalLoss(epsilon=exact_epsilon(pair, delta), delta=delta + found, rho=rho, accountant="exact"))
    return min(bounds, key=lambda bound: bound.epsilon)


def _join_pairs(fits: Sequence[FitRecord], delta: float) -> DominatingPair | None:
    """Return the pair that dominates all fits together; None if a fit had no plan, exceeded it, or has no pair."""
    events: list[PlannedEvent] = []
    squares: list[float] = []
    for fit in fits:
        if fit.repeated or (fit.plan is None and not fit.allowance.dither):
            return None
        events.extend(fit.plan or ())
        squares += [2 * fit.allowance.amount] if fit.allowance.dither else []
    if why_not_exact(events, delta) is not None:
        return None
    planned = find_pair(events)
    return replace(planned, shift=math.sqrt(math.fsum([planned.shift**2, *squares])))


def left_epsilon(header: Header, fits: Sequence[FitRecord], delta: float) -> float:
    """Return the largest epsilon of one more fit at this delta; 0 if no fit is admitted, infinite without a cap."""
    cap, delta = header.cap, validate_delta(delta)
    left = left_of_cap(header, fits)
    if cap is None or left is None:
        return math.inf
    measure, amount = left
    if measure == "epsilon":
        found = 0.0 if delta else amount
    elif not fits and delta <= cap.delta and (delta == 0 or header.set_aside is None):
        # A first fit may use the whole cap: a pure one, or one for which no delta is set aside.
        found = max(cap.epsilon or 0.0, _find_epsilon(amount, delta))
    else:
        found = _find_epsilon(amount, delta)
    return found if found >= MIN_EPSILON else 0.0


def describe_left(header: Header, fits: Sequence[FitRecord], delta: float | None = None) -> str:
    """Describe in a clause what one more fit may have; by default at the usual delta, or at 0 if pure."""
    if header.cap is None:
        return "any amount, since there is no cap"
    chosen = common_delta(header, fits) if delta is None else delta
    epsilon, at = left_epsilon(header, fits, chosen), f"at delta {format_plain(chosen)}"
    if epsilon:
        return f"one more fit of epsilon up to {format_rounded_down(epsilon)} {at}"
    pure = left_epsilon(header, fits, 0.0) if chosen else 0.0
    return f"nothing {at}" + (f", one more fit of epsilon up to {format_rounded_down(pure)} at delta 0" if pure else "")


def ledger_card(header: Header, fits: Sequence[FitRecord]) -> str:
    """Return a ledger as HTML for a notebook: its cap, its fits, and what is left."""
    cap = "no cap" if header.cap is None else f"cap epsilon {header.cap.epsilon:g} at delta {header.cap.delta:g}"
    totals = [(fit, fit_total(fit)) for fit in fits]
    rows = [(fit.id, fit.opened, fit.method, total.epsilon, total.delta, fit.closed) for fit, total in totals]
    table = notebook.make_table(("fit", "opened", "method", "epsilon", "delta", "finished"), rows) if rows else ""
    left = "" if header.cap is None else notebook.make_paragraph(f"Left: {describe_left(header, fits)}.")
    about = notebook.make_paragraph(f"{cap}, neighbours {header.neighbours}, created {header.created}")
    return notebook.make_card(f"Ledger '{header.name}'", about, table, left)


def common_delta(header: Header, fits: Sequence[FitRecord]) -> float:
    """Return the delta at which to state what is left: that of a fit by default, or the cap's if smaller."""
    if header.cap is None:
        return COMMON_DELTA
    pure = bool(fits) and fits[0].pure
    return 0.0 if pure else min(COMMON_DELTA, header.cap.delta)


def format_rounded_down(number: float) -> str:
    """Format a number with three digits, rounded down."""
    short = Context(prec=3, rounding=ROUND_FLOOR).create_decimal_from_float(number * (1 + ROUNDING / 10))
    return format_plain(float(short))


def format_plain(number: float) -> str:
    """Format a number as a person would write it: 1e-9, not 1e-09."""
    return f"{number:g}".replace("e-0", "e-")


def _find_epsilon(rho: float, delta: float) -> float:
    """Return the largest epsilon whose most expensive reservation at this delta is within rho."""
    if rho <= 0:
        return 0.0
    if delta == 0:
        return _invert_pure_to_rho(rho)
    epsilon = rho_to_epsilon(rho, delta)
    if delta >= MIN_DELTA:
        epsilon = min(epsilon, analytic_gaussian_epsilon(1 / math.sqrt(2 * rho), delta))
    return epsilon * (1 - ROUNDING)


def _invert_pure_to_rho(rho: float) -> float:
    """Return the epsilon of a pure fit whose rho is this, from below."""
    low, high = 0.0, rho + 2.0  # epsilon tanh(epsilon / 2) > epsilon - 2
    while high - low > ROUNDING * high:
        middle = (low + high) / 2
        low, high = (middle, high) if pure_to_rho(middle) <= rho else (low, middle)
    return low
