"""Discrete Gaussian vectors as continuous ones: the lemma itself, and its bounds beside sums over small lattices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import PlannedTables, PlannedVector, calibrate, fine_noise, plan_events
from sklar.accounting.composition.exact import exact_delta, exact_epsilon, find_pair, why_not_exact
from sklar.accounting.composition.gaussian import (
    analytic_gaussian_delta,
    analytic_gaussian_epsilon,
    analytic_gaussian_sigma,
)
from sklar.accounting.composition.lattice import DITHER_SCALE, FINE_LATTICE, MIN_FINENESS, covers_vector, squared_shift
from sklar.accounting.composition.zcdp import epsilon_to_rho, rho_to_epsilon
from sklar.accounting.events import CountEvent, Event, SumEvent
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from tests.accounting.total_loss import total_loss

SWAP = Unit(neighbours="replace")
UPPER = {MIN_FINENESS: 2.0, 20.0: 1.12, 40.0: 1.06}


def vector(sigma: float, l2: float, resolution: float | None = 1.0, unit: Unit = SWAP) -> SumEvent:
    noise = Noise(kind="gaussian", scale=sigma)
    return SumEvent(label="s", noise=noise, l1=9.0 * l2, l2=l2, resolution=resolution, unit=unit)


def law(sigma: float, shift: int, reach: int) -> np.ndarray:
    """The discrete Gaussian, moved, on -reach..reach."""
    x = np.arange(-reach, reach + 1) - shift
    mass = np.exp(-(x**2) / (2 * sigma**2))
    return mass / mass.sum()


def summed_delta(draws: list[tuple[float, int]], epsilon: float) -> float:
    """Delta of independent discrete Gaussians of (sigma, shift), by summing over the whole product of lattices."""
    one = two = np.ones(1)
    for sigma, shift in draws:
        reach = math.ceil(11 * sigma) + abs(shift)
        one = np.multiply.outer(one, law(sigma, shift, reach)).ravel()
        two = np.multiply.outer(two, law(sigma, 0, reach)).ravel()
    return float(np.maximum(one - math.exp(epsilon) * two, 0.0).sum())


@pytest.mark.parametrize(("sigma", "dither"), [(1.0, 0.6), (3.0, 0.6), (2.0, 0.8), (5.0, 1.0)])
def test_a_rounded_gaussian_is_the_discrete_one_up_to_kappa(sigma: float, dither: float) -> None:
    """P(W = w), integrated, over P(Z = w); small dithers, for which kappa can be seen."""
    y = np.linspace(-12 * sigma, 12 * sigma, 20_001)
    reach = math.ceil(12 * sigma) + 4
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-((k[:, None] - y) ** 2) / (2 * dither**2))
    weights /= weights.sum(axis=0)
    continuous = math.sqrt(sigma**2 - dither**2)
    density = np.exp(-(y**2) / (2 * continuous**2)) / (continuous * math.sqrt(2 * math.pi))
    found = (weights * density).sum(axis=1) * (y[1] - y[0])
    near = np.abs(k) <= 4 * sigma
    ratio = np.log(found[near] / law(sigma, 0, reach)[near])
    theta = [2 * sum(math.exp(-2 * (math.pi * s * j) ** 2) for j in range(1, 9)) for s in (dither, sigma)]
    kappa = math.log((1 + theta[1]) / (1 - theta[0]))
    assert np.abs(ratio).max() <= kappa * (1 + 1e-6) + 1e-12
    if dither == 0.6:
        assert np.abs(ratio).max() > 1e-7, "there is a difference to bound"


def test_kappa_is_far_below_the_slack() -> None:
    theta = 2 * math.exp(-2 * (math.pi * DITHER_SCALE) ** 2) * (1 + 1e-9)
    assert math.log1p(theta) - math.log1p(-theta) < 3e-34
    assert 2**40 * 3e-34 < 1e-21


@pytest.mark.parametrize("shift", [(1,), (3,), (5,), (3, 4), (5, 0), (4, -3), (1, 7)])
@pytest.mark.parametrize("sigma", [MIN_FINENESS, 20.0, 40.0])
def test_the_bound_is_above_the_sum_over_the_lattice(shift: tuple[int, ...], sigma: float) -> None:
    length = math.hypot(*shift)
    pair = find_pair([vector(sigma, length)])
    for spreads in (0.5, 2.0, 3.5):
        epsilon = spreads * length / sigma
        true = summed_delta([(sigma, x) for x in shift], epsilon)
        # Beyond this the sum itself is rounding error.
        assert true > 1e-8
        assert true <= exact_delta(pair, epsilon) <= true * UPPER[sigma]


def test_a_vector_and_a_table_compose() -> None:
    count = CountEvent(label="t", noise=Noise(kind="gaussian", scale=9.0), tables=1, unit=Unit(neighbours="add-remove"))
    pair = find_pair([count, vector(30.0, 5.0, unit=count.unit)])
    assert pair.draws and pair.shift
    for epsilon in (0.1, 0.3, 0.6):
        true = summed_delta([(9.0, 1), (30.0, 5)], epsilon)
        assert true <= exact_delta(pair, epsilon) <= 1.03 * true


@pytest.mark.parametrize("resolution", [1e-6, 1e-3])
def test_on_a_fine_lattice_a_vector_is_the_analytic_gaussian(resolution: float) -> None:
    event = vector(5.0, 1.0, resolution)
    for epsilon in (0.1, 0.5, 1.0):
        assert exact_delta(find_pair([event]), epsilon) == pytest.approx(
            analytic_gaussian_delta(5.0, epsilon), rel=1e-3
        )
    assert analytic_gaussian_sigma(exact_epsilon(find_pair([event]), 1e-9), 1e-9) == pytest.approx(5.0, rel=1e-4)
    several = [vector(15.0, 1.0, resolution), vector(7.0, 2.0, resolution)]
    assert squared_shift(several[0]) + squared_shift(several[1]) == pytest.approx(find_pair(several).shift ** 2)


def test_vectors_with_tables_are_the_gaussian_of_all_shifts() -> None:
    count = CountEvent(label="t", noise=Noise(kind="gaussian", scale=200.0), tables=300, unit=SWAP)
    pair = find_pair([count, vector(10.0, 1.0, 1e-4)])
    total = 1 / math.sqrt(600 / 200.0**2 + 1 / 10.0**2)
    assert analytic_gaussian_delta(total, exact_epsilon(pair, 1e-9)) == pytest.approx(1e-9, rel=0.01)


@pytest.mark.parametrize(("neighbours", "shift"), [("add-remove", (3,)), ("replace", (3, -3)), ("replace", (2, 1, -3))])
def test_several_rows_per_person_are_bounded_by_their_longest_shift(neighbours: Any, shift: tuple[int, ...]) -> None:
    unit = Unit(neighbours=neighbours, rows_per_person=3)
    event = CountEvent(label="t", noise=Noise(kind="gaussian", scale=12.0), tables=1, unit=unit)
    pair = find_pair([event])
    assert not pair.draws
    for epsilon in (0.2, 0.6):
        if len(shift) < 3:
            true = summed_delta([(12.0, x) for x in shift], epsilon)
            assert true <= exact_delta(pair, epsilon) <= 1.2 * true
        else:
            assert math.hypot(*shift) <= unit.l2


@pytest.mark.parametrize(("scale", "tables"), [(50.0, 4_001), (40.0, 500_000), (1e6, 3)])
def test_tables_too_many_or_too_noisy_for_a_grid_are_one_gaussian(scale: float, tables: int) -> None:
    event = CountEvent(label="t", noise=Noise(kind="gaussian", scale=scale), tables=tables, unit=SWAP)
    assert find_pair([event]).draws == ()
    total = total_loss([event], 1e-9, planned=True)
    assert total.accountant == "exact"
    assert total.epsilon == pytest.approx(analytic_gaussian_epsilon(scale / math.sqrt(2 * tables), 1e-9), rel=4e-3)
    assert total.epsilon == pytest.approx(total_loss([event], 1e-9, planned=False).epsilon, rel=1e-8)
    assert total.epsilon < rho_to_epsilon(event.rho, 1e-9)


@pytest.mark.parametrize(("sigma", "delta"), [(0.5, 1e-5), (5.0, 1e-9), (40.0, 1e-6), (1e5, 1e-9)])
def test_the_analytic_epsilon_inverts_the_analytic_delta(sigma: float, delta: float) -> None:
    epsilon = analytic_gaussian_epsilon(sigma, delta)
    assert analytic_gaussian_delta(sigma, epsilon) <= delta
    assert analytic_gaussian_delta(sigma, epsilon * (1 - 1e-6)) > delta
    assert analytic_gaussian_epsilon(1e9, 0.1) == 0.0


@pytest.mark.parametrize("event", [vector(5.0, 1.0, None), vector(5.0, 1.0, 1.0)])
def test_old_records_and_coarse_lattices_are_left_to_zcdp(event: Event) -> None:
    assert why_not_exact([event], 1e-9) is not None
    assert total_loss([event], 1e-9, planned=True).accountant == "zcdp"


PLAN = (PlannedTables(label="margins", tables=8, weight=0.8), PlannedVector(label="taus", weight=0.2))


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-9), (10.0, 1e-9)])
def test_plans_with_vectors_use_the_budget_and_keep_it(rows: int, epsilon: float, delta: float) -> None:
    unit = Unit(neighbours="replace", rows_per_person=rows)
    allowance = calibrate(Budget(epsilon=epsilon, delta=delta), unit, PLAN)
    events = plan_events(allowance, unit, PLAN)
    spent = total_loss(events, delta, planned=True)
    assert spent.accountant == "exact"
    assert 0.999 * epsilon <= spent.epsilon <= epsilon
    assert math.fsum(event.rho for event in events) == pytest.approx(allowance.amount)
    assert 1.05 * epsilon_to_rho(epsilon, delta) < allowance.amount
    assert allowance.amount <= 1.001 * 0.5 / analytic_gaussian_sigma(epsilon, delta) ** 2


def test_a_planned_vector_covers_what_loses_no_more_on_a_lattice_no_coarser() -> None:
    planned = plan_events(calibrate(Budget(epsilon=1, delta=1e-9), SWAP, PLAN), SWAP, PLAN)[1]
    assert isinstance(planned, SumEvent)
    ratio = planned.noise.scale / planned.l2
    assert covers_vector(planned, vector(7 * ratio, 7.0, 7 * ratio / FINE_LATTICE), 1e-9)
    assert covers_vector(planned, vector(9 * ratio, 7.0, 1e-6), 1e-9)
    assert not covers_vector(planned, vector(6.99 * ratio, 7.0, 1e-6), 1e-9)
    assert not covers_vector(planned, vector(7 * ratio, 7.0, 7.1 * ratio / FINE_LATTICE), 1e-9)
    assert not covers_vector(planned, vector(7 * ratio, 7.0, None), 1e-9)
    laplace = SumEvent(label="s", noise=Noise(kind="laplace", scale=1e9), l1=1, l2=1, resolution=1e-6, unit=SWAP)
    assert not covers_vector(planned, laplace, 1e-9)


def test_noise_narrower_than_planned_is_widened() -> None:
    noise = Noise(kind="gaussian", scale=3.0)
    assert fine_noise(noise, 3.0 / FINE_LATTICE) == noise
    assert fine_noise(noise, 1.0).scale == FINE_LATTICE
    laplace = Noise(kind="laplace", scale=3.0)
    assert fine_noise(laplace, 1.0) == laplace
