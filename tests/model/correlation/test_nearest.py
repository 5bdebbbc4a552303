"""The nearest correlation matrix: parity with alternating projections, optimality, and any symmetric input."""

from __future__ import annotations

import numpy as np
import pytest

import sklar.model.correlation.nearest as nearest
from sklar.model.correlation.nearest import (
    MIN_EIGENVALUE,
    alternating_projections,
    clipped_correlation,
    nearest_correlation,
)


def symmetric(d, seed, scale=1.0):
    a = np.random.default_rng(seed).uniform(-scale, scale, (d, d))
    a = (a + a.T) / 2
    np.fill_diagonal(a, 1.0)
    return a


def is_correlation(found):
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(found.diagonal(), 1.0)
    assert np.abs(found).max() <= 1 and np.linalg.eigvalsh(found)[0] > MIN_EIGENVALUE / 2
    np.linalg.cholesky(found.astype(np.float32))


@pytest.mark.parametrize(("d", "seed"), [(2, 0), (3, 1), (8, 2), (25, 3), (60, 4)])
def test_newton_agrees_with_alternating_projections(d, seed):
    a = symmetric(d, seed)
    slow = alternating_projections(a, np.ones(d), tolerance=1e-13, steps=20_000)
    fast = nearest_correlation(a, floor=1e-12)
    np.testing.assert_allclose(fast, slow, atol=2e-5)
    assert np.linalg.norm(fast - a) <= np.linalg.norm(slow - a) * (1 + 1e-6)


def test_no_feasible_matrix_is_nearer():
    a = symmetric(12, 5)
    best = np.linalg.norm(nearest_correlation(a, floor=1e-10) - a)
    rng = np.random.default_rng(6)
    assert best <= np.linalg.norm(clipped_correlation(a) - a)
    for _ in range(200):
        b = rng.normal(size=(12, 12)) @ np.diag(rng.random(12) ** 3)
        b /= np.linalg.norm(b, axis=1, keepdims=True)
        assert best < np.linalg.norm(b @ b.T - a)


def test_a_correlation_matrix_comes_back_unchanged():
    a = np.corrcoef(np.random.default_rng(7).normal(size=(9, 40)))
    np.testing.assert_allclose(nearest_correlation(a), a, atol=1e-15)
    np.testing.assert_allclose(clipped_correlation(a), a, atol=1e-15)


HOSTILE = {
    "all ones": np.ones((6, 6)),
    "all minus ones": -np.ones((7, 7)),
    "checkers": np.fromfunction(lambda i, j: (-1.0) ** (i + j), (8, 8)),
    "huge": 1e300 * symmetric(5, 8),
    "not finite": np.array([[np.nan, np.inf, -np.inf], [np.inf, 1, np.nan], [-np.inf, np.nan, 1]]),
    "asymmetric": np.random.default_rng(9).normal(size=(6, 6)),
    "zero": np.zeros((4, 4)),
    "one": np.zeros((1, 1)),
    "none": np.zeros((0, 0)),
    "wild": symmetric(40, 10, 50.0),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_any_input_gives_a_correlation_matrix(name):
    for found in (nearest_correlation(HOSTILE[name]), clipped_correlation(HOSTILE[name])):
        if found.size:
            is_correlation(found)


def test_when_newton_gives_up_projections_take_over(monkeypatch):
    a = symmetric(10, 11)
    usual = nearest_correlation(a)
    monkeypatch.setattr(nearest, "_newton", lambda *given: None)
    np.testing.assert_allclose(nearest_correlation(a), usual, atol=1e-4)


def test_free_entries_do_not_pull_the_rest():
    """A true correlation matrix with one entry unknown and set to nonsense: leaving it free recovers the others."""
    true = np.corrcoef(np.random.default_rng(12).normal(size=(6, 9)))
    a, free = true.copy(), np.zeros((6, 6), dtype=bool)
    a[0, 1] = a[1, 0] = -1.0
    free[0, 1] = free[1, 0] = True
    held = nearest_correlation(a)
    left = nearest_correlation(a, free=free, rounds=40)
    others = ~free
    assert np.abs(left - true)[others].max() < 0.3 * np.abs(held - true)[others].max()


def test_weights_make_the_scaled_problem():
    a, weights = symmetric(12, 13), np.random.default_rng(14).uniform(0.05, 1.0, 12)
    goal = weights / weights.mean()
    scale = np.sqrt(goal)
    slow = alternating_projections(a * scale[:, None] * scale, goal, tolerance=1e-13, steps=20_000)
    found = nearest_correlation(a, weights=weights, floor=1e-12)
    is_near = found * scale[:, None] * scale
    np.testing.assert_allclose(is_near, slow, atol=2e-5)
    np.testing.assert_allclose(nearest_correlation(a, weights=np.full(12, 0.3)), nearest_correlation(a), atol=1e-6)


def test_lines_of_little_weight_do_not_bend_the_others():
    """Nonsense about two lines: without weights it spreads, with them it stays where it is."""
    true = np.corrcoef(np.random.default_rng(15).normal(size=(8, 20)))
    a = np.eye(10)
    a[:8, :8] = true
    a[:8, 8:] = np.where(np.random.default_rng(16).random((8, 2)) < 0.5, -0.999, 0.999)
    a[8:, :8] = a[:8, 8:].T
    weights = np.append(np.ones(8), [1e-4, 1e-4])
    assert np.abs(nearest_correlation(a)[:8, :8] - true).max() > 0.2
    found = nearest_correlation(a, weights=weights)
    is_correlation(found)
    assert np.abs(found[:8, :8] - true).max() < 0.01


@pytest.mark.parametrize("weights", [np.zeros(6), np.array([np.nan, 1, 1, 0, 1e-300, 1e300])])
def test_any_weights_give_a_correlation_matrix(weights):
    is_correlation(nearest_correlation(symmetric(6, 17), weights=weights))
