"""Compiled loops of controlled rounding; imported only when rows are rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

TRIES = 6
SOFT = 4.0
"""Added to targets where errors are divided by them: the smallest cells, mostly of three columns, do not rule."""


@njit(cache=True, fastmath=True)
def weighted_counts(cells: np.ndarray, offsets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weight in every cell of every table."""
    counts = np.zeros(offsets[-1])
    for i in range(cells.shape[0]):
        for k in range(cells.shape[1]):
            counts[offsets[k] + cells[i, k]] += weights[i]
    return counts


@njit(cache=True, fastmath=True)
def _change(cells: np.ndarray, offsets: np.ndarray, slope: np.ndarray, weight: np.ndarray, old: Any, new: Any) -> Any:
    """Change of sum weight (count - target)^2 when row `old` becomes `new`; slope = 2 weight (count - target)."""
    change = 0.0
    for k in range(cells.shape[1]):
        a, b = offsets[k] + cells[old, k], offsets[k] + cells[new, k]
        if a != b:
            change += weight[a] + weight[b] + slope[b] - slope[a]
    return change


@njit(cache=True, fastmath=True)
def _move(cells: np.ndarray, offsets: np.ndarray, slope: np.ndarray, weight: np.ndarray, row: Any, by: float) -> None:
    for k in range(cells.shape[1]):
        a = offsets[k] + cells[row, k]
        slope[a] += 2.0 * weight[a] * by


@njit(cache=True)
def swap_rows(
    cells: np.ndarray, offsets: np.ndarray, chosen: np.ndarray, proposed: np.ndarray, target: np.ndarray
) -> None:
    """Replace rows, in place, by the best of a few proposals when that lowers the weighted squared error."""
    weight = 1.0 / (target + SOFT)
    slope = -2.0 * weight * target
    for i in range(chosen.shape[0]):
        _move(cells, offsets, slope, weight, chosen[i], 1.0)
    for visit in range(proposed.shape[0] // TRIES):
        i = visit % chosen.shape[0]
        best, choice = 0.0, -1
        for j in range(visit * TRIES, (visit + 1) * TRIES):
            change = _change(cells, offsets, slope, weight, chosen[i], proposed[j])
            if change < best:
                best, choice = change, proposed[j]
        if choice >= 0:
            _move(cells, offsets, slope, weight, chosen[i], -1.0)
            _move(cells, offsets, slope, weight, choice, 1.0)
            chosen[i] = choice
