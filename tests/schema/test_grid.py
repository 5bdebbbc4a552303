"""Grids: every value has one cell, cells tile the range, atoms hold one value, and arithmetic is exact beyond 2^53."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.schema import Boolean, Column, Datetime, Id, Integer, Real
from sklar.schema.grid import DEFAULT_CELLS, Grid
from tests.schema.schemas import datetimes, integers, labels, real_columns


def cell_by_hand(grid: Grid, x: float | int) -> int:
    below = [i for i, start in enumerate(grid.starts.tolist()) if start <= x]
    return below[-1] if below else 0


@given(integers() | datetimes())
def test_integer_cells_tile_the_range(column: Column) -> None:
    assert isinstance(column, Integer | Datetime)
    grid = column.grid
    ends = (
        (column.lower, column.upper)
        if isinstance(column, Integer)
        else (column.tick(column.lower), column.tick(column.upper))
    )
    assert grid.integer and grid.starts.dtype == np.int64
    assert (grid.starts[0], grid.stop) == (ends[0], ends[1] + 1)
    steps = [b - a for a, b in pairwise([*grid.starts.tolist(), int(grid.stop)])]
    assert all(step > 0 for step in steps)
    assert np.allclose(grid.widths, [float(s) for s in steps], rtol=1e-12)
    assert all(step == 1 for step, atom in zip(steps, grid.is_atom, strict=True) if atom)


@given(real_columns())
def test_real_cells_tile_the_range(column: Column) -> None:
    assert isinstance(column, Real)
    grid = column.grid
    assert grid.starts[0] == column.lower
    assert grid.stop == np.nextafter(column.upper, np.inf)
    assert np.all(np.diff(grid.starts) > 0) and np.all(grid.widths > 0)
    singled = {column.lower, column.upper, *column.atoms}
    assert set(grid.starts[grid.is_atom].tolist()) == singled
    after = np.nextafter(grid.starts, np.inf)
    ends = np.append(grid.starts[1:], grid.stop)
    assert np.array_equal(after[grid.is_atom], ends[grid.is_atom])
    assert set(column.edges) <= set(grid.starts.tolist())


@given(integers() | real_columns(), st.data())
def test_code_is_the_cell_that_holds_the_value(column: Column, data: st.DataObject) -> None:
    assert isinstance(column, Integer | Real)
    inside = st.integers if isinstance(column, Integer) else st.floats
    x = data.draw(inside(column.lower, column.upper))  # type: ignore[arg-type]
    grid = column.grid
    code = int(grid.code(np.array([x], dtype=grid.starts.dtype))[0])
    assert code == cell_by_hand(grid, x)
    assert grid.starts[code] <= x < (grid.starts[code + 1] if code + 1 < grid.cells else grid.stop)


def test_values_outside_are_clipped() -> None:
    assert Integer(10, 19).grid.code(np.array([-(2**63), 9, 10, 19, 20, 2**63 - 1])).tolist() == [0, 0, 0, 9, 9, 9]
    grid = Real(0, 1, bins=4).grid
    assert grid.code(np.array([-np.inf, -1.0, 0.0])).tolist() == [0, 0, 0]
    assert grid.code(np.array([1.0, 2.0, np.inf])).tolist() == [grid.cells - 1] * 3
    assert grid.is_atom[0] and grid.is_atom[-1] and not grid.is_atom[1:-1].any()
    assert Real(-0.0, 1).grid.code(np.array([0.0, -0.0])).tolist() == [0, 0]


def test_neighbours_beyond_float_precision_have_different_cells() -> None:
    base = 2**53
    grid = Integer(base, base + 9).grid
    assert grid.code(np.array([base, base + 1, base + 2])).tolist() == [0, 1, 2]
    assert grid.widths.tolist() == [1.0] * 10
    wide = Integer(-(2**63), 2**63 - 2, bins=2, atoms=(base + 1,)).grid
    codes = wide.code(np.array([base, base + 1, base + 2]))
    assert np.diff(codes).tolist() == [1, 1]
    assert wide.is_atom[codes].tolist() == [False, True, False]
    assert wide.widths.sum() == pytest.approx(2.0**64)


def test_default_grids() -> None:
    assert Integer(0, 199_999).grid.cells == 200_000
    wide = Integer(0, 200_000).grid
    assert DEFAULT_CELLS <= wide.cells <= DEFAULT_CELLS + 250
    assert wide.is_atom[wide.code(np.array([0, 100_000, 200_000]))].all()
    assert Real(0, 1).grid.cells == DEFAULT_CELLS + 2
    assert Integer(0, 9, bins=3).grid.starts.tolist() == [0, 4, 7]
    assert Integer(0, 9, bins=50).grid.cells == 10
    assert Integer(0, 9, edges=(0, 1, 10), atoms=(5,)).grid.starts.tolist() == [0, 1, 5, 6]
    assert Integer(7, 7).grid.widths.tolist() == [1.0]
    assert Datetime("2020-01-01", "2020-12-31").grid.cells == 366
    assert Datetime("2020-01-01T00:00", "2020-01-01T01:00", resolution="minute").grid.cells == 61


def test_ticks_round_down_before_1970_too() -> None:
    column = Datetime("1969-12-31T23:59:59", "1970-01-01T00:00:01", resolution="day")
    assert column.grid.starts.tolist() == [-1, 0]


@given(labels() | integers() | real_columns() | datetimes() | st.builds(Boolean, nullable=st.booleans()))
def test_codes_are_values_then_other_then_null(column: Column) -> None:
    codes = [*range(column.value_cells)]
    codes += [column.other_code] if column.other_code is not None else []
    codes += [column.null_code] if column.null_code is not None else []
    assert codes == list(range(column.size))
    assert (column.other_code is not None) == (column.kind in ("category", "ordinal"))


def test_unmodelled_columns_have_no_codes() -> None:
    assert Id().size == 0 and not Id().modelled
