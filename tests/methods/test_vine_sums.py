"""Sums that tell correlations, and what they do to tables of pairs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from sklar import Boolean, Category, Integer, Schema
from sklar.methods.vine.axes import VineAxis
from sklar.methods.vine.options import VineOptions, depth_of, scored_columns
from sklar.methods.vine.sums import (
    CorrelationEstimate,
    combine_with_tables,
    estimate_correlations,
    inflate_variance,
    request_correlations,
    sums_share,
)
from sklar.model.axis import lay_out
from sklar.model.pairs.grouping import group_cells
from sklar.model.pairs.hints import gaussian_cells, read_correlation
from sklar.model.pairs.tables import MeasuredTable
from tests.methods.fits import make_setting, open_door

CELLS = 40
SCHEMA = Schema({**{f"x{j}": Integer(0, CELLS - 1) for j in range(4)}, "kind": Category(tuple("abc")), "y": Boolean()})
CORR = np.array([[1, 0.7, -0.4, 0.1], [0.7, 1, -0.2, 0.0], [-0.4, -0.2, 1, 0.3], [0.1, 0.0, 0.3, 1]])


def measure_correlations(schema, codes, axes, rows, amount=0.01):
    """Correlations estimated from one measurement of sums, and what it cost."""
    setting = make_setting(schema, VineOptions(), amount)
    step = request_correlations(setting, setting.allowance, axes)
    if step is None:
        return {}, 0.0
    door = open_door(schema, codes)
    measured = door.measure(step.requests, step.label)
    return estimate_correlations(measured, schema, axes, rows, setting.generator()), door.spent()


def axis(name, mass, *, ordered=True):
    scale = lay_out(np.arange(len(mass)), mass, len(mass), nominal=not ordered)
    return VineAxis(name=name, scale=scale, coarse=None, ordered=ordered, numeric=ordered)


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(4)
    z = rng.multivariate_normal(np.zeros(4), CORR, 20_000)
    numbers = np.minimum((ndtr(z) * CELLS).astype(int), CELLS - 1)
    flag = (z[:, 0] + rng.standard_normal(len(z)) > 1).astype(int)
    codes = np.column_stack([numbers, rng.integers(0, 3, len(z)), flag])
    axes = [
        axis(name, np.bincount(codes[:, j], minlength=SCHEMA.size(name)).astype(float), ordered=name != "kind")
        for j, name in enumerate(SCHEMA.modelled)
    ]
    return codes, tuple(axes)


def table(world, pair, sigma, seed=0):
    codes, axes = world
    groups = tuple(axes[c].groups(8, 0.0, len(codes)) for c in pair)
    cells = np.zeros((groups[0].count, groups[1].count))
    np.add.at(cells, tuple(g.lookup[codes[:, c]] for g, c in zip(groups, pair, strict=True)), 1)
    noise = np.random.default_rng(seed).normal(0, sigma, cells.shape)
    return MeasuredTable(columns=pair, groups=groups, counts=cells + noise, sigma=sigma)


def test_only_ordered_and_two_valued_columns_are_scored():
    assert scored_columns(SCHEMA) == (0, 1, 2, 3, 5)


def test_trees_are_more_where_all_columns_are_ordered():
    numbers = Schema({name: SCHEMA[name] for name in ("x0", "x1", "x2", "y")})
    assert (
        depth_of(SCHEMA, VineOptions()),
        depth_of(numbers, VineOptions()),
        depth_of(numbers, VineOptions(depth=2)),
    ) == (
        6,
        12,
        2,
    )


@pytest.mark.parametrize(
    ("resolution", "expected"), [(20.0, 0.05), (10.0, 0.05), (7.0, 0.05 / 0.49), (3.0, 0.15), (0.0, 0.15)]
)
def test_share_grows_as_tables_coarsen_and_counts_scored_pairs(resolution, expected):
    assert np.isclose(sums_share(SCHEMA, VineOptions(), resolution, 1e4), expected * 10 / 15)


def test_share_may_be_given_and_is_nothing_where_nothing_can_be_told():
    assert sums_share(SCHEMA, VineOptions(sums=0.3), 10.0, 1e4) == 0.3
    words = Schema({"a": Category(tuple("abc")), "b": Integer(0, 9), "c": Category(tuple("abcd"))})
    assert sums_share(words, VineOptions(sums=0.3), 10.0, 1e4) == 0.0
    wide = Schema({f"c{j}": Integer(0, 9) for j in range(60)})
    assert sums_share(wide, VineOptions(), 10.0, 1e4) == 0.0


def test_nothing_is_spent_where_tables_tell_enough():
    """10 groups a side at sigma: noise of 10 sigma / n against a sampling error of 1 / sqrt(n)."""
    rows = 1e6
    for sigma, spends in ((20.0, False), (50.0, True)):
        resolution = np.sqrt(rows / (1.5 * sigma))
        assert (sums_share(SCHEMA, VineOptions(), resolution, rows) > 0) == spends


def test_correlations_are_found_within_their_noise(world):
    codes, axes = world
    known, spent = measure_correlations(SCHEMA, codes, axes, len(codes))
    assert 0.009 < spent <= 0.01
    for a in range(4):
        for b in range(a + 1, 4):
            error = np.sqrt(known[a, b].variance + 2 / len(codes))
            assert abs(known[a, b].corr - CORR[a, b]) < 5 * error + 0.005
    assert set(known) == {(a, b) for a in (0, 1, 2, 3, 5) for b in (0, 1, 2, 3, 5) if a < b}


def test_nulls_do_not_bend_the_correlation_of_values(world):
    codes, axes = world
    rng = np.random.default_rng(5)
    missing = rng.random(len(codes)) < 0.3
    nulled = codes.copy()
    nulled[missing, 0] = CELLS
    schema = Schema({**{name: SCHEMA[name] for name in SCHEMA.modelled}, "x0": Integer(0, CELLS - 1, nullable=True)})
    scale = lay_out(np.arange(CELLS + 1), np.bincount(nulled[:, 0]).astype(float), CELLS + 1, nominal=False)
    first = VineAxis(name="x0", scale=scale, coarse=None, ordered=True, numeric=True, null=CELLS)
    known, _ = measure_correlations(schema, nulled, (first, *axes[1:]), len(codes))
    assert np.isclose(first.top, 1 - missing.mean())
    for b in (1, 2, 3):
        assert abs(known[0, b].corr - CORR[0, b]) < 5 * np.sqrt(known[0, b].variance + 3 / len(codes)) + 0.005


def test_a_column_of_mostly_nulls_is_scored_and_one_of_a_single_value_is_not(world):
    codes, axes = world
    rows = len(codes)
    schema = Schema({**{name: SCHEMA[name] for name in SCHEMA.modelled}, "x0": Integer(0, CELLS - 1, nullable=True)})
    for values, scored in ((np.full(CELLS, 0.2 * rows / CELLS), True), (np.eye(CELLS)[3] * 0.2 * rows, False)):
        scale = lay_out(np.arange(CELLS + 1), np.append(values, 0.8 * rows), CELLS + 1, nominal=False)
        first = VineAxis(name="x0", scale=scale, coarse=None, ordered=True, numeric=True, null=CELLS)
        known, _ = measure_correlations(schema, codes, (first, *axes[1:]), rows)
        assert ((0, 1) in known) == scored


def test_constant_columns_leave_nothing_to_sum(world):
    codes, axes = world
    constant = np.zeros_like(codes)
    flat = tuple(axis(a.name, np.eye(len(a.scale.order))[0], ordered=a.ordered) for a in axes)
    assert measure_correlations(SCHEMA, constant, flat, 100.0, amount=1.0) == ({}, 0.0)


def test_sharpened_tables_have_the_known_correlation(world):
    known = {(0, 1): CorrelationEstimate(corr=0.7, variance=1e-6)}
    noisy = table(world, (0, 1), 300.0)
    (sharp,) = combine_with_tables(known, [noisy], 20_000.0)
    edges = noisy.groups[0].edges, noisy.groups[1].edges
    assert abs(read_correlation(noisy.counts, 300.0, 20_000.0, edges, 0.7).corr - 0.7) > 0.01
    assert abs(read_correlation(sharp.counts, 300.0, 20_000.0, edges, 0.7).corr - 0.7) < 1e-3
    assert sharp.hint.misfit(gaussian_cells(*edges, 0.7)[0]) < 0.5


def test_tables_of_other_columns_are_left_alone(world):
    other = table(world, (0, 4), 10.0)
    assert combine_with_tables({(0, 1): CorrelationEstimate(corr=0.7, variance=1e-6)}, [other], 20_000.0) == (other,)


def test_sums_that_contradict_the_tables_are_not_believed(world):
    """Correlations off by .15: tables with little noise overrule them, tables full of noise cannot."""
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    wrong = {pair: CorrelationEstimate(corr=float(CORR[pair]) - 0.15, variance=1e-6) for pair in pairs}
    clear = [table(world, pair, 5.0, seed) for seed, pair in enumerate(pairs)]
    doubted = inflate_variance(wrong, clear, 20_000.0)
    assert all(0.1 < np.sqrt(one.variance) < 0.25 for one in doubted.values())
    for before, after in zip(clear, combine_with_tables(doubted, clear, 20_000.0), strict=True):
        assert np.abs(after.counts - before.counts).max() < 0.02 * before.counts.max()
    right = {pair: replace(one, corr=float(CORR[pair])) for pair, one in wrong.items()}
    assert all(np.sqrt(one.variance) < 0.02 for one in inflate_variance(right, clear, 20_000.0).values())


def test_groups_without_a_second_group_are_no_obstacle(world):
    _, axes = world
    one = group_cells(axes[0].scale, 1, 0.0)
    flat = MeasuredTable(columns=(0, 1), groups=(one, axes[1].groups(4, 0.0, 1.0)), counts=np.ones((1, 4)), sigma=1.0)
    assert combine_with_tables({(0, 1): CorrelationEstimate(corr=0.5, variance=0.1)}, [flat], 4.0) == (flat,)


def test_a_correlation_within_its_noise_leaves_cells_as_they_would_be_by_chance(world):
    noisy = table(world, (0, 1), 400.0)
    for variance, shrunken in ((1.0, True), (1e-4, False)):
        (sharp,) = combine_with_tables(
            {(0, 1): CorrelationEstimate(corr=0.2, variance=variance)}, [replace(noisy, counts=chance(noisy))], 20_000.0
        )
        assert (sharp.hint.corr == 0.0) == shrunken


def chance(of):
    return 20_000.0 * np.outer(of.groups[0].mass, of.groups[1].mass)
