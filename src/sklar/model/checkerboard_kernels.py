"""Compiled h-functions of the checkerboard copula; imported when first evaluated, because numba is slow to load."""

from __future__ import annotations

import numpy as np
from numba import njit

from sklar.model.scale import TINY


@njit(cache=True)
def _place(edges: np.ndarray, x: float) -> int:
    """Position i with edges[i] <= x < edges[i + 1], kept inside the grid."""
    low, high = 0, edges.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if edges[middle] <= x:
            low = middle
        else:
            high = middle
    return low


@njit(cache=True)
def forward(edges: np.ndarray, given: np.ndarray, cdf: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """CDF at u given v; `cdf` holds, for each cell of v (row), the CDF at the edges of u."""
    result = np.empty(u.shape[0])
    for k in range(u.shape[0]):
        i, j = _place(edges, u[k]), _place(given, v[k])
        part = (u[k] - edges[i]) / (edges[i + 1] - edges[i])
        value = cdf[j, i] + part * (cdf[j, i + 1] - cdf[j, i])
        result[k] = min(max(value, TINY), 1.0 - TINY)
    return result


@njit(cache=True)
def inverse(edges: np.ndarray, given: np.ndarray, cdf: np.ndarray, p: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The u with forward(u, v) = p."""
    result = np.empty(p.shape[0])
    for k in range(p.shape[0]):
        row = cdf[_place(given, v[k])]
        i = _place(row, p[k])
        rise = row[i + 1] - row[i]
        part = min(max((p[k] - row[i]) / rise, 0.0), 1.0) if rise > 1e-15 else 0.5
        value = edges[i] + part * (edges[i + 1] - edges[i])
        result[k] = min(max(value, TINY), 1.0 - TINY)
    return result
