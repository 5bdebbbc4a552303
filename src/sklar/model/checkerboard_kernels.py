"""Compiled h-functions of the checkerboard copula; imported when first evaluated, because numba is slow to load."""

from __future__ import annotations

import numpy as np
from numba import njit

from sklar.model.lookup_kernels import place
from sklar.model.scale import TINY


@njit(cache=True)
def forward(
    edges: np.ndarray,
    edges_guide: np.ndarray,
    given: np.ndarray,
    given_guide: np.ndarray,
    cdf: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
) -> np.ndarray:
    """CDF at u given v; `cdf` holds, for each cell of v (row), the CDF at the edges of u."""
    result = np.empty(u.shape[0])
    for k in range(u.shape[0]):
        i, j = place(edges, edges_guide, u[k]), place(given, given_guide, v[k])
        part = (u[k] - edges[i]) / (edges[i + 1] - edges[i])
        value = cdf[j, i] + part * (cdf[j, i + 1] - cdf[j, i])
        result[k] = min(max(value, TINY), 1.0 - TINY)
    return result


@njit(cache=True)
def inverse(
    edges: np.ndarray,
    given: np.ndarray,
    given_guide: np.ndarray,
    cdf: np.ndarray,
    cdf_guide: np.ndarray,
    p: np.ndarray,
    v: np.ndarray,
) -> np.ndarray:
    """The u with forward(u, v) = p."""
    result = np.empty(p.shape[0])
    for k in range(p.shape[0]):
        j = place(given, given_guide, v[k])
        i = place(cdf[j], cdf_guide[j], p[k])
        rise = cdf[j, i + 1] - cdf[j, i]
        part = min(max((p[k] - cdf[j, i]) / rise, 0.0), 1.0) if rise > 1e-15 else 0.5
        value = edges[i] + part * (edges[i + 1] - edges[i])
        result[k] = min(max(value, TINY), 1.0 - TINY)
    return result
