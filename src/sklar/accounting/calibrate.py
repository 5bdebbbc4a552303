"""From a budget to an allowance, and from an allowance and a plan to noise scales."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget, checked_count, checked_positive
from sklar.accounting.composition.exact import exact_delta, pair_of, why_not_exact
from sklar.accounting.composition.gaussian import analytic_gaussian_sigma
from sklar.accounting.composition.lattice import FINE
from sklar.accounting.composition.zcdp import epsilon_to_rho
from sklar.accounting.events import CountEvent, PlannedEvent, SumEvent
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError

_TRIES = 6
"""Most amounts that are tried: each costs one exact composition, and fewer may leave a little of the budget unused."""
_AIM = 0.998
"""Share of delta the search aims at, so that a small miss is still within the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTables:
    """One line of a plan: `tables` tables of counts that share `weight` parts of the allowance equally."""

    label: str
    tables: int
    weight: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", checked_count(self.tables, "the number of planned tables"))
        object.__setattr__(self, "weight", checked_positive(self.weight, "the weight of a planned line"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedVector:
    """One line of a plan: one vector of sums that spends `weight` parts of the allowance.

    How long the vector is, and hence its noise, may be known only later: the plan fixes the ratio of both. Gaussian
    noise is promised to be at least `FINE` units of the vector's lattice wide (`fine_noise`).
    """

    label: str
    weight: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", checked_positive(self.weight, "the weight of a planned line"))


PlannedLine = PlannedTables | PlannedVector
Plan = tuple[PlannedLine, ...]


def calibrate(
    budget: Budget, unit: Unit, plan: Sequence[PlannedLine] | None = None, *, discovery: float = 0.0
) -> Allowance:
    """All that a fit with this budget may spend.

    Pure budgets are spent as epsilon, budgets in rho as they are. An (epsilon, delta) budget becomes a rho: the zCDP
    amount, or more where a plan fixes all scales and numbers of tables in advance and exact composition shows that the
    plan stays within (epsilon, delta). An allowance that rests on a plan, which lists all tables and vectors the fit
    will measure, is good for that plan's noise only. `discovery` is the part of the budget's delta that is set aside
    for finding labels; no plan covers that.
    """
    if discovery:
        return _with_discovery(budget, discovery)
    return _calibrate(budget, unit, tuple(plan or ()))


def plan_noise(allowance: Allowance, unit: Unit, plan: Sequence[PlannedLine]) -> tuple[Noise, ...]:
    """The noise of each line of the plan when it spends the whole allowance by its weights; for vectors of length 1."""
    if not plan:
        raise BudgetError("a plan needs at least one line.")
    whole = math.fsum(line.weight for line in plan)
    shares = [(line, allowance.part(line.weight / whole)) for line in plan]
    return tuple(
        share.noise(unit, line.tables) if isinstance(line, PlannedTables) else share.sum_noise(l1=1.0, l2=1.0)
        for line, share in shares
    )


def plan_events(allowance: Allowance, unit: Unit, plan: Sequence[PlannedLine]) -> tuple[PlannedEvent, ...]:
    """The events the plan will cause, one per line; vectors are told in units of their length."""
    noises = plan_noise(allowance, unit, plan)
    return tuple(_event_of(line, noise, unit) for line, noise in zip(plan, noises, strict=True))


def fine_noise(noise: Noise, resolution: float) -> Noise:
    """The noise of a planned vector on a lattice of this resolution: more, where it would be narrower than promised."""
    if noise.kind == "laplace" or noise.scale >= FINE * resolution:
        return noise
    return Noise(kind=noise.kind, scale=FINE * resolution)


def _event_of(line: PlannedLine, noise: Noise, unit: Unit) -> PlannedEvent:
    if isinstance(line, PlannedTables):
        return CountEvent(label=line.label, noise=noise, tables=line.tables, unit=unit)
    return SumEvent(label=line.label, noise=noise, l1=1.0, l2=1.0, resolution=noise.scale / FINE, unit=unit)


def _with_discovery(budget: Budget, discovery: float) -> Allowance:
    """Rho at the rest of delta. Approximate zCDP: rhos add up, and so do the deltas set aside."""
    if not 0 < discovery < budget.delta:
        raise BudgetError(
            f"the delta set aside for finding labels must lie between 0 and the budget's {budget.delta:g}; "
            f"{discovery:g} was given."
        )
    if budget.rho is not None:
        return Allowance(measure="rho", amount=budget.rho, delta=discovery)
    assert budget.epsilon is not None
    return Allowance(measure="rho", amount=epsilon_to_rho(budget.epsilon, budget.delta - discovery), delta=discovery)


@lru_cache(maxsize=64)
def _calibrate(budget: Budget, unit: Unit, plan: Plan) -> Allowance:
    if budget.rho is not None:
        return Allowance(measure="rho", amount=budget.rho)
    assert budget.epsilon is not None
    if budget.pure:
        return Allowance(measure="epsilon", amount=budget.epsilon)
    amount = epsilon_to_rho(budget.epsilon, budget.delta)
    if plan and why_not_exact(plan_events(Allowance(measure="rho", amount=amount), unit, plan), budget.delta) is None:
        amount = _exact_rho(budget.epsilon, budget.delta, unit, plan, amount)
    return Allowance(measure="rho", amount=amount)


def _exact_rho(epsilon: float, delta: float, unit: Unit, plan: Plan, safe: float) -> float:
    """The largest rho found whose plan is within (epsilon, delta); `safe`, the zCDP amount, if none is larger.

    Many draws of moderate noise are nearly one Gaussian, so the search starts at the rho of the analytic Gaussian
    mechanism and follows the secant of log delta in log rho. Only amounts that were evaluated are returned, and none
    above that start, though a few draws on a coarse lattice may bear more: so no fit of (epsilon, delta) reserves more
    than one Gaussian of (epsilon, delta), and what a ledger has left can be told without knowing the plan.
    """
    start = 0.5 / analytic_gaussian_sigma(epsilon, delta) ** 2
    points: list[tuple[float, float]] = []
    guess = math.log(start)
    for _ in range(_TRIES):
        found = _plan_delta(math.exp(guess), epsilon, delta, unit, plan)
        points.append((guess, found))
        if found <= delta and (guess >= math.log(start) or found >= _AIM**2 * delta):
            break
        guess = min(_next_guess(points, delta), math.log(start))
    return max([math.exp(log_rho) for log_rho, found in points if found <= delta] + [safe])


def _plan_delta(rho: float, epsilon: float, delta: float, unit: Unit, plan: Plan) -> float:
    """Delta of the plan at this rho; 1 where exact composition does not apply."""
    events = plan_events(Allowance(measure="rho", amount=rho), unit, plan)
    return exact_delta(pair_of(events), epsilon) if why_not_exact(events, delta) is None else 1.0


def _next_guess(points: list[tuple[float, float]], delta: float) -> float:
    """Where the last two points, or the slope of a Gaussian tail from one, put log rho for the delta aimed at."""
    (x, found), slope = points[-1], math.log(1 / delta)
    if len(points) > 1 and points[-2][0] != x:
        measured = (math.log(found) - math.log(points[-2][1])) / (x - points[-2][0])
        slope = measured if measured > slope / 10 else slope
    step = (math.log(_AIM * delta) - math.log(found)) / slope
    return x + min(max(step, -0.5), 0.5)
