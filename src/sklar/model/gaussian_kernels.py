"""Compiled loops over normal scores; imported only when scores are decoded, because numba is slow to load."""

from __future__ import annotations

import numpy as np
from numba import njit

TILE = 1024
"""Rows at a time: what is known of them stays in the cache while the groups pass by."""


@njit(cache=True, nogil=True)
def pick(scores: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    """The group (line) with the largest sum of score and offset, for every row (column)."""
    groups, rows = scores.shape
    best = np.empty(TILE, np.float32)
    for start in range(0, rows, TILE):
        height = min(TILE, rows - start)
        best[:height] = scores[0, start : start + height] + offsets[0]
        out[start : start + height] = 0
        for group in range(1, groups):
            line, offset = scores[group, start : start + height], offsets[group]
            for i in range(height):
                value = line[i] + offset
                larger = value > best[i]
                best[i] = value if larger else best[i]
                out[start + i] = group if larger else out[start + i]


@njit(cache=True, nogil=True)
def lead(scores: np.ndarray, offsets: np.ndarray, first: np.ndarray, second: np.ndarray, gap: np.ndarray) -> None:
    """The same with the group behind it, and by how much it is behind; at least two groups."""
    groups, rows = scores.shape
    best, next_best = np.empty(TILE, np.float32), np.empty(TILE, np.float32)
    for start in range(0, rows, TILE):
        height = min(TILE, rows - start)
        best[:height] = scores[0, start : start + height] + offsets[0]
        next_best[:height] = -np.inf
        first[start : start + height] = 0
        second[start : start + height] = 0
        for group in range(1, groups):
            line, offset = scores[group, start : start + height], offsets[group]
            for i in range(height):
                value = line[i] + offset
                if value > best[i]:
                    second[start + i], next_best[i] = first[start + i], best[i]
                    first[start + i], best[i] = group, value
                elif value > next_best[i]:
                    second[start + i], next_best[i] = group, value
        for i in range(height):
            gap[start + i] = best[i] - next_best[i]
