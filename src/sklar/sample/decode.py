"""Decode base codes into values: labels, numbers drawn inside their cells, booleans, and nulls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints, Mask
from sklar.sample.rng import generator
from sklar.schema.columns import Column, Id, Ignore, Labels
from sklar.schema.grid import (
    Grid,
    Unit,
    clip_to_multiples,
    find_multiples,
    find_nearest_multiple,
    get_ratio,
    weigh_multiples,
)
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.table import Schema

Cells = npt.NDArray[np.integer]

MAX_EXACT_FLOAT = 2.0**53
"""From here on float64 has no digits after the point."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Values:
    """The values of one column.

    Attributes:
        data: int64 (integers, integer labels, keys, ticks of datetimes), float64, bool, or int32 positions in `labels`.
        null: True where the value is missing; `data` is 0 there.
        labels: For columns of text, the labels that `data` indexes.
    """

    data: npt.NDArray[Any]
    null: Mask
    labels: tuple[str, ...] | None = None


SampledTable = Mapping[str, Values]


def row_count(table: SampledTable) -> int:
    """Return the number of rows."""
    return len(next(iter(table.values())).data)


def take(table: SampledTable, rows: Ints) -> SampledTable:
    """Return the listed rows, in that order."""
    return {name: replace(v, data=v.data[rows], null=v.null[rows]) for name, v in table.items()}


def replace_rows(table: SampledTable, rows: Ints, other: SampledTable, from_rows: Ints) -> SampledTable:
    """Return a copy in which the listed rows are replaced by rows of another table."""
    out: dict[str, Values] = {}
    for name, v in table.items():
        data, null = v.data.copy(), v.null.copy()
        data[rows], null[rows] = other[name].data[from_rows], other[name].null[from_rows]
        out[name] = replace(v, data=data, null=null)
    return out


