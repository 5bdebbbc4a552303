"""The correlation matrix nearest to a symmetric matrix: a Newton method, with alternating projections to fall back on.

Reference: Qi, Sun (2006), "A quadratically convergent Newton method for computing the nearest correlation matrix";
Higham (2002), "Computing the nearest correlation matrix".
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sklar.arrays import Floats, Mask

MIN_EIGENVALUE = 1e-6
"""Eigenvalues of a result are at least about this, so that it has a Cholesky factor in single precision."""
MIN_RELATIVE_WEIGHT = 1e-4
"""Lines of less than this part of the largest weight count as that: the scaled problem stays well conditioned."""
_MOST_NEWTON, _MOST_CG, _MOST_PROJECTIONS = 40, 60, 300
"""Steps after which Newton's method, its conjugate gradients and the projections give up: accuracy against time."""


def nearest_correlation(
    matrix: ArrayLike,
    *,
    floor: float = MIN_EIGENVALUE,
    tolerance: float = 1e-7,
    free: Mask | None = None,
    rounds: int = 4,
    weights: Floats | None = None,
) -> Floats:
    """Return a positive definite correlation matrix as near as possible to a symmetric matrix, whose diagonal is
    ignored.

    Near in the Frobenius norm or, with weights, in sqrt(sum_ij w_i w_j (X_ij - G_ij)^2): with s = sqrt(w) the matrix
    s_i s_j X_ij is the one nearest to s_i s_j G_ij among those with the diagonal w, the same problem.

    Never fails: entries that are not finite count as 0, entries beyond 1 as 1, and the lower and upper triangle are
    averaged. A matrix that is a correlation matrix already, with eigenvalues above the floor, comes back unchanged.

    Args:
        floor: Least eigenvalue, reached by lifting eigenvalues and scaling back to a unit diagonal.
        tolerance: Accuracy of the unit diagonal relative to its length.
        free: Entries (symmetric mask) about which nothing is known. They start from their value in `matrix` and are
            then filled in from the last result, `rounds` times, so that they do not pull the rest.
        weights: How much each line matters; positive.
    """
    target = clean_correlations(matrix)
    if len(target) < 2 or is_definite(target, floor):
        return target
    return _fill(target, _goal(len(target), weights), floor, tolerance, free, rounds)


def _fill(target: Floats, goal: Floats, floor: float, tolerance: float, free: Mask | None, rounds: int) -> Floats:
    """Return the nearest matrix, with free entries taken from the last result in each round."""
    found = _lift(_nearest(target, goal, tolerance), floor)
    unknown = np.zeros(target.shape, dtype=bool) if free is None else free & ~np.eye(len(target), dtype=bool)
    for _ in range(rounds if unknown.any() else 0):
        target = np.where(unknown, found, target)
        np.fill_diagonal(target, 1.0)
        found = _lift(_nearest(target, goal, tolerance), floor)
    return found


def _goal(size: int, weights: Floats | None) -> Floats:
    """Return the diagonal of the scaled problem: the weights, with an average of 1."""
    if weights is None:
        return np.ones(size)
    kept = np.maximum(np.nan_to_num(weights), MIN_RELATIVE_WEIGHT * max(float(np.nan_to_num(weights).max()), 1e-300))
    return kept / kept.mean()


def clipped_correlation(matrix: ArrayLike, *, floor: float = MIN_EIGENVALUE) -> Floats:
    """Return negative eigenvalues raised to a small number, then scaled to a unit diagonal (Rousseeuw, Molenberghs
    1993)."""
    target = clean_correlations(matrix)
    return target if len(target) < 2 or is_definite(target, floor) else _lift(target, floor)


def clean_correlations(matrix: ArrayLike) -> Floats:
    """Return a symmetric matrix of finite numbers in [-1, 1] with a unit diagonal."""
    given = np.nan_to_num(np.array(matrix, dtype=np.float64), nan=0.0, posinf=1.0, neginf=-1.0)
    target = np.clip(np.clip(given, -1, 1) / 2 + np.clip(given, -1, 1).T / 2, -1.0, 1.0)
    np.fill_diagonal(target, 1.0)
    return target


def is_definite(matrix: Floats, floor: float) -> bool:
    """Return whether all eigenvalues are above the floor, by trying a Cholesky factorization."""
    shifted = matrix.copy()
    np.fill_diagonal(shifted, matrix.diagonal() - floor)
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def alternating_projections(
    matrix: Floats, goal: Floats, tolerance: float = 1e-9, steps: int = _MOST_PROJECTIONS
) -> Floats:
    """Return Higham's method: project on positive semidefinite matrices (with Dykstra's correction), then set the
    diagonal."""
    found, correction = matrix, np.zeros_like(matrix)
    for _ in range(steps):
        shifted = found - correction
        values, vectors = _eigen(shifted)
        projected = (vectors * np.maximum(values, 0.0)) @ vectors.T
        correction = projected - shifted
        last, found = found, projected.copy()
        np.fill_diagonal(found, goal)
        if np.linalg.norm(found - last) <= tolerance * np.linalg.norm(found):
            break
    return found


def _nearest(target: Floats, goal: Floats, tolerance: float) -> Floats:
    scale = np.sqrt(goal)
    scaled = target * scale[:, None] * scale
    try:
        found = _newton(scaled, goal, tolerance)
    except np.linalg.LinAlgError:
        found = None
    found = alternating_projections(scaled, goal) if found is None else found
    return found / scale[:, None] / scale


