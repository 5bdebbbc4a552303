"""Digits of numbers in real columns: what is counted, what the counts tell, and bins that cut through no number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.model.margins.bins import (
    anchors,
    cell_starts,
    digits_to_seek,
    finer_lookup,
    first_lookup,
    lay_out_column,
    with_digits,
)
from sklar.model.margins.fit import Histogram, spread
from sklar.sample.decode import draw_reals
from sklar.schema.numbers import Integer, Real

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


def counted(column: Real, values: np.ndarray) -> np.ndarray:
    """Exact counts of the bins by which digits are sought."""
    search = digits_to_seek(column)
    assert search is not None
    return np.bincount(search.lookup[column.grid.code(values)], minlength=int(search.lookup.max()) + 1).astype(float)


def found(column: Real, values: np.ndarray, sigma: float = 1e-3) -> int | None:
    search = digits_to_seek(column)
    assert search is not None
    return search.find_digits(counted(column, values), sigma)


def test_digits_are_sought_where_cells_are_fine_enough_to_show_them():
    choices = {upper: digits_to_seek(Real(0, upper)) for upper in (1, 10, 60, 180, 2000, 500_000)}
    assert {upper: search and search.choices for upper, search in choices.items()} == {
        1: (1, 2, 3), 10: (0, 1, 2), 60: (0, 1), 180: (0,), 2000: None, 500_000: None,
    }  # fmt: skip
    assert digits_to_seek(Integer(0, 10)) is None and digits_to_seek(Real(0, 10, decimals=2)) is None


@given(COLUMNS, st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_a_number_is_counted_at_its_digits_or_fewer(column: Real, digits: int, seed: int):
    search = digits_to_seek(column)
    if search is None or digits not in search.choices:
        return
    rng = np.random.default_rng(seed)
    numbers = np.round(rng.uniform(column.lower, column.upper, 50), digits)
    numbers = numbers[(numbers > column.lower) & (numbers < column.upper) & ~np.isin(numbers, column.atoms)]
    assert np.all(search.lookup[column.grid.code(numbers)] <= search.choices.index(digits))


def test_what_the_counts_tell():
    rng = np.random.default_rng(1)
    whole = rng.poisson(8, 5_000).astype(float)
    smooth = rng.gamma(2, 9, 5_000)
    assert found(DAYS, whole) == 0 and found(DAYS, smooth) is None
    assert found(Real(0, 60), np.round(smooth, 1)) == 1 and found(Real(0, 60), whole) == 0
    few = np.where(rng.random(5_000) < 0.004, whole + 0.31, whole)  # fewer than one in a hundred
    some = np.where(rng.random(5_000) < 0.1, whole + 0.31, whole)
    assert found(DAYS, few) == 0 and found(DAYS, some) is None
    inflated = np.where(rng.random(5_000) < 0.95, 0.0, smooth)  # values at a bound say nothing
    assert found(DAYS, inflated) is None and found(DAYS, np.zeros(5_000)) is None
    assert found(DAYS, whole, sigma=100.0) == 0 and found(DAYS, whole, sigma=400.0) is None  # too noisy to tell


@pytest.mark.parametrize("sigma", [0.1, 10.0, 1000.0])
def test_noise_alone_has_no_digits(sigma: float):
    """A column all of whose numbers have many digits, and one without any row, in 20,000 draws of the noise each."""
    search = digits_to_seek(Real(0, 60))
    assert search is not None
    rng = np.random.default_rng(2)
    for exact in (counted(Real(0, 60), rng.uniform(0, 60, 1_000)), np.zeros(4)):
        noisy = exact + rng.normal(0, sigma, (20_000, len(exact)))
        assert all(search.find_digits(counts, sigma) is None for counts in noisy)


@given(COLUMNS, st.integers(0, 3))
def test_a_code_goes_with_the_number_that_its_draws_become(column: Real, digits: int):
    anchor, nothing = anchors(column, digits)
    assert np.array_equal(anchor[anchor], anchor)
    grid = column.grid
    assert np.array_equal(anchor[grid.is_atom], np.flatnonzero(grid.is_atom)) and not nothing[grid.is_atom].any()
    if np.array_equal(anchor, np.arange(grid.cells)):
        return
    codes = np.flatnonzero(~grid.is_atom)
    drawn = grid.code(draw_reals(replace(column, decimals=digits), codes, None, np.random.default_rng(3)))
    assert np.array_equal(grid.is_atom[drawn], nothing[codes])
    held = ~nothing[codes]
    assert np.array_equal(drawn[held], anchor[codes][held])


@given(COLUMNS, st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_no_bin_cuts_through_a_number(column: Real, digits: int, seed: int):
    layout = with_digits(lay_out_column(column), column, digits)
    rng = np.random.default_rng(seed)
    atoms = np.flatnonzero(layout.candidate)[rng.random(int(layout.candidate.sum())) < 0.5]
    mass = rng.dirichlet(np.full(len(cell_starts(layout, layout.coarse, atoms)), 0.3))
    for lookup in (first_lookup(layout), finer_lookup(layout, atoms, mass, 0.002)):
        assert np.array_equal(lookup[layout.anchor], lookup[: layout.values])
        assert np.bincount(lookup).min() > 0
        margin = spread("x", layout, lookup, rng.dirichlet(np.ones(int(lookup.max()) + 1)))
        dense, nothing = margin.dense(), anchors(column, digits)[1]
        free = np.bincount(lookup[: layout.values], ~nothing)[lookup[: layout.values]] > 0  # bins that hold a number
        assert dense[: layout.values][nothing & free].sum() < 1e-12


def test_declared_digits_are_known_before_anything_is_counted():
    declared, plain = Real(0, 180, decimals=0), Real(0, 180)
    layout = lay_out_column(declared)
    assert layout.digits is None and lay_out_column(plain).digits is not None
    assert np.array_equal(layout.anchor, anchors(plain, 0)[0]) and len(np.unique(layout.anchor)) == 181
    assert np.array_equal(lay_out_column(plain).anchor, np.arange(plain.value_cells))


def test_a_histogram_from_before_is_read_by_its_numbers():
    column = Real(0, 10)  # cells of the first histogram end at multiples of 10/32, most of which hold no whole number
    before = lay_out_column(column)
    layout = with_digits(before, column, 0)
    values = np.repeat(np.arange(11.0), np.arange(5, 16))
    counts = np.bincount(first_lookup(before)[column.grid.code(values)], minlength=34).astype(float)
    read = Histogram(lookup=first_lookup(before), counts=counts, sigma=1.0).on(layout)
    assert len(read.counts) == 11 and read.counts.sum() == len(values)
    number = read.lookup[column.grid.code(np.arange(11.0))]
    assert np.array_equal(read.counts[number], np.arange(5, 16))
    assert np.array_equal(read.lookup[column.grid.code(np.array([1.4, 1.6]))], number[[1, 2]])
