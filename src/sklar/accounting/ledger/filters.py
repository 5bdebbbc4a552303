"""The filter of a ledger: reservations within the cap, charges within the reservation, and the proofs of both.

**Within a fit.** The Door charges each measurement before it reads the rows for it, and the next request may depend on
all earlier releases. Let the allowance be an amount A of rho (or pure epsilon). Every mechanism has a cost in
that measure that is known from its parameters before it runs, and a charge that would bring the sum above A is refused
before anything is read. Stopping an adaptive sequence so that its costs never sum to more than A is a privacy filter,
and the whole is A-zCDP, respectively A-DP (Rogers, Roth, Ullman, Vadhan 2016 for pure and approximate DP; Feldman,
Zrnic 2021 and Whitehouse, Ramdas, Rogers, Wu 2023 for Renyi DP and zCDP under full adaptivity). A fit with a plan must
keep to it: each charged table takes one planned table of the same noise, and each charged vector of sums takes one
planned vector of at least its length against its noise, on a lattice no coarser than planned. Then, in any order,
exact composition of the plan covers it (see `composition.exact`), and the allowance may exceed the zCDP amount of
its budget. A fit of Gaussian releases alone needs no plan for that: squared shifts add up in any order
(`composition.adaptive`), and anything but counts and sums with Gaussian noise is refused.

**Between fits.** A reservation is what a fit may still do, so fits that run at the same time, or whose parameters
depend on each other's outputs, are covered together if the sum of their *reservations* passes a filter against the cap.
Reservations are never given back: what a fit did not use is lost, since using it later would need a finer argument.
The choice of the filter must not depend on outputs, so the cap and the first reservation, both made before any output
exists, determine it:

* `pure`: the cap has delta 0 or the first fit is pure. Epsilons are added; only pure fits are admitted.
* `full`: the first fit rests on exact composition of its plan, its amount is more than the cap's rho, and it is exactly
  within the cap's (epsilon, delta). It is covered alone and nothing more is admitted. So it is not used where the
  custodian set a part of delta aside for later.
* `gaussian`: the first fit rests on squared shifts, and its amount is more than the cap's rho. Squared shifts are added
  and kept within those of one Gaussian of the cap (`composition.adaptive`); only fits of such noise are admitted.
* `zcdp`: all other cases. Rhos are added and kept within the rho of the cap. A pure fit of epsilon counts
  epsilon tanh(epsilon / 2), an upper bound on the sum of its events' rhos since tanh grows.

A fit that measures its facts first is several reservations, each with its part of one allowance: if the first of them
finds too few rows, the rest of the budget is not spent. The first states the whole allowance. That decides on the
filter, and the cap must cover it, so that the later parts are admitted.

**Discoveries of labels** are approximate zCDP: a rho that holds except with a delta of their own (see `discovery`).
Both amounts are known before the mechanism runs, so the filter keeps two sums: rhos within A, and deltas within a
second amount D. Stopping before either is exceeded is a filter for approximate zCDP under full adaptivity (Whitehouse,
Ramdas, Rogers, Wu 2023), and D-approximate A-zCDP is (epsilon, delta)-DP for A = rho(epsilon, delta - D), as is shown
in `discovery`. With Gaussian noise the same two sums keep a fit within squared shifts A at delta - D, plus D (the proof
is there, too). The argument needs A and D to be numbers that no output has a say in. Within a fit they are its
reservation. For a capped ledger D is the part of the cap's delta that was set aside when the ledger was made, or else
what the first reservation needs for discoveries, which is made before any output exists; A follows. So a ledger whose
first fit found no labels, and which has nothing set aside, admits no discovery later: to take it from the cap's delta
then would mean to choose the split after having seen outputs. In the `pure` and `full` regimes D is 0. Without a cap
nothing is guaranteed in advance: reservations, deltas of discoveries included, are added up as they are.

**Rounding.** Sums of floats are compared with a tolerance: `budget.ROUNDING` says how much, and why no total exceeds
what is guaranteed.

**Races and crashes.** A reservation is read, checked, written and synced under an exclusive lock on the file, so of two
processes that want the last epsilon one sees the other's entry. An entry is on disk before the act it allows. If a
process dies in between, the ledger shows more than was lost, never less. A line that was only partly written was never
acted upon.

**A charge that was never answered.** For each step a process writes a charge, reads the rows, draws noise in its own
memory, writes the hash of the release to the ledger, and only then stores the release or shows it to anyone. So a
charge without a hash proves that no byte of a release left the process that made it: the attempt had one outcome,
"nothing", for any rows. Let M be the step's mechanism. A fit that is resumed and makes the same request (same
queries, noise and label, by their SHA-256) runs M with fresh noise, and the attempts together release what M releases
once: (nothing, ..., nothing, M(rows)). They cost what M costs, and the charge that stands covers that. What was drawn
before is gone with the memory of its process and has no part in what follows. When a process is killed may depend on
the rows only through how long it works, which is no output here, as it is none for a fit that is not interrupted. One
charge is answered once: the hash is written under the ledger's lock and refused if the step has one, so even of two
processes that both hold the charge (the lock of a fit prevents it) one stores a release and the other nothing. Any
other request there is a further mechanism and reserves its own cost. So does a step whose hash is noted and whose
release is not stored whole, since part of it may have been seen: a kill in these milliseconds costs the step again.

One relation and one number of rows per person hold for all of a ledger, since amounts for different units do not add.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from typing import Literal

from sklar.accounting.allowance import Allowance, Measure
from sklar.accounting.budget import ROUNDING, Budget, exceeds_limit, overspends_reservation
from sklar.accounting.composition.adaptive import adaptive_allowance, is_amount_within, why_not_gaussian
from sklar.accounting.composition.exact import exact_delta, find_pair, why_not_exact
from sklar.accounting.composition.lattice import covers_vector
from sklar.accounting.composition.zcdp import epsilon_to_rho, pure_to_rho
from sklar.accounting.events import CountEvent, Event, PlannedEvent, SumEvent
from sklar.accounting.ledger.records import Accountant, FitRecord, Header, StepRecord
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import LedgerError, OverspendError

Regime = Literal["pure", "full", "gaussian", "zcdp"]
PlanLeft = tuple[tuple[Noise | SumEvent, int], ...]


def fit_accountant(budget: Budget, allowance: Allowance, plan: Sequence[PlannedEvent] | None) -> Accountant:
    """Return the accounting by which this allowance is within this budget; OverspendError if it is not."""
    if plan and exceeds_limit(fsum(getattr(event, allowance.measure) for event in plan), allowance.amount):
        raise OverspendError("what is planned costs more than the fit's allowance.")
    if allowance.measure == "epsilon":
        if budget.epsilon is None or exceeds_limit(allowance.amount, budget.epsilon):
            raise OverspendError("the allowance in epsilon is more than the fit's budget.")
        return "pure"
    if budget.pure:
        raise OverspendError("a budget with delta 0 cannot be spent as rho: Gaussian noise needs a delta above 0.")
    if allowance.delta and not allowance.delta < budget.delta:
        raise OverspendError("the delta set aside for finding labels is not less than the delta of the fit's budget.")
    if allowance.dither:
        return _check_gaussian(budget, allowance, plan)
    epsilon = budget.epsilon
    if plan and not allowance.delta and epsilon is not None and is_plan_within(plan, epsilon, budget.delta):
        return "exact"
    if exceeds_limit(allowance.amount, _convert_to_rho(budget, allowance.delta)):
        raise OverspendError("the allowance in rho is more than the fit's budget, and no plan shows that it is within.")
    return "zcdp"


def _check_gaussian(budget: Budget, allowance: Allowance, plan: Sequence[PlannedEvent] | None) -> Accountant:
    if plan:
        raise OverspendError("an allowance for Gaussian noise in any order goes without a plan.")
    if budget.rho is not None:  # half a squared shift is at least the rho of the same noise
        within = not exceeds_limit(allowance.amount, budget.rho)
    else:
        within = is_amount_within(allowance.amount, budget.epsilon or 0.0, budget.delta - allowance.delta)
    if not within:
        raise OverspendError("the allowance for Gaussian noise is more than the fit's budget.")
    return "gaussian"


def is_plan_within(plan: Sequence[PlannedEvent], epsilon: float, delta: float) -> bool:
    """Return whether exact composition applies to the plan and puts it within (epsilon, delta)."""
    return why_not_exact(plan, delta) is None and exact_delta(find_pair(plan), epsilon) <= delta


def choose_regime(header: Header, first: FitRecord) -> Regime:
    """Return the filter of a ledger with a cap, as its first fit determines it."""
    cap = header.cap
    assert cap is not None
    if cap.pure or first.pure:
        return "pure"
    aside = first.whole.delta if header.set_aside is None else header.set_aside
    if aside < cap.delta and not exceeds_limit(first.whole.amount, _convert_to_rho(cap, aside)):
        return "zcdp"
    if first.whole.dither:
        return "gaussian"
    return "full" if first.accountant == "exact" and header.set_aside is None else "zcdp"


def get_set_aside_delta(header: Header, first: FitRecord | None) -> float:
    """Return the part of the cap's delta for discoveries: as stated in the header, or as the first fit needs."""
    if header.cap is None or (first is not None and choose_regime(header, first) in ("pure", "full")):
        return 0.0
    if header.set_aside is not None:
        return header.set_aside
    return 0.0 if first is None else first.whole.delta


