"""Compiled loops over rows: counting pairs into cells and reading h-functions off a table."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def count_cells(first: np.ndarray, second: np.ndarray, lookup: np.ndarray, cells: int) -> np.ndarray:
    """Rows in each cell; `lookup` gives the cell of each of many equal steps of [0, 1]."""
    steps = lookup.shape[0]
    counts = np.zeros((cells, cells))
    for k in range(first.shape[0]):
        i = lookup[min(int(first[k] * steps), steps - 1)]
        j = lookup[min(int(second[k] * steps), steps - 1)]
        counts[i, j] += 1.0
    return counts


@njit(cache=True, nogil=True)
def read_table(table: np.ndarray, low: float, step: float, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Bilinear interpolation of a square table at pairs of normal scores, held at the ends."""
    last = table.shape[0] - 1
    result = np.empty(first.shape[0])
    for k in range(first.shape[0]):
        x = min(max((first[k] - low) / step, 0.0), last - 1e-9)
        y = min(max((second[k] - low) / step, 0.0), last - 1e-9)
        i, j = int(x), int(y)
        a, b = x - i, y - j
        result[k] = (1 - a) * ((1 - b) * table[i, j] + b * table[i, j + 1]) + a * (
            (1 - b) * table[i + 1, j] + b * table[i + 1, j + 1]
        )
    return result
