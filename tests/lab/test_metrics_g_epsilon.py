"""G_eps and G_eps+ behave as in table 1 of Galloni et al. (2023)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import UsageError
from sklar.lab.metrics.correlations.phik import phik_matrix
from sklar.lab.metrics.g_epsilon import GEpsilon, check_weights, correlation_part, g_epsilon
from sklar.lab.metrics.tvd import margin_distance
from sklar.lab.tables.table import coarse_grid
from tests.lab.pairs import read

SCHEMA = sklar.Schema({"x": sklar.Real(-40, 40), "y": sklar.Real(-40, 40)})


def table_of_two(seed: int = 0, rows: int = 2000) -> np.ndarray:
    """A bent, tight cloud far from the origin: high correlation, and not a normal distribution."""
    rng = np.random.default_rng(seed)
    x = rng.gamma(4.0, 1.0, rows) + 5
    return np.stack([x, 1.5 * x + rng.normal(0, 0.7, rows)], axis=1)


def like_moments(points: np.ndarray, seed: int = 1) -> np.ndarray:
    """Random points corrected to the same means, variances and covariance (Mateo-Sanz et al. 2004)."""
    noise = np.random.default_rng(seed).uniform(size=points.shape)
    noise -= noise.mean(axis=0)
    white = noise @ np.linalg.inv(np.linalg.cholesky(np.cov(noise.T))).T
    return points.mean(axis=0) + white @ np.linalg.cholesky(np.cov(points.T)).T


def compared(points: np.ndarray, other: np.ndarray) -> GEpsilon:
    one, two = (read(pd.DataFrame(p, columns=["x", "y"]), SCHEMA) for p in (points, other))
    nu = margin_distance(one, two, coarse_grid(SCHEMA), 1, np.random.default_rng(0)).value
    matrices = (phik_matrix(one), phik_matrix(two))
    return g_epsilon(matrices, nu, (one, two), ["y"], np.random.default_rng(0), learners=["linear"])


TURNS = {"half turn": np.array([[-1, 0], [0, -1]]), "quarter turn": np.array([[0, 1], [-1, 0]])}


@pytest.mark.parametrize("turn", TURNS)
def test_rotations_are_seen_by_the_plus_only(turn: str) -> None:
    points = table_of_two()
    found = compared(points, points @ TURNS[turn])
    assert found.g_epsilon == pytest.approx(0.0, abs=0.03)
    assert found.score.value > 0.8


def test_a_translation_is_seen_by_the_plus_only() -> None:
    points = table_of_two()
    found = compared(points, points + points.mean())
    assert found.g_epsilon == pytest.approx(0.0, abs=1e-6)
    assert found.score.value > 0.6


def test_a_table_with_the_same_moments_is_seen_by_every_part() -> None:
    points = table_of_two()
    found = compared(points, like_moments(points))
    assert 0.0 < found.mu < 0.3
    assert 0.0 < found.delta < 0.1
    assert 0.1 < found.nu < 0.5
    assert found.score.value == pytest.approx(found.g_epsilon + found.nu)


def test_the_same_table_scores_zero() -> None:
    points = table_of_two(rows=300)
    assert compared(points, points).score.value == 0.0


def test_weights_and_norm() -> None:
    real, synthetic = np.eye(3), np.ones((3, 3))
    mu, mean = correlation_part(real, synthetic)
    assert mu == pytest.approx(np.sqrt(6) / 3)
    assert mean == 1.0
    for wrong in ([1, 1], [1, -1, 1], [1, float("nan"), 1]):
        with pytest.raises(UsageError, match="weights"):
            check_weights(wrong)