def left_of_cap(header: Header, fits: Sequence[FitRecord]) -> tuple[Measure, float] | None:
    """Return what the cap still admits, in the measure of its filter; None without a cap."""
    cap = header.cap
    if cap is None:
        return None
    if cap.pure or (fits and fits[0].pure):
        assert cap.epsilon is not None
        return "epsilon", max(0.0, cap.epsilon - fsum(fit.reserved_epsilon for fit in fits))
    regime = choose_regime(header, fits[0]) if fits else "zcdp"
    aside = get_set_aside_delta(header, fits[0] if fits else None)
    allowed = 0.0 if regime == "full" else _sum_allowed(cap, aside, regime)
    return "rho", max(0.0, allowed - fsum(fit.reserved_rho for fit in fits))


def check_reservation(header: Header, fits: Sequence[FitRecord], new: FitRecord) -> None:
    """Refuse a fit that the ledger does not admit in addition to its fits."""
    _check_unit(header, fits, new)
    if header.cap is None:
        return
    rule = choose_regime(header, fits[0] if fits else new)
    if rule == "full":
        _check_full(header.cap, fits, new)
    elif rule == "pure":
        _check_pure(header.cap, fits, new)
    else:
        if rule == "gaussian" and not new.allowance.dither:
            raise OverspendError(
                f"ledger {header.name!r} adds up squared shifts of Gaussian noise, since its first fit needed that; "
                "this fit has other noise, choices or a plan. Use a method without them (vine, up to 40 columns) or "
                "another ledger. Nothing was read or charged."
            )
        rho = pure_to_rho(new.whole.amount) if new.pure else new.whole.amount
        _check_sums(header, fits, fits[0] if fits else new, rho, new.whole.delta, rule)


