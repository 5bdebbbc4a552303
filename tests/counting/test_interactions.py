"""Interactions of tables: whole numbers that no margin moves, and how far one person does, by brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sklar.accounting.unit import Unit
from sklar.counting.evaluate import exact_interactions
from sklar.errors import DoorError
from sklar.model.pairs.interactions import centre, noisy_dimensions, with_margins
from sklar.release.counts import Interaction, interaction_sensitivity

SHAPES = [(2, 2), (2, 5), (3, 3), (4, 7), (2, 2, 2), (2, 3, 4), (3, 3, 3)]
UNITS = [Unit(neighbours=n, rows_per_person=k) for n in ("add-remove", "replace") for k in (1, 3)]


def rows_of(shape):
    """What a row adds, in units of counts, for each cell it can lie in."""
    size = math.prod(shape)
    return [exact_interactions(np.eye(size, dtype=np.int64)[cell].reshape(shape)) / size for cell in range(size)]


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_person_stays_within_the_bound_which_is_tight(shape, unit):
    l1, l2 = interaction_sensitivity(shape, unit)
    rows = rows_of(shape)
    pairs = itertools.product(rows, repeat=2)
    moves = rows if unit.neighbours == "add-remove" else [x - y for x, y in pairs]
    largest = unit.rows_per_person * max(float(np.linalg.norm(x)) for x in moves)
    assert largest <= l2 * (1 + 1e-12)
    assert largest >= l2 * (1 - 1e-12)
    assert unit.rows_per_person * max(float(np.abs(x).sum()) for x in moves) <= l1 * (1 + 1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_is_summed_is_whole_additive_and_free_of_margins(shape):
    rng = np.random.default_rng(0)
    one, two = (rng.integers(0, 50, shape) for _ in range(2))
    found = exact_interactions(one)
    assert found.dtype == np.int64
    assert all(not found.sum(axis=axis).any() for axis in range(len(shape)))
    np.testing.assert_array_equal(exact_interactions(one + two), found + exact_interactions(two))
    np.testing.assert_allclose(found, centre(one.astype(float)) * one.size, atol=1e-8)
    # A table that is the same along one axis tells nothing that its margins do not.
    flat = np.broadcast_to(one[:1], shape)
    assert not exact_interactions(flat).any()


def test_a_pair_is_the_formula_of_the_proof():
    table = np.random.default_rng(1).integers(0, 99, (3, 5))
    expected = 15 * table - 3 * table.sum(axis=1, keepdims=True) - 5 * table.sum(axis=0) + table.sum()
    np.testing.assert_array_equal(exact_interactions(table), expected)


def test_a_table_comes_back_with_its_margins():
    table = np.random.default_rng(2).integers(1, 99, (4, 6))
    rows = table.sum()
    masses = table.sum(axis=1) / rows, table.sum(axis=0) / rows
    np.testing.assert_allclose(with_margins(exact_interactions(table) / table.size, rows, masses), table, atol=1e-9)


def test_noise_of_interactions_has_as_many_dimensions_as_said():
    shape = (3, 4, 2)
    basis = np.array([centre(np.eye(24)[i].reshape(shape)).ravel() for i in range(24)])
    assert np.linalg.matrix_rank(basis) == noisy_dimensions(shape) == 6


@pytest.mark.parametrize("groups", [[(0, 1, 1)], [(0, 1), (0, 0)]], ids=["one axis", "one group"])
def test_what_has_no_interactions_is_refused(groups):
    partitions = tuple(np.array(g) for g in groups)
    with pytest.raises(DoorError, match="two axes"):
        Interaction(columns=("a", "b")[: len(groups)], partitions=partitions)
