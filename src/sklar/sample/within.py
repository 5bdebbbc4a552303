"""Numbers drawn inside the cells of a public grid: uniform, exact at atoms, inside a narrower range if asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sklar.schema.grid import Grid
from sklar.schema.numbers import Real

Cells = npt.NDArray[np.integer]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

EXACT = 2.0**53
"""From here on float64 has no digits after the point left to round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Only the values from `low` to `high`, both included."""

    low: int | float
    high: int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Only these values, ascending."""

    values: tuple[int, ...] | tuple[float, ...]


Restriction = Window | Points


def covered(grid: Grid, limit: Restriction) -> Floats:
    """How much of each cell a range or list of points covers, in the units of `grid.widths`."""
    if isinstance(limit, Points):
        values = np.array(limit.values, dtype=grid.starts.dtype)
        first = np.searchsorted(values, grid.starts, side="left")
        one = 1.0 if grid.integer else np.spacing(np.abs(grid.starts))  # a point is one unit wide, as an atom is
        return np.diff(first, append=len(values)) * one
    inside = np.array([limit.low, limit.high], dtype=grid.starts.dtype)
    whole, (low, high) = grid.widths, grid.code(inside)
    part = np.where((np.arange(grid.cells) > low) & (np.arange(grid.cells) < high), whole, 0.0)
    if low == high:
        part[low] = _length(inside[0], limit.high, grid.integer)
        return part
    part[low] = _length(inside[0], grid.starts[low + 1].item(), grid.integer) - grid.integer
    part[high] = _length(grid.starts[high].item(), limit.high, grid.integer)
    return part


def _length(first: int | float, last: int | float, integer: bool) -> float:
    """Number of integers from first to last, or length of the interval (one unit in the last place at least)."""
    return (
        float(int(last) - int(first) + 1) if integer else max(float(last) - float(first), float(np.spacing(abs(first))))
    )


def draw_integers(grid: Grid, cells: Cells, window: Window | None, rng: np.random.Generator) -> Integers:
    """Integers uniform on those of each row's cell; exact over all of 64 bits."""
    first = grid.starts
    last = np.append(first[1:], np.int64(grid.stop)) - 1
    if window is not None:
        first, last = np.maximum(first, np.int64(window.low)), np.minimum(last, np.int64(window.high))
    # Unsigned arithmetic wraps round, so a cell may span more than 2^63 integers.
    span = last.astype(np.uint64) - first.astype(np.uint64)
    if not span.any():
        return first[cells]
    offset = rng.integers(0, span[cells], endpoint=True, dtype=np.uint64)
    return (first.astype(np.uint64)[cells] + offset).astype(np.int64)


def draw_points(grid: Grid, cells: Cells, points: Points, rng: np.random.Generator) -> npt.NDArray[np.generic]:
    """Each row's value is one of the listed points in its cell, all equally likely."""
    values = np.array(points.values, dtype=grid.starts.dtype)
    first = np.searchsorted(values, grid.starts, side="left")
    stop = np.append(first[1:], len(values))
    pick = first[cells] + (rng.random(len(cells)) * (stop - first)[cells]).astype(np.int64)
    return values[np.minimum(pick, len(values) - 1)]


def draw_reals(column: Real, cells: Cells, window: Window | None, rng: np.random.Generator) -> Floats:
    """Reals uniform inside each row's cell, on the column's decimals if it has any.

    With decimals, all multiples of 10^-decimals in the cell are equally likely; a cell without any gives the nearest
    one inside the bounds. Declared atoms come out exactly as declared.
    """
    low, high = (column.lower, column.upper) if window is None else (float(window.low), float(window.high))
    first = np.maximum(column.grid.starts, low)
    stop = np.minimum(np.append(column.grid.starts[1:], column.grid.stop), np.nextafter(high, np.inf))
    u = rng.random(len(cells))
    drawn = (stop - first).take(cells)
    drawn *= u
    drawn += first.take(cells)  # never below it, as u is not negative
    np.minimum(drawn, np.nextafter(stop, -np.inf).take(cells), out=drawn)
    if column.decimals is None:
        return drawn
    rounded = _on_decimals(drawn, u, cells, first, stop, column.decimals)
    rounded = _into_bounds(rounded, low, high, column.decimals)
    declared = np.isin(column.grid.starts, column.atoms)[cells]
    keep = declared | (np.abs(drawn) * 10.0**column.decimals >= EXACT)
    return np.where(keep, drawn, rounded)


def decimal_span(low: float, high: float, decimals: int) -> tuple[float, float]:
    """First and last multiple of 10^-decimals in [low, high], in units of it; first > last if there is none."""
    ends = np.array([np.nextafter(high, np.inf)])
    first, count = _multiples(np.array([low]), ends, decimals)
    return float(first[0]), float(first[0] + count[0] - 1)


def _on_decimals(drawn: Floats, u: Floats, cells: Cells, first: Floats, stop: Floats, decimals: int) -> Floats:
    start, count = _multiples(first, stop, decimals)
    steps = np.minimum(np.floor(u * count[cells]), count[cells] - 1)
    on_grid = (start[cells] + steps) / 10.0**decimals
    return np.where(count[cells] > 0, on_grid, np.round(drawn, decimals)) + 0.0  # + 0.0 turns -0.0 into 0.0


def _multiples(first: Floats, stop: Floats, decimals: int) -> tuple[Floats, Floats]:
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


def _into_bounds(values: Floats, low: float, high: float, decimals: int) -> Floats:
    first, last = decimal_span(low, high, decimals)
    if not first <= last:
        return np.clip(values, low, high)
    return np.clip(values, first / 10.0**decimals, last / 10.0**decimals)
