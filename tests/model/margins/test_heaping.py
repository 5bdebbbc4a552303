"""Heaps at round numbers: parts that counts tell, weights of cells that follow, and margins that have them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.model.margins.bins import lay_out_column, weight_layout, with_unit
from sklar.model.margins.fit import spread
from sklar.model.margins.heaping import Rounding, find_heaping, find_rounding
from sklar.model.margins.margin import Margin
from sklar.model.margins.units import base_unit, units_to_seek
from sklar.sample.decode import decode_column
from sklar.schema.numbers import Integer, Real

ROWS = 20_000
LOANS, RENTS, WIDE = Integer(0, 20_000, nullable=True), Real(0, 3_000), Integer(0, 900_000)


def flat(column: Integer | Real, cells: int = 16) -> Margin:
    """An even margin over cells of equal numbers of codes, with a twentieth of nulls if there are any."""
    starts = np.arange(cells) * (column.value_cells // cells)
    if column.null_code is None:
        return Margin(column="x", starts=starts, mass=np.ones(cells), size=column.size)
    mass = np.append(np.full(cells, 0.95 / cells), 0.05)
    return Margin(column="x", starts=np.append(starts, column.null_code), mass=mass, size=column.size)


def rounded(column: Integer | Real, parts: dict[int, float], seed: int = 0) -> np.ndarray:
    """Even numbers, parts of which are rounded to these units."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(column.lower + 1, column.upper - 1, ROWS)
    values = values if isinstance(column, Real) else np.round(values)
    unit = rng.choice([0, *parts], p=[1 - sum(parts.values()), *parts.values()], size=ROWS)
    return np.where(unit > 0, unit * np.round(values / np.maximum(unit, 1)), values).astype(column.grid.starts.dtype)


def found(column: Integer | Real, values: np.ndarray, sigma: float = 1.0, seed: int = 1) -> dict[Fraction, float]:
    search = units_to_seek(column)
    assert search is not None
    exact = np.bincount(search.lookup[column.grid.code(values)], minlength=search.classes + 1)
    noisy = exact + np.random.default_rng(seed).normal(0, sigma, len(exact))
    rows = ROWS / 0.95 if column.null_code is not None else ROWS
    return find_heaping(flat(column), column.grid, base_unit(column), (search, noisy, sigma), rows)


@pytest.mark.parametrize(
    ("column", "parts"),
    [
        (LOANS, {100: 0.3, 1000: 0.2}),
        (LOANS, {25: 0.4}),
        (RENTS, {10: 0.25, 30: 0.0}),
        (WIDE, {1000: 0.1, 5000: 0.2}),
        (Integer(0, 120), {5: 0.2, 10: 0.15}),
    ],
)
def test_parts_are_told_from_noisy_counts(column: Integer | Real, parts: dict[int, float]):
    told = found(column, rounded(column, parts), sigma=30.0)
    assert {int(unit) for unit in told} == {unit for unit, part in parts.items() if part}
    assert all(abs(told[Fraction(unit)] - part) < 0.05 for unit, part in parts.items() if part)


@pytest.mark.parametrize("column", [LOANS, RENTS, WIDE])
def test_nothing_is_told_where_there_is_nothing_or_noise_hides_it(column: Integer | Real):
    assert found(column, rounded(column, {})) == {}
    assert found(column, rounded(column, {1000: 0.02}), sigma=300.0) == {}


def test_a_heavy_value_with_a_cell_of_its_own_is_no_heap_elsewhere():
    """Half of all hours are 40: which is a multiple of 20, but nothing is said about 20 and 60."""
    column, rng = Integer(0, 99), np.random.default_rng(2)
    values = np.where(rng.random(ROWS) < 0.5, 40, rng.integers(1, 99, ROWS))
    search = units_to_seek(column)
    assert search is not None
    counts = np.bincount(search.lookup[values], minlength=search.classes + 1).astype(float)
    cells = Margin(column="x", starts=np.array([0, 40, 41]), mass=np.array([0.2, 0.505, 0.295]), size=100)
    assert find_heaping(cells, column.grid, Fraction(1), (search, counts, 1.0), ROWS) == {}
    blind = Margin(column="x", starts=np.array([0]), mass=np.ones(1), size=100)
    assert find_heaping(blind, column.grid, Fraction(1), (search, counts, 1.0), ROWS) != {}


