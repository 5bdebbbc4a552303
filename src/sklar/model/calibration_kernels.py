"""Compiled loops of the calibration; imported only when weights are computed, because numba is slow to load."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, fastmath=True)
def tilt(cells: np.ndarray, offsets: np.ndarray, dual: np.ndarray) -> np.ndarray:
    """Sum over tables of the dual value of each particle's cell."""
    tables, particles = cells.shape
    total = np.zeros(particles)
    for k in range(tables):
        start = offsets[k]
        for i in range(particles):
            total[i] += dual[start + cells[k, i]]
    return total


BLOCK = 2_048
"""Particles whose codes stay in the cache while all tables are visited."""


@njit(cache=True)
def all_cells(codes: np.ndarray, parts: np.ndarray, strides: np.ndarray) -> np.ndarray:
    """Flat cell of each particle (column) in each table (row), from its group under each partition (row of codes)."""
    particles = codes.shape[1]
    cells = np.empty((parts.shape[0], particles), dtype=np.uint16)
    for start in range(0, particles, BLOCK):
        stop = min(start + BLOCK, particles)
        for k in range(parts.shape[0]):
            for i in range(start, stop):
                cell = np.int64(0)
                for axis in range(parts.shape[1]):
                    cell += strides[k, axis] * np.int64(codes[parts[k, axis], i])
                cells[k, i] = cell
    return cells


@njit(cache=True, fastmath=True)
def tilt_codes(
    codes: np.ndarray, parts: np.ndarray, strides: np.ndarray, offsets: np.ndarray, dual: np.ndarray
) -> np.ndarray:
    """`tilt` without holding the cells of all tables."""
    particles = codes.shape[1]
    total = np.zeros(particles)
    for start in range(0, particles, BLOCK):
        stop = min(start + BLOCK, particles)
        for k in range(parts.shape[0]):
            first = offsets[k]
            if parts.shape[1] == 2:
                a, b, s, t = parts[k, 0], parts[k, 1], strides[k, 0], strides[k, 1]
                for i in range(start, stop):
                    total[i] += dual[first + s * np.int64(codes[a, i]) + t * np.int64(codes[b, i])]
                continue
            for i in range(start, stop):
                cell = first
                for axis in range(parts.shape[1]):
                    cell += strides[k, axis] * np.int64(codes[parts[k, axis], i])
                total[i] += dual[cell]
    return total


@njit(cache=True, error_model="numpy")
def solve_cell(mass: float, observed: float, variance: float, dual: float) -> float:
    """The d with mass e^d + variance (dual + d) = observed.

    The left side is convex and increasing in d, so Newton's method from the right of the root never overshoots. Two
    upper bounds of the root: that of the linear part alone, and, where d >= 0, log((observed - variance dual) / mass).
    """
    bound = observed / variance - dual
    if mass <= 1e-25:  # no particle carries the cell, so there is nothing to learn: at most go back to no tilt
        return min(max(min(bound, -dual), 0.0), 30.0)
    rest = observed - variance * dual
    d = bound
    if rest > 0:
        other = np.log(rest / mass)
        if other >= 0 and other < d:
            d = other
        elif other < 0 and d > 0:
            d = 0.0
    elif d > 0:
        d = 0.0
    for _ in range(200):
        grown = mass * np.exp(d)
        step = (grown + variance * (dual + d) - observed) / (grown + variance)
        d -= step
        if abs(step) < 1e-9:
            break
    return min(max(d, -50.0), 60.0)


@njit(cache=True, fastmath=True)
def _scale_and_count(
    cell: np.ndarray, factor: np.ndarray, following: np.ndarray, weights: np.ndarray, mass: np.ndarray
) -> None:
    """Multiply weights by the factor of their cell, and count them in the following table, in one pass."""
    mass[:] = 0.0
    for i in range(weights.shape[0]):
        weight = weights[i] * factor[cell[i]]
        weights[i] = weight
        mass[following[i]] += weight


@njit(cache=True, error_model="numpy")
def _solve_table(
    mass: np.ndarray, observed: np.ndarray, variance: np.ndarray, dual: np.ndarray, factor: np.ndarray
) -> float:
    """Solve every cell of one table; returns the mass moved."""
    moved = 0.0
    for j in range(mass.shape[0]):
        d = solve_cell(mass[j], observed[j], variance[j], dual[j])
        dual[j] += d
        factor[j] = np.exp(d)
        moved += mass[j] * abs(factor[j] - 1.0)
    return moved


@njit(cache=True, error_model="numpy")
def soft_fit(
    cells: np.ndarray,
    offsets: np.ndarray,
    observed: np.ndarray,
    variance: np.ndarray,
    dual: np.ndarray,
    weights: np.ndarray,
    sweeps: int,
    tolerance: float,
) -> int:
    """Cyclic exact minimization of the dual; changes `dual` and `weights` in place, returns the number of sweeps."""
    tables = cells.shape[0]
    mass = np.zeros(offsets[1])
    for i in range(weights.shape[0]):
        mass[cells[0, i]] += weights[i]
    for sweep in range(sweeps):
        moved = 0.0
        for k in range(tables):
            start, stop = offsets[k], offsets[k + 1]
            total = mass.sum()
            mass /= total
            factor = np.empty(stop - start)
            moved += _solve_table(mass, observed[start:stop], variance[start:stop], dual[start:stop], factor)
            factor /= total
            following = (k + 1) % tables
            mass = np.zeros(offsets[following + 1] - offsets[following])
            _scale_and_count(cells[k], factor, cells[following], weights, mass)
        if moved / tables < tolerance:
            return sweep + 1
    return sweeps
