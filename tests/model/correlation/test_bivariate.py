"""The bivariate normal against scipy, and the latent correlation as its inverse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal

from sklar.model.correlation.bivariate import MAX_CORRELATION, bivariate_normal_cdf, frechet_bounds, solve_latent_corr


def test_it_agrees_with_a_slow_reference_on_random_cases():
    rng = np.random.default_rng(0)
    h, k = rng.normal(0, 1.5, (2, 60))
    corr = rng.uniform(-0.99, 0.99, 60)
    slow = [
        multivariate_normal([0, 0], [[1, r], [r, 1]], abseps=1e-11, releps=1e-11).cdf([a, b])
        for a, b, r in zip(h, k, corr, strict=True)
    ]
    np.testing.assert_allclose(bivariate_normal_cdf(h, k, corr), slow, atol=2e-9)


@pytest.mark.parametrize("corr", [-1.0, -0.999999, -0.3, 0.0, 0.7, 1.0])
def test_limits_and_symmetries(corr):
    z = np.array([-np.inf, -40.0, -2.0, -0.0, 0.0, 1e-300, 0.5, 40.0, np.inf])
    h, k = np.meshgrid(z, z)
    both = bivariate_normal_cdf(h, k, corr)
    low, high = frechet_bounds(ndtr(h), ndtr(k))
    assert np.isfinite(both).all() and (both >= low - 1e-15).all() and (both <= high + 1e-15).all()
    np.testing.assert_allclose(both, both.T, atol=1e-15)
    # P(X <= h, Y <= k) + P(X <= h, -Y <= -k) = P(X <= h)
    np.testing.assert_allclose(both + bivariate_normal_cdf(h, -k, -corr), ndtr(h), atol=1e-14)
    if corr == 0:
        np.testing.assert_allclose(both, ndtr(h) * ndtr(k), atol=1e-15)
    assert bivariate_normal_cdf(0, 0, corr) == pytest.approx(0.25 + np.arcsin(corr) / (2 * np.pi))


def test_the_solver_inverts_the_distribution():
    rng = np.random.default_rng(1)
    h, k = rng.normal(0, 1.2, (2, 4000))
    corr = rng.uniform(-0.97, 0.97, 4000)
    joint = bivariate_normal_cdf(h, k, corr)
    found = solve_latent_corr(h, k, joint)
    np.testing.assert_allclose(bivariate_normal_cdf(h, k, found), joint, atol=1e-10)
    telling = (
        np.minimum(joint - frechet_bounds(ndtr(h), ndtr(k))[0], frechet_bounds(ndtr(h), ndtr(k))[1] - joint) > 1e-4
    )
    np.testing.assert_allclose(found[telling], corr[telling], atol=1e-5)


def test_the_solver_is_safe_at_and_beyond_the_bounds():
    p = np.array([1e-12, 1e-6, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9])
    h, k = np.meshgrid(ndtri(p), ndtri(p))
    low, high = frechet_bounds(ndtr(h), ndtr(k))
    for joint in (low - 0.1, low, high, high + 0.1, np.full_like(h, np.nan), (low + high) / 2):
        found = solve_latent_corr(h, k, joint)
        assert np.isfinite(found).all() and np.abs(found).max() <= MAX_CORRELATION
    assert (solve_latent_corr(h, k, high)[2:6, 2:6].diagonal() == MAX_CORRELATION).all()
    assert (solve_latent_corr(h, k, low - 0.1)[2:6, 2:6] == -MAX_CORRELATION).all()
    assert (solve_latent_corr(np.inf, 0.0, 0.5) == 0) and solve_latent_corr(-np.inf, np.nan, 0.0) == 0


def test_more_joint_probability_means_more_correlation():
    h, k = -1.1, 0.4
    joint = np.linspace(*(float(x) for x in frechet_bounds(ndtr(h), ndtr(k))), 200)
    assert (np.diff(solve_latent_corr(h, k, joint)) >= 0).all()
