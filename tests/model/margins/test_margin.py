"""Margins over base codes: quantiles, distribution functions and codes fit together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.errors import UsageError
from sklar.model.margins.margin import Margin, margin_from_dense, u_edges


@st.composite
def margins(draw: st.DrawFn) -> Margin:
    widths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=12))
    mass = draw(st.lists(st.sampled_from([0.0, 1e-12, 0.1, 1.0, 7.0]), min_size=len(widths), max_size=len(widths)))
    if sum(mass) == 0:
        mass[0] = 1.0
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    return Margin(column="x", starts=starts, mass=np.array(mass), size=sum(widths))


@given(margins())
def test_edges_are_the_running_sum_of_the_dense_masses(margin: Margin):
    dense = margin.dense()
    assert dense.shape == (margin.size,)
    assert np.isclose(dense.sum(), 1.0)
    np.testing.assert_allclose(u_edges(margin), np.concatenate([[0], np.cumsum(dense)]), atol=1e-12)
    assert u_edges(margin)[-1] == 1.0
    assert u_edges(margin)[0] == 0.0


@given(margins())
def test_quantiles_of_the_middle_of_a_code_give_the_code_back(margin: Margin):
    edges = u_edges(margin)
    codes = np.flatnonzero(np.diff(edges) > 1e-9)
    middle = (edges[codes] + edges[codes + 1]) / 2
    np.testing.assert_array_equal(margin.ppf(middle), codes)


@given(margins(), st.lists(st.sampled_from([0.0, 1e-300, 0.25, 0.5, 1 - 1e-16, 1.0]), min_size=1, max_size=6))
def test_quantiles_never_land_on_codes_without_mass(margin: Margin, u: list[float]):
    codes = margin.ppf(np.array(u))
    assert np.all(margin.dense()[codes] > 0)


def test_quantiles_of_a_grid_reproduce_the_masses():
    margin = Margin(column="x", starts=np.array([0, 3, 4]), mass=np.array([0.3, 0.0, 0.7]), size=11)
    u = (np.arange(100_000) + 0.5) / 100_000
    counts = np.bincount(margin.ppf(u), minlength=11) / len(u)
    np.testing.assert_allclose(counts, margin.dense(), atol=2e-5)


def test_equal_neighbours_share_a_cell():
    margin = margin_from_dense("x", np.array([0.1, 0.1, 0.3, 0.0, 0.0, 0.5]))
    assert margin.starts.tolist() == [0, 2, 3, 5]
    np.testing.assert_allclose(margin.dense(), [0.1, 0.1, 0.3, 0.0, 0.0, 0.5])


@pytest.mark.parametrize(
    ("starts", "mass", "size"),
    [([1, 2], [0.5, 0.5], 4), ([0, 0], [0.5, 0.5], 4), ([0, 4], [0.5, 0.5], 4), ([0], [0.0], 4), ([0], [np.nan], 4)],
)
def test_impossible_margins_are_refused(starts: list[int], mass: list[float], size: int):
    with pytest.raises(UsageError):
        Margin(column="x", starts=np.array(starts), mass=np.array(mass), size=size)