def _lift(matrix: Floats, floor: float) -> Floats:
    """Return eigenvalues of at least `floor` and a unit diagonal."""
    values, vectors = _eigen(matrix)
    lifted = (vectors * np.maximum(values, 2 * floor)) @ vectors.T
    scale = 1.0 / np.sqrt(np.maximum(lifted.diagonal(), floor))
    lifted *= scale[:, None]
    lifted *= scale
    lifted = np.clip((lifted + lifted.T) / 2, -1.0, 1.0)
    np.fill_diagonal(lifted, 1.0)
    return lifted


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Point:
    """The dual problem at y: eigenvalues and eigenvectors of G + Diag(y), the objective and its gradient."""

    goal: Floats
    values: Floats
    vectors: Floats
    objective: float
    gradient: Floats


def _newton(target: Floats, goal: Floats, tolerance: float) -> Floats | None:
    """Minimize 1/2 |(G + Diag(y))_+|^2 - b'y, whose gradient is diag((G + Diag(y))_+) - b; None if it stalls."""
    y = goal - target.diagonal()
    point = _dual(target, goal, y)
    for _ in range(_MOST_NEWTON):
        error = float(np.linalg.norm(point.gradient))
        if error <= tolerance * float(np.linalg.norm(goal)):
            return _semidefinite(point)
        direction = _direction(point, min(0.1, error))
        slope = float(point.gradient @ direction)
        if not slope < 0:
            direction, slope = -point.gradient, -(error**2)
        step, better = 1.0, None
        for _ in range(20):
            trial = _dual(target, goal, y + step * direction)
            if trial.objective <= point.objective + 1e-4 * step * slope + 1e-12 * abs(point.objective):
                better = trial
                break
            step /= 2
        if better is None:
            return None
        y, point = y + step * direction, better
    return None


def _dual(target: Floats, goal: Floats, y: Floats) -> _Point:
    shifted = target.copy()
    np.fill_diagonal(shifted, target.diagonal() + y)
    values, vectors = _eigen(shifted)
    positive = np.maximum(values, 0.0)
    return _Point(
        goal=goal,
        values=values,
        vectors=vectors,
        objective=float(positive @ positive) / 2 - float(goal @ y),
        gradient=(vectors * vectors) @ positive - goal,
    )


def _semidefinite(point: _Point) -> Floats:
    found = (point.vectors * np.maximum(point.values, 0.0)) @ point.vectors.T
    scale = np.sqrt(point.goal / np.maximum(found.diagonal(), 1e-12 * point.goal))
    return found * scale[:, None] * scale


def _direction(point: _Point, accuracy: float) -> Floats:
    """Newton direction -V^-1 gradient by conjugate gradients, V a generalized Hessian, diagonally preconditioned."""
    precondition = np.maximum(_compute_hessian_diagonal(point), 1e-8)
    d = np.zeros_like(point.gradient)
    residual = -point.gradient
    z = residual / precondition
    p, old = z.copy(), float(residual @ z)
    enough = accuracy * float(np.linalg.norm(residual))
    for _ in range(_MOST_CG):
        applied = _hessian(point, p) + 1e-10 * p
        curvature = float(p @ applied)
        if curvature <= 0:
            break
        alpha = old / curvature
        d += alpha * p
        residual = residual - alpha * applied
        if float(np.linalg.norm(residual)) <= enough:
            break
        z = residual / precondition
        new = float(residual @ z)
        p, old = z + new / old * p, new
    return d


def _split(point: _Point) -> tuple[Floats, Floats, Floats]:
    """Return eigenvectors of positive and other eigenvalues, and the divided differences l_i / (l_i - l_j) between
    them."""
    positive = point.values > 0
    above, below = point.values[positive], point.values[~positive]
    return point.vectors[:, positive], point.vectors[:, ~positive], above[:, None] / (above[:, None] - below)


def _hessian(point: _Point, h: Floats) -> Floats:
    """Return diag(P (W * (P' Diag(h) P)) P'), W = 1 on positive pairs, 0 on other pairs, divided differences between.

    The larger block of the two is avoided: W for the positives equals 1 - W for the others.
    """
    inside, outside, ratio = _split(point)
    if inside.shape[1] <= outside.shape[1]:
        core = inside.T * h
        cross = ratio * (core @ outside)
        return ((inside @ (core @ inside)) * inside).sum(axis=1) + 2 * ((inside @ cross) * outside).sum(axis=1)
    core = outside.T * h
    cross = (1 - ratio.T) * (core @ inside)
    lost = ((outside @ (core @ outside)) * outside).sum(axis=1) + 2 * ((outside @ cross) * inside).sum(axis=1)
    return h - lost


def _compute_hessian_diagonal(point: _Point) -> Floats:
    inside, outside, ratio = _split(point)
    inside, outside = inside**2, outside**2
    return inside.sum(axis=1) ** 2 + 2 * ((inside @ ratio) * outside).sum(axis=1)


def _eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues and eigenvectors; a matrix that the solver gives up on is shaken a little."""
    symmetric = (matrix + matrix.T) / 2
    for shake in (0.0, 1e-12, 1e-9, 1e-6):
        with suppress(np.linalg.LinAlgError):
            values, vectors = np.linalg.eigh(symmetric + shake * np.diag(np.arange(len(symmetric), dtype=np.float64)))
            return values, vectors
    raise np.linalg.LinAlgError("no eigenvalues")
