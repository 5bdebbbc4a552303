"""Rows placed evenly inside the groups of tables."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sklar.model.axis import lay_out
from sklar.model.vine.calibration import NO_TILT, Partition, SoftTable
from sklar.model.vine.rounding import _stable_order, group_cuts, spread_evenly

CUTS = np.array([0.0, 0.2, 0.25, 1.0])


def test_intervals_and_order_stay_and_each_interval_is_covered_evenly():
    rng = np.random.default_rng(0)
    u = rng.beta(2.0, 5.0, 1_000)
    v = spread_evenly(CUTS, u, rng)
    assert np.array_equal(np.searchsorted(CUTS, u, side="right"), np.searchsorted(CUTS, v, side="right"))
    assert np.array_equal(np.argsort(u), np.argsort(v))
    for low, high in pairwise(CUTS):
        inside = np.sort(v[(v >= low) & (v < high)])
        parts = (inside - low) / (high - low) * len(inside)
        assert np.array_equal(np.floor(parts), np.arange(len(inside)))


def test_copies_of_one_particle_come_apart():
    v = spread_evenly(CUTS, np.full(50, 0.5), np.random.default_rng(1))
    assert len(np.unique(v)) == 50
    assert v.min() < 0.29
    assert v.max() > 0.96


def test_nothing_and_the_ends_of_the_axis_are_fine():
    rng = np.random.default_rng(2)
    assert len(spread_evenly(CUTS, np.zeros(0), rng)) == 0
    ends = spread_evenly(CUTS, np.array([1e-9, 1.0 - 1e-9]), rng)
    assert 0.0 < ends[0] < 0.2
    assert 0.25 <= ends[1] < 1.0


def test_cuts_are_those_of_every_table_of_several_columns():
    scale = lay_out(np.arange(4), np.array([0.1, 0.2, 0.3, 0.4]), 4, nominal=False)
    nominal = lay_out(np.arange(3), np.array([0.2, 0.5, 0.3]), 3, nominal=True)
    partitions = (
        Partition(column=0, lookup=np.array([0, 0, 1, 1]), count=2),
        Partition(column=0, lookup=np.array([0, 1, 1, 1]), count=2),
        Partition(column=0, lookup=np.arange(4), count=4),
        Partition(column=1, lookup=np.array([1, 0, 1]), count=2),
    )

    def table(*parts):
        return SoftTable(parts=parts, observed=np.zeros(4), variance=1.0, dual=np.zeros(4))

    tilt = replace(NO_TILT, partitions=partitions, tables=(table(0, 3), table(1, 3), table(2)))
    first, second = group_cuts(tilt, [scale, nominal])
    assert np.allclose(first, [0.0, 0.1, 0.3, 1.0])  # the margin's own cells are no groups
    assert np.allclose(second, [0.0, 0.5, 1.0])  # along the axis, heaviest value first
    first, second = group_cuts(replace(tilt, tables=(table(2),)), [scale, nominal])
    assert np.allclose(first, [0.0, 1.0])  # its own table holds it
    assert np.allclose(second, [0.0, 0.5, 0.8, 1.0])  # nothing does


@pytest.mark.parametrize("values", [1, 3, 50, 1_000_000])
def test_equal_uniforms_keep_their_order(values: int) -> None:
    """Whatever sort a machine has: samples of one seed are the same everywhere."""
    for rows in (0, 1, 2, 2_000):
        u = np.random.default_rng(rows).integers(0, values, rows) / values
        assert np.array_equal(_stable_order(u), np.argsort(u, kind="stable"))
