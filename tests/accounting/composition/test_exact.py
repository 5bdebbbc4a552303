"""Exact composition and calibration: parity with closed forms and summation, bounds, and where it does not apply."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sklar.accounting.budget import Budget, overspends_reservation
from sklar.accounting.calibrate import PlannedTables, calibrate, plan_events, plan_noise
from sklar.accounting.composition.exact import exact_delta, exact_epsilon, find_pair, why_not_exact
from sklar.accounting.composition.gaussian import analytic_gaussian_delta, analytic_gaussian_sigma
from sklar.accounting.composition.zcdp import epsilon_to_rho
from sklar.accounting.events import ChoiceEvent, CountEvent, Event, SumEvent
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Neighbours, Unit
from sklar.errors import BudgetError
from tests.accounting.total_loss import total_loss

ONE = Unit(neighbours="add-remove")
SWAP = Unit(neighbours="replace")


def gaussian_counts(sigma: float, tables: int, unit: Unit = ONE) -> CountEvent:
    return CountEvent(label="t", noise=Noise(kind="gaussian", scale=sigma), tables=tables, unit=unit)


def laplace_counts(scale: float, tables: int, unit: Unit = ONE) -> CountEvent:
    return CountEvent(label="t", noise=Noise(kind="laplace", scale=scale), tables=tables, unit=unit)


def summed_delta(sigma: float, draws: int, epsilon: float) -> float:
    """Delta of equal discrete Gaussian draws by direct convolution, without a grid of losses.

    The total loss is (2 S - draws) / (2 sigma^2) for the sum S of the draws; convolutions add positive terms only.
    """
    reach = int(14 * sigma) + 2
    x = np.arange(-reach, reach + 1)
    single = np.exp(-(x**2) / (2 * sigma**2))
    single /= single.sum()
    law = np.ones(1)
    for _ in range(draws):
        law = np.convolve(law, single)
    total = np.arange(len(law)) - reach * draws
    loss = (2 * total - draws) / (2 * sigma**2)
    # Under the other law the loss is mirrored: P_upper(S = s) is the law of S shifted by `draws`.
    upper = np.zeros(len(law))
    upper[draws:] = law[: len(law) - draws]
    mass = upper[loss > epsilon]
    return float((mass * -np.expm1(epsilon - loss[loss > epsilon])).sum())


@pytest.mark.parametrize(("sigma", "tables"), [(0.7, 1), (2.0, 1), (2.0, 4), (8.0, 12), (15.0, 15)])
@pytest.mark.parametrize("unit", [ONE, SWAP])
def test_parity_with_direct_summation(sigma: float, tables: int, unit: Unit) -> None:
    found = find_pair([gaussian_counts(sigma, tables, unit)])
    draws = tables * (1 if unit is ONE else 2)
    spread = math.sqrt(draws) / sigma
    for epsilon in (0.5 * spread, 2 * spread, 4 * spread, 5 * spread):
        true = summed_delta(sigma, draws, epsilon)
        assert true <= exact_delta(found, epsilon) <= 1.003 * true


@pytest.mark.parametrize(
    ("tables", "total"),
    [(1, 5.5), (1, 20.0), (100, 0.5), (100, 5.5), (2000, 0.5), (2000, 20.0), (4000, 5.5), (4000, 80.0)],
)
def test_many_wide_draws_are_one_gaussian(tables: int, total: float) -> None:
    draws = find_pair([gaussian_counts(total * math.sqrt(tables), tables)])
    for epsilon in (1 / total, 3 / total, 5.5 / total):
        analytic = analytic_gaussian_delta(total, epsilon)
        # One draw lives on a lattice of losses, which the continuous formula only follows on average.
        assert exact_delta(draws, epsilon) == pytest.approx(analytic, rel=0.06 if tables == 1 else 0.003)


def test_mixed_scales_compose_like_their_variances() -> None:
    events = [gaussian_counts(20, 10), gaussian_counts(60, 40), gaussian_counts(300, 500)]
    total = 1 / math.sqrt(10 / 20**2 + 40 / 60**2 + 500 / 300**2)
    found = exact_epsilon(find_pair(events), 1e-9)
    assert analytic_gaussian_delta(total, found) == pytest.approx(1e-9, rel=0.01)


@pytest.mark.parametrize("times", [1, 3, 10])
def test_laplace_draws_are_randomized_response(times: int) -> None:
    scale, epsilon = 4.0, 0.2
    draws = find_pair([CountEvent(label="l", noise=Noise(kind="laplace", scale=scale), tables=times, unit=ONE)])
    high = 1 / (1 + math.exp(-1 / scale))
    true = 0.0
    for ups in range(times + 1):
        loss = (2 * ups - times) / scale
        mass = math.comb(times, ups) * high**ups * (1 - high) ** (times - ups)
        true += mass * max(0.0, -math.expm1(epsilon - loss))
    assert true <= exact_delta(draws, epsilon) <= 1.01 * true


def test_epsilon_and_delta_are_inverse() -> None:
    draws = find_pair([gaussian_counts(30, 25), gaussian_counts(50, 10)])
    epsilon = exact_epsilon(draws, 1e-7)
    assert exact_delta(draws, epsilon) == pytest.approx(1e-7, rel=1e-3)
    assert exact_delta(draws, epsilon * 1.0001) <= 1e-7


def test_exact_is_monotone() -> None:
    by_scale = [exact_epsilon(find_pair([gaussian_counts(s, 50)]), 1e-9) for s in (10, 20, 40, 80, 160)]
    by_tables = [exact_epsilon(find_pair([gaussian_counts(60, n)]), 1e-9) for n in (1, 2, 10, 100, 1000)]
    by_delta = [exact_epsilon(find_pair([gaussian_counts(60, 50)]), d) for d in (1e-3, 1e-6, 1e-9, 1e-11)]
    assert by_scale == sorted(by_scale, reverse=True)
    assert by_tables == sorted(by_tables)
    assert by_delta == sorted(by_delta)


def test_no_events_lose_nothing() -> None:
    assert exact_delta(find_pair([]), 0.5) == 0 == exact_epsilon(find_pair([]), 1e-9)
    assert total_loss([], 1e-9, planned=True).epsilon == 0


@pytest.mark.parametrize(
    ("event", "delta", "reason"),
    [
        (laplace_counts(50, 10, Unit(neighbours="add-remove", rows_per_person=2)), 1e-9, "rows per person"),
        (gaussian_counts(50, 10), 1e-12, "delta"),
        (laplace_counts(50, 4001), 1e-9, "draws"),
        (laplace_counts(50, 2001, SWAP), 1e-9, "draws"),
        (gaussian_counts(0.1, 1), 1e-9, "scale"),
        (gaussian_counts(3.0, 4001), 1e-9, "scale"),
        (SumEvent(label="s", noise=Noise(kind="gaussian", scale=9), l1=3, l2=2, unit=ONE), 1e-9, "resolution"),
        (SumEvent(label="s", noise=Noise(kind="laplace", scale=9), l1=3, l2=2, resolution=0.01, unit=ONE), 1e-9, "Lap"),
        (ChoiceEvent(label="c", choice=0.1, unit=ONE), 1e-9, "neither"),
    ],
)
def test_where_exact_composition_does_not_apply_zcdp_does(event: Event, delta: float, reason: str) -> None:
    found = why_not_exact([event], delta)
    assert found is not None and reason in found
    assert total_loss([event], delta, planned=True).accountant in ("zcdp", "pure")


def test_too_many_scales_are_left_to_zcdp() -> None:
    events = [laplace_counts(50 + i, 1) for i in range(25)]
    assert "different noise scales" in (why_not_exact(events, 1e-9) or "")
    assert why_not_exact(events[:24], 1e-9) is None


def test_draws_of_refuses_what_it_cannot_represent() -> None:
    with pytest.raises(BudgetError):
        find_pair([ChoiceEvent(label="c", choice=0.1, unit=ONE)])


def test_the_total_is_the_smallest_bound_that_applies() -> None:
    events = [gaussian_counts(40, 30), gaussian_counts(80, 10)]
    planned, adaptive = (total_loss(events, 1e-9, planned=p) for p in (True, False))
    chosen = total_loss([*events, ChoiceEvent(label="c", choice=1e-6, unit=SWAP)], 1e-9, planned=False)
    assert (planned.accountant, adaptive.accountant, chosen.accountant) == ("exact", "gaussian", "zcdp")
    assert planned.epsilon < adaptive.epsilon < chosen.epsilon
    assert planned.rho == adaptive.rho == pytest.approx(sum(e.rho for e in events))


def test_pure_totals_need_no_delta_and_gaussian_ones_do() -> None:
    laplace = [CountEvent(label="l", noise=Noise(kind="laplace", scale=50), tables=3, unit=SWAP)]
    total = total_loss(laplace, 0.0, planned=False)
    assert (total.accountant, total.delta) == ("pure", 0.0)
    assert total.epsilon == pytest.approx(3 * 2 / 50)
    with pytest.raises(BudgetError, match="delta"):
        total_loss([*laplace, gaussian_counts(10, 1)], 0.0, planned=False)


def lines(*pairs: tuple[int, float]) -> tuple[PlannedTables, ...]:
    return tuple(PlannedTables(label=f"line {i}", tables=t, weight=w) for i, (t, w) in enumerate(pairs))


VINE = lines((1, 0.003), (14, 0.2), (14, 0.09), (91, 0.6), (13, 0.107))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-9), (1.0, 1e-5), (10.0, 1e-9)])
def test_exact_calibration_is_within_budget_and_nearly_uses_it(
    neighbours: Neighbours, epsilon: float, delta: float
) -> None:
    unit, budget = Unit(neighbours=neighbours), Budget(epsilon=epsilon, delta=delta)
    allowance = calibrate(budget, unit, VINE)
    events = plan_events(allowance, unit, VINE)
    spent = total_loss(events, delta, planned=True)
    assert spent.accountant == "exact"
    assert 0.999 * epsilon <= spent.epsilon <= epsilon
    assert allowance.amount > 1.05 * epsilon_to_rho(epsilon, delta)
    # Never less noise in total than the Gaussian mechanism that is exactly within the budget.
    assert allowance.amount <= 1.001 * 0.5 / analytic_gaussian_sigma(epsilon, delta) ** 2


@pytest.mark.parametrize("pairs", [((1, 1.0),), ((2, 1.0),), ((1, 0.01), (1, 0.99)), ((2000, 1.0),)])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 12.0, 300.0])
def test_no_plan_exceeds_its_budget(pairs: tuple[tuple[int, float], ...], epsilon: float) -> None:
    budget, plan = Budget(epsilon=epsilon, delta=1e-8), lines(*pairs)
    events = plan_events(calibrate(budget, ONE, plan), ONE, plan)
    assert total_loss(events, 1e-8, planned=True).epsilon <= epsilon * (1 + 1e-9)


def test_calibration_without_a_plan_or_without_exactness_is_zcdp() -> None:
    budget = Budget(epsilon=1, delta=1e-9)
    zcdp = epsilon_to_rho(1, 1e-9)
    assert calibrate(budget, ONE).amount == zcdp
    assert calibrate(Budget(epsilon=1, delta=1e-13), ONE, VINE).amount == epsilon_to_rho(1, 1e-13)


def test_pure_and_rho_budgets_are_spent_as_they_are() -> None:
    pure = calibrate(Budget(epsilon=0.7, delta=0), ONE, VINE)
    assert (pure.measure, pure.amount) == ("epsilon", 0.7)
    rho = calibrate(Budget(rho=0.2, delta=1e-9), ONE, VINE)
    assert (rho.measure, rho.amount) == ("rho", 0.2)


@pytest.mark.parametrize("budget", [Budget(epsilon=1, delta=0), Budget(rho=0.1, delta=1e-6)])
def test_plans_spend_their_allowance_by_weight(budget: Budget) -> None:
    allowance = calibrate(budget, SWAP, VINE)
    events = plan_events(allowance, SWAP, VINE)
    spent = [getattr(event, allowance.measure) for event in events]
    assert math.fsum(spent) == pytest.approx(allowance.spendable.amount, rel=1e-12)
    assert not overspends_reservation(math.fsum(spent), allowance.amount)
    whole = sum(line.weight for line in VINE)
    for share, line in zip(spent, VINE, strict=True):
        assert share / allowance.amount == pytest.approx(line.weight / whole)
    assert plan_noise(allowance, SWAP, VINE) == tuple(event.noise for event in events)


def test_a_plan_needs_lines_of_whole_tables_and_positive_weights() -> None:
    with pytest.raises(BudgetError):
        plan_noise(calibrate(Budget(rho=1, delta=1e-9), ONE), ONE, ())
    with pytest.raises(BudgetError):
        PlannedTables(label="x", tables=0, weight=1)
    with pytest.raises(BudgetError):
        PlannedTables(label="x", tables=1, weight=-1)
