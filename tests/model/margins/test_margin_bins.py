"""Bins of a column and how histograms on different bins are brought to common cells."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.margins.bins import (
    COARSE_CELLS,
    HALVINGS,
    MAX_ATOMS,
    MOST_FINE_BINS,
    MOST_PARTS,
    cell_starts,
    find_lumps,
    finer_lookup,
    first_lookup,
    heavy_values,
    joint_labels,
    lay_out_column,
    significant_candidates,
    unless_crowded,
)
from sklar.model.margins.density import MAX_CHAIN_CELLS
from sklar.model.margins.fit import Histogram, fit_cells, observe, pool_total, spread
from sklar.model.margins.likelihood import KnownTotal
from sklar.schema.columns import Boolean, Category, Column, Ordinal
from sklar.schema.numbers import Datetime, Integer, Real

COLUMNS: dict[str, Column] = {
    "category": Category(["a", "b", "c"], nullable=True),
    "ordinal": Ordinal(["low", "mid", "high"]),
    "boolean": Boolean(nullable=True),
    "minute": Integer(0, 59),
    "age": Integer(16, 100),
    "gain": Integer(0, 100_000, nullable=True),
    "shorter": Integer(0, 400),
    "wide": Integer(0, 5_000_000),
    "real": Real(0, 1),
    "zero": Real(-2, 7, atoms=[0.0], nullable=True),
    "edges": Real(0, 1000, edges=[0, 1, 10, 100, 1000]),
    "day": Datetime("2000-01-01", "2020-12-31"),
    "one value": Integer(5, 5),
}
NONE = np.zeros(0, dtype=np.int64)


@pytest.mark.parametrize("name", COLUMNS)
def test_first_bins_cover_all_codes_and_keep_other_and_null_apart(name: str):
    column = COLUMNS[name]
    lookup = first_lookup(lay_out_column(column))
    counts = np.bincount(lookup)
    assert lookup.shape == (column.size,)
    assert counts.min() > 0
    for code in (column.other_code, column.null_code):
        assert code is None or counts[lookup[code]] == 1


def test_the_resolution_of_the_first_bins():
    bins = {name: int(first_lookup(lay_out_column(c)).max()) + 1 for name, c in COLUMNS.items()}
    assert bins["category"] == 5 and bins["boolean"] == 3 and bins["minute"] == 60 and bins["one value"] == 1
    assert bins["age"] == 32
    assert bins["shorter"] == 32 and bins["gain"] == 33 + HALVINGS and bins["day"] == 32
    assert bins["real"] == 34 + HALVINGS and bins["zero"] == 36
    wide = COLUMNS["wide"]
    assert isinstance(wide, Integer)
    assert bins["wide"] == 32 + (wide.lower == 0) * HALVINGS + wide.grid.is_atom.sum()
    searched = {name for name, c in COLUMNS.items() if lay_out_column(c).searched}
    assert searched == {"gain", "day"}


@pytest.mark.parametrize("name", ["gain", "wide", "real", "zero", "shorter"])
def test_finer_bins_cut_heavy_cells_and_nothing_else(name: str):
    layout = lay_out_column(COLUMNS[name])
    atoms = np.flatnonzero(layout.candidate)[:2]
    starts = cell_starts(layout, layout.coarse, atoms)
    mass = np.zeros(len(starts))
    heavy = int(np.flatnonzero(~np.isin(starts, atoms))[3])
    mass[heavy] = 1.0
    finer = finer_lookup(layout, atoms, mass, 0.1)
    coarse_cell = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, layout.size)))
    parts = np.array([len(np.unique(finer[coarse_cell == cell])) for cell in range(len(starts))])
    assert parts[heavy] == min(10, (coarse_cell == heavy).sum())
    assert np.all(np.delete(parts, heavy) == 1)
    last = finer[starts[(starts < layout.values) & ~np.isin(starts, atoms)]][4:]  # light cells beyond the heavy one
    assert np.unique(last, return_counts=True)[1].tolist()[:4] == [1, 2, 4, 8]
    assert np.bincount(finer).min() > 0
    assert finer.max() + 1 <= MOST_FINE_BINS + len(starts)


@pytest.mark.parametrize("value", [20, 71, 100])
def test_a_cell_that_stands_out_of_its_neighbours_is_counted_value_by_value(value: int):
    layout = lay_out_column(COLUMNS["age"])
    rows = 5_000 * np.exp(-((np.arange(85) - 40) ** 2) / 288) / 30
    for spike in (0, 700):
        rows[value - 16] += spike
        lookup = first_lookup(layout)
        lumps = find_lumps(layout, lookup, np.bincount(lookup, rows).astype(float), sigma=15.0)
        assert list(lumps) == ([layout.coarse[value - 16]] if spike else [])
        assert not lumps or sum(lumps.values()) == pytest.approx(spike, abs=200)
        mass = np.bincount(layout.coarse, rows / rows.sum())
        finer = finer_lookup(layout, NONE, mass, part_mass=0.5, lumps=lumps)
        alone = int(np.sum(finer == finer[value - 16]))
        assert alone == 1 if spike else alone > 1


def test_many_lumps_take_half_of_the_bins_at_most_the_largest_first():
    """Beyond MAX_CHAIN_CELLS cells the density of a column is not smooth any more."""
    layout = lay_out_column(COLUMNS["real"])
    starts = cell_starts(layout, layout.coarse, NONE)
    mass = np.where(starts < layout.values, 1.0, 0.0) / np.sum(starts < layout.values)
    lumps = {int(cell): 100.0 + cell for cell in range(layout.coarse[-1] + 1)}
    finer = finer_lookup(layout, NONE, mass, part_mass=1e-6, lumps=lumps)
    assert finer.max() + 1 <= MOST_FINE_BINS
    cells = len(cell_starts(layout, joint_labels(layout, finer), np.flatnonzero(layout.candidate)))
    assert cells <= MAX_CHAIN_CELLS
    bins = [len(np.unique(finer[: layout.values][layout.coarse == cell])) for cell in sorted(lumps)]
    assert bins[-2:] == [MOST_PARTS, MOST_PARTS] and max(bins[:-2]) < MOST_PARTS / 4


def test_light_neighbours_are_counted_together_until_they_hold_half_a_part():
    layout = lay_out_column(Real(-1, 1))
    starts = cell_starts(layout, layout.coarse, np.zeros(0, dtype=np.int64))
    mass = np.where(starts < layout.values, 1 / np.sum(starts < layout.values), 0.0)
    for each in (2, 5):  # cells that hold half a part
        finer = finer_lookup(layout, NONE, mass, 2 * (each - 0.5) * mass[0])
        held = np.bincount(finer[starts[starts < layout.values]])
        assert set(held[:-1]) == {each} and held[-1] <= each


@pytest.mark.parametrize("ends", [(0, 1), (-1, 0), (0.5, 1.5)])
def test_the_cell_next_to_zero_is_halved_towards_it(ends: tuple[float, float]):
    layout = lay_out_column(Real(*ends))
    widths = np.round(np.bincount(layout.coarse, layout.width) * COARSE_CELLS, 2).tolist()
    near = [round(2.0**-k, 2) for k in (HALVINGS, *range(HALVINGS, 0, -1))]
    expected = {0: [*near, *[1.0] * 31], -1: [*[1.0] * 31, *near[::-1]], 0.5: [1.0] * 32}
    assert widths == expected[ends[0]]
    assert np.allclose(np.bincount(layout.whole, layout.width), 1 / COARSE_CELLS)


def test_halves_stay_apart_where_values_crowd_in_them():
    layout = lay_out_column(Real(0, 1, nullable=True))
    lookup = first_lookup(layout)
    values = {"crowded": np.linspace(0.0, 0.03, 400), "even": np.linspace(0.0, 1.0, 400)}
    codes = {name: Real(0, 1).grid.code(x) for name, x in values.items()}
    found = {
        name: unless_crowded(layout, lookup, np.bincount(lookup[code], minlength=lookup.max() + 1).astype(float))
        for name, code in codes.items()
    }
    assert found["crowded"] is layout
    assert np.array_equal(found["even"].coarse, layout.whole) and found["even"].coarse.max() == COARSE_CELLS - 1


def test_heavy_values_are_found_and_false_ones_are_not():
    layout = lay_out_column(Integer(0, 99_999))
    rng = np.random.default_rng(0)
    counts = rng.normal(0, 20, layout.size)
    counts[[0, 7_298, 99_999]] += [25_000, 300, 200]
    coarse = np.bincount(layout.coarse, counts)
    assert heavy_values(layout, counts, 20.0, coarse).tolist() == [0, 7_298, 99_999]
    dense = rng.normal(1_000, 20, layout.size)
    assert len(heavy_values(layout, dense, 20.0, np.bincount(layout.coarse, dense))) == 0
    many = np.where(np.arange(layout.size) % 1_000 == 0, 1e4, 0.0)
    assert len(heavy_values(layout, many, 20.0, np.bincount(layout.coarse, many))) == MAX_ATOMS


def test_only_significant_candidates_are_kept():
    layout = lay_out_column(COLUMNS["zero"])
    zero = int(np.flatnonzero(layout.candidate)[1])
    counts = np.zeros(36)
    counts[first_lookup(layout)[zero]] = 100.0
    counts[first_lookup(layout)[0]] = 20.0
    assert significant_candidates(layout, first_lookup(layout), counts, 10.0).tolist() == [zero]


@pytest.mark.parametrize("name", ["gain", "wide", "zero"])
def test_observed_bins_are_sums_of_cells(name: str):
    """Whatever the cells, the merged bins hold exactly the counts of their cells."""
    layout = lay_out_column(COLUMNS[name])
    rng = np.random.default_rng(1)
    exact = rng.integers(0, 50, layout.size).astype(float)
    atoms = np.flatnonzero(layout.candidate)[:1]
    for lookup in (first_lookup(layout), np.arange(layout.size)):
        seen = Histogram(lookup=lookup, counts=np.bincount(lookup, exact), sigma=2.0)
        starts = cell_starts(layout, layout.coarse, atoms)
        found = observe(starts, layout.size, seen)
        cells = np.add.reduceat(exact, starts)
        np.testing.assert_allclose(np.bincount(found.parent, cells), found.counts)
        assert (found.sigma**2).sum() == pytest.approx(4.0 * len(seen.counts))


def test_unkept_atoms_do_not_become_values_of_the_margin():
    layout = lay_out_column(COLUMNS["zero"])
    starts = cell_starts(layout, layout.coarse, NONE)
    cell = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, layout.size)))
    margin = spread("zero", layout, cell, np.full(len(starts), 1 / len(starts)))
    dense = margin.dense()
    assert dense[np.flatnonzero(layout.candidate)].max() < 1e-12
    np.testing.assert_allclose(np.bincount(cell, dense), 1 / len(starts))
    density = dense[: layout.values] / layout.width
    assert density[~layout.candidate].max() / density[~layout.candidate].min() < 1.05


def test_released_lookups_are_constant_on_margin_cells():
    layout = lay_out_column(COLUMNS["wide"])
    atoms = np.flatnonzero(layout.candidate)[[3, 50]]
    starts = cell_starts(layout, layout.coarse, atoms)
    cell = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, layout.size)))
    margin = spread("wide", layout, cell, np.full(len(starts), 1 / len(starts)))
    for lookup in (first_lookup(layout), cell):
        assert np.array_equal(np.repeat(lookup[margin.starts], margin.widths()), lookup)
    assert len(margin.mass) < 600


def test_a_smooth_density_fills_coarse_cells_by_width_and_keeps_the_atom():
    layout = lay_out_column(COLUMNS["real"])
    counts = np.concatenate([100.0 * 32 * np.bincount(layout.coarse, layout.width), [3_000.0, 0.0]])
    seen = Histogram(lookup=first_lookup(layout), counts=counts, sigma=10.0)
    atoms = significant_candidates(layout, first_lookup(layout), counts, 10.0)
    assert atoms.tolist() == [0]
    starts = cell_starts(layout, layout.coarse, atoms)
    mass = fit_cells(layout, starts, atoms, [seen], KnownTotal(rows=6_200, sigma=10.0)).mass
    assert mass[0] == pytest.approx(3_000 / 6_200, rel=0.01)
    np.testing.assert_allclose(mass[1:], 3_200 * np.bincount(layout.coarse, layout.width) / 6_200, rtol=0.05)


def test_totals_are_pooled_by_precision_unless_public():
    wide = Histogram(lookup=np.arange(100), counts=np.full(100, 12.0), sigma=1.0)
    short = Histogram(lookup=np.arange(2), counts=np.array([500.0, 500.0]), sigma=1.0)
    pooled = pool_total([wide, short], KnownTotal(rows=0.0, sigma=np.inf))
    assert pooled.rows == pytest.approx((1200 / 100 + 1000 / 2) / (1 / 100 + 1 / 2))
    assert pooled.sigma == pytest.approx((1 / 100 + 1 / 2) ** -0.5)
    assert pool_total([wide, short], KnownTotal(rows=777.0, sigma=0.0)).rows == 777.0
    assert pool_total([], KnownTotal(rows=0.0, sigma=np.inf)).rows == 1.0