def concatenate(tables: Iterable[SampledTable]) -> SampledTable:
    """Concatenate tables of the same columns."""
    parts = list(tables)
    if len(parts) == 1:
        return parts[0]
    columns = {name: [part[name] for part in parts] for name in parts[0]}
    return {
        name: replace(v[0], data=np.concatenate([x.data for x in v]), null=np.concatenate([x.null for x in v]))
        for name, v in columns.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A restriction to values from `low` to `high`, both included."""

    low: int | float
    high: int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPoints:
    """A restriction to the listed values, in ascending order."""

    values: tuple[int, ...] | tuple[float, ...]


Restriction = Window | CellPoints


Heaping = tuple[tuple[float, float], ...]
"""Heaping at round numbers: (unit, share of the numbers that are multiples of it) pairs."""


def covered_shares(column: Integer | Real | Datetime, limit: Restriction, heaping: Heaping = ()) -> Floats:
    """Return the share of the numbers drawn in each cell that a range or list of points covers."""
    grid, cells = column.grid, np.arange(column.grid.cells)
    whole = _weigh_numbers(column, *_cell_ends(column, None), heaping)
    if isinstance(limit, Window):
        low, high = grid.code(np.array([limit.low, limit.high], dtype=grid.starts.dtype))
        first, stop = _cell_ends(column, limit)
        covered = (cells >= low) & (cells <= high)
        inside = _weigh_numbers(column, first, np.maximum(stop, np.nextafter(first, np.inf)), heaping)
    else:
        points = np.array(limit.values, dtype=grid.starts.dtype)
        code, first = grid.code(points), points.astype(np.float64)
        covered = np.isin(cells, code)
        one = _weigh_numbers(column, first, np.maximum(first + grid.integer, np.nextafter(first, np.inf)), heaping)
        inside = np.bincount(code, one, grid.cells)
    # A cell without a multiple holds the one nearest to its middle.
    part = np.where(whole > 0, np.minimum(inside, whole) / np.where(whole > 0, whole, 1.0), 1.0)
    return np.where(covered, part, 0.0)


def _weigh_numbers(column: Integer | Real | Datetime, first: Floats, stop: Floats, heaping: Heaping) -> Floats:
    """Return the weight of the numbers in each [first, stop): multiples of its unit, and of round ones."""
    unit = None if isinstance(column, Datetime) else column.unit
    rest = max(1.0 - sum(part for _, part in heaping), 0.0)
    found = weigh_multiples(first, stop, unit) * rest
    for one, part in heaping:
        found = found + part * weigh_multiples(first, stop, Fraction(repr(one)))
    return found


def decode(
    schema: Schema,
    codes: Cells,
    rng: np.random.Generator,
    limits: Mapping[str, Restriction] | None = None,
    heaping: Mapping[str, Heaping] | None = None,
) -> SampledTable:
    """Decode the modelled columns; keys (`id` columns) are added by `with_keys`.

    Numbers are drawn inside their cells, restricted to ranges or points (`limits`), or heaped at round numbers
    (`heaping`).
    """
    columns, limits, heaping = enumerate(schema.modelled), limits or {}, heaping or {}
    return {
        name: decode_column(schema[name], codes[:, j], rng, limits.get(name), heaping.get(name, ()))
        for j, name in columns
    }


def decode_column(
    column: Column, codes: Cells, rng: np.random.Generator, limit: Restriction | None = None, heaping: Heaping = ()
) -> Values:
    """Decode one column."""
    null = np.zeros(len(codes), bool) if column.null_code is None else codes == column.null_code
    cells = np.where(null, 0, codes) if null.any() else codes
    if isinstance(column, Labels):
        return _decode_labels(column, cells, null)
    return Values(data=_zero_where(null, _draw(column, cells, rng, limit, heaping)), null=null)


def decode_codes(column: Column, codes: Cells) -> Values:
    """Decode a column in which each code is a single value."""
    return decode_column(column, codes, generator(0))  # nothing is drawn inside a cell of one value


def decode_missing(column: Column, rows: int) -> Values:
    """Return the value of a missing cell, repeated: null, `other` or the column's missing value."""
    null, code = np.full(rows, column.null_code is not None), column.null_code
    if isinstance(column, Labels):
        cells = np.full(rows, 0 if code is not None else column.other_code)
        return _decode_labels(column, cells, null)
    value: Any = getattr(column, "missing_value", None)
    if isinstance(column, Integer | Real | Datetime):
        value = column.lower if value is None else value
        value = column.tick(value) if isinstance(column, Datetime) else value
    return Values(data=_zero_where(null, np.full(rows, value)), null=null)


def with_keys(schema: Schema, table: SampledTable, rows: int, first_key: int = 1) -> SampledTable:
    """Return the table in schema order with fresh keys first_key, first_key + 1, ... in its id columns."""
    keys = Values(data=np.arange(first_key, first_key + rows, dtype=np.int64), null=np.zeros(rows, bool))
    kept = {name: column for name, column in schema.items() if not isinstance(column, Ignore)}
    return {name: keys if isinstance(column, Id) else table[name] for name, column in kept.items()}


def _decode_labels(column: Labels, cells: Cells, null: Mask) -> Values:
    """Return positions of text labels (the last one is `other`), or the labels themselves if they are integers."""
    positions = cells.astype(np.int32)
    labels = (*column.values, column.other)
    if column.integer_labels:
        return Values(data=_zero_where(null, np.array(labels, dtype=np.int64)[positions]), null=null)
    return Values(data=positions, null=null, labels=tuple(str(label) for label in labels))


def _draw(
    column: Column, cells: Cells, rng: np.random.Generator, limit: Restriction | None, heaping: Heaping
) -> npt.NDArray[Any]:
    if isinstance(column, Integer | Real | Datetime):
        if isinstance(limit, CellPoints):
            return draw_points(column.grid, cells, limit, rng)
        window = limit if isinstance(limit, Window) else None
        if isinstance(column, Real):
            drawn = draw_reals(column, cells, window, rng)
        else:
            drawn = draw_integers(column.grid, cells, window, rng)
        if heaping and isinstance(column, Integer | Real) and np.any(column.grid.widths != column.grid.step):
            return move_to_round_numbers(column, cells, drawn, window, heaping, rng)
        return drawn
    return cells == 1  # boolean: False, then True


def move_to_round_numbers(
    column: Integer | Real,
    cells: Cells,
    drawn: npt.NDArray[Any],
    window: Window | None,
    heaping: Heaping,
    rng: np.random.Generator,
) -> npt.NDArray[Any]:
    """Replace some drawn numbers by round ones of their cells; the weight of a unit is its share times its multiples.

    Numbers stay as drawn in cells (inside the window) without a multiple of any unit.
    """
    first, stop = _cell_ends(column, window)
    base = weigh_multiples(first, stop, column.unit) * max(1.0 - sum(part for _, part in heaping), 0.0)
    units = [Fraction(repr(unit)) for unit, _ in heaping]
    held = [part * weigh_multiples(first, stop, unit) for unit, (_, part) in zip(units, heaping, strict=True)]
    rising = np.cumsum([base, *held], axis=0)
    place = rng.random(len(cells)) * rising[-1].take(cells)
    out, u = drawn.copy(), rng.random(len(cells))
    for unit, below, upto in zip(units, rising[:-1], rising[1:], strict=True):
        rows = np.flatnonzero((place >= below.take(cells)) & (place < upto.take(cells)))
        out[rows] = _draw_multiples(u[rows], cells[rows], first, stop, unit).astype(out.dtype)
    return out


def _cell_ends(column: Integer | Real | Datetime, window: Window | None) -> tuple[Floats, Floats]:
    """Return the first value and the end of each cell inside the window."""
    grid, (low, high) = column.grid, column.span if window is None else (window.low, window.high)
    first = np.maximum(grid.starts.astype(np.float64), float(low))
    after = float(high) + 1.0 if grid.integer else np.nextafter(float(high), np.inf)
    return first, np.minimum(np.append(grid.starts[1:].astype(np.float64), float(grid.stop)), after)


def _zero_where(null: Mask, data: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Set nulls to zero, so that nothing about a null depends on the draw."""
    if null.any():
        data = data.copy()
        data[null] = 0
    return data


def draw_integers(grid: Grid, cells: Cells, window: Window | None, rng: np.random.Generator) -> Ints:
    """Draw integers (multiples of the grid's step) uniformly in each row's cell; exact over all 64 bits."""
    step = np.int64(grid.step)
    first = grid.starts // step
    last = np.append(first[1:], np.int64(grid.stop // int(step))) - 1
    if window is not None:
        low, high = -(-int(window.low) // int(step)), int(window.high) // int(step)
        first, last = np.maximum(first, np.int64(low)), np.minimum(last, np.int64(high))
    # Unsigned arithmetic wraps round, so a cell may span more than 2^63 integers.
    span = last.astype(np.uint64) - first.astype(np.uint64)
    if not span.any():
        return first[cells] * step
    offset = rng.integers(0, span[cells], endpoint=True, dtype=np.uint64)
    return (first.astype(np.uint64)[cells] + offset).astype(np.int64) * step


def draw_points(grid: Grid, cells: Cells, points: CellPoints, rng: np.random.Generator) -> npt.NDArray[np.generic]:
    """Draw one of the listed points in each row's cell, all equally likely."""
    values = np.array(points.values, dtype=grid.starts.dtype)
    first = np.searchsorted(values, grid.starts, side="left")
    stop = np.append(first[1:], len(values))
    pick = first[cells] + (rng.random(len(cells)) * (stop - first)[cells]).astype(np.int64)
    return values[np.minimum(pick, len(values) - 1)]


def draw_reals(column: Real, cells: Cells, window: Window | None, rng: np.random.Generator) -> Floats:
    """Draw reals uniformly in each row's cell, on the column's decimals or multiples of its step if it has any.

    Then all multiples in the cell are equally likely; a cell without any gives the multiple inside the bounds that is
    nearest to its middle. Declared atoms are returned exactly.
    """
    low, high = (column.lower, column.upper) if window is None else (float(window.low), float(window.high))
    first, stop = _cell_ends(column, window)
    u = rng.random(len(cells))
    drawn = (stop - first).take(cells)
    drawn *= u
    drawn += first.take(cells)  # never below it, as u is not negative
    np.minimum(drawn, np.nextafter(stop, -np.inf).take(cells), out=drawn)
    if column.unit is None:
        return drawn
    over, under = get_ratio(column.unit)
    rounded = clip_to_multiples(_draw_multiples(u, cells, first, stop, column.unit), low, high, column.unit)
    declared = np.isin(column.grid.starts, column.atoms)[cells]
    keep = declared | (np.abs(drawn) * under / over >= MAX_EXACT_FLOAT)
    return np.where(keep, drawn, rounded)


def _draw_multiples(u: Floats, cells: Cells, first: Floats, stop: Floats, unit: Unit) -> Floats:
    over, under = get_ratio(unit)
    start, count = find_multiples(first, stop, unit)
    steps = np.minimum(np.floor(u * count[cells]), count[cells] - 1)
    on_grid = (start[cells] + steps) * over / under
    return np.where(count[cells] > 0, on_grid, find_nearest_multiple(first, stop, unit)[cells]) + 0.0  # no -0.0
