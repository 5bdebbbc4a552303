"""Units, noise, allowances, budgets and events: identities, and refusals in plain sentences."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import ROUNDING, Budget, exceeds_limit, overspends_reservation
from sklar.accounting.events import ChoiceEvent, CountEvent, SumEvent
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Neighbours, Unit
from sklar.errors import BudgetError

UNITS = [Unit(neighbours=n, rows_per_person=k) for n in ("add-remove", "replace") for k in (1, 2, 5)]


def moved_counts(unit: Unit) -> list[np.ndarray]:
    """All changes of a table of three cells that one person can cause."""
    k, cells = unit.rows_per_person, 3
    parts = [np.array(p) for p in np.ndindex(*(k + 1,) * cells) if sum(p) <= k]
    if unit.neighbours == "add-remove":
        return parts
    return [new - old for new in parts for old in parts if new.sum() == old.sum()]


@pytest.mark.parametrize("unit", UNITS)
def test_norms_are_the_largest_over_all_changes(unit: Unit) -> None:
    changes = moved_counts(unit)
    assert unit.l1 == max(np.abs(change).sum() for change in changes)
    assert unit.l2 == pytest.approx(max(np.linalg.norm(change) for change in changes))
    assert unit.largest == max(np.abs(change).max() for change in changes)


@pytest.mark.parametrize(("neighbours", "rows"), [("swap", 1), ("replace", 0), ("replace", True), ("replace", 1.5)])
def test_unusable_units_are_refused(neighbours: Any, rows: Any) -> None:
    with pytest.raises(BudgetError):
        Unit(neighbours=neighbours, rows_per_person=rows)


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 7.5, 1000.0])
def test_laplace_variance_is_that_of_the_probabilities(scale: float) -> None:
    x = np.arange(-int(60 * scale) - 60, int(60 * scale) + 61)
    weights = np.exp(-np.abs(x) / scale)
    expected = float((weights * x**2).sum() / weights.sum())
    noise = Noise(kind="laplace", scale=scale)
    assert noise.variance == pytest.approx(expected, rel=1e-9)
    assert noise.std == pytest.approx(math.sqrt(expected), rel=1e-9)


def test_laplace_golden_vector() -> None:
    assert Noise(kind="laplace", scale=1).variance == pytest.approx(1.8413471884, abs=1e-10)


def test_noise_on_reals_spreads_as_its_scale_says() -> None:
    """On a fine lattice noise is nearly continuous: std sqrt(2) b for Laplace noise, where integers would show 0."""
    fine = Noise(kind="laplace", scale=0.01)
    assert fine.std < 1e-8 and fine.std_on(1e-6) == pytest.approx(math.sqrt(2) * 0.01, rel=1e-6)
    assert Noise(kind="laplace", scale=3.0).std_on(1.0) == Noise(kind="laplace", scale=3.0).std
    assert Noise(kind="gaussian", scale=0.01).std_on(1e-6) == pytest.approx(0.01)


@pytest.mark.parametrize(("scale", "close"), [(0.4, 1.0), (1.5, 1e-12), (12.0, 1e-12)])
def test_gaussian_variance_bounds_that_of_the_probabilities(scale: float, close: float) -> None:
    x = np.arange(-int(40 * scale) - 20, int(40 * scale) + 21)
    weights = np.exp(-(x**2) / (2 * scale**2))
    true = float((weights * x**2).sum() / weights.sum())
    stated = Noise(kind="gaussian", scale=scale).variance
    assert stated >= true * (1 - 1e-13)
    assert stated == pytest.approx(true, rel=close)


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, "1", True, 10**400])
def test_unusable_scales_are_refused(scale: Any) -> None:
    with pytest.raises(BudgetError, match="noise scale"):
        Noise(kind="gaussian", scale=scale)


def test_noise_kinds_are_two() -> None:
    with pytest.raises(BudgetError, match="gaussian"):
        Noise(kind="uniform", scale=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("tables", [1, 7, 400])
def test_the_noise_an_allowance_buys_costs_the_allowance(unit: Unit, tables: int) -> None:
    rho = Allowance(measure="rho", amount=0.3)
    event = CountEvent(label="pairs", noise=rho.noise(unit, tables), tables=tables, unit=unit)
    assert event.rho == pytest.approx(rho.spendable.amount, rel=1e-12)
    assert event.epsilon == math.inf
    pure = Allowance(measure="epsilon", amount=0.3)
    event = CountEvent(label="pairs", noise=pure.noise(unit, tables), tables=tables, unit=unit)
    assert event.epsilon == pytest.approx(pure.spendable.amount, rel=1e-12)
    assert 0 < event.rho <= 0.3**2 / 2


def test_sums_and_choices_cost_their_allowance() -> None:
    unit = Unit(neighbours="replace")
    for measure, amount in (("rho", 0.02), ("epsilon", 0.7)):
        allowance = Allowance(measure=measure, amount=amount)  # type: ignore[arg-type]
        sums = SumEvent(label="star", noise=allowance.sum_noise(l1=9.0, l2=3.5), l1=9.0, l2=3.5, unit=unit)
        choice = ChoiceEvent(label="pick", choice=allowance.choice_epsilon(), unit=unit)
        assert getattr(sums, measure) == pytest.approx(amount)
        assert getattr(choice, measure) == pytest.approx(amount)


def test_picks_add_up() -> None:
    unit = Unit(neighbours="replace")
    one, five = (ChoiceEvent(label="pick", choice=0.4, picks=n, unit=unit) for n in (1, 5))
    assert five.rho == pytest.approx(5 * one.rho)
    assert five.epsilon == pytest.approx(5 * one.epsilon)


def test_parts_add_up_and_stay_within_the_whole() -> None:
    whole = Allowance(measure="rho", amount=0.5)
    assert sum(whole.part(x).amount for x in (0.2, 0.3, 0.5)) == pytest.approx(0.5)
    assert whole.part(1).amount == 0.5
    for fraction in (0, -0.1, 1.1, math.nan):
        with pytest.raises(BudgetError):
            whole.part(fraction)


def test_an_allowance_is_rho_or_epsilon_above_zero() -> None:
    with pytest.raises(BudgetError):
        Allowance(measure="delta", amount=1)  # type: ignore[arg-type]
    with pytest.raises(BudgetError):
        Allowance(measure="rho", amount=0)


def laplace_renyi_per_order(shift: int, scale: float, order: float) -> float:
    """D_a / a of a discrete Laplace draw moved by `shift`, by summation."""
    x = np.arange(-2000, 2001)
    log_p, log_q = -np.abs(x) / scale, -np.abs(x - shift) / scale
    norm = np.logaddexp.reduce(log_p)
    return float((np.logaddexp.reduce(order * log_p + (1 - order) * log_q) - norm) / (order - 1) / order)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("scale", [0.3, 2.0, 15.0])
def test_laplace_rho_bounds_the_renyi_divergence_of_every_change(unit: Unit, scale: float) -> None:
    event = CountEvent(label="m", noise=Noise(kind="laplace", scale=scale), tables=1, unit=unit)
    for order in (1.0001, 1.5, 2.0, 8.0, 64.0):
        cost = {shift: laplace_renyi_per_order(shift, scale, order) for shift in range(unit.rows_per_person + 1)}
        worst = max(sum(cost[abs(int(step))] for step in change) for change in moved_counts(unit))
        assert worst <= event.rho * (1 + 1e-9)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_laplace_rho_is_attained_with_one_row_per_person(neighbours: Neighbours) -> None:
    unit = Unit(neighbours=neighbours)
    event = CountEvent(label="m", noise=Noise(kind="laplace", scale=2.0), tables=1, unit=unit)
    attained = laplace_renyi_per_order(1, 2.0, 1.000001) * unit.l1
    assert event.rho == pytest.approx(attained, rel=1e-5)


BAD = [0, 0.0, -1, math.nan, math.inf, -math.inf, 1e-300, 1e300, "1", None, True, 10**400]


@pytest.mark.parametrize("name", ["epsilon", "rho"])
@pytest.mark.parametrize("value", BAD)
def test_unusable_budgets_are_refused_in_words(name: str, value: Any) -> None:
    with pytest.raises(BudgetError) as caught:
        Budget(**{name: value}, delta=1e-9)
    assert name in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_tiny_epsilon_is_called_too_small_to_calibrate() -> None:
    with pytest.raises(BudgetError, match="is too small"):
        Budget(epsilon=1e-300, delta=0)


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.0, 2, math.nan, math.inf, "0", None, True])
def test_unusable_deltas_are_refused(delta: Any) -> None:
    with pytest.raises(BudgetError, match="delta"):
        Budget(epsilon=1, delta=delta)


def test_a_budget_is_epsilon_or_rho() -> None:
    with pytest.raises(BudgetError, match="exactly one"):
        Budget(epsilon=1, rho=1, delta=1e-9)
    with pytest.raises(BudgetError, match="exactly one"):
        Budget(delta=1e-9)
    with pytest.raises(BudgetError, match="delta"):
        Budget(rho=1, delta=0)


def test_budgets_of_numpy_and_whole_numbers_are_plain_floats() -> None:
    budget = Budget(epsilon=np.float32(2), delta=np.float64(1e-6))
    assert budget == Budget(epsilon=2, delta=1e-6)
    assert type(budget.epsilon) is float and type(budget.delta) is float
    assert Budget(epsilon=1, delta=0).pure and not budget.pure


@pytest.mark.parametrize("label", ["", "x" * 501, 3])
def test_events_need_a_label(label: Any) -> None:
    with pytest.raises(BudgetError, match="label"):
        CountEvent(label=label, noise=Noise(kind="laplace", scale=1), tables=1, unit=UNITS[0])


def test_losses_stay_within_a_cap_in_real_numbers() -> None:
    """Ten fits of a tenth each, every one cut into parts at will: in exact fractions all of it is less than 1."""
    fit = Allowance(measure="epsilon", amount=0.1)
    unit = Unit(neighbours="add-remove")
    for parts in (1, 3, 7, 1000):
        share = fit.part(1 / parts)
        event = CountEvent(label="t", noise=share.noise(unit), tables=1, unit=unit)
        assert not overspends_reservation(sum([event.epsilon] * parts), fit.amount)
        assert 10 * parts / Fraction(event.noise.scale) < 1
    assert not exceeds_limit(sum([0.1] * 10) * (1 + 1e-12), 1.0)
    assert exceeds_limit(1 + 1e-9, 1.0) and overspends_reservation(0.1, 0.1)
    # What may be reserved over a cap is less than what every fit must leave.
    assert (1 + Fraction(ROUNDING) / 10) * (1 - Fraction(ROUNDING) / 5) < 1
