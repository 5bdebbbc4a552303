"""Margins when rows are few: atoms, nulls, second bins and the pooled number of rows."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.margins.few_rows import (
    FewRowsHistogram,
    coarse_margin,
    first_cells,
    level_margin,
    pool_total,
    second_bins,
    second_lookup,
    smooth_margins,
    split_first,
)
from sklar.model.margins.likelihood import KnownTotal
from sklar.schema.columns import Category
from sklar.schema.numbers import Integer, Real

COLUMN = Real(0, 8, nullable=True)
CELLS = first_cells(COLUMN)


def truth():
    """A fifth of the rows at the lower bound, a tenth null, the rest a bump at the lower quarter."""
    middle = np.exp(-0.5 * ((np.arange(CELLS.values) - 500) / 150) ** 2)
    middle[[0, -1]] = 0
    p = np.zeros(CELLS.size)
    p[: CELLS.values] = 0.7 * middle / middle.sum()
    p[0], p[COLUMN.null_code] = 0.2, 0.1
    return p


def histogram(lookup, rows, sigma, rng, p=None):
    counts = np.bincount(lookup, truth() if p is None else p) * rows
    return FewRowsHistogram(counts=counts + rng.normal(0, sigma, len(counts)), sigma=sigma)


def two_passes(rows, sigma, seed=0):
    rng = np.random.default_rng(seed)
    total = KnownTotal(rows=rows, sigma=1.0)
    split = split_first(CELLS, histogram(CELLS.parent, rows, sigma, rng))
    edges, lookup = second_lookup(split, smooth_margins({"x": split}, {}, total)["x"][:2])
    bins = second_bins(split, edges, histogram(lookup, rows, sigma, rng))
    fitted = smooth_margins({"x": split}, {"x": bins}, total)["x"]
    return split, lookup, coarse_margin("x", split, fitted)


def test_little_noise_gives_back_atoms_null_and_shape():
    split, _, margin = two_passes(100_000, 2.0)
    np.testing.assert_array_equal(split.apart, [0, COLUMN.null_code])
    dense, p = margin.dense(), truth()
    assert dense[0] == pytest.approx(0.2, abs=2e-3) and dense[COLUMN.null_code] == pytest.approx(0.1, abs=2e-3)
    assert dense[CELLS.values - 1] == 0, "a light bound is no atom"
    assert np.abs(np.cumsum(dense) - np.cumsum(p)).max() < 0.01


def test_second_bins_hold_about_equal_mass_and_cells_apart_stand_alone():
    _, lookup, _ = two_passes(100_000, 2.0)
    mass = np.bincount(lookup, truth())
    np.testing.assert_allclose(mass[:8], 0.7 / 8, rtol=0.2)
    assert lookup[0] != lookup[1] and np.sum(lookup == lookup[COLUMN.null_code]) == 1


@pytest.mark.parametrize("seed", range(3))
def test_pure_noise_gives_valid_margins(seed):
    _, _, margin = two_passes(1, 300.0, seed)
    dense = margin.dense()
    assert np.all(dense >= 0) and dense.sum() == pytest.approx(1)


def test_merged_atoms_carry_their_noise():
    rng = np.random.default_rng(0)
    split = split_first(CELLS, histogram(CELLS.parent, 100, 50.0, rng))
    assert 0 not in split.apart
    assert split.first.sigma[0] == pytest.approx(50.0 * np.sqrt(2)) and split.first.sigma[1] == pytest.approx(50.0)


def test_levels_drop_an_unlisted_code_that_is_only_noise():
    column = Category(("a", "b", "c"))
    cells = first_cells(column)
    seen = FewRowsHistogram(counts=np.array([500.0, 300.0, 200.0, 25.0]), sigma=10.0)
    margin = level_margin("x", cells, seen, KnownTotal(rows=1000, sigma=1.0))
    np.testing.assert_allclose(margin.dense(), [0.5, 0.3, 0.2, 0], atol=0.02)
    heavy = FewRowsHistogram(counts=np.array([500.0, 300.0, 100.0, 100.0]), sigma=10.0)
    assert level_margin("x", cells, heavy, KnownTotal(rows=1000, sigma=1.0)).dense()[3] == pytest.approx(0.1, abs=0.02)


def test_one_code_has_all_mass():
    cells = first_cells(Integer(5, 5))
    seen = FewRowsHistogram(counts=np.array([-40.0]), sigma=30.0)
    assert level_margin("x", cells, seen, KnownTotal(rows=3, sigma=1.0)).dense().tolist() == [1.0]


def test_the_number_of_rows_is_pooled_by_inverse_variance():
    fine = FewRowsHistogram(counts=np.array([40.0, 60.0]), sigma=1.0)
    coarse = FewRowsHistogram(counts=np.array([90.0, 110.0]), sigma=10.0)
    total = pool_total([fine, coarse], None)
    assert total.rows == pytest.approx((100 / 2 + 200 / 200) / (1 / 2 + 1 / 200))
    assert total.sigma == pytest.approx((1 / 2 + 1 / 200) ** -0.5)
    assert pool_total([fine], KnownTotal(rows=70.0, sigma=0.0)) == KnownTotal(rows=70.0, sigma=0.0)
    assert pool_total([FewRowsHistogram(counts=np.array([-50.0]), sigma=1.0)], None).rows == 1.0
