"""zCDP, the Gaussian mechanism and textbook accounting: golden vectors and inverse pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sklar.accounting.composition.gaussian import analytic_gaussian_delta, analytic_gaussian_sigma
from sklar.accounting.composition.zcdp import (
    choice_to_rho,
    epsilon_to_rho,
    pure_to_rho,
    rho_to_epsilon,
)
from sklar.errors import BudgetError
from sklar.methods.dpc.textbook import advanced_composition, advanced_composition_share, classic_gaussian_sigma


def rho_to_epsilon_standard(rho: float, delta: float) -> float:
    """The textbook conversion rho + 2 sqrt(rho log(1/delta)) (Bun, Steinke, Proposition 1.3)."""
    return rho + 2 * math.sqrt(rho * -math.log(delta))


DELTAS = [1e-300, 1e-15, 1e-9, 1e-5, 0.1, 0.9]


@pytest.mark.parametrize(
    ("rho", "tight", "standard"), [(0.5, 4.7283869849, 5.2985259122), (0.1, 1.9142388320, 2.2459660263)]
)
def test_rho_to_epsilon_golden(rho: float, tight: float, standard: float) -> None:
    assert rho_to_epsilon(rho, 1e-5) == pytest.approx(tight, abs=1e-10)
    assert rho_to_epsilon_standard(rho, 1e-5) == pytest.approx(standard, abs=1e-10)


@pytest.mark.parametrize(("delta", "rho"), [(1e-5, 0.0305565952), (1e-9, 0.0149730577)])
def test_epsilon_to_rho_golden(delta: float, rho: float) -> None:
    assert epsilon_to_rho(1, delta) == pytest.approx(rho, abs=1e-10)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e6])
def test_conversions_are_inverse_and_never_worse_than_the_standard_one(epsilon: float, delta: float) -> None:
    rho = epsilon_to_rho(epsilon, delta)
    assert rho_to_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-9)
    assert rho_to_epsilon(rho, delta) <= rho_to_epsilon_standard(rho, delta) * (1 + 1e-12)


def test_conversion_satisfies_its_definition_in_delta() -> None:
    rho, delta = 0.2, 1e-6
    epsilon = rho_to_epsilon(rho, delta)
    orders = 1 + np.logspace(-3, 4, 200_001)
    logs = (orders - 1) * (orders * rho - epsilon) - np.log(orders - 1) + orders * np.log1p(-1 / orders)
    assert float(np.exp(logs.min())) == pytest.approx(delta, rel=1e-6)


def test_conversion_grows_with_rho_and_falls_with_delta() -> None:
    by_rho = [rho_to_epsilon(rho, 1e-9) for rho in np.logspace(-12, 4, 60)]
    by_delta = [rho_to_epsilon(0.1, delta) for delta in DELTAS]
    assert by_rho == sorted(by_rho)
    assert by_delta == sorted(by_delta, reverse=True)
    assert rho_to_epsilon(0, 1e-9) == 0 == epsilon_to_rho(0, 1e-9)


@pytest.mark.parametrize("amount", [-1, math.nan, math.inf])
def test_unusable_amounts_are_refused(amount: float) -> None:
    for convert in (rho_to_epsilon, epsilon_to_rho):
        with pytest.raises(BudgetError):
            convert(amount, 1e-9)
        with pytest.raises(BudgetError):
            convert(1.0, 0.0)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 20.0])
def test_pure_to_rho_is_the_largest_renyi_slope_of_randomized_response(epsilon: float) -> None:
    orders = 1 + np.logspace(-6, 3, 4000)
    log_high, log_low = -math.log1p(math.exp(-epsilon)), -math.log1p(math.exp(epsilon))
    logs = np.logaddexp(
        orders * log_high + (1 - orders) * log_low,
        orders * log_low + (1 - orders) * log_high,
    )
    slopes = logs / (orders - 1) / orders
    # The first orders suffer from cancellation in logs / (order - 1): about 1e-16 / 1e-6.
    assert float(slopes.max()) == pytest.approx(pure_to_rho(epsilon), rel=1e-4)
    assert pure_to_rho(epsilon) <= epsilon**2 / 2


def test_choice_costs_an_eighth() -> None:
    assert choice_to_rho(0.4) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [(1, 1e-5, 3.7306316348), (0.5, 1e-5, 7.0318266756), (1, 1e-9, 5.4952661572), (8, 1e-5, 0.6002290722)],
)
def test_analytic_gaussian_golden(epsilon: float, delta: float, sigma: float) -> None:
    assert analytic_gaussian_sigma(epsilon, delta) == pytest.approx(sigma, abs=1e-10)


@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-5, 0.5, 0.99])
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 50.0, 1e6])
def test_analytic_sigma_is_the_least_within_delta(epsilon: float, delta: float) -> None:
    sigma = analytic_gaussian_sigma(epsilon, delta)
    assert analytic_gaussian_delta(sigma, epsilon) <= delta
    assert analytic_gaussian_delta(sigma * (1 - 1e-7), epsilon) > delta


def test_analytic_gaussian_beats_zcdp_and_the_classic_mechanism() -> None:
    for epsilon in (0.1, 0.5, 0.9):
        sigma = analytic_gaussian_sigma(epsilon, 1e-9)
        assert sigma < 1 / math.sqrt(2 * epsilon_to_rho(epsilon, 1e-9)) < classic_gaussian_sigma(epsilon, 1e-9)


def test_advanced_composition_golden() -> None:
    assert advanced_composition(0.01, 100, 1e-6) == pytest.approx(0.5357023441, abs=1e-10)


@pytest.mark.parametrize(("times", "share"), [(105, 0.0147829), (378, 0.0077919), (45, 0.0225793)])
def test_advanced_composition_shares_golden(times: int, share: float) -> None:
    found = advanced_composition_share(1.0, times, 2**-30)
    assert found == pytest.approx(share, abs=5e-8)
    assert advanced_composition(found, times, 2**-30) <= 1.0


@pytest.mark.parametrize(("pairs", "sigma"), [(105, 94.90), (378, 180.07), (45, 62.13)])
def test_classic_gaussian_golden(pairs: int, sigma: float) -> None:
    assert classic_gaussian_sigma(0.99, 2**-30, math.sqrt(2 * pairs)) == pytest.approx(sigma, abs=5e-3)


def test_textbook_accounting_refuses_what_it_does_not_cover() -> None:
    with pytest.raises(BudgetError, match="below 1"):
        classic_gaussian_sigma(1.0, 1e-5)
    with pytest.raises(BudgetError, match="delta"):
        classic_gaussian_sigma(0.5, 0)
    with pytest.raises(BudgetError, match="delta"):
        advanced_composition(0.1, 10, 0)
    with pytest.raises(BudgetError, match="delta"):
        analytic_gaussian_sigma(1, 0)