def check_charge(fit: FitRecord, step: StepRecord) -> None:
    """Refuse a first charge that is not covered by the fit's own reservation."""
    why = why_not_gaussian(step.events) if fit.allowance.dither else None
    if why is not None:
        raise OverspendError(f"the step {step.label!r} is not covered by an allowance for Gaussian noise alone: {why}.")
    cost = fit.cost(step)
    if overspends_reservation(fit.spent + cost, fit.allowance.amount):
        raise OverspendError(
            f"the step {step.label!r} costs {cost:.4g} {fit.allowance.measure}; of the {fit.allowance.amount:.4g} "
            f"reserved for this fit {max(fit.allowance.amount - fit.spent, 0.0):.4g} is left. Nothing was read."
        )
    if overspends_reservation(fit.spent_delta + step.delta, fit.allowance.delta):
        raise OverspendError(
            f"the step {step.label!r} needs a delta of {step.delta:.4g} to find labels; of the "
            f"{fit.allowance.delta:.4g} reserved for that by this fit too little is left. Nothing was read."
        )
    if fit.plan is not None and take_from_plan(fit.left, step.events) is None:
        raise OverspendError(f"the step {step.label!r} is not in the plan this fit reserved its budget for.")


def check_repeat(header: Header, fits: Sequence[FitRecord], fit: FitRecord, step: StepRecord) -> None:
    """Refuse to measure a lost step again if the cap does not cover its cost, or if it costs more than before."""
    lost = fit.steps[step.repeats or 0]
    dearer = exceeds_limit(step.rho, lost.rho) or exceeds_limit(step.delta, lost.delta)
    if dearer or (fit.pure and exceeds_limit(step.epsilon, lost.epsilon)):
        raise OverspendError(f"the step {step.label!r} costs more than the step {lost.label!r} it measures again.")
    if header.cap is None:
        return
    rule = choose_regime(header, fits[0])
    if rule in ("full", "gaussian"):
        raise OverspendError(f"the cap of ledger {header.name!r} leaves no budget to measure a lost step again.")
    if rule == "pure":
        _check_pure_sum(header.cap, fits, step.epsilon)
    else:
        _check_sums(header, fits, fits[0], step.rho, step.delta, rule)


def count_planned(plan: Iterable[PlannedEvent]) -> PlanLeft:
    """Count what may be charged under a plan: tables by their noise, and vectors of sums."""
    left: dict[Noise | SumEvent, int] = {}
    for event in plan:
        key, times = (event, 1) if isinstance(event, SumEvent) else (event.noise, event.tables)
        left[key] = left.get(key, 0) + times
    return tuple(left.items())


