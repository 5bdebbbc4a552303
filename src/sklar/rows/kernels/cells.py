"""Finding the grid cell of a number: a table of buckets narrows the search, exact comparisons decide."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

MAX_BUCKETS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Finder:
    """A sorted array of cell starts, prepared for fast search.

    Attributes:
        starts: First value of each cell, ascending.
        first: Cell at the left edge of each of equally wide buckets over the range (a hint, always verified).
        low: Left edge of the first bucket.
        inverse: Buckets per unit of value.
    """

    starts: npt.NDArray[Any]
    first: npt.NDArray[np.int32]
    low: float
    inverse: float


def finder(starts: npt.NDArray[Any]) -> Finder:
    """Prepare cell starts for `cells_of`."""
    low, high = float(starts[0]), float(starts[-1])
    buckets = min(4 * len(starts), MAX_BUCKETS)
    inverse = buckets / (high - low) if high > low and np.isfinite(buckets / (high - low)) else 0.0
    edges = np.linspace(low, high, buckets + 1)
    first = np.clip(np.searchsorted(starts.astype(np.float64), edges, side="right") - 1, 0, max(len(starts) - 3, 0))
    return Finder(starts=np.ascontiguousarray(starts), first=first.astype(np.int32), low=low, inverse=inverse)


@njit(nogil=True, cache=True, error_model="numpy")
def cell_of(x, starts, first, low, inverse):
    """Cell of one number that is not NaN; numbers outside the range belong to the first or last cell."""
    last = len(starts) - 1
    if x <= starts[0]:
        return 0
    if x >= starts[last]:
        return last
    bucket = min(max(int((float(x) - low) * inverse), 0), len(first) - 1)
    # Most buckets hold one cell start at most: one comparison, without a branch to guess, then finds the cell.
    cell = np.uintp(first[np.uintp(bucket)])
    cell += np.uintp(starts[cell + np.uintp(1)] <= x)
    if starts[cell] <= x and x < starts[cell + np.uintp(1)]:
        return np.int64(cell)
    left, right = 0, last
    while right - left > 1:
        middle = (left + right) >> 1
        if starts[np.uintp(middle)] <= x:
            left = middle
        else:
            right = middle
    return left


@njit(nogil=True, cache=True, error_model="numpy")
def number_cells(values, valid, starts, first, low, inverse, missing, out):
    """Cell of each number; NaN and invalid entries become `missing`."""
    for i in range(len(values)):
        x = values[i]
        if not valid[i] or x != x:
            out[i] = missing
        else:
            out[i] = cell_of(x, starts, first, low, inverse)


@njit(nogil=True, cache=True, error_model="numpy")
def unit_cells(values, valid, lower, upper, missing, out):
    """The same for integers where every integer from `lower` to `upper` is a cell."""
    for i in range(len(values)):
        x = min(max(values[i], lower), upper)
        out[i] = x - lower if valid[i] else missing
