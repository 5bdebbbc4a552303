from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.sample.decode import CellPoints, Window, decode, decode_column, with_keys
from sklar.sample.rng import generator
from sklar.schema import Boolean, Category, Datetime, Id, Ignore, Integer, Ordinal, Real, Schema

BIG = Integer(-(2**63), 2**63 - 2, nullable=True)
COLUMNS = [
    Category(["a", "b", ""], nullable=True),
    Category([3, 1, 2]),
    Ordinal(["low", "high"]),
    Boolean(nullable=True),
    Integer(-5, 300),
    BIG,
    Integer(2**53, 2**53 + 4000, bins=7),
    Integer(0, 10**12, atoms=[17]),
    Datetime("1890-01-01", "2024-12-31", nullable=True),
    Datetime("2020-01-01", "2024-12-31", resolution="millisecond"),
]


def encode(column, values) -> np.ndarray:
    """Slow reference of the way back, for columns without other values."""
    if isinstance(column, Category | Ordinal):
        labels = [*column.values, column.other]
        texts = [labels[i] for i in values.data] if values.labels is not None else values.data.tolist()
        codes = np.array([labels.index(t) for t in texts])
    elif isinstance(column, Boolean):
        codes = values.data.astype(int)
    else:
        codes = column.grid.code(values.data)
    return np.where(values.null, -1 if column.null_code is None else column.null_code, codes)


@pytest.mark.parametrize(
    "column", [*COLUMNS, Real(-3, 10), Real(0, 1, atoms=[0.25], nullable=True), Real(0, 9, bins=3)]
)
def test_every_code_decodes_to_a_value_that_encodes_to_it(column):
    codes = np.repeat(np.arange(column.size, dtype=np.int32), 3)
    assert np.array_equal(encode(column, decode_column(column, codes, generator(1))), codes)


def test_integers_are_exact_and_uniform_over_their_cell():
    column = Integer(2**60, 2**60 + 9, bins=1)
    data = decode_column(column, np.zeros(50_000, np.int32), generator(2)).data
    values, counts = np.unique(data, return_counts=True)
    assert values.tolist() == list(range(2**60, 2**60 + 10))
    assert ((counts - 5000) ** 2 / 5000).sum() < 60  # chi-square with 9 degrees of freedom, p < 1e-8


def test_reals_are_uniform_inside_their_cell():
    column = Real(0, 8, edges=[0, 1, 8])
    cell = int(column.grid.code(np.array([5.0]))[0])
    data = decode_column(column, np.full(20_000, cell, np.int32), generator(3)).data
    assert data.min() >= 1 and data.max() < 8
    assert abs(np.sort(data) - np.linspace(1, 8, len(data))).max() / 7 < 0.025  # Kolmogorov-Smirnov, p < 1e-9


def test_atoms_and_bounds_come_out_exactly():
    column = Real(0.1, 0.7, atoms=[0.3])
    for value in (0.1, 0.3, 0.7):
        code = column.grid.code(np.array([value]))[0]
        assert set(decode_column(column, np.full(9, code, np.int32), generator(4)).data) == {value}


@given(
    lower=st.floats(-1e6, 1e6),
    width=st.floats(0.01, 1e6),
    decimals=st.integers(0, 6),
    bins=st.integers(1, 300),
)
def test_decimals_are_kept_inside_the_bounds(lower: float, width: float, decimals: int, bins: int):
    column = Real(lower, lower + width, decimals=decimals, bins=bins)
    codes = np.repeat(np.arange(column.size, dtype=np.int32), 2)
    data = decode_column(column, codes, generator(5)).data
    assert data.min() >= column.lower and data.max() <= column.upper
    rounded = np.array([float(f"{x:.{decimals}f}") for x in data])
    if _multiples_near(column):
        assert np.array_equal(data, rounded)


def _multiples_near(column: Real) -> list[float]:
    """Multiples of 10^-decimals next to the lower bound that lie inside the bounds."""
    k = round(column.lower * 10**column.decimals)
    near = [float(f"{(k + i) / 10**column.decimals:.{column.decimals}f}") for i in range(-1, 3)]
    return [x for x in near if column.lower <= x <= column.upper]


def test_a_cell_with_decimals_gives_all_of_them_alike_and_keeps_to_the_cell():
    column = Real(0, 10, bins=4, decimals=0)  # cells (0, 2.5), [2.5, 5), ...
    data = decode_column(column, np.full(30_000, 1, np.int32), generator(6)).data
    values, counts = np.unique(data, return_counts=True)
    assert values.tolist() == [1, 2] and abs(counts[0] - 15_000) < 600
    for cents in (7, 29, 57, 115):  # products with 100 that are not exact
        exact = Real(0, 10, edges=[0, cents / 100, 10], decimals=2)
        cell = int(exact.grid.code(np.array([cents / 100]))[0])
        assert decode_column(exact, np.full(40_000, cell, np.int32), generator(7)).data.min() == cents / 100


def test_declared_atoms_are_not_rounded_away():
    column = Real(0, 1, atoms=[0.125], decimals=1)
    code = int(column.grid.code(np.array([0.125]))[0])
    assert decode_column(column, np.array([code], np.int32), generator(8)).data[0] == 0.125


def test_no_negative_zero():
    column = Real(-1, 1, bins=2, decimals=0)
    data = decode_column(column, np.repeat(np.arange(column.size, dtype=np.int32), 50), generator(8)).data
    assert not np.signbit(data[data == 0]).any()


def test_a_window_narrows_the_cells_it_cuts():
    integer, real = Integer(0, 10**9, bins=10), Real(0, 100, bins=4, decimals=1)
    cells = np.repeat(integer.grid.code(np.array([150_000_001, 250_000_000])), 5000).astype(np.int32)
    data = decode_column(integer, cells, generator(9), Window(low=150_000_001, high=250_000_000)).data
    assert 150_000_001 <= data.min() < 150_100_000 and 249_900_000 < data.max() <= 250_000_000
    cells = np.repeat(real.grid.code(np.array([24.86, 25.13])), 500).astype(np.int32)
    data = decode_column(real, cells, generator(9), Window(low=24.86, high=25.13)).data
    assert set(data) == {24.9, 25.0, 25.1}


def test_points_are_drawn_alike_inside_their_cell():
    column = Integer(0, 10**9, bins=10)
    points = CellPoints(values=(5, 6, 400_000_000))
    codes = np.repeat(column.grid.code(np.array([5, 400_000_000])), 4000).astype(np.int32)
    values, counts = np.unique(decode_column(column, codes, generator(1), points).data, return_counts=True)
    assert values.tolist() == [5, 6, 400_000_000] and abs(counts[0] - 2000) < 250 and counts[2] == 4000


def test_tables_come_in_schema_order_with_fresh_keys_and_without_ignored_columns():
    schema = Schema({"key": Id(prefix="p"), "x": Ignore(), "b": Boolean(), "a": Category(["u"])})
    codes = np.asfortranarray(np.array([[1, 0], [0, 1]], np.int32))
    table = with_keys(schema, decode(schema, codes, generator(0)), 2, first_key=11)
    assert list(table) == ["key", "b", "a"]
    assert table["key"].data.tolist() == [11, 12]
    assert table["b"].data.tolist() == [True, False]
    assert [table["a"].labels[i] for i in table["a"].data] == ["u", "other"]
