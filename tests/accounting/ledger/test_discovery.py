"""Finding labels in ledgers: deltas are reserved, charged, capped by a split fixed in advance, and added up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import calibrate
from sklar.accounting.composition.adaptive import adaptive_allowance
from sklar.accounting.composition.discovery import LABEL_RESOLUTION, discovery_settings
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
from sklar.accounting.ledger.filters import left_of_cap
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError, LedgerError, OverspendError
from tests.accounting.total_loss import total_loss

UNIT = Unit(neighbours="add-remove")
BUDGET = Budget(epsilon=1.0, delta=1e-9)
ASIDE = 2e-10
DIGEST = "cd" * 32


def reserve_facts(ledger: Ledger, budget: Budget = BUDGET, aside: float = ASIDE) -> FitAccount:
    allowance = calibrate(budget, UNIT, discovery=aside)
    return ledger.reserve(method="facts", budget=budget, allowance=allowance, unit=UNIT, seed=1, fingerprint="a" * 64)


def discovery(account: FitAccount, share: float = 1.0, delta: float = ASIDE) -> DiscoveryEvent:
    noise = account.record.allowance.part(share).noise(UNIT, resolution=LABEL_RESOLUTION)
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


def shifts(budget: Budget = BUDGET, aside: float = ASIDE) -> Allowance:
    """What a fit of Gaussian noise that also finds labels may spend."""
    allowance = adaptive_allowance(budget, aside)
    assert allowance is not None
    return allowance


def reserve_part(ledger: Ledger, share: float, aside: float = 0.0, *, first: bool = False) -> FitAccount:
    """A part of a fit of the whole `BUDGET`: of its facts, with a delta, or of its model."""
    whole = shifts()
    allowance = Allowance(measure="rho", amount=share * whole.amount, delta=aside, dither=whole.dither)
    budget = Budget(rho=allowance.amount, delta=BUDGET.delta - ASIDE + aside)
    return ledger.reserve(
        method="part", budget=budget, allowance=allowance, unit=UNIT, seed=1, fingerprint="b" * 64,
        whole=whole if first else None,
    )  # fmt: skip


def test_squared_shifts_are_reserved_at_the_rest_of_delta() -> None:
    ledger = memory_ledger(epsilon=1.0, delta=1e-9)
    settings = {"method": "m", "budget": BUDGET, "unit": UNIT, "seed": 1, "fingerprint": "a" * 64}
    forgotten = Allowance(measure="rho", amount=shifts(aside=0.0).amount, delta=ASIDE, dither=shifts().dither)
    with pytest.raises(OverspendError, match="more than the fit's budget"):  # all of delta, and a part of it once more
        ledger.reserve(allowance=forgotten, **settings)
    account = ledger.reserve(allowance=shifts(), **settings)
    assert account.record.accountant == "gaussian" and shifts().amount > epsilon_to_rho(1.0, 1e-9)
    total = fit_total(account.record)
    assert total.accountant == "exact" and total.epsilon == pytest.approx(1.0) and total.epsilon <= 1.0
    assert total.delta == pytest.approx(1e-9)
    with pytest.raises(OverspendError, match="delta"):
        account.charge([discovery(account, 0.5, 3 * ASIDE)], "labels")
    account.record_release(account.charge([discovery(account, 0.5)], "labels"), DIGEST)
    with pytest.raises(OverspendError, match="delta"):
        account.charge([discovery(account, 0.4, 0.9 * ASIDE)], "more labels")
    with pytest.raises(OverspendError, match="is left"):
        account.charge([discovery(account, 0.51, 1e-30)], "more labels")


def test_parts_of_a_fit_fill_a_cap_together(path: Path) -> None:
    ledger = create_ledger(path, "people", 1.0, 1e-9)
    reserve_part(ledger, 0.04, first=True).leave()
    reserve_part(ledger, 0.1, ASIDE).leave()
    assert ledger_totals(ledger.header, ledger.fits).epsilon < 0.5
    reserve_part(ledger, 0.86).leave()
    again = open_ledger(path)
    assert again.fits == ledger.fits and again.fits[0].whole == shifts() and again.fits[1].first_of is None
    totals = ledger_totals(again.header, again.fits)
    assert 0.999 < totals.epsilon <= 1.0 and totals.delta == pytest.approx(1e-9)
    with pytest.raises(OverspendError):
        reserve_part(again, 1e-6)
    assert left_of_cap(again.header, again.fits) == ("rho", pytest.approx(0, abs=1e-9))


def test_a_first_part_is_refused_where_the_whole_is_beyond_the_cap() -> None:
    for cap in (memory_ledger(epsilon=0.9, delta=1e-9), memory_ledger(epsilon=1.0, delta=1e-9, set_aside=ASIDE / 2)):
        with pytest.raises(OverspendError):
            reserve_part(cap, 0.04, first=True)
        assert not cap.fits
    reserve_part(memory_ledger(epsilon=1.0, delta=1e-9, set_aside=ASIDE), 0.04, first=True)


def test_what_a_fit_that_stopped_left_is_for_gaussian_noise(reserve: Callable[..., FitAccount]) -> None:
    """Its first part decided how the ledger adds up: another filter for the rest would be chosen after an output."""
    ledger = memory_ledger(epsilon=1.0, delta=1e-9)
    reserve_part(ledger, 0.04, first=True)
    with pytest.raises(OverspendError, match="squared shifts"):
        reserve(ledger, Budget(rho=1e-4, delta=1e-9))
    with pytest.raises(OverspendError, match="set aside"):
        reserve_part(ledger, 0.1, 2 * ASIDE)
    budget = Budget(epsilon=0.9, delta=1e-9)
    ledger.reserve(method="m", budget=budget, allowance=shifts(budget, 0.0), unit=UNIT, seed=1, fingerprint="a" * 64)
    assert ledger_totals(ledger.header, ledger.fits).epsilon <= 1.0


def test_a_part_above_its_whole_is_refused() -> None:
    ledger = memory_ledger()
    for part in (shifts(), Allowance(measure="rho", amount=1e-4, delta=ASIDE)):
        small = Allowance(measure="rho", amount=0.9 * shifts().amount, delta=ASIDE, dither=shifts().dither)
        with pytest.raises(LedgerError):
            ledger.reserve(
                method="m", budget=BUDGET, allowance=part, unit=UNIT, seed=1, fingerprint="a" * 64, whole=small
            )


def test_parts_that_were_added_up_as_rhos_still_are(path: Path) -> None:
    """Ledgers from before facts and model shared a filter: three reservations in rho, under a cap with a part aside."""
    ledger = create_ledger(path, "people", 1.0, 1e-9, set_aside=ASIDE)
    whole = epsilon_to_rho(1.0, 1e-9 - ASIDE)
    for share, aside in ((0.04, 0.0), (0.1, ASIDE), (0.86, 0.0)):
        allowance = Allowance(measure="rho", amount=share * whole, delta=aside)
        budget = Budget(rho=share * whole, delta=1e-9 - ASIDE + aside)
        settings = {"method": "m", "budget": budget, "unit": UNIT, "seed": 1, "fingerprint": "a" * 64}
        ledger.reserve(allowance=allowance, **settings).leave()
    again = open_ledger(path)
    assert "whole" not in path.read_text()
    totals = ledger_totals(again.header, again.fits)
    assert totals.epsilon == pytest.approx(1.0) and totals.delta == pytest.approx(1e-9)
