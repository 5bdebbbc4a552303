"""How far released numbers move away from what a public table expects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sklar.model.pairs.interactions import centre
from sklar.model.prior_comparison import (
    PriorComparison,
    _fit,
    compute_extra_variance,
    compute_share_variance,
    pooled_weights,
    shrink_to_prior,
)

LEAST = 1 / 1000


def confronted(truth: np.ndarray, expected: np.ndarray, sigma: float, seed: int) -> PriorComparison:
    noisy = truth + np.random.default_rng(seed).normal(scale=sigma, size=truth.shape)
    return PriorComparison(
        observed=noisy, expected=expected, variance=sigma**2, spread=compute_share_variance(expected, 1000)
    )


def test_numbers_that_agree_with_the_public_table_are_leaned_on_it() -> None:
    expected = np.random.default_rng(0).dirichlet(np.full(30, 2.0))
    found = shrink_to_prior([confronted(expected, expected, 0.02, seed) for seed in range(1, 30)], LEAST)
    raw = [np.abs(confronted(expected, expected, 0.02, seed).observed - expected).mean() for seed in range(1, 30)]
    assert np.mean([np.abs(one.mean - expected).mean() for one in found]) < 0.1 * np.mean(raw)
    assert all(one.variance < 0.1 * 0.02**2 for one in found)
    assert np.median([one.phi for one in found]) < 4 * LEAST


def test_numbers_that_contradict_it_stay_as_they_were_released() -> None:
    expected, truth = np.eye(10)[0] * 0.9 + 0.01, np.eye(10)[9] * 0.9 + 0.01
    (found,) = shrink_to_prior([confronted(truth, expected, 0.001, 0)], LEAST)
    np.testing.assert_allclose(found.mean, truth, atol=0.01)
    assert found.variance > 0.5 * 0.001**2
    assert found.phi > 50 * LEAST


def test_a_public_table_that_lacks_a_value_does_not_keep_it_away() -> None:
    """Women alone say nothing about how many men there are, once it is clear that they are others."""
    expected, truth = np.array([1.0, 0.0]), np.array([0.3, 0.7])
    (found,) = shrink_to_prior([confronted(truth, expected, 0.015, 0)], LEAST)
    np.testing.assert_allclose(found.mean, truth, atol=0.04)


def test_tables_that_share_their_margins_are_judged_by_what_can_differ() -> None:
    """Of 2 x 2 cells with the same sums on both sides one number is free, and not four."""
    rng, expected, truth = np.random.default_rng(1), np.full((2, 2), 0.25), 0.02
    gaps = centred_cells(rng.normal(scale=np.sqrt(truth * 0.1875 + 0.01**2), size=(200, 2, 2)))
    found = {
        free: shrink_to_prior(
            [
                PriorComparison(
                    observed=expected + gap, expected=expected, variance=1e-4, spread=np.full((2, 2), 0.1875), free=free
                )
                for gap in gaps
            ],
            LEAST,
        )
        for free in (0.25, 1.0)
    }
    told, misled = (np.mean([one.phi for one in found[free]]) for free in (0.25, 1.0))
    assert truth / 2 < told < 2 * truth
    assert misled < truth / 2


def centred_cells(tables: np.ndarray) -> np.ndarray:
    return np.stack([centre(table) for table in tables])


def test_each_table_has_a_trust_of_its_own() -> None:
    expected = np.full(20, 0.05)
    wrong = np.concatenate([np.full(10, 0.09), np.full(10, 0.01)])
    tables = [confronted(wrong if k == 0 else expected, expected, 0.005, k) for k in range(12)]
    found = shrink_to_prior(tables, LEAST)
    np.testing.assert_allclose(found[0].mean, wrong, atol=0.02)
    assert all(one.phi < 0.1 * found[0].phi for one in found[1:])


def test_the_evidence_is_that_of_the_normal_law() -> None:
    rng = np.random.default_rng(3)
    one = PriorComparison(
        observed=rng.normal(size=7),
        expected=rng.normal(size=7),
        variance=rng.random(7) + 0.1,
        spread=rng.random(7),
        smooth=rng.normal(size=(7, 2)),
    )
    phi, psi = 0.4, 0.7
    covariance = np.diag(one.variance + compute_extra_variance(phi, one.spread)) + psi * one.smooth @ one.smooth.T
    expected = multivariate_normal.logpdf(one.observed - one.expected, cov=covariance) + 3.5 * np.log(2 * np.pi)
    assert _fit(one, phi, psi).log_evidence == pytest.approx(expected)


def test_a_smooth_difference_is_found_and_not_taken_for_a_wild_one() -> None:
    """40 bins with noise of a bin's own size: a slope is told all the same."""
    place = (np.arange(40) + 0.5) / 40
    expected, slope = np.full(40, 1 / 40), np.sqrt(3) * (2 * place - 1)
    truth = expected * (1 + 0.5 * slope)
    noisy = truth + np.random.default_rng(5).normal(scale=0.01, size=40)
    one = PriorComparison(
        observed=noisy,
        expected=expected,
        variance=1e-4,
        spread=compute_share_variance(expected, 1000),
        smooth=(expected * slope)[:, None],
    )
    (found,) = shrink_to_prior([one], LEAST)
    assert found.moved[0] == pytest.approx(0.5, abs=0.15)
    assert np.abs(found.mean - truth).sum() < 0.4 * np.abs(noisy - truth).sum()


def test_nothing_to_lean() -> None:
    assert shrink_to_prior([], LEAST) == []


def test_pooling_lets_clear_columns_decide_for_unclear_ones():
    clear = np.tile([0.0, -20.0], (9, 1))
    unclear = np.array([[-0.5, 0.0]])
    weights = pooled_weights(np.vstack([clear, unclear]))
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert weights[-1, 0] > 0.9 > 0.5 > pooled_weights(unclear)[0, 0]
    assert pooled_weights(np.array([[-np.inf, 0.0]]))[0, 0] == 0
