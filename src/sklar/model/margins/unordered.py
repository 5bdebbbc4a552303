"""Maximum a posteriori probabilities of unordered levels under an exchangeable prior, in time linear in the levels."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from sklar.model.margins.prior import WIDE

Floats = NDArray[np.float64]

_ROUNDS = 60
_TOLERANCE = 1e-3
_LARGEST_RISE = 3.0
_STRENGTHS = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)


def fit_levels(counts: Floats, sigma: Floats, rows: float, rows_sigma: float) -> Floats:
    """Probabilities of levels from one noisy count each, averaged over prior strengths by evidence.

    Counts are (rows / k) exp(theta); theta ~ N(mean, 1/strength), mean wide. Never fails: the result is a distribution.

    Args:
        counts: Noisy count of each level.
        sigma: Noise standard deviation of each level; infinite where there is no count.
        rows: Estimated number of rows.
        rows_sigma: Its standard deviation; 0 when the number is public.
    """
    k = len(counts)
    if k == 1:
        return np.ones(1)
    weight = sigma**-2.0
    rows = max(rows, 1.0)
    total = max(rows_sigma, 0.05 * float(sigma.min()) if np.isfinite(sigma.min()) else 1.0, 1e-6 * rows) ** -2.0
    theta, masses, evidences = np.zeros(k), [], []
    for strength in _STRENGTHS:
        problem = _Problem(counts=counts, weight=weight, rows=rows, total=total, strength=strength)
        theta, evidence = _mode(problem, theta)
        if np.isfinite(evidence):
            mass = np.exp(theta - theta.max())
            masses.append(mass / mass.sum())
            evidences.append(evidence)
    weights = np.exp(np.array(evidences) - max(evidences))
    return weights @ np.array(masses) / weights.sum()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Problem:
    """Noisy counts and total with weights 1/sigma^2, and a prior precision of strength (I - 11'/k) + level 11'/k."""

    counts: Floats
    weight: Floats
    rows: float
    total: float
    strength: float

    @property
    def level(self) -> float:
        return 1.0 / (WIDE[0] ** 2 * len(self.counts))

    @property
    def shared(self) -> float:
        return (self.strength - self.level) / len(self.counts)


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    theta: Floats
    value: float
    model: Floats
    pull: Floats


def _evaluate(problem: _Problem, theta: Floats) -> _Point:
    model = problem.rows / len(theta) * np.exp(np.minimum(theta, 300.0))
    miss, excess = model - problem.counts, float(model.sum()) - problem.rows
    prior = problem.strength * theta @ theta - problem.shared * theta.sum() ** 2
    value = 0.5 * (problem.weight @ miss**2 + problem.total * excess**2 + prior)
    return _Point(theta, float(value), model, model * (problem.weight * miss + problem.total * excess))


def _mode(problem: _Problem, theta: Floats) -> tuple[Floats, float]:
    """Damped Gauss-Newton; returns the mode and the Laplace evidence of the strength, up to a constant."""
    point, log_det = _evaluate(problem, theta), inf
    for _ in range(_ROUNDS):
        gradient = point.pull + problem.strength * point.theta - problem.shared * point.theta.sum()
        diagonal = problem.weight * point.model**2 + problem.strength + np.maximum(point.pull, 0.0)
        step, log_det = _solve(diagonal, point.model, problem, gradient)
        after = _descend(problem, point, step)
        gain, point = point.value - after.value, after
        if min(gain, float(gradient @ step)) < _TOLERANCE:
            break
    log_prior = 0.5 * ((len(theta) - 1) * log(problem.strength) + log(problem.level))
    return point.theta, -point.value + log_prior - 0.5 * log_det


def _descend(problem: _Problem, point: _Point, step: Floats) -> _Point:
    size = min(1.0, _LARGEST_RISE / max(float(-step.min()), 1e-12))
    while size > 1e-3:
        after = _evaluate(problem, point.theta - size * step)
        if after.value <= point.value:
            return after
        size /= 3.0
    return point


def _solve(diagonal: Floats, model: Floats, problem: _Problem, right: Floats) -> tuple[Floats, float]:
    """Solve (diag + total model model' - shared 1 1') x = right by Woodbury; also the log determinant."""
    vectors = np.stack([model, np.ones(len(model))], axis=1)
    middle = np.array([problem.total, -problem.shared])
    scaled = vectors / diagonal[:, None]
    small = np.eye(2) + (vectors.T @ scaled) * middle
    plain = right / diagonal
    step = plain - scaled @ (middle * np.linalg.solve(small, vectors.T @ plain))
    return step, float(np.log(diagonal).sum() + np.linalg.slogdet(small)[1])