def take_from_plan(left: PlanLeft, events: Iterable[Event]) -> PlanLeft | None:
    """Return what is left of a plan after these events, or None if they are not in it."""
    remaining = dict(left)
    for event in events:
        if not isinstance(event, CountEvent | SumEvent):
            return None
        times = event.tables if isinstance(event, CountEvent) else 1
        place = next((key for key, left in remaining.items() if left >= times and _is_planned(key, event)), None)
        if place is None:
            return None
        remaining[place] -= times
    return tuple(remaining.items())


def _is_planned(place: Noise | SumEvent, event: PlannedEvent) -> bool:
    """Return whether an event matches this part of a plan."""
    if isinstance(event, SumEvent):
        return isinstance(place, SumEvent) and covers_vector(place, event, ROUNDING)
    noise = event.noise
    if isinstance(place, SumEvent) or place.kind != noise.kind:
        return False
    return abs(place.scale - noise.scale) <= ROUNDING * place.scale


def _convert_to_rho(budget: Budget, aside: float = 0.0) -> float:
    """Return the rho of a budget when `aside` of its delta is kept for discoveries."""
    if budget.rho is not None:
        return budget.rho
    assert budget.epsilon is not None
    return epsilon_to_rho(budget.epsilon, budget.delta - aside)


def _check_unit(header: Header, fits: Sequence[FitRecord], new: FitRecord) -> None:
    if new.unit.neighbours != header.neighbours:
        raise LedgerError(
            f"ledger {header.name!r} counts losses under {header.neighbours} neighbours; this fit is under "
            f"{new.unit.neighbours}. Amounts under different relations do not add: use another ledger or relation."
        )
    if fits and new.unit != fits[0].unit:
        raise LedgerError(
            f"ledger {header.name!r} counts losses for {_describe_unit(fits[0].unit)}; this fit is for "
            f"{_describe_unit(new.unit)}. Fit as before, or use another ledger."
        )


def _describe_unit(unit: Unit) -> str:
    rows = "persons with one vote" if unit.votes else f"{unit.rows_per_person} row(s) per person"
    return rows if unit.person is None else f"{rows}, identified by '{unit.person}'"


def _check_full(cap: Budget, fits: Sequence[FitRecord], new: FitRecord) -> None:
    if fits:
        raise OverspendError("the cap of this ledger was used up by its first fit. Nothing was read.")
    if new.plan is None or cap.epsilon is None or not is_plan_within(new.plan, cap.epsilon, cap.delta):
        _refuse("rho", new.reserved_rho, _convert_to_rho(cap), 0.0)


def _check_pure(cap: Budget, fits: Sequence[FitRecord], new: FitRecord) -> None:
    if not new.pure:
        raise OverspendError(
            "this ledger adds up pure epsilons, by its cap or its first fit; a fit with a delta is not admitted. "
            "Use delta=0, or another ledger."
        )
    _check_pure_sum(cap, fits, new.whole.amount)


def _check_pure_sum(cap: Budget, fits: Sequence[FitRecord], cost: float) -> None:
    assert cap.epsilon is not None
    used = fsum(fit.reserved_epsilon for fit in fits)
    if exceeds_limit(used + cost, cap.epsilon):
        _refuse("epsilon", cost, cap.epsilon, used)


def _sum_allowed(cap: Budget, aside: float, regime: Regime) -> float:
    """Return what the sum of all reservations may be: the rho of the cap, or half a squared shift."""
    if regime != "gaussian":
        return _convert_to_rho(cap, aside)
    whole = adaptive_allowance(cap, aside)
    return 0.0 if whole is None else whole.amount


def _check_sums(
    header: Header, fits: Sequence[FitRecord], first: FitRecord, rho: float, delta: float, regime: Regime
) -> None:
    cap = header.cap
    assert cap is not None
    aside = get_set_aside_delta(header, first)
    used = fsum(fit.reserved_delta for fit in fits)
    if delta and (exceeds_limit(used + delta, aside) or not aside < cap.delta):
        raise OverspendError(
            f"finding labels needs {delta:.4g} of the delta that ledger {header.name!r} sets aside for it; {aside:.4g} "
            f"is set aside and {used:.4g} of it is used. The split is fixed before the first output: pay for labels "
            "first, or make the ledger with a delta set aside. Nothing was read or charged."
        )
    allowed, reserved = _sum_allowed(cap, aside, regime), fsum(fit.reserved_rho for fit in fits)
    if exceeds_limit(reserved + rho, allowed):
        _refuse("rho", rho, allowed, reserved)


def _refuse(measure: str, cost: float, cap: float, used: float) -> None:
    raise OverspendError(
        f"the ledger's cap allows {cap:.4g} {measure} in total, {used:.4g} of it is reserved, and {cost:.4g} more was "
        "requested. Nothing was read or charged."
    )
