"""Finding labels in ledgers: deltas are reserved, charged, capped by a split fixed in advance, and added up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import calibrate
from sklar.accounting.composition.discovery import discovery_settings
from sklar.accounting.composition.zcdp import epsilon_to_rho, rho_to_epsilon
from sklar.accounting.events import DiscoveryEvent
from sklar.accounting.ledger import (
    FitAccount,
    Ledger,
    create_ledger,
    fit_total,
    fits_total,
    ledger_totals,
    memory_ledger,
    open_ledger,
)
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError, OverspendError
from tests.accounting.total_loss import total_loss

UNIT = Unit(neighbours="add-remove")
BUDGET = Budget(epsilon=1.0, delta=1e-9)
ASIDE = 2e-10
DIGEST = "cd" * 32


def reserve_facts(ledger: Ledger, budget: Budget = BUDGET, aside: float = ASIDE) -> FitAccount:
    allowance = calibrate(budget, UNIT, discovery=aside)
    return ledger.reserve(method="facts", budget=budget, allowance=allowance, unit=UNIT, seed=1, fingerprint="a" * 64)


def discovery(account: FitAccount, share: float = 1.0, delta: float = ASIDE) -> DiscoveryEvent:
    noise = account.record.allowance.part(share).noise(UNIT)
    threshold, floor = discovery_settings(noise, UNIT, delta)
    return DiscoveryEvent(label="labels", noise=noise, threshold=threshold, floor=floor, unit=UNIT)


def test_a_fit_reserves_rho_at_the_rest_of_its_delta() -> None:
    account = reserve_facts(memory_ledger())
    assert account.record.allowance.delta == ASIDE
    assert account.record.allowance.amount == epsilon_to_rho(1.0, 1e-9 - ASIDE)
    total = fit_total(account.record)
    assert (total.epsilon, total.delta) == (pytest.approx(1.0), pytest.approx(1e-9))


def test_a_discovery_within_the_reservation_is_charged_and_one_beyond_is_refused() -> None:
    account = reserve_facts(memory_ledger())
    with pytest.raises(OverspendError, match="delta"):
        account.charge([discovery(account, 0.5, 3 * ASIDE)], "labels")
    step = account.charge([discovery(account, 0.5, ASIDE)], "labels")
    account.record_release(step, DIGEST)
    with pytest.raises(OverspendError, match="delta"):
        account.charge([discovery(account, 0.4, 0.9 * ASIDE)], "more labels")


def test_a_fit_without_a_delta_for_it_finds_nothing(reserve: Callable[..., FitAccount]) -> None:
    account = reserve(memory_ledger())
    with pytest.raises(OverspendError, match="delta"):
        account.charge([discovery(account)], "labels")


def test_the_events_add_up_to_the_reservation() -> None:
    account = reserve_facts(memory_ledger())
    events = [discovery(account)]
    bound = total_loss(events, 1e-9, planned=False)
    assert bound.epsilon <= 1.0 + 1e-9 and bound.delta == 1e-9
    assert bound.epsilon == pytest.approx(rho_to_epsilon(events[0].rho, 1e-9 - events[0].delta))
    with pytest.raises(BudgetError, match="above"):
        total_loss(events, events[0].delta / 2, planned=False)


def test_an_allowance_beyond_its_budget_is_refused() -> None:
    from sklar.accounting.allowance import Allowance

    ledger = memory_ledger()
    for allowance in (
        Allowance(measure="rho", amount=epsilon_to_rho(1.0, 1e-9), delta=ASIDE),  # rho at all of delta, and delta again
        Allowance(measure="rho", amount=1e-6, delta=1e-9),
    ):
        with pytest.raises(OverspendError):
            ledger.reserve(method="x", budget=BUDGET, allowance=allowance, unit=UNIT, seed=1, fingerprint="a" * 64)
    with pytest.raises(BudgetError):
        Allowance(measure="epsilon", amount=1.0, delta=1e-9)
    with pytest.raises(BudgetError):
        calibrate(BUDGET, UNIT, discovery=1e-9)


def test_the_first_fit_of_a_capped_ledger_fixes_the_split(reserve: Callable[..., FitAccount]) -> None:
    ledger = memory_ledger(epsilon=2.0, delta=1e-9)
    reserve_facts(ledger)
    spent = ledger.fits[0].reserved_rho
    reserve(ledger, Budget(rho=epsilon_to_rho(2.0, 1e-9 - ASIDE) - spent, delta=1e-9))
    with pytest.raises(OverspendError):
        reserve(ledger, Budget(rho=1e-6, delta=1e-9))
    totals = ledger_totals(ledger.header, ledger.fits)
    assert totals.epsilon == pytest.approx(2.0) and totals.delta == pytest.approx(1e-9)


def test_a_cap_without_anything_set_aside_admits_no_discovery_later(reserve: Callable[..., FitAccount]) -> None:
    ledger = memory_ledger(epsilon=2.0, delta=1e-9)
    reserve(ledger, Budget(rho=0.001, delta=1e-9))
    with pytest.raises(OverspendError, match="before the first output"):
        reserve_facts(ledger, Budget(rho=0.001, delta=1e-9))


def test_what_a_cap_sets_aside_may_be_used_at_any_time(reserve: Callable[..., FitAccount], path: Path) -> None:
    ledger = create_ledger(path, "people", 2.0, 1e-9, set_aside=2.5 * ASIDE)
    reserve(ledger, Budget(rho=0.001, delta=1e-9)).leave()
    small = Budget(rho=0.001, delta=1e-9)
    reserve_facts(ledger, small).leave()
    account = reserve_facts(ledger, small)
    account.charge([discovery(account)], "labels")
    account.leave()
    with pytest.raises(OverspendError, match="set aside"):
        reserve_facts(ledger, small)
    again = open_ledger(path)
    assert again.header.set_aside == 2.5 * ASIDE and again.fits == ledger.fits
    assert again.fits[2].steps[0].events[0] == ledger.fits[2].steps[0].events[0]


def test_a_lost_discovery_needs_its_delta_again(path: Path) -> None:
    ledger = create_ledger(path, "people", 2.0, 1e-9)
    account = reserve_facts(ledger)
    event = discovery(account)
    account.charge([event], "labels")
    account.leave()
    again = open_ledger(path).resume(account.id)
    with pytest.raises(OverspendError, match="set aside"):
        again.charge([event], "labels")
    again.leave()


def test_without_a_cap_a_repeat_is_added_up(path: Path) -> None:
    ledger = create_ledger(path, "people")
    account = reserve_facts(ledger)
    event = discovery(account)
    account.charge([event], "labels")
    account.leave()
    again = open_ledger(path).resume(account.id)
    again.charge([event], "labels")
    total = fit_total(again.record)
    assert total.delta == pytest.approx(1e-9 + event.delta)
    assert total.rho == pytest.approx(account.record.allowance.amount + event.rho)
    again.leave()


@pytest.mark.parametrize("aside", [1e-10, -1.0, 1.0])
def test_a_part_set_aside_is_a_part_of_the_cap(path: Path, aside: float) -> None:
    with pytest.raises(BudgetError):
        create_ledger(path, "people", 1.0, 1e-10, set_aside=aside)
    with pytest.raises(BudgetError):
        create_ledger(path, "people", set_aside=1e-12)


def test_deltas_of_several_fits_add_up() -> None:
    ledger = memory_ledger()
    for _ in range(3):
        reserve_facts(ledger, Budget(rho=0.001, delta=1e-9))
    totals = ledger_totals(ledger.header, ledger.fits)
    assert totals.delta == pytest.approx(1e-9 - ASIDE + 3 * ASIDE)
    assert totals.epsilon == pytest.approx(rho_to_epsilon(0.003, 1e-9 - ASIDE))
    assert fits_total(ledger.fits, 2e-9).epsilon == pytest.approx(rho_to_epsilon(0.003, 2e-9 - 3 * ASIDE))
    with pytest.raises(BudgetError, match="above it"):
        fits_total(ledger.fits, 3 * ASIDE)
