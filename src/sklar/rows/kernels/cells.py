"""Finding the grid cell of a number: a table of buckets narrows the search, exact comparisons decide."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sklar.arrays import compiled, compiled_part

MAX_BUCKETS = 1 << 16
"""More buckets hold fewer cell starts each, but no longer stay in the cache."""


class Finder(NamedTuple):
    """A sorted array of cell starts, prepared for fast search, as the kernels take it.

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


def make_finder(starts: npt.NDArray[Any]) -> Finder:
    """Prepare cell starts for `cell_of`."""
    low, high = float(starts[0]), float(starts[-1])
    buckets = min(4 * len(starts), MAX_BUCKETS)
    inverse = buckets / (high - low) if high > low and np.isfinite(buckets / (high - low)) else 0.0
    edges = np.linspace(low, high, buckets + 1)
    first = np.clip(np.searchsorted(starts.astype(np.float64), edges, side="right") - 1, 0, max(len(starts) - 3, 0))
    return Finder(starts=np.ascontiguousarray(starts), first=first.astype(np.int32), low=low, inverse=inverse)


@compiled_part(inline="always", error_model="numpy")
def cell_of(x, starts, first, low, inverse):
    """Return the cell of one number that is not NaN; numbers outside the range are in the first or last cell."""
    last, one = np.uintp(len(starts) - 1), np.uintp(1)
    if last < 2:
        return _binary_search(x, starts)
    x = min(max(x, starts[0]), starts[last])
    place = min(max((np.float64(x) - low) * inverse, 0.0), np.float64(len(first) - 1))
    # Most buckets hold two cell starts at most: two comparisons, without a branch to guess, then find the cell. The
    # hints end three cells before the last, so that neither comparison leaves the array.
    cell = np.uintp(first[np.uintp(np.int64(place))])
    cell += np.uintp(starts[cell + one] <= x)
    cell += np.uintp(starts[cell + one] <= x)
    if starts[cell] > x or (cell < last and starts[cell + one] <= x):
        return _binary_search(x, starts)
    return np.int64(cell)


@compiled_part(inline="never", error_model="numpy")
def _binary_search(x, starts):
    """Find the cell by binary search; a separate function keeps the loop around the fast path small."""
    left, right = 0, len(starts)
    while right - left > 1:
        middle = (left + right) >> 1
        if starts[np.uintp(middle)] <= x:
            left = middle
        else:
            right = middle
    return np.int64(left)


@compiled(error_model="numpy")
def number_cells(values, valid, starts, first, low, inverse, missing, out):
    """Return the cell of each number; NaN and invalid entries become `missing`."""
    for i in range(len(values)):
        x = values[i]
        if not valid[i] or x != x:
            out[i] = missing
        else:
            out[i] = cell_of(x, starts, first, low, inverse)


@compiled(error_model="numpy")
def unit_cells(values, valid, lower, upper, missing, out):
    """Find the cell of each integer where every integer from `lower` to `upper` is a cell."""
    for i in range(len(values)):
        x = min(max(values[i], lower), upper)
        out[i] = x - lower if valid[i] else missing


@compiled(error_model="numpy")
def floor_quotients(values, divisor, out):
    """Return values // divisor, rounded down, by a product with the inverse and exact corrections: division is slow."""
    inverse = 1.0 / np.float64(divisor)
    for i in range(len(values)):
        x = values[i]
        quotient = np.int64(np.floor(np.float64(x) * inverse))
        rest = x - quotient * divisor
        if rest < 0 or rest >= divisor:  # beyond 2^52 the product may be off by more than rounding
            quotient = x // divisor
        out[i] = quotient
