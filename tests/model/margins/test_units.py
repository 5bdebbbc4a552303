"""Units of numbers: what is counted, what the counts tell, and bins that cut through no number."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.model.margins.bins import (
    BinLayout,
    cell_starts,
    find_anchors,
    finer_lookup,
    first_lookup,
    heavy_values,
    lay_out_column,
    with_unit,
)
from sklar.model.margins.fit import Histogram, spread
from sklar.model.margins.units import digits_of, units_to_seek
from sklar.sample.decode import draw_reals
from sklar.schema.grid import has_multiples
from sklar.schema.numbers import Integer, Real
from tests.tiers import slow_unless

DAYS = Real(0, 180, nullable=True)
COLUMNS = st.builds(
    lambda lower, width, bins, atoms: Real(
        lower, lower + width, bins=bins, atoms=[a for a in atoms if lower <= a <= lower + width], nullable=True
    ),
    lower=st.floats(-50, 50).map(lambda x: round(x, 3)),
    width=st.sampled_from([0.7, 1.0, 9.5, 60.0, 180.0]),
    bins=st.sampled_from([130, 500, 2048]),
    atoms=st.lists(st.sampled_from([-1.0, 0.0, 1.0, 2.0, 2.5, 30.0]), max_size=3, unique=True),
)


LOANS = Integer(0, 100_000)


def counted(column: Integer | Real, values: np.ndarray) -> np.ndarray:
    """Exact counts of the classes by which units are sought."""
    search = units_to_seek(column)
    assert search is not None
    return np.bincount(search.lookup[column.grid.code(values)], minlength=search.classes + 1).astype(float)


def found(column: Integer | Real, values: np.ndarray, sigma: float = 1e-3) -> Fraction | None:
    search = units_to_seek(column)
    assert search is not None
    return search.find_unit(counted(column, values), sigma)


def sought(column: Integer | Real) -> list[float] | None:
    search = units_to_seek(column)
    return None if search is None else [float(unit) for unit in search.units]


def test_units_are_sought_where_cells_are_fine_enough_to_show_them():
    assert sought(Real(0, 1)) == [0.001, 0.002, 0.0025, 0.005, 0.01, 0.02, 0.025, 0.05, 0.1]
    assert sought(Real(0, 60)) == [0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0]
    assert sought(Real(0, 60, decimals=1)) == [0.2, 0.5, 1.0, 2.0, 2.5, 5.0]
    assert sought(Real(0, 500_000)) == [500, 1000, 2000, 2500, 5000, 10_000, 20_000, 25_000, 50_000]
    assert sought(Integer(0, 500_000)) == sought(Real(0, 500_000))
    assert sought(Integer(0, 120)) == [2, 5, 10]
    assert sought(Integer(0, 3_000, step=20)) == [100, 200]


def test_that_few_cells_hold_all_numbers_is_no_unit():
    """Numbers about 20,000, between bounds that are much too wide, all lie in one cell: which holds a multiple."""
    rng, column = np.random.default_rng(0), Real(0, 2_000_000)
    assert sought(column)[-1] == 200_000  # type: ignore[index]
    assert found(column, rng.uniform(199_000, 201_000, 5_000)) is None
    assert sought(Integer(0, 63)) is None and sought(Real(0, 1e17)) is None  # cell by cell; no units left


def test_every_row_is_in_one_class_and_what_is_round_by_nature_in_the_last():
    for column in (LOANS, DAYS, Integer(-500, 500, atoms=[99], bins=400), Real(0, 900, step=0.5)):
        search = units_to_seek(column)
        assert search is not None and search.lookup.shape == (column.size,)
        assert np.array_equal(np.unique(search.lookup), np.arange(search.classes + 1))
        named = np.array([0, column.lower, column.upper, *column.atoms], dtype=column.grid.starts.dtype)
        silent = search.lookup[: column.value_cells] == search.classes
        assert set(np.flatnonzero(silent)) <= set(column.grid.code(named))
        assert column.null_code is None or search.lookup[column.null_code] == search.classes


@given(COLUMNS, st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_a_number_is_counted_among_the_multiples_of_its_unit(column: Real, digits: int, seed: int):
    search = units_to_seek(column)
    if search is None or Fraction(1, 10**digits) not in search.units:
        return
    rng = np.random.default_rng(seed)
    numbers = np.round(rng.uniform(column.lower, column.upper, 50), digits)
    numbers = numbers[(numbers > column.lower) & (numbers < column.upper) & ~np.isin(numbers, [0.0, *column.atoms])]
    inside = search.holds[:, search.units.index(Fraction(1, 10**digits))]
    assert inside[search.lookup[column.grid.code(numbers)]].all()


def test_what_the_counts_tell():
    rng = np.random.default_rng(1)
    whole = rng.poisson(8, 5_000).astype(float)
    smooth = rng.gamma(2, 9, 5_000)
    assert found(DAYS, whole) == 1 and found(DAYS, smooth) is None
    assert found(Real(0, 60), np.round(smooth, 1)) == Fraction(1, 10) and found(Real(0, 60), whole) == 1
    few = np.where(rng.random(5_000) < 0.004, whole + 0.31, whole)  # fewer than one in a hundred
    some = np.where(rng.random(5_000) < 0.1, whole + 0.31, whole)
    assert found(DAYS, few) == 1 and found(DAYS, some) is None
    inflated = np.where(rng.random(5_000) < 0.95, 0.0, smooth)  # values at a bound say nothing
    assert found(DAYS, inflated) is None and found(DAYS, np.zeros(5_000)) is None
    assert found(DAYS, whole, sigma=100.0) == 1 and found(DAYS, whole, sigma=500.0) is None  # too noisy to tell


def test_steps_are_found_of_whole_numbers_and_of_reals():
    rng = np.random.default_rng(2)
    hundreds = 100 * rng.poisson(180, 5_000)
    assert found(LOANS, hundreds) == 100 and found(LOANS, hundreds + 50) == 50 and found(LOANS, hundreds + 25) == 25
    assert found(LOANS, rng.integers(1, 100_000, 5_000)) is None
    assert found(LOANS, np.where(rng.random(5_000) < 0.95, 0, 7 * hundreds // 100)) is None  # zeros say nothing
    assert found(Real(0, 500_000), 1000.0 * rng.poisson(90, 5_000)) == 1000
    assert found(Real(0, 60), np.round(rng.gamma(2, 9, 5_000) * 4) / 4) == Fraction(1, 4)
    assert found(Integer(0, 200), 5 * rng.poisson(8, 5_000)) == 5


@pytest.mark.parametrize("sigma", slow_unless((10.0).__eq__, [0.1, 10.0, 1000.0]))
@pytest.mark.parametrize("column", [Real(0, 60), LOANS])
def test_noise_alone_has_no_unit(column: Integer | Real, sigma: float):
    """A column of numbers of any kind, and one without any row, in 1,000 draws of the noise each."""
    search = units_to_seek(column)
    assert search is not None
    rng = np.random.default_rng(2)
    numbers = rng.uniform(0, column.upper, 1_000).astype(column.grid.starts.dtype)
    for exact in (counted(column, numbers), np.zeros(search.classes + 1)):
        noisy = exact + rng.normal(0, sigma, (1_000, len(exact)))
        assert all(search.find_unit(counts, sigma) is None for counts in noisy)


def test_digits_of_units():
    assert [digits_of(Fraction(x)) for x in ("100", "1", "0.5", "0.25", "0.001")] == [0, 0, 1, 2, 3]
    assert digits_of(Fraction(1, 3)) is None


def test_a_heavy_value_stands_for_all_codes_that_are_counted_with_it():
    layout: BinLayout = with_unit(lay_out_column(LOANS), LOANS, Fraction(100))
    counts = np.zeros(layout.values)
    counts[::100] = 10.0
    counts[25_000] = 400.0
    coarse = np.bincount(layout.coarse, counts)
    atoms = heavy_values(layout, counts, 10.0, coarse)
    assert layout.anchor[atoms].tolist() == [25_000]
    starts = cell_starts(layout, layout.coarse, atoms)
    place = int(np.searchsorted(starts, atoms[0]))
    assert np.unique(layout.anchor[starts[place] : starts[place + 1]]).tolist() == [25_000]


@given(COLUMNS, st.integers(0, 3))
def test_a_code_goes_with_the_number_that_its_draws_become(column: Real, digits: int):
    anchor, grid = find_anchors(column, digits), column.grid
    assert np.array_equal(anchor[anchor], anchor)
    assert np.array_equal(anchor[grid.is_atom], np.flatnonzero(grid.is_atom))
    if np.array_equal(anchor, np.arange(grid.cells)):
        return
    codes = np.flatnonzero(~grid.is_atom)
    drawn = grid.code(draw_reals(replace(column, decimals=digits), codes, None, np.random.default_rng(3)))
    atom = grid.is_atom[drawn]
    assert np.array_equal(drawn[~atom], anchor[codes][~atom])
    assert not grid.is_atom[anchor[codes][atom]].any()  # what becomes a bound or a declared value is never drawn


@given(COLUMNS, st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_no_bin_cuts_through_a_number(column: Real, digits: int, seed: int):
    layout = with_unit(lay_out_column(column), column, digits)
    rng = np.random.default_rng(seed)
    atoms = np.flatnonzero(layout.candidate)[rng.random(int(layout.candidate.sum())) < 0.5]
    mass = rng.dirichlet(np.full(len(cell_starts(layout, layout.coarse, atoms)), 0.3))
    for lookup in (first_lookup(layout), finer_lookup(layout, atoms, mass, 0.002)):
        assert np.array_equal(lookup[layout.anchor], lookup[: layout.values])
        assert np.bincount(lookup).min() > 0
        margin = spread("x", layout, lookup, rng.dirichlet(np.ones(int(lookup.max()) + 1)))
        holds, bins = has_multiples(column.grid, digits), lookup[: layout.values]
        some = np.bincount(bins, holds)[bins] > 0  # bins that hold a number
        assert margin.dense()[: layout.values][~holds & some].sum() < 1e-12


def test_declared_digits_are_known_before_anything_is_counted():
    declared, plain = Real(0, 180, decimals=0), Real(0, 180)
    layout = lay_out_column(declared)
    assert np.array_equal(layout.anchor, find_anchors(plain, 0)) and len(np.unique(layout.anchor)) == 181
    assert np.array_equal(lay_out_column(plain).anchor, np.arange(plain.value_cells))


def test_a_histogram_from_before_is_read_by_its_numbers():
    column = Real(0, 10)  # cells of the first histogram end at multiples of 10/32, most of which hold no whole number
    before = lay_out_column(column)
    layout = with_unit(before, column, 0)
    values = np.repeat(np.arange(11.0), np.arange(5, 16))
    counts = np.bincount(first_lookup(before)[column.grid.code(values)], minlength=34).astype(float)
    read = Histogram(lookup=first_lookup(before), counts=counts, sigma=1.0).on(layout)
    assert len(read.counts) == 11 and read.counts.sum() == len(values)
    number = read.lookup[column.grid.code(np.arange(11.0))]
    assert np.array_equal(read.counts[number], np.arange(5, 16))
    assert np.array_equal(read.lookup[column.grid.code(np.array([1.4, 1.6]))], number[[1, 2]])
