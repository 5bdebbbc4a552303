"""Simple repairs of one noisy table: the nearest non-negative table of a given total, and clipping."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def clip_and_normalize(noisy: ArrayLike) -> Floats:
    """Negative counts become 0, the rest is scaled to sum to one; uniform when nothing is left."""
    counts = np.maximum(np.asarray(noisy, dtype=np.float64), 0.0)
    total = counts.sum()
    return counts / total if total > 0 else np.full(counts.shape, 1.0 / counts.size)


def project_to_simplex(noisy: ArrayLike, total: float) -> Floats:
    """Probabilities nearest (in L2) to noisy counts / total.

    The projection of y on {x >= 0, sum x = total} is max(y - t, 0), with the threshold t found by sorting
    (Held, Wolfe and Crowder, 1974).

    Args:
        noisy: Noisy counts of any shape.
        total: The (estimated) number of rows; values below a tiny positive number count as that number.
    """
    counts = np.asarray(noisy, dtype=np.float64)
    total = max(float(total), 1e-9)
    falling = np.sort(counts, axis=None)[::-1]
    excess = np.cumsum(falling) - total
    ranks = np.arange(1, falling.size + 1)
    kept = int(np.flatnonzero(falling - excess / ranks > 0)[-1]) if falling.size else 0
    return clip_and_normalize(counts - excess[kept] / (kept + 1))
