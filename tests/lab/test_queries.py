"""Query workloads against counting row by row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.dpc_errors import find_correlated, independent_answers, noisy_answers
from sklar.errors import UsageError
from sklar.lab.metrics.queries import (
    BinaryTable,
    binary_table,
    error_lines,
    one_way,
    pair_matrix,
    random_ranges,
    range_counts,
    relative_errors,
    three_way,
    three_way_places,
    two_way,
    two_way_places,
)
from sklar.lab.metrics.ranges import ranges_of_size

SIZES = (2, 4, 3, 5)
CODES = np.column_stack([np.random.default_rng(0).integers(0, s, 333) for s in SIZES])
TABLE = binary_table(CODES, SIZES)


def test_one_two_and_three_way_counts(monkeypatch):
    bits, owner = TABLE.bits.astype(int), TABLE.owner
    d = len(owner)
    np.testing.assert_array_equal(one_way(TABLE), [*(bits == 0).sum(0), *(bits == 1).sum(0)])
    pairs = [(a, b) for a, b in itertools.combinations(range(d), 2) if owner[a] != owner[b]]
    slow = [int((bits[:, a] * bits[:, b]).sum()) for a, b in pairs]
    np.testing.assert_array_equal(two_way(TABLE), slow)
    monkeypatch.setattr("sklar.lab.metrics.queries.BLOCK_ROWS", 50)
    monkeypatch.setattr("sklar.lab.metrics.queries.BLOCK_BYTES", 200)
    np.testing.assert_array_equal(two_way(TABLE), slow)
    places = three_way_places(owner, 60, np.random.default_rng(1))
    assert len(places) == 60 == len(np.unique(places, axis=0))
    assert all(len(set(owner[p])) == 3 for p in places)
    np.testing.assert_array_equal(three_way(TABLE, places), [bits[:, p].prod(axis=1).sum() for p in places])


def test_pairs_cover_the_rows_once():
    counts = pair_matrix(TABLE)
    assert counts.diagonal().sum() == 333 * len(SIZES)
    assert two_way(TABLE).sum() == 333 * 6


def test_error_lines_are_those_of_the_best_queries():
    real = np.arange(100.0)
    lines = error_lines(real, real + np.arange(100), (0.5, 1.0))
    assert [(x.average, x.largest) for x in lines] == [(24.5, 49.0), (49.5, 99.0)]
    assert error_lines(np.zeros(0), np.zeros(0))[0].average == 0


def test_correlated_pairs_and_references():
    x = np.random.default_rng(2).random(500) < 0.4
    table = BinaryTable(bits=np.column_stack([x, x, np.roll(x, 7)]).astype(np.uint8), owner=np.arange(3))
    places = two_way_places(table.owner)
    np.testing.assert_array_equal(find_correlated(pair_matrix(table), 500, places), [True, False, False])
    ones = table.bits.sum(axis=0).astype(float)
    np.testing.assert_allclose(independent_answers(ones / 500, 500, places), ones[places[0]] * ones[places[1]] / 500)
    noisy = noisy_answers(np.zeros(20_000), "laplace", 3.0, np.random.default_rng(3))
    assert np.abs(noisy).mean() == pytest.approx(3.0, rel=0.1)
    with pytest.raises(UsageError):
        noisy_answers(ones, "cauchy", 1.0, np.random.default_rng(3))
    with pytest.raises(UsageError):
        BinaryTable(bits=table.bits, owner=np.arange(2))


def test_range_counts_and_relative_errors():
    queries = random_ranges(SIZES, 40, np.random.default_rng(4))
    assert (queries.low <= queries.high).all() and (queries.high < SIZES).all()
    slow = [((lo <= CODES) & (hi >= CODES)).all(axis=1).sum() for lo, hi in zip(queries.low, queries.high, strict=True)]
    np.testing.assert_array_equal(range_counts(CODES, queries), slow)
    np.testing.assert_allclose(relative_errors(np.array([0.0, 10.0]), np.array([2.0, 5.0])), [2.0, 0.5])


def test_ranges_of_a_fixed_size():
    queries = ranges_of_size(np.array([1_000, 1_000]), 10_000, 300, np.random.default_rng(5))
    volume = (queries.high - queries.low + 1).prod(axis=1)
    assert (queries.high < 1_000).all() and 9_000 < np.median(volume) < 11_000
    assert (ranges_of_size(np.array([5, 5]), 1, 10, np.random.default_rng(6)).low >= 0).all()
