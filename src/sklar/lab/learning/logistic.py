"""Logistic regression with a ridge, by Newton's method."""

from __future__ import annotations

import numpy as np

from sklar.arrays import Floats


def fit_logistic(
    points: Floats, labels: np.ndarray, weight: Floats | float = 1.0, ridge: float = 1.0, rounds: int = 25
) -> tuple[Floats, Floats]:
    """Return the coefficients and the Hessian of the negative log-likelihood, whose inverse is their covariance.

    Args:
        points: One row per case; an intercept is a column of ones.
        labels: 0 or 1.
        weight: Weight of each row.
        ridge: Strength of the ridge penalty.
        rounds: Maximum number of steps.
    """
    beta = np.zeros(points.shape[1])
    curve = np.eye(len(beta))
    for _ in range(rounds):
        odds = np.clip(points @ beta, -30, 30)
        chance = 1 / (1 + np.exp(-odds))
        slope = points.T @ (weight * (labels - chance)) - ridge * beta
        curve = (points * (weight * chance * (1 - chance))[:, None]).T @ points + ridge * np.eye(len(beta))
        step = np.linalg.solve(curve, slope)
        beta = beta + step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-6:
            break
    return beta, curve
