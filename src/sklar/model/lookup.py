"""Finding the interval of many numbers at once: an index on equal steps leads next to the answer in constant time."""

from __future__ import annotations

import numpy as np

FEW = 4_096
"""Below this many numbers building an index does not pay."""
STEPS_PER_EDGE = 4


def interval_of(edges: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Index i of the interval [edges[i], edges[i + 1]) of [0, 1] that holds each u; the last one is closed."""
    if u.ndim != 1 or len(u) < max(FEW, len(edges)):
        return np.clip(np.searchsorted(edges, u, side="right") - 1, 0, len(edges) - 2)
    from sklar.model.lookup_kernels import places

    return places(np.ascontiguousarray(edges, dtype=float), guide(edges), np.ascontiguousarray(u, dtype=float))


def guide(edges: np.ndarray) -> np.ndarray:
    """For each of 2^k equal steps of [0, 1], the interval of `edges` that its left end lies in.

    A number u is then found by going right from ``guide[floor(2^k u)]``, on average by less than one interval. A power
    of two makes the product exact, so the start is never to the right of the answer.
    """
    return guides(edges[None, :])[0]


def guides(rows: np.ndarray) -> np.ndarray:
    """Guides of several rows of edges of equal length, one a row."""
    count, length = rows.shape
    steps = 1 << int(np.ceil(np.log2(STEPS_PER_EDGE * length)))
    first = np.clip(np.ceil(rows * steps), 0, steps).astype(np.int64)  # the first step that begins at or after an edge
    flat = (first + (steps + 1) * np.arange(count)[:, None]).ravel()
    passed = np.bincount(flat, minlength=count * (steps + 1)).reshape(count, steps + 1)[:, :steps]
    return np.clip(np.cumsum(passed, axis=1) - 1, 0, length - 2).astype(np.int32)
