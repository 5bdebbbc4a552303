"""The posterior of a distribution on a grid, against brute force and its limits."""

import numpy as np
import pytest
from scipy.optimize import minimize

from sklar.model.posterior import (
    Comparison,
    GridTable,
    estimate_on_grid,
    estimate_strength,
    margins_of_grid,
    move_to_tables,
)
from sklar.model.significance import critical_deviations

RNG = np.random.default_rng(5)
PRIOR = RNG.dirichlet(np.ones(12)).reshape(3, 4)
COARSE = np.array([0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3])


def test_the_mode_is_that_of_a_numerical_search():
    seen = [
        GridTable(cells=np.arange(12), observed=RNG.dirichlet(np.ones(12)), variance=0.05),
        GridTable(cells=COARSE, observed=RNG.dirichlet(np.ones(4)), variance=0.02),
    ]

    def objective(logits):
        p = np.exp(logits) / np.exp(logits).sum()
        misfit = sum(np.sum((t.evaluate(p) - t.observed) ** 2) / (2 * t.variance) for t in seen)
        return np.sum(p * np.log(p / PRIOR.ravel())) + misfit

    best = minimize(objective, np.log(PRIOR.ravel()), method="BFGS", options={"gtol": 1e-9})
    searched = np.exp(best.x) / np.exp(best.x).sum()
    assert move_to_tables(PRIOR, seen).ravel() == pytest.approx(searched, abs=2e-4)


def test_exact_tables_are_met_and_noise_without_end_changes_nothing():
    wanted = RNG.dirichlet(np.ones(12)).reshape(3, 4)
    exact = GridTable(cells=np.arange(12), observed=wanted)
    assert move_to_tables(PRIOR, [exact]) == pytest.approx(wanted, abs=1e-6)
    blurred = GridTable(cells=np.arange(12), observed=wanted, variance=1e6)
    assert move_to_tables(PRIOR, [blurred]) == pytest.approx(PRIOR, abs=1e-6)


def test_margins_are_kept():
    first, second = np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.2, 0.3, 0.4])
    seen = GridTable(cells=np.arange(12), observed=RNG.dirichlet(np.ones(12)), variance=1e-4)
    found = estimate_on_grid(PRIOR, [seen], margins_of_grid((3, 4), first, second), 1.0)
    assert found.sum(axis=0) == pytest.approx(second, abs=1e-5)
    assert found.sum(axis=1) == pytest.approx(first, abs=0.02)


def test_the_strength_of_the_prior_is_recovered():
    """Truths from a Dirichlet distribution worth c rows around m, seen through noise."""
    rng, mean, noise = np.random.default_rng(7), PRIOR.ravel(), 0.02
    for strength in (20.0, 500.0):
        truths = rng.dirichlet(strength * mean, 4_000)
        seen = [Comparison(mean, truth + rng.normal(0, noise, 12), noise**2, 12) for truth in truths]
        assert estimate_strength(seen, 1.0) == pytest.approx(strength + 1, rel=0.25)


def test_the_posterior_is_nearer_to_the_truth_than_prior_and_table():
    rng, noise = np.random.default_rng(8), 0.02
    gaps = np.zeros(3)
    for _ in range(300):
        truth = rng.dirichlet(60 * PRIOR.ravel())
        table = GridTable(cells=np.arange(12), observed=truth + rng.normal(0, noise, 12), variance=noise**2)
        found = estimate_on_grid(PRIOR, [table], (), 1.0).ravel()
        gaps += [np.sum((x - truth) ** 2) for x in (found, PRIOR.ravel(), table.observed)]
    assert gaps[0] < 0.85 * gaps[1:].min()


def test_fewer_noisy_dimensions_leave_more_to_explain():
    """The same distance from the prior is more surprising if only some dimensions carry noise."""
    observed = PRIOR + 0.02 * np.outer([1, -1, 0], [1, -1, 1, -1])
    whole = GridTable(cells=np.arange(12), observed=observed, variance=3e-4)
    part = GridTable(cells=np.arange(12), observed=observed, variance=3e-4, dimensions=6)
    moved = [np.abs(estimate_on_grid(PRIOR, [table], (), 1.0) - PRIOR).sum() for table in (whole, part)]
    assert moved[0] < moved[1]


def strength_if_significant(observed, variance):
    own = np.full(8, 1 / 8)
    return estimate_strength([Comparison(own, observed, variance, 8)], 0.0, critical_deviations(), np.inf)


def test_noise_alone_is_not_significant_and_clearer_tables_are_trusted_more():
    rng, own, variance = np.random.default_rng(8), np.full(8, 1 / 8), 1e-4
    noisy = [strength_if_significant(own + rng.normal(0, 0.01, 8), variance) for _ in range(200)]
    assert np.mean(np.isinf(noisy)) > 0.97
    signs = np.array([1, -1, -1, 1, -1, 1, 1, -1.0])
    near, far = (strength_if_significant(own + gap * signs, variance) for gap in (0.04, 0.05))
    assert far < near < np.inf
    assert strength_if_significant(own + 0.04 * signs, variance / 100) < near
    for gap in (0.03, 0.1):
        exact = (1 - 1 / 8) / (8 * gap**2)
        assert np.isclose(strength_if_significant(own + gap * signs, 1e-14), exact, rtol=1e-3)
