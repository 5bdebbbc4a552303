"""What one fit, and all fits of a ledger together, may lose: reservations added up by the smallest bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum

from sklar.accounting.budget import checked_delta
from sklar.accounting.composition.exact import DominatingPair, exact_epsilon, pair_of, why_not_exact
from sklar.accounting.composition.total import Accountant, TotalLoss
from sklar.accounting.composition.zcdp import rho_to_epsilon
from sklar.accounting.events import PlannedEvent
from sklar.accounting.ledger.filters import set_aside
from sklar.accounting.ledger.records import FitRecord, Header
from sklar.errors import BudgetError

REPORTING_DELTA = 1e-9
"""Delta of totals where neither the cap nor a fit names one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerTotals:
    """A bound on the privacy loss of all fits of a ledger.

    Attributes:
        fits: How many fits were counted.
        epsilon: The bound.
        delta: The delta it holds at, that of discoveries included; 0 for pure sums.
        rho: Sum of the reservations in zCDP.
        accountant: Which bound it is: "pure", "zcdp" or "exact".
        in_advance: Whether the bound needs the budgets of all fits to have been set before the first output. Pure sums
            never need it, nor does the cap itself: a capped ledger stays within its cap whatever its fits depended on.
    """

    fits: int
    epsilon: float
    delta: float
    rho: float
    accountant: Accountant
    in_advance: bool


def fit_total(fit: FitRecord, delta: float | None = None) -> TotalLoss:
    """The bound for one fit alone, at its own delta unless told otherwise.

    A fit that kept to its plan, or to Gaussian noise, is bounded exactly; one that measured a lost step again is
    bounded by zCDP.
    """
    return fits_total((fit,), delta)


def fits_total(fits: Sequence[FitRecord], delta: float | None = None) -> TotalLoss:
    """The same for fits whose budgets were set together, as one for the facts and one for the model."""
    return _smallest(fits, _converted_at(fits) if delta is None else _rest(fits, delta), exact=True)


def ledger_totals(header: Header, fits: Sequence[FitRecord], delta: float | None = None) -> LedgerTotals:
    """The bound for all fits, at the cap's delta, else at the largest delta of a fit, unless told otherwise.

    Under a cap several fits are added as the cap's filter adds them. Without a cap exact composition is used where all
    fits were planned. Deltas of discoveries are added to the delta at which rho is converted.
    """
    chosen = _reporting_delta(header, fits) if delta is None else _rest(fits, delta)
    best = _smallest(fits, chosen, exact=header.cap is None or len(fits) == 1)
    return LedgerTotals(
        fits=len(fits),
        epsilon=best.epsilon,
        delta=best.delta,
        rho=best.rho,
        accountant=best.accountant,
        in_advance=len(fits) > 1 and best.accountant != "pure",
    )


def _reporting_delta(header: Header, fits: Sequence[FitRecord]) -> float:
    if header.cap is not None:
        return header.cap.delta - set_aside(header, fits[0] if fits else None)
    return _converted_at(fits)


def _converted_at(fits: Sequence[FitRecord]) -> float:
    return max((fit.converted_at for fit in fits), default=0.0)


def _rest(fits: Sequence[FitRecord], delta: float) -> float:
    """What of a delta is left to convert rho at, after the discoveries."""
    found = fsum(fit.reserved_delta for fit in fits)
    if found and not found < checked_delta(delta):
        raise BudgetError(f"finding labels spent a delta of {found:g}: ask for the total at a delta above it.")
    return checked_delta(delta) - found


def _smallest(fits: Sequence[FitRecord], delta: float, *, exact: bool) -> TotalLoss:
    """The smallest bound with rho converted at `delta`, to which the deltas of discoveries are added."""
    rho = fsum(fit.reserved_rho for fit in fits)
    epsilon = fsum(fit.reserved_epsilon for fit in fits)
    found = fsum(fit.reserved_delta for fit in fits)
    bounds = [TotalLoss(epsilon=epsilon, delta=found, rho=rho, accountant="pure")]
    if epsilon == float("inf") and delta == 0:
        delta = REPORTING_DELTA
    if delta > 0:
        bounds.append(TotalLoss(epsilon=rho_to_epsilon(rho, delta), delta=delta + found, rho=rho, accountant="zcdp"))
    pair = _joint_pair(fits, delta) if delta > 0 and exact and not found else None
    if pair is not None:
        bounds.append(TotalLoss(epsilon=exact_epsilon(pair, delta), delta=delta, rho=rho, accountant="exact"))
    return min(bounds, key=lambda bound: bound.epsilon)


def _joint_pair(fits: Sequence[FitRecord], delta: float) -> DominatingPair | None:
    """The pair that dominates all the fits may do; None if one had no plan, did more than planned, or has no pair."""
    events: list[PlannedEvent] = []
    squares: list[float] = []
    for fit in fits:
        if fit.repeated or (fit.plan is None and not fit.allowance.dither):
            return None
        events.extend(fit.plan or ())
        squares += [2 * fit.allowance.amount] if fit.allowance.dither else []
    if why_not_exact(events, delta) is not None:
        return None
    planned = pair_of(events)
    return replace(planned, shift=math.sqrt(math.fsum([planned.shift**2, *squares])))
