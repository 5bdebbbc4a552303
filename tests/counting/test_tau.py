"""Kendall's tau from two-way tables: against counting pairs of rows, and its sensitivity by brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import kendalltau

from sklar.accounting.unit import Unit
from sklar.counting.taus import exact_concordance, exact_concordances
from sklar.errors import DoorError
from sklar.release.taus import TauVector
from sklar.rows import open_rows
from sklar.schema import Integer, Schema

REPLACE = Unit(neighbours="replace", rows_per_person=1)


def orders_of(rows: np.ndarray) -> np.ndarray:
    """Concordant minus discordant pairs of rows, one pair at a time."""
    signs = np.array([np.sign(a - b) for a, b in itertools.combinations(rows.astype(int), 2)])
    return np.array(
        [int((signs[:, j] * signs[:, k]).sum()) for j, k in itertools.combinations(range(rows.shape[1]), 2)]
    )


def measured(rows: np.ndarray, top: int) -> tuple[TauVector, np.ndarray]:
    names = [f"x{j}" for j in range(rows.shape[1])]
    schema = Schema({name: Integer(0, top) for name in names})
    table = pa.table({name: rows[:, j] for j, name in enumerate(names)})
    lookup = tuple(np.arange(schema.size(name)) for name in names)
    feature = TauVector(columns=tuple(names), lookups=lookup, rows=len(rows))
    return feature, exact_concordances(feature, open_rows(table, schema))


@pytest.mark.parametrize("top", [1, 3, 40])
def test_prefix_sums_equal_counting_pairs_of_rows(top):
    rows = np.random.default_rng(top).integers(0, top + 1, (70, 4))
    feature, found = measured(rows, top)
    np.testing.assert_array_equal(found, orders_of(rows))
    assert len(found) == feature.size and found.dtype == np.int64


def test_without_ties_it_is_kendalls_tau():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.permutation(300), rng.permutation(300)])
    rows[:150] = np.sort(rows[:150], axis=0)
    feature, found = measured(rows, 299)
    assert found[0] * feature.resolution == pytest.approx(kendalltau(rows[:, 0], rows[:, 1]).statistic, abs=1e-12)


def test_passes_do_not_matter(monkeypatch):
    rows = np.random.default_rng(1).integers(0, 9, (50, 5))
    _, whole = measured(rows, 8)
    monkeypatch.setattr("sklar.counting.taus.PASS_BYTES", 700)
    np.testing.assert_array_equal(measured(rows, 8)[1], whole)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_no_replacement_exceeds_the_bound(m):
    """All pairs of rows over {0, 1, 2}^m against tables of other rows, ties included."""
    rng = np.random.default_rng(m)
    points = np.array(list(itertools.product(range(3), repeat=m)))
    n = 7
    feature = TauVector(columns=tuple("abcd"[:m]), lookups=(np.arange(3),) * m, rows=n)
    l1, l2 = feature.sensitivity(REPLACE)
    worst1 = worst2 = 0.0
    others = [np.full((n - 1, m), 1), *(points[rng.integers(0, len(points), n - 1)] for _ in range(4))]
    for rest in others:
        # Only pairs with the replaced row change, so the change is that of the sum over them.
        sums = np.array([orders_of(np.vstack([rest, p])) - orders_of(rest) for p in points])
        for a, b in itertools.combinations(range(len(points)), 2):
            move = (sums[a] - sums[b]) * feature.resolution
            worst1, worst2 = max(worst1, np.abs(move).sum()), max(worst2, float(np.linalg.norm(move)))
    assert worst1 <= l1 + 1e-12 and worst2 <= l2 + 1e-12
    assert worst1 == pytest.approx(l1) and worst2 == pytest.approx(l2), "the bound is attained"


def test_two_columns_have_the_known_sensitivity():
    feature = TauVector(columns=("a", "b"), lookups=(np.arange(2),) * 2, rows=100)
    assert feature.sensitivity(REPLACE) == pytest.approx((4 / 100, 4 / 100))
    assert feature.sensitivity(Unit(neighbours="replace", rows_per_person=3)) == pytest.approx((12 / 100, 12 / 100))


def test_many_columns_move_less_together_than_one_by_one():
    for m in (8, 30):
        feature = TauVector(columns=tuple(map(str, range(m))), lookups=(np.arange(2),) * m, rows=10)
        one_by_one = 4 / 10 * math.sqrt(m * (m - 1) / 2)
        assert feature.sensitivity(REPLACE)[1] < one_by_one / 1.3


def test_add_remove_is_refused_with_the_reason():
    feature = TauVector(columns=("a", "b"), lookups=(np.arange(2),) * 2, rows=100)
    with pytest.raises(DoorError, match="number of rows"):
        feature.sensitivity(Unit(neighbours="add-remove"))


def test_tau_b_would_break_the_bound():
    """The mutant: normalized by the pairs without ties, one row moves tau far more than was charged."""

    def tau_b(rows):
        return kendalltau(rows[:, 0], rows[:, 1]).statistic

    base = np.array([[0, 0]] * 98 + [[1, 1], [2, 2]])
    moved = base.copy()
    moved[-1] = [2, 0]
    feature = TauVector(columns=("a", "b"), lookups=(np.arange(3),) * 2, rows=100)
    assert abs(tau_b(base) - tau_b(moved)) > 5 * feature.sensitivity(REPLACE)[0]
    change = abs(exact_concordance(_table(base)) - exact_concordance(_table(moved))) * feature.resolution
    assert change <= feature.sensitivity(REPLACE)[0]


def _table(rows):
    table = np.zeros((3, 3), dtype=np.int64)
    np.add.at(table, (rows[:, 0], rows[:, 1]), 1)
    return table


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 1},
        {"rows": 2.0},
        {"columns": ("a",), "lookups": (np.arange(2),)},
        {"columns": ("a", "a")},
        {"lookups": (np.array([-1, 0]), np.arange(2))},
        {"lookups": (np.array([0, 1 << 13]), np.array([0, 1 << 13]))},
    ],
)
def test_descriptions_outside_the_rules_are_refused(change):
    given = {"columns": ("a", "b"), "lookups": (np.arange(2),) * 2, "rows": 10} | change
    with pytest.raises(DoorError):
        TauVector(**given)
