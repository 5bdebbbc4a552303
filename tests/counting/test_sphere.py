"""The sphere features against brute force: exact sums, batches, and the declared sensitivity on worst-case rows."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sklar.accounting.unit import Unit
from sklar.counting.evaluate import SUM_RULES
from sklar.counting.sphere import exact_pair_sums, exact_star_sums
from sklar.errors import DoorError
from sklar.release.scores import SCORE_LIMIT, Scores
from sklar.release.sphere import Contrasts, PairSums, StarSums

SIZE = 40
ONE = Unit(neighbours="add-remove", rows_per_person=1)
UNITS = [Unit(neighbours=n, rows_per_person=k) for n in ("add-remove", "replace") for k in (1, 3)]


def make_scores(d, rng):
    """Lookups with extremes, zeros and single units among random entries."""
    lookups = [rng.integers(-SCORE_LIMIT, SCORE_LIMIT + 1, SIZE) for _ in range(d)]
    for lookup in lookups:
        lookup[:5] = [0, SCORE_LIMIT, -SCORE_LIMIT, 1, -1]
    return Scores(columns=tuple(f"x{i}" for i in range(d)), lookups=tuple(lookups))


def simplex(codes=SIZE):
    """Three classes as three unit directions in the plane, in units of 2^-10, rounded toward zero."""
    angle = 2 * np.pi * (np.arange(codes) % 3) / 3
    return tuple(np.trunc(1024 * f(angle)).astype(int) for f in (np.cos, np.sin))


SIGNS = Contrasts(column="y", lookups=(np.where(np.arange(SIZE) % 2, 1, -1),))
NO_SCORES = Scores(columns=(), lookups=())
SIMPLEX = Contrasts(column="y", lookups=simplex(), bits=10)


def all_features(d, rng):
    scores = make_scores(d, rng)
    levels = (np.arange(SIZE) % 7, np.arange(SIZE) % 2)
    return [
        StarSums(scores=scores, contrasts=SIGNS),
        StarSums(scores=scores, contrasts=SIMPLEX, nominal=("n1", "n2"), levels=levels),
        PairSums(scores=scores),
        PairSums(scores=scores, contrasts=SIGNS),
        PairSums(scores=scores, contrasts=SIMPLEX),
    ]


def hostile_rows(feature, rng, count=400):
    """Random rows, plus rows of one repeated code: all zero, all extreme, all tiny, and lone extremes."""
    width = len(feature.columns)
    rows = rng.integers(0, SIZE, (count, width))
    rows[:100] = rng.integers(0, 5, (100, width))
    for code in range(5):
        rows[100 + code] = code
        rows[110 + code, 1:] = 0
        rows[110 + code, 0] = code
    return rows


def slow_point(k):
    """The point of one row by rational arithmetic."""
    s, d = sum(int(x) ** 2 for x in k), len(k)
    if s == 0:
        return [0] * d
    return [int(np.sign(x)) * math.isqrt(math.floor(Fraction(d * int(x) ** 2 * 2**20, s))) for x in k]


def slow_row(feature, row):
    codes = dict(zip(feature.columns, (int(c) for c in row), strict=True))
    read = zip(feature.scores.columns, feature.scores.lookups, strict=True)
    w = slow_point([lookup[codes[c]] for c, lookup in read])
    weights = [1]
    if feature.contrasts:
        weights = [int(a[codes[feature.contrasts.column]]) for a in feature.contrasts.lookups]
    if isinstance(feature, PairSums):
        return [c * w[a] * w[b] for c in weights for a in range(len(w)) for b in range(a + 1, len(w))]
    hot = [
        1024 * (int(levels[codes[name]]) == q)
        for name, levels, count in zip(feature.nominal, feature.levels, feature.level_counts, strict=True)
        for q in range(count)
    ]
    return [c * x for c in weights for x in w + hot]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_sums_equal_rational_arithmetic(d):
    rng = np.random.default_rng(d)
    for feature in all_features(d, rng):
        rows = hostile_rows(feature, rng, 150)
        slow = np.sum([slow_row(feature, row) for row in rows], axis=0, dtype=np.int64)
        fast = SUM_RULES[type(feature)].exact_sums(feature, rows.astype(np.int32))
        assert fast.dtype == np.int64 and len(fast) == feature.size
        np.testing.assert_array_equal(fast, slow)


def test_batches_and_order_do_not_matter(monkeypatch):
    rng = np.random.default_rng(1)
    for feature in all_features(6, rng):
        exact = SUM_RULES[type(feature)].exact_sums
        rows = hostile_rows(feature, rng)
        whole = exact(feature, rows)
        np.testing.assert_array_equal(whole, exact(feature, rows[:7]) + exact(feature, rows[7:][::-1]))
        monkeypatch.setattr("sklar.counting.sphere.BLOCK_ENTRIES", 60)
        monkeypatch.setattr("sklar.counting.sphere.MAX_EXACT_FLOAT", 2.0**45)
        np.testing.assert_array_equal(whole, exact(feature, rows))
        monkeypatch.undo()
        np.testing.assert_array_equal(exact(feature, rows[:0]), np.zeros(feature.size))


@pytest.mark.parametrize("d", [1, 2, 3, 8, 30])
def test_no_row_exceeds_the_bound_and_some_row_comes_close(d):
    rng = np.random.default_rng(d)
    for feature in all_features(d, rng):
        rule = SUM_RULES[type(feature)]
        l1, l2 = feature.sensitivity(ONE)
        moves = [rule.exact_sums(feature, row[None]) * feature.resolution for row in hostile_rows(feature, rng)]
        norms1 = [np.abs(x).sum() for x in moves]
        norms2 = [np.linalg.norm(x) for x in moves]
        assert max(norms1, default=0) <= l1 and max(norms2, default=0) <= l2
        if feature.size:
            assert max(norms2) >= 0.99 * l2, "the bound is not tight on rows with equal scores"


@pytest.mark.parametrize("unit", UNITS)
def test_one_person_stays_within_the_bound(unit):
    rng = np.random.default_rng(7)
    for feature in all_features(4, rng):
        rule = SUM_RULES[type(feature)]
        l1, l2 = feature.sensitivity(unit)
        pool = hostile_rows(feature, rng)
        for _ in range(60):
            gone = rule.exact_sums(feature, pool[rng.integers(0, len(pool), unit.rows_per_person)])
            come = rule.exact_sums(feature, pool[rng.integers(0, len(pool), unit.rows_per_person)])
            move = (gone - come if unit.neighbours == "replace" else gone) * feature.resolution
            assert np.abs(move).sum() <= l1 and np.linalg.norm(move) <= l2


def test_worst_case_replacement_meets_the_star_bound():
    """Same point, opposite class: the sum moves by exactly twice the point."""
    d = 9
    scores = Scores(columns=tuple("abcdefghi"), lookups=(np.array([SCORE_LIMIT]),) * d)
    feature = StarSums(scores=scores, contrasts=Contrasts(column="y", lookups=(np.array([-1, 1]),)))
    low, high = np.zeros((1, d + 1), int), np.zeros((1, d + 1), int)
    high[0, d] = 1
    move = (exact_star_sums(feature, high) - exact_star_sums(feature, low)) * feature.resolution
    assert np.linalg.norm(move) == feature.sensitivity(Unit(neighbours="replace", rows_per_person=1))[1] == 6.0


def test_all_zero_scores_add_nothing():
    scores = Scores(columns=("a", "b"), lookups=(np.zeros(3, int), np.zeros(3, int)))
    assert not exact_pair_sums(PairSums(scores=scores), np.ones((5, 2), int)).any()


def test_a_column_may_be_read_by_two_lookups():
    up, down = np.array([-1024, 1024]), np.array([1024, -1024])
    feature = PairSums(scores=Scores(columns=("a", "a"), lookups=(up, down)))
    assert feature.columns == ("a",)
    np.testing.assert_array_equal(exact_pair_sums(feature, np.array([[0], [1], [1]])), [-3 * 2**20])
    assert feature.sensitivity(ONE) == (1.0, 1.0)


def test_bounds_follow_the_lookups_not_the_limit():
    half = Contrasts(column="y", lookups=(np.array([512, -256]),), bits=10)
    feature = PairSums(scores=make_scores(3, np.random.default_rng(0)), contrasts=half)
    assert feature.sensitivity(ONE) == pytest.approx((1.5, 0.5 * math.sqrt(3)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Scores(columns=("a",), lookups=(np.array([SCORE_LIMIT + 1]),)),
        lambda: Scores(columns=("a",), lookups=(np.array([0.5]),)),
        lambda: Scores(columns=("a", "b"), lookups=(np.array([1]),)),
        lambda: Scores(columns=("a",), lookups=(np.array([], int),)),
        lambda: Contrasts(column="y", lookups=(np.array([2]),)),
        lambda: Contrasts(column="y", lookups=(np.array([800]), np.array([800])), bits=10),
        lambda: Contrasts(column="y", lookups=(np.array([-(2**40)]),)),
        lambda: Contrasts(column="y", lookups=()),
        lambda: StarSums(scores=NO_SCORES, contrasts=SIGNS, nominal=("n",), levels=(np.array([-1]),)),
    ],
)
def test_descriptions_outside_the_rules_are_refused(make):
    with pytest.raises(DoorError):
        make()


def test_descriptions_own_their_arrays():
    given = np.array([1, -1])
    contrasts = Contrasts(column="y", lookups=(given,))
    given[0] = 5
    assert contrasts.lookups[0][0] == 1
    with pytest.raises(ValueError, match="read-only"):
        contrasts.lookups[0][0] = 5