def rounded_flat(column: Integer | Real, rounding: Rounding, cells: int = 16) -> Margin:
    """The even margin over cells of equal weight, as numbers that are so rounded fill it."""
    layout = weight_layout(lay_out_column(column), rounding.weights(column.grid))
    null, cell = [cells] * column.nullable, np.minimum(np.cumsum(layout.width) * cells, cells - 1).astype(np.int64)
    mass = np.bincount(cell, layout.width) * (0.95 if column.nullable else 1.0)
    return rounding.on(spread("x", layout, np.array([*cell, *null]), np.append(mass, [0.05] * column.nullable)))


@given(
    st.sampled_from([LOANS, RENTS, WIDE, Integer(-300, 700, step=5), Real(-40, 60, decimals=1)]),
    st.dictionaries(st.sampled_from([Fraction(x) for x in (10, 50, 100, 1000)]), st.floats(0.01, 0.25), min_size=1),
)
def test_a_multiple_weighs_its_part_of_its_unit(column: Integer | Real, heaping: dict[Fraction, float]):
    rounding = Rounding(base=base_unit(column), decimals=None, heaping=heaping)
    weight, plain = (one.weights(column.grid) for one in (rounding, replace(rounding, heaping={})))
    spare, code = weight - (1 - sum(heaping.values())) * plain, int(column.grid.code(np.array([0]))[0])
    assert np.isclose(spare[code], sum(part * float(unit) for unit, part in heaping.items()))
    low, high = int(column.lower), int(column.upper)
    numbers = {unit: len(range(-(-low // int(unit)), high // int(unit) + 1)) for unit in heaping}
    assert np.isclose(spare.sum(), sum(part * float(unit) * numbers[unit] for unit, part in heaping.items()))
    assert rounding.on(flat(column)).heaping == tuple((float(unit), part) for unit, part in heaping.items())


@pytest.mark.parametrize(("column", "unit"), [(LOANS, 10), (RENTS, 2), (WIDE, 500), (Real(0, 3_000, decimals=1), 2)])
def test_drawn_numbers_have_the_parts_and_keep_to_the_bounds(column: Integer | Real, unit: int):
    """60,000 draws: a share is off by .002, the bound is at ten times that."""
    heaping = {Fraction(unit): 0.3, Fraction(10 * unit): 0.2}
    margin = rounded_flat(column, Rounding(base=base_unit(column), decimals=None, heaping=heaping))
    rng = np.random.default_rng(4)
    codes = margin.ppf(rng.random(60_000))
    drawn = decode_column(column, codes, rng, None, margin.heaping)
    values = drawn.data[~drawn.null]
    assert values.min() >= column.lower and values.max() <= column.upper
    by_chance = 0.5 / unit * (1.0 if isinstance(column, Integer) else 0.1 if column.decimals else 0.0)
    assert abs(np.mean(values % (10 * unit) == 0) - (0.23 + by_chance / 10)) < 0.02
    assert abs(np.mean(values % unit == 0) - (0.5 + by_chance)) < 0.02
    assert np.array_equal(column.grid.code(values), codes[~drawn.null])  # numbers stay in their cells


def test_a_step_leaves_nothing_between():
    search = units_to_seek(LOANS)
    assert search is not None
    values = 100 * np.random.default_rng(5).integers(1, 200, ROWS)
    counts = np.bincount(search.lookup[LOANS.grid.code(values)], minlength=search.classes + 1).astype(float)
    rounding = find_rounding(flat(LOANS), LOANS, Fraction(100), (search, counts, 1.0), ROWS / 0.95)
    assert rounding.heaping == {Fraction(100): 1.0} and rounding.decimals is None
    layout = with_unit(lay_out_column(LOANS), LOANS, Fraction(100))
    cells = int(layout.coarse[-1]) + 1
    mass = np.append(np.full(cells, 0.95 / cells), 0.05)
    margin = spread("x", layout, np.append(layout.coarse, cells), mass)
    dense = margin.dense()[: LOANS.value_cells]
    assert dense[np.arange(len(dense)) % 100 > 0].sum() == 0 and np.isclose(dense.sum(), 0.95)


def test_a_step_of_reals_tells_their_digits():
    column = Real(0, 60)
    search = units_to_seek(column)
    assert search is not None
    values = np.random.default_rng(6).integers(1, 240, ROWS) / 4
    counts = np.bincount(search.lookup[column.grid.code(values)], minlength=search.classes + 1).astype(float)
    unit = search.find_unit(counts, 1.0)
    rounding = find_rounding(flat(column), column, unit, (search, counts, 1.0), ROWS)
    assert unit == Fraction(1, 4) and rounding.decimals == 2 and rounding.heaping == {Fraction(1, 4): 1.0}
