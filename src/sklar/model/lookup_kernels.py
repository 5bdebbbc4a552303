"""Compiled search with an index; imported when first used, because numba is slow to load."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, inline="always")
def place(edges: np.ndarray, guide: np.ndarray, u: float) -> int:
    """The last i with edges[i] <= u, kept inside the grid."""
    step = min(max(int(u * guide.shape[0]), 0), guide.shape[0] - 1)
    i = guide[step]
    while i < edges.shape[0] - 2 and edges[i + 1] <= u:
        i += 1
    return i


@njit(cache=True)
def places(edges: np.ndarray, guide: np.ndarray, u: np.ndarray) -> np.ndarray:
    """`place` of every number."""
    result = np.empty(u.shape[0], dtype=np.int64)
    for k in range(u.shape[0]):
        result[k] = place(edges, guide, u[k])
    return result
