"""The filter for Gaussian releases in any order."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.composition.adaptive import adaptive_allowance, is_amount_within, shift_cost, why_not_gaussian
from sklar.accounting.composition.gaussian import analytic_gaussian_delta
from sklar.accounting.composition.zcdp import epsilon_to_rho
from sklar.accounting.events import ChoiceEvent, CountEvent, SumEvent
from sklar.accounting.ledger import memory_ledger
from sklar.accounting.ledger.totals import fit_total
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError, OverspendError

UNIT = Unit(neighbours="add-remove", rows_per_person=1)
BUDGET = Budget(epsilon=1.0, delta=1e-9)


def allowance(budget=BUDGET):
    found = adaptive_allowance(budget)
    assert found is not None
    return found


def counted(noise, label="a", tables=1, unit=UNIT):
    return CountEvent(label=label, noise=noise, tables=tables, unit=unit)


def reserve(ledger, amount, budget=BUDGET, unit=UNIT):
    return ledger.reserve(method="m", budget=budget, allowance=amount, unit=unit, seed=1, fingerprint="f" * 64)


def test_it_allows_a_tenth_more_than_zcdp_and_no_more_than_the_gaussian_mechanism():
    for epsilon in (0.1, 1.0, 3.0, 10.0):
        amount = allowance(Budget(epsilon=epsilon, delta=1e-9)).amount
        assert 1.05 < amount / epsilon_to_rho(epsilon, 1e-9) < 1.2
        sigma = math.sqrt(0.5 / amount)
        assert 0.999e-9 < analytic_gaussian_delta(sigma, epsilon) <= 1e-9
        assert is_amount_within(amount, epsilon, 1e-9)
        assert not is_amount_within(amount * 1.001, epsilon, 1e-9)


def test_no_delta_and_budgets_in_rho_are_left_to_others():
    assert adaptive_allowance(Budget(epsilon=1.0, delta=0.0)) is None
    assert adaptive_allowance(Budget(epsilon=1.0, delta=1e-12)) is None
    assert adaptive_allowance(Budget(rho=0.1, delta=1e-9)) is None


@pytest.mark.parametrize(
    "unit",
    [
        UNIT,
        Unit(neighbours="replace", rows_per_person=1),
        Unit(neighbours="add-remove", rows_per_person=3),
    ],
)
def test_the_noise_of_parts_costs_just_those_parts(unit):
    whole = allowance()
    tables = counted(whole.part(0.25).noise(unit, tables=7), tables=7, unit=unit)
    assert shift_cost([tables]) == pytest.approx(0.25 * whole.spendable.amount, rel=1e-12)
    noise = whole.part(0.5).sum_noise(l1=9.0, l2=3.0)
    for fineness in (64.0, 1e6):
        total = SumEvent(label="s", noise=noise, l1=9.0, l2=3.0, resolution=noise.scale / fineness, unit=unit)
        assert shift_cost([total]) <= 0.5 * whole.amount * (1 + 1e-12)
    assert shift_cost([total]) > 0.499 * whole.amount
    assert shift_cost([tables]) >= tables.rho and shift_cost([total]) >= total.rho


def test_choices_laplace_noise_and_noise_within_the_dither_are_not_gaussian():
    assert why_not_gaussian([counted(Noise(kind="gaussian", scale=2.5))]) is None
    for event in (
        ChoiceEvent(label="c", choice=0.1, unit=UNIT),
        counted(Noise(kind="laplace", scale=50.0)),
        counted(Noise(kind="gaussian", scale=1.9)),
        SumEvent(label="s", noise=Noise(kind="gaussian", scale=5.0), l1=1.0, l2=1.0, unit=UNIT),
    ):
        assert why_not_gaussian([event]) is not None
    with pytest.raises(BudgetError):
        allowance().choice_epsilon()


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [-0.5, 0.0, 0.7])
@pytest.mark.parametrize("first", [0.3, 0.8])
def test_two_releases_of_which_the_second_is_chosen_by_the_first_stay_within_one_gaussian(threshold, first):
    """The hockey-stick divergence of N(b, ...) by quadrature, with and against the drift."""
    shift, epsilon = 1.2, 0.9
    grid = np.linspace(-9, 11, 4001)
    step = grid[1] - grid[0]
    most = math.sqrt(shift**2 - first**2)
    second = np.where(grid > threshold, most, 0.1 * most)

    def delta(sign):
        ratio = np.exp(first * grid - first**2 / 2)  # of the first release
        left = norm.pdf(grid, first if sign > 0 else 0.0)
        total = 0.0
        for density, one, chosen in zip(left, ratio, second, strict=True):
            bound = epsilon - sign * math.log(one)
            # the second release adds the exact loss of a Gaussian of shift `chosen`
            above = norm.sf(bound / chosen - chosen / 2)
            below = math.exp(bound) * norm.sf(bound / chosen + chosen / 2)
            total += density * (above - below) * step
        return total

    whole = analytic_gaussian_delta(1 / shift, epsilon)
    for sign in (1, -1):
        assert delta(sign) <= whole * (1 + 1e-6)
    assert delta(1) > analytic_gaussian_delta(1 / first, epsilon)


def test_the_ledger_refuses_what_is_more_and_what_is_not_gaussian():
    ledger = memory_ledger(neighbours="add-remove")
    whole = allowance()
    account = reserve(ledger, whole)
    assert account.record.accountant == "gaussian"
    with pytest.raises(OverspendError, match="Gaussian noise alone"):
        account.charge([ChoiceEvent(label="c", choice=1e-6, unit=UNIT)], "c")
    with pytest.raises(OverspendError, match="Gaussian noise alone"):
        account.charge([counted(Noise(kind="laplace", scale=1e9))], "l")
    account.record_release(account.charge([counted(whole.part(0.6).noise(UNIT))], "a"), "0" * 64)
    with pytest.raises(OverspendError, match="is left"):
        account.charge([counted(whole.part(0.41).noise(UNIT))], "b")
    # what zCDP would still admit, since it does not take the dither off
    noise = whole.part(0.4).noise(UNIT)
    without = Noise(kind="gaussian", scale=math.sqrt(noise.scale**2 - whole.dither**2))
    with pytest.raises(OverspendError, match="is left"):
        account.charge([counted(without)], "b")
    account.record_release(account.charge([counted(noise)], "b"), "0" * 64)
    total = fit_total(account.record)
    assert total.accountant == "exact"
    assert 0.999 < total.epsilon <= 1.0


def test_an_allowance_beyond_the_budget_or_with_a_plan_is_refused():
    ledger = memory_ledger(neighbours="add-remove")
    whole = allowance()
    too_much = Allowance(measure="rho", amount=whole.amount * 1.01, dither=whole.dither)
    with pytest.raises(OverspendError):
        reserve(ledger, too_much)
    with pytest.raises(OverspendError):
        ledger.reserve(
            method="m", budget=BUDGET, allowance=whole, unit=UNIT, seed=1, fingerprint="f" * 64,
            plan=[counted(whole.noise(UNIT))],
        )  # fmt: skip
    with pytest.raises(BudgetError):
        Allowance(measure="epsilon", amount=1.0, dither=2.0)


def test_a_cap_is_filled_by_one_such_fit_and_admits_smaller_ones_as_rho(tmp_path):
    from sklar.accounting.ledger import create_ledger, open_ledger, read_ledger

    path = tmp_path / "full.ledger"
    create_ledger(path, name="t", epsilon=1.0, delta=1e-9, neighbours="add-remove")
    account = reserve(open_ledger(path), allowance())
    account.record_release(account.charge([counted(allowance().noise(UNIT))], "a"), "0" * 64)
    account.close()
    view = read_ledger(path)
    assert view.fits[0].allowance == allowance() and view.fits[0].spent == pytest.approx(allowance().amount)
    assert view.totals().epsilon <= 1.0 and view.left == ("rho", 0.0)
    with pytest.raises(OverspendError):
        reserve(open_ledger(path), allowance(Budget(epsilon=0.01, delta=1e-9)), Budget(epsilon=0.01, delta=1e-9))

    path = tmp_path / "half.ledger"
    create_ledger(path, name="t", epsilon=1.0, delta=1e-9, neighbours="add-remove")
    half = Budget(epsilon=0.5, delta=1e-9)
    for _ in range(3):
        with reserve(open_ledger(path), allowance(half), half):
            pass
    with pytest.raises(OverspendError):
        reserve(open_ledger(path), allowance(half), half)
