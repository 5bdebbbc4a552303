"""Calibration: from a budget to an allowance, and from an allowance and a plan to noise scales."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget, validate_count, validate_positive
from sklar.accounting.composition.exact import exact_delta, find_pair, why_not_exact
from sklar.accounting.composition.gaussian import analytic_gaussian_sigma
from sklar.accounting.composition.lattice import FINE_LATTICE
from sklar.accounting.composition.zcdp import epsilon_to_rho
from sklar.accounting.events import CountEvent, PlannedEvent, SumEvent
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError

_MAX_TRIES = 6
"""Maximum number of amounts that the search tries. Each costs one exact composition; fewer may leave budget unused."""
_TARGET_SHARE = 0.998
"""Share of delta that the search aims at, so that a small miss is still within the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTables:
    """One line of a plan: `tables` tables of counts that share `weight` parts of the allowance equally."""

    label: str
    tables: int
    weight: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", validate_count(self.tables, "the number of planned tables"))
        object.__setattr__(self, "weight", validate_positive(self.weight, "the weight of a planned line"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedVector:
    """One line of a plan: one vector of sums that spends `weight` parts of the allowance.

    The length of the vector, and hence its noise, may be decided later: the plan fixes the ratio of both. Gaussian
    noise will be at least `FINE_LATTICE` units of the vector's lattice wide (`fine_noise`).
    """

    label: str
    weight: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", validate_positive(self.weight, "the weight of a planned line"))


PlannedLine = PlannedTables | PlannedVector
Plan = tuple[PlannedLine, ...]


def calibrate(
    budget: Budget, unit: Unit, plan: Sequence[PlannedLine] | None = None, *, discovery: float = 0.0
) -> Allowance:
    """Return the allowance of a fit with this budget.

    Pure budgets are spent as epsilon, budgets in rho as they are. An (epsilon, delta) budget becomes a rho: the zCDP
    amount, or more where a plan fixes all scales and numbers of tables in advance and exact composition shows that the
    plan stays within (epsilon, delta). An allowance that rests on a plan, which lists all tables and vectors the fit
    will measure, is valid for that plan's noise only. `discovery` is the part of the budget's delta that is set aside
    for finding labels; no plan covers that.
    """
    if discovery:
        return _calibrate_with_discovery(budget, discovery)
    return _calibrate(budget, unit, tuple(plan or ()))


def plan_noise(allowance: Allowance, unit: Unit, plan: Sequence[PlannedLine]) -> tuple[Noise, ...]:
    """Return the noise of each line of a plan that spends the allowance by its weights; for vectors of length 1."""
    if not plan:
        raise BudgetError("a plan needs at least one line.")
    whole = math.fsum(line.weight for line in plan)
    shares = [(line, allowance.part(line.weight / whole)) for line in plan]
    return tuple(
        share.noise(unit, line.tables) if isinstance(line, PlannedTables) else share.sum_noise(l1=1.0, l2=1.0)
        for line, share in shares
    )


def plan_events(allowance: Allowance, unit: Unit, plan: Sequence[PlannedLine]) -> tuple[PlannedEvent, ...]:
    """Return the events of a plan, one per line; vectors are in units of their length."""
    noises = plan_noise(allowance, unit, plan)
    return tuple(_make_event(line, noise, unit) for line, noise in zip(plan, noises, strict=True))


def fine_noise(noise: Noise, resolution: float) -> Noise:
    """Return the noise of a planned vector on a lattice of this resolution, at least `FINE_LATTICE` units wide."""
    if noise.kind == "laplace" or noise.scale >= FINE_LATTICE * resolution:
        return noise
    return Noise(kind=noise.kind, scale=FINE_LATTICE * resolution)


def _make_event(line: PlannedLine, noise: Noise, unit: Unit) -> PlannedEvent:
    if isinstance(line, PlannedTables):
        return CountEvent(label=line.label, noise=noise, tables=line.tables, unit=unit)
    return SumEvent(label=line.label, noise=noise, l1=1.0, l2=1.0, resolution=noise.scale / FINE_LATTICE, unit=unit)


def _calibrate_with_discovery(budget: Budget, discovery: float) -> Allowance:
    """Return rho at the rest of delta. Approximate zCDP: rhos add up, and so do the deltas set aside."""
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
        amount = _find_exact_rho(budget.epsilon, budget.delta, unit, plan, amount)
    return Allowance(measure="rho", amount=amount)


def _find_exact_rho(epsilon: float, delta: float, unit: Unit, plan: Plan, safe: float) -> float:
    """Return the largest rho found whose plan is within (epsilon, delta), or `safe`, the zCDP amount, if that is
    larger.

    Many draws of moderate noise are nearly one Gaussian, so the search starts at the rho of the analytic Gaussian
    mechanism and follows the secant of log delta in log rho. Only amounts that were evaluated are returned, and none
    above that start, though a few draws on a coarse lattice may allow more: so no fit of (epsilon, delta) reserves more
    than one Gaussian of (epsilon, delta), and the rest of a ledger's cap does not depend on the plan.
    """
    start = 0.5 / analytic_gaussian_sigma(epsilon, delta) ** 2
    points: list[tuple[float, float]] = []
    guess = math.log(start)
    for _ in range(_MAX_TRIES):
        found = _compute_plan_delta(math.exp(guess), epsilon, delta, unit, plan)
        points.append((guess, found))
        if found <= delta and (guess >= math.log(start) or found >= _TARGET_SHARE**2 * delta):
            break
        guess = min(_next_guess(points, delta), math.log(start))
    return max([math.exp(log_rho) for log_rho, found in points if found <= delta] + [safe])


def _compute_plan_delta(rho: float, epsilon: float, delta: float, unit: Unit, plan: Plan) -> float:
    """Return the delta of the plan at this rho; 1 where exact composition does not apply."""
    events = plan_events(Allowance(measure="rho", amount=rho), unit, plan)
    return exact_delta(find_pair(events), epsilon) if why_not_exact(events, delta) is None else 1.0


def _next_guess(points: list[tuple[float, float]], delta: float) -> float:
    """Extrapolate log rho to the target delta from the last two points, or by the slope of a Gaussian tail."""
    (x, found), slope = points[-1], math.log(1 / delta)
    if len(points) > 1 and points[-2][0] != x:
        measured = (math.log(found) - math.log(points[-2][1])) / (x - points[-2][0])
        slope = measured if measured > slope / 10 else slope
    step = (math.log(_TARGET_SHARE * delta) - math.log(found)) / slope
    return x + min(max(step, -0.5), 0.5)
