"""The total privacy loss of events, worked out from them alone: what claims and ledgers are checked against."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sklar.accounting.budget import validate_delta
from sklar.accounting.composition.adaptive import shift_cost, why_not_gaussian
from sklar.accounting.composition.exact import (
    MIN_DELTA,
    DominatingPair,
    exact_epsilon,
    find_pair,
    why_not_exact,
)
from sklar.accounting.composition.zcdp import rho_to_epsilon
from sklar.accounting.events import Event
from sklar.accounting.ledger.totals import TotalLoss
from sklar.errors import BudgetError


def total_loss(events: Iterable[Event], delta: float, *, planned: bool) -> TotalLoss:
    """The smallest bound on epsilon at `delta` for these events together.

    Pure epsilons, rhos and squared shifts of Gaussian noise add up under full adaptivity: later events may depend on
    earlier outputs in every way. Exact composition needs all noise scales and numbers of tables to be set before the
    first output; `planned` says so. The deltas of discoveries add up, and are part of `delta`; the rest of it is what
    rho, or squared shifts, are converted at. A delta of 0 asks for the pure sum.
    """
    events, delta = tuple(events), validate_delta(delta)
    rho, found = (summed(getattr(event, measure) for event in events) for measure in ("rho", "delta"))
    bounds = [TotalLoss(epsilon=summed(event.epsilon for event in events), delta=found, rho=rho, accountant="pure")]
    if delta > found:
        bounds.append(TotalLoss(epsilon=rho_to_epsilon(rho, delta - found), delta=delta, rho=rho, accountant="zcdp"))
        if planned and why_not_exact(events, delta) is None:
            epsilon = exact_epsilon(find_pair(events), delta)
            bounds.append(TotalLoss(epsilon=epsilon, delta=delta, rho=rho, accountant="exact"))
        elif delta - found >= MIN_DELTA and why_not_gaussian(events) is None:
            epsilon = exact_epsilon(DominatingPair(shift=math.sqrt(2 * shift_cost(events))), delta - found)
            bounds.append(TotalLoss(epsilon=epsilon, delta=delta, rho=rho, accountant="gaussian"))
    best = min(bounds, key=lambda bound: bound.epsilon)
    if math.isinf(best.epsilon):
        raise BudgetError(f"Gaussian noise has no pure epsilon: ask for its total at a delta above {found:g}.")
    return best


def summed(amounts: Iterable[float]) -> float:
    """An upper bound on a sum of amounts that are each off by a few units in the last place."""
    return math.fsum(amounts) * (1 + 1e-14)
