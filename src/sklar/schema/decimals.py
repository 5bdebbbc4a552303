"""Numbers with so many digits after the point, and the cells of a grid that hold them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sklar.schema.grid import Grid

Floats = npt.NDArray[np.float64]


def multiples(first: Floats, stop: Floats, decimals: int) -> tuple[Floats, Floats]:
    """First multiple of 10^-decimals in each [first, stop), in units of it, and how many there are.

    The product with 10^decimals is rounded, so both ends are checked against the value that k / 10^decimals gives.
    """
    scale = 10.0**decimals
    with np.errstate(over="ignore", invalid="ignore"):
        start, end = np.ceil(first * scale), np.ceil(stop * scale)
        start = np.where((start - 1) / scale >= first, start - 1, start)
        start = np.where(start / scale < first, start + 1, start)
        end = np.where((end - 1) / scale >= stop, end - 1, end)
        end = np.where(end / scale < stop, end + 1, end)
        return start, np.nan_to_num(np.maximum(end - start, 0))


def decimal_span(low: float, high: float, decimals: int) -> tuple[float, float]:
    """First and last multiple of 10^-decimals in [low, high], in units of it; first > last if there is none."""
    first, count = multiples(np.array([low]), np.array([np.nextafter(high, np.inf)]), decimals)
    return float(first[0]), float(first[0] + count[0] - 1)


def into_span(values: Floats, low: float, high: float, decimals: int) -> Floats:
    """Values moved to the nearest multiple of 10^-decimals inside [low, high], or into it if it holds none."""
    first, last = decimal_span(low, high, decimals)
    if not first <= last:
        return np.clip(values, low, high)
    return np.clip(values, first / 10.0**decimals, last / 10.0**decimals)


def held(grid: Grid, decimals: int) -> npt.NDArray[np.bool_]:
    """Which cells hold a multiple of 10^-decimals."""
    return multiples(grid.starts, np.append(grid.starts[1:], grid.stop), decimals)[1] > 0


def nearest(first: Floats, stop: Floats, decimals: int) -> Floats:
    """The number of so many decimals that a cell [first, stop) without any stands for: the nearest to its middle."""
    return np.round(first + (stop - first) / 2.0, decimals)
