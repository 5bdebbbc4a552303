"""Groups of margin cells."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklar.model.axis import lay_out
from sklar.model.pairs.grouping import base_lookup, group_cells


def axis(mass, nominal=False, widths=None):
    widths = np.ones(len(mass), dtype=int) if widths is None else widths
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    return lay_out(starts, np.asarray(mass, float), int(np.sum(widths)), nominal=nominal)


@given(
    mass=st.lists(st.floats(0, 1), min_size=1, max_size=40),
    most=st.integers(2, 12),
    least=st.floats(0, 0.3),
    nominal=st.booleans(),
    nested=st.booleans(),
    fine=st.booleans(),
)
def test_groups_are_a_partition_in_axis_order(mass, most, least, nominal, nested, fine):
    scale = axis(mass, nominal)
    coarse = np.arange(len(mass)) // 4 if nested and not nominal else None
    groups = group_cells(scale, most, least, coarse, fine=fine)
    along = groups.lookup[scale.order]
    assert set(np.diff(along)) <= {0, 1}
    assert along[0] == 0
    assert groups.count == along[-1] + 1 <= most
    assert np.all(groups.mass > 0)
    assert np.allclose(np.bincount(groups.lookup, scale.mass), groups.mass)
    assert groups.count == 1 or groups.mass.min() >= least / 2 - 1e-12


def test_heavy_cells_stand_alone():
    groups = group_cells(axis([0.05] * 6 + [0.5] + [0.05] * 4), 5, 0.0)
    assert np.sum(groups.lookup == groups.lookup[6]) == 1


def test_least_mass_limits_the_number_of_groups():
    scale = axis(np.full(100, 0.01))
    assert group_cells(scale, 50, 0.1).count <= 11
    assert group_cells(scale, 50, 2.0).count == 1


def test_public_cells_are_cut_only_when_heavy():
    mass = np.array([0.01] * 8 + [0.2] * 4 + [0.01] * 4 + [0.03] * 4)
    coarse = np.repeat(np.arange(5), 4)
    groups = group_cells(axis(mass), 8, 0.01, coarse)
    light = [groups.lookup[4 * k : 4 * k + 4] for k in (0, 1, 3, 4)]
    assert all(len(set(part)) == 1 for part in light)
    assert len(set(groups.lookup[8:12])) > 1


def test_fine_groups_cut_light_public_cells_beside_a_value_that_most_rows_have():
    mass = np.array([0.9] + [0.001] * 3 + [0.01] * 4 + [0.006] * 4 + [0.003] * 10)
    coarse = np.concatenate([np.zeros(4), np.repeat([1, 2], 4), np.repeat([3, 4], 5)])
    usual, fine = (group_cells(axis(mass), 16, 0.001, coarse, fine=one) for one in (False, True))
    assert len(set(usual.lookup[4:8])) == 1
    assert len(set(fine.lookup[4:8])) > 2
    assert np.flatnonzero(fine.lookup == fine.lookup[0]).tolist() == [0]
    assert np.delete(fine.mass, 0).max() < 0.03


def test_fine_groups_keep_the_borders_of_the_usual_ones():
    mass, coarse = np.full(40, 1 / 40), np.repeat(np.arange(10), 4)
    usual, fine = (group_cells(axis(mass), 40, 0.001, coarse, fine=one) for one in (False, True))
    assert usual.count < fine.count
    assert set(np.flatnonzero(np.diff(usual.lookup))) <= set(np.flatnonzero(np.diff(fine.lookup)))


def test_lookup_over_base_codes_repeats_the_cell_lookup():
    scale = axis([0.5, 0.25, 0.25], widths=np.array([3, 1, 2]))
    groups = group_cells(scale, 2, 0.0)
    assert base_lookup(groups, scale).tolist() == groups.lookup[[0, 0, 0, 1, 2, 2]].tolist()


def test_a_heavy_null_cell_keeps_a_group_of_its_own():
    groups = group_cells(axis(np.append(np.full(50, 0.7 / 50), 0.3)), 6, 0.02)
    assert np.flatnonzero(groups.lookup == groups.lookup[-1]).tolist() == [50]


def test_an_empty_neighbour_does_not_keep_a_heavy_public_cell_whole():
    mass = np.concatenate([[0.0], np.full(20, 0.04), np.full(4, 0.05)])
    coarse = np.concatenate([[9], np.zeros(20), np.arange(1, 5)])
    groups = group_cells(axis(mass), 12, 0.01, coarse)
    assert len(set(groups.lookup[1:21])) > 3
