"""What ledgers admit: budgets, plans, caps, relations, repeats. In memory and in files alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import PlannedTables, PlannedVector, calibrate, plan_events
from sklar.accounting.composition.zcdp import epsilon_to_rho, pure_to_rho, rho_to_epsilon
from sklar.accounting.events import ChoiceEvent, CountEvent, SumEvent
from sklar.accounting.ledger import Ledger, create_ledger, fit_total, ledger_totals, memory_ledger, read_ledger
from sklar.accounting.ledger.filters import left_of_cap
from sklar.accounting.ledger.records import events_from_json, events_to_json
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError, LedgerError, OverspendError

ONE = Unit(neighbours="add-remove")
DIGEST = "cd" * 32
PLAN = (PlannedTables(label="margins", tables=6, weight=1), PlannedTables(label="pairs", tables=15, weight=2))


@pytest.fixture(params=["memory", "file"])
def make_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Ledger]:
    def make(**options: Any) -> Ledger:
        if request.param == "memory":
            return memory_ledger("people", **options)
        return create_ledger(tmp_path / "people.ledger", "people", **options)

    return make


def planned(ledger: Ledger, epsilon: float = 1.0, delta: float = 1e-9) -> Any:
    budget = Budget(epsilon=epsilon, delta=delta)
    allowance = calibrate(budget, ONE, PLAN)
    return ledger.reserve(
        method="vine",
        budget=budget,
        allowance=allowance,
        unit=ONE,
        plan=plan_events(allowance, ONE, PLAN),
        seed=1,
        fingerprint="p",
    )


def used(ledger: Ledger) -> int:
    return len(ledger.fits)


def test_a_fit_may_charge_its_whole_reservation_and_no_more(make_ledger: Any, reserve: Any, counts: Any) -> None:
    account = reserve(make_ledger())
    for step in range(4):
        assert account.charge(counts(account), "pairs") == step
        account.record_release(step, DIGEST)
    with pytest.raises(OverspendError, match="left"):
        account.charge(counts(account, share=0.001), "more")
    assert len(account.record.steps) == 4
    assert account.record.spent == pytest.approx(account.record.allowance.amount)


def test_many_small_shares_are_not_refused_for_rounding(make_ledger: Any, reserve: Any, counts: Any) -> None:
    account = reserve(memory_ledger())
    for step in range(700):
        account.charge(counts(account, share=1 / 700), "part")
        account.record_release(step, DIGEST)
    with pytest.raises(OverspendError):
        account.charge(counts(account, share=1 / 700), "part")


def test_pure_fits_charge_epsilon_and_refuse_gaussian_noise(make_ledger: Any, reserve: Any, counts: Any) -> None:
    account = reserve(make_ledger(), Budget(epsilon=1, delta=0))
    account.charge(counts(account, share=0.5), "margins")
    account.record_release(0, DIGEST)
    account.charge([ChoiceEvent(label="pick", choice=0.25, picks=2, unit=ONE)], "pick")
    account.record_release(1, DIGEST)
    with pytest.raises(OverspendError):
        account.charge([ChoiceEvent(label="pick", choice=0.01, unit=ONE)], "pick")
    gaussian = CountEvent(label="g", noise=Noise(kind="gaussian", scale=1e9), tables=1, unit=ONE)
    with pytest.raises(OverspendError):
        account.charge([gaussian], "g")


@pytest.mark.parametrize(
    ("budget", "allowance"),
    [
        (Budget(epsilon=1, delta=1e-9), Allowance(measure="rho", amount=0.016)),
        (Budget(epsilon=1, delta=1e-9), Allowance(measure="epsilon", amount=1.01)),
        (Budget(epsilon=1, delta=0), Allowance(measure="rho", amount=1e-6)),
        (Budget(rho=0.1, delta=1e-9), Allowance(measure="rho", amount=0.11)),
        (Budget(rho=0.1, delta=1e-9), Allowance(measure="epsilon", amount=0.01)),
    ],
)
def test_an_allowance_beyond_the_budget_is_refused(
    make_ledger: Any, reserve: Any, budget: Budget, allowance: Allowance
) -> None:
    ledger = make_ledger()
    with pytest.raises(OverspendError):
        reserve(ledger, budget, allowance=allowance)
    assert used(ledger) == 0


def test_a_planned_fit_is_held_to_its_plan_in_any_order(make_ledger: Any) -> None:
    account = planned(make_ledger())
    margins, pairs = account.record.plan
    half = CountEvent(label="some", noise=pairs.noise, tables=7, unit=ONE)
    account.charge([half], "pairs first")
    account.record_release(0, DIGEST)
    account.charge([margins], "margins")
    account.record_release(1, DIGEST)
    with pytest.raises(OverspendError, match="plan"):
        account.charge([CountEvent(label="x", noise=margins.noise, tables=1, unit=ONE)], "margins again")
    with pytest.raises(OverspendError, match="plan"):
        account.charge([CountEvent(label="x", noise=Noise(kind="gaussian", scale=1e4), tables=1, unit=ONE)], "other")
    with pytest.raises(OverspendError, match="plan"):
        account.charge([ChoiceEvent(label="x", choice=1e-4, unit=ONE)], "a choice")
    with pytest.raises(OverspendError):
        account.charge([CountEvent(label="x", noise=pairs.noise, tables=9, unit=ONE)], "one too many")
    account.charge([CountEvent(label="x", noise=pairs.noise, tables=8, unit=ONE)], "the rest")
    assert all(left == 0 for _, left in account.record.left)


def test_a_plan_beyond_the_budget_is_refused(make_ledger: Any) -> None:
    budget, ledger = Budget(epsilon=1, delta=1e-9), make_ledger()
    allowance = Allowance(measure="rho", amount=calibrate(budget, ONE, PLAN).amount * 1.01)
    options = {"method": "vine", "budget": budget, "unit": ONE, "seed": 1, "fingerprint": "p"}
    with pytest.raises(OverspendError, match="no plan shows"):
        ledger.reserve(allowance=allowance, plan=plan_events(allowance, ONE, PLAN), **options)
    small = Allowance(measure="rho", amount=allowance.amount / 3)
    with pytest.raises(OverspendError, match="planned costs more"):
        ledger.reserve(allowance=small, plan=plan_events(allowance, ONE, PLAN), **options)
    assert used(ledger) == 0


def test_zcdp_cap_adds_rhos(make_ledger: Any, reserve: Any) -> None:
    ledger = make_ledger(epsilon=1, delta=1e-9)
    rho = epsilon_to_rho(1, 1e-9)
    reserve(ledger, Budget(rho=0.6 * rho, delta=1e-9))
    with pytest.raises(OverspendError, match="cap"):
        reserve(ledger, Budget(rho=0.41 * rho, delta=1e-9))
    reserve(ledger, Budget(rho=0.4 * rho, delta=1e-9))
    with pytest.raises(OverspendError):
        reserve(ledger, Budget(rho=1e-5 * rho, delta=1e-9))
    assert left_of_cap(ledger.header, ledger.fits) == ("rho", pytest.approx(0, abs=1e-15))
    assert ledger_totals(ledger.header, ledger.fits).epsilon == pytest.approx(1)


def test_a_fit_of_the_whole_cap_is_admitted_once(make_ledger: Any, reserve: Any) -> None:
    ledger = make_ledger(epsilon=1, delta=1e-9)
    reserve(ledger)
    with pytest.raises(OverspendError):
        reserve(ledger, Budget(epsilon=0.01, delta=1e-9))


def test_pure_fits_count_in_a_zcdp_ledger_by_their_rho(make_ledger: Any, reserve: Any) -> None:
    ledger = make_ledger(epsilon=2, delta=1e-9)
    reserve(ledger, Budget(epsilon=1, delta=1e-9))
    reserve(ledger, Budget(epsilon=0.2, delta=0))
    expected = epsilon_to_rho(2, 1e-9) - epsilon_to_rho(1, 1e-9) - pure_to_rho(0.2)
    assert left_of_cap(ledger.header, ledger.fits) == ("rho", pytest.approx(expected))


@pytest.mark.parametrize("cap_delta", [0.0, 1e-9])
def test_pure_ledgers_add_epsilons_only(make_ledger: Any, reserve: Any, cap_delta: float) -> None:
    ledger = make_ledger(epsilon=1, delta=cap_delta)
    reserve(ledger, Budget(epsilon=0.7, delta=0))
    with pytest.raises(OverspendError, match="pure"):
        reserve(ledger, Budget(epsilon=0.01, delta=1e-9))
    with pytest.raises(OverspendError, match="cap"):
        reserve(ledger, Budget(epsilon=0.31, delta=0))
    reserve(ledger, Budget(epsilon=0.3, delta=0))
    assert left_of_cap(ledger.header, ledger.fits) == ("epsilon", pytest.approx(0, abs=1e-12))


def test_a_pure_cap_refuses_a_first_fit_with_delta(make_ledger: Any, reserve: Any) -> None:
    ledger = make_ledger(epsilon=1, delta=0.0)
    with pytest.raises(OverspendError, match="pure"):
        reserve(ledger, Budget(epsilon=0.1, delta=1e-9))
    assert used(ledger) == 0


def test_an_exact_first_fit_may_fill_the_cap_and_then_it_is_full(make_ledger: Any, reserve: Any, counts: Any) -> None:
    ledger = make_ledger(epsilon=1, delta=1e-9)
    account = planned(ledger)
    assert account.record.accountant == "exact"
    assert account.record.allowance.amount > epsilon_to_rho(1, 1e-9)
    with pytest.raises(OverspendError, match="used up"):
        reserve(ledger, Budget(epsilon=0.001, delta=1e-9))
    totals = ledger_totals(ledger.header, ledger.fits)
    assert (totals.accountant, totals.in_advance) == ("exact", False)
    assert 0.999 <= totals.epsilon <= 1
    assert left_of_cap(ledger.header, ledger.fits) == ("rho", 0.0)


def test_an_exact_fit_beyond_the_cap_is_refused_and_a_later_one_needs_zcdp_room(make_ledger: Any) -> None:
    ledger = make_ledger(epsilon=1, delta=1e-9)
    with pytest.raises(OverspendError):
        planned(ledger, epsilon=1.01)
    with pytest.raises(OverspendError):
        planned(ledger, epsilon=1.0, delta=1e-8)
    planned(ledger, epsilon=0.5)
    with pytest.raises(OverspendError):
        planned(ledger, epsilon=1.0)
    assert used(ledger) == 1


def test_an_exact_first_fit_with_zcdp_room_leaves_the_rest(make_ledger: Any, reserve: Any) -> None:
    ledger = make_ledger(epsilon=1, delta=1e-9)
    rho = planned(ledger, epsilon=0.5).record.allowance.amount
    assert left_of_cap(ledger.header, ledger.fits) == ("rho", pytest.approx(epsilon_to_rho(1, 1e-9) - rho))
    reserve(ledger, Budget(rho=epsilon_to_rho(1, 1e-9) - rho, delta=1e-9))


def test_one_relation_and_one_number_of_rows_per_ledger(make_ledger: Any, reserve: Any) -> None:
    ledger = make_ledger(neighbours="replace")
    with pytest.raises(LedgerError, match="replace"):
        reserve(ledger)
    reserve(ledger, unit=Unit(neighbours="replace", rows_per_person=2))
    with pytest.raises(LedgerError, match="per person"):
        reserve(ledger, unit=Unit(neighbours="replace", rows_per_person=3))
    assert used(ledger) == 1


def test_charges_are_for_the_fits_own_unit(make_ledger: Any, reserve: Any, counts: Any) -> None:
    account = reserve(make_ledger())
    other = Unit(neighbours="add-remove", rows_per_person=2)
    event = CountEvent(label="x", noise=Noise(kind="gaussian", scale=1e5), tables=1, unit=other)
    with pytest.raises(LedgerError, match="unit"):
        account.charge([event], "x")
    with pytest.raises(LedgerError):
        account.charge([], "nothing")


def test_a_step_waits_for_its_release(make_ledger: Any, reserve: Any, counts: Any) -> None:
    account = reserve(make_ledger())
    account.charge(counts(account), "pairs")
    with pytest.raises(LedgerError, match="not recorded"):
        account.charge(counts(account), "pairs")
    with pytest.raises(LedgerError, match="not waiting"):
        account.record_release(1, DIGEST)
    with pytest.raises(LedgerError, match="SHA-256"):
        account.record_release(0, "abc")
    account.record_release(0, DIGEST)
    with pytest.raises(LedgerError, match="not waiting"):
        account.record_release(0, DIGEST)
    assert account.record.digests == {0: DIGEST}


def test_a_closed_fit_is_closed(make_ledger: Any, reserve: Any, counts: Any) -> None:
    ledger = make_ledger()
    account = reserve(ledger)
    events = counts(account)
    account.close()
    for act in (lambda: account.charge(events, "x"), account.close, lambda: ledger.resume(account.id)):
        with pytest.raises(LedgerError):
            act()
    with pytest.raises(LedgerError, match="no fit"):
        ledger.resume("0" * 16)


def test_a_lost_step_is_charged_again_when_resumed(make_ledger: Any, reserve: Any, counts: Any) -> None:
    ledger = make_ledger()
    account = reserve(ledger)
    for step in range(4):
        account.charge(counts(account), "pairs")
        if step < 3:
            account.record_release(step, DIGEST)
    account.leave()
    again = ledger.resume(account.id)
    assert again.record.pending is not None and again.record.pending.number == 3
    assert sorted(again.record.digests) == [0, 1, 2]
    with pytest.raises(OverspendError, match="costs more"):
        again.charge(counts(again, share=0.3), "more than before")
    assert again.charge(counts(again), "pairs") == 4
    again.record_release(4, DIGEST)
    again.close()
    record = ledger.fits[0]
    assert record.steps[4].repeats == 3
    assert record.reserved_rho == pytest.approx(1.25 * record.allowance.amount)
    assert fit_total(record).epsilon == pytest.approx(rho_to_epsilon(1.25 * record.allowance.amount, 1e-9))


def test_a_resumed_fit_without_a_lost_step_goes_on(make_ledger: Any, reserve: Any, counts: Any) -> None:
    ledger = make_ledger()
    account = reserve(ledger)
    account.charge(counts(account, share=0.5), "a")
    account.record_release(0, DIGEST)
    account.leave()
    again = ledger.resume(account.id)
    assert again.charge(counts(again, share=0.5), "b") == 1
    again.record_release(1, DIGEST)
    with pytest.raises(OverspendError):
        again.charge(counts(again, share=0.01), "c")


@pytest.mark.parametrize("budget", [Budget(epsilon=1, delta=1e-9), Budget(epsilon=1, delta=0)])
def test_a_lost_step_is_refused_without_room_under_the_cap(
    make_ledger: Any, reserve: Any, counts: Any, budget: Budget
) -> None:
    ledger = make_ledger(epsilon=1.0, delta=budget.delta)
    account = reserve(ledger, budget)
    account.charge(counts(account), "pairs")
    account.leave()
    again = ledger.resume(account.id)
    with pytest.raises(OverspendError, match="cap"):
        again.charge(counts(again), "pairs")
    assert len(ledger.fits[0].steps) == 1


def test_a_lost_step_of_a_full_ledger_is_refused(make_ledger: Any) -> None:
    ledger = make_ledger(epsilon=1.0, delta=1e-9)
    account = planned(ledger)
    account.charge(account.record.plan[:1], "margins")
    account.leave()
    with pytest.raises(OverspendError, match="lost step"):
        ledger.resume(account.id).charge(account.record.plan[:1], "margins")


def test_repeats_use_up_the_cap(make_ledger: Any, reserve: Any, counts: Any) -> None:
    ledger = make_ledger(epsilon=1.0, delta=1e-9)
    rho = epsilon_to_rho(1, 1e-9)
    account = reserve(ledger, Budget(rho=0.5 * rho, delta=1e-9))
    account.charge(counts(account, share=1.0), "all")
    account.leave()
    again = ledger.resume(account.id)
    again.charge(counts(again, share=1.0), "all")
    again.leave()
    assert left_of_cap(ledger.header, ledger.fits) == ("rho", pytest.approx(0, abs=1e-12))
    with pytest.raises(OverspendError):
        ledger.resume(account.id).charge(counts(again, share=1.0), "all")


def test_totals_of_planned_fits_without_a_cap_are_exact_and_say_so(make_ledger: Any) -> None:
    ledger = make_ledger()
    for _ in range(3):
        planned(ledger)
    totals = ledger_totals(ledger.header, ledger.fits)
    assert (totals.accountant, totals.in_advance, totals.fits) == ("exact", True, 3)
    assert totals.epsilon < rho_to_epsilon(totals.rho, 1e-9) < 3


def test_totals_with_an_unplanned_fit_are_zcdp(make_ledger: Any, reserve: Any) -> None:
    ledger = make_ledger()
    planned(ledger)
    reserve(ledger)
    totals = ledger_totals(ledger.header, ledger.fits)
    assert (totals.accountant, totals.in_advance) == ("zcdp", True)
    assert totals.epsilon == pytest.approx(rho_to_epsilon(totals.rho, 1e-9))


def test_totals_of_pure_fits_need_no_delta(make_ledger: Any, reserve: Any) -> None:
    ledger = make_ledger()
    assert ledger_totals(ledger.header, ledger.fits).epsilon == 0
    for epsilon in (0.5, 0.25):
        reserve(ledger, Budget(epsilon=epsilon, delta=0))
    totals = ledger_totals(ledger.header, ledger.fits)
    assert (totals.epsilon, totals.delta, totals.in_advance) == (pytest.approx(0.75), 0.0, False)
    assert math.isfinite(ledger_totals(ledger.header, ledger.fits, delta=1e-6).epsilon)


def test_the_total_of_one_fit_is_its_budget(make_ledger: Any, reserve: Any) -> None:
    ledger = make_ledger()
    assert fit_total(reserve(ledger).record).epsilon == pytest.approx(1)
    assert fit_total(reserve(ledger, Budget(epsilon=0.3, delta=0)).record).epsilon == pytest.approx(0.3)
    exact = fit_total(planned(ledger, epsilon=0.5).record)
    assert exact.accountant == "exact" and 0.4995 <= exact.epsilon <= 0.5


@pytest.mark.parametrize(
    "options", [{"epsilon": 1}, {"delta": 1e-9}, {"epsilon": 0, "delta": 0}, {"epsilon": 1, "delta": 1}]
)
def test_unusable_caps_are_refused(make_ledger: Any, options: dict[str, float]) -> None:
    with pytest.raises(BudgetError):
        make_ledger(**options)


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\nb", 5])
def test_a_ledger_needs_a_name(name: Any) -> None:
    with pytest.raises(LedgerError, match="name"):
        memory_ledger(name)


TAUS = (PlannedTables(label="margins", tables=6, weight=2), PlannedVector(label="taus", weight=1))


def sums(noise: Noise, l2: float, resolution: float | None) -> SumEvent:
    return SumEvent(label="taus", noise=noise, l1=5 * l2, l2=l2, resolution=resolution, unit=ONE)


def with_vector(ledger: Ledger) -> Any:
    budget = Budget(epsilon=1, delta=1e-9)
    allowance = calibrate(budget, ONE, TAUS)
    plan = plan_events(allowance, ONE, TAUS)
    return ledger.reserve(
        method="kendall", budget=budget, allowance=allowance, unit=ONE, plan=plan, seed=1, fingerprint="p"
    )


def test_a_planned_vector_is_charged_once_and_only_as_planned(make_ledger: Any) -> None:
    account = with_vector(make_ledger())
    assert account.record.accountant == "exact"
    scale = account.record.plan[1].noise.scale * 0.01
    good = Noise(kind="gaussian", scale=scale)
    for event in (
        sums(good, 0.01, scale / 1000),
        sums(good, 0.01, None),
        sums(good, 0.0101, scale / 2000),
        sums(Noise(kind="laplace", scale=1e9), 0.01, scale / 2000),
    ):
        with pytest.raises(OverspendError):
            account.charge([event], "taus")
    account.charge([sums(good, 0.01, scale / 2000)], "taus")
    account.record_release(0, DIGEST)
    with pytest.raises(OverspendError):
        account.charge([sums(Noise(kind="gaussian", scale=1e6), 0.01, 1e-9)], "taus again")
    account.charge([CountEvent(label="m", noise=account.record.plan[0].noise, tables=6, unit=ONE)], "margins")


def test_plans_with_vectors_are_read_back_and_total_what_they_promised(tmp_path: Path) -> None:
    ledger = create_ledger(tmp_path / "people.ledger", "people")
    account = with_vector(ledger)
    scale = account.record.plan[1].noise.scale
    account.charge([sums(Noise(kind="gaussian", scale=scale), 1.0, scale / 4096)], "taus")
    account.record_release(0, DIGEST)
    account.close()
    read = read_ledger(tmp_path / "people.ledger")
    assert read.fits[0] == account.record
    total = fit_total(read.fits[0])
    assert total.accountant == "exact" and 0.999 < total.epsilon <= 1
    assert total.epsilon < rho_to_epsilon(total.rho, 1e-9)


def test_sums_recorded_without_a_resolution_are_still_read() -> None:
    event = sums(Noise(kind="gaussian", scale=2.0), 1.0, 0.5)
    (entry,) = events_to_json([event])
    assert events_from_json([entry], ONE) == (event,)
    old = {name: value for name, value in entry.items() if name != "resolution"}
    assert events_from_json([old], ONE) == (sums(Noise(kind="gaussian", scale=2.0), 1.0, None),)
