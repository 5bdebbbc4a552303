"""Distances of tables from public expectations: exact, moved by a person as stated, and left out of digests."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from sklar.accounting.noise import Noise
from sklar.accounting.unit import VOTE_BITS, Unit
from sklar.counting.code_table import CodeTable, CountedTable
from sklar.counting.distances import exact_distances
from sklar.counting.evaluate import exact_values
from sklar.errors import DoorError
from sklar.release.charges import hash_request, price_measurements
from sklar.release.counts import Counts
from sklar.release.distances import Distances
from sklar.release.measurements import Request
from sklar.release.scores import SUM_VOTE_BITS
from sklar.schema import Integer, Schema

SCHEMA = Schema({"a": Integer(0, 1), "b": Integer(0, 2)})
WHOLE_A, WHOLE_B = np.arange(2), np.arange(3)
TABLES = (
    Counts(columns=("a",), partitions=(WHOLE_A,)),
    Counts(columns=("a", "b"), partitions=(WHOLE_A, WHOLE_B)),
    Counts(columns=("b",), partitions=(np.array([0, 0, 1]),)),
)
EXPECTED = np.array([2, 1, 1, 0, 0, 1, 0, 1, 1, 2])
QUERY = Distances(tables=TABLES, expected=EXPECTED)
UNITS = [Unit(neighbours=n, rows_per_person=k) for n in ("add-remove", "replace") for k in (1, 2)]


def counted(codes: np.ndarray) -> CountedTable:
    return CountedTable(SCHEMA, CodeTable(columns={"a": codes[:, 0], "b": codes[:, 1]}))


def plain_distances(codes: np.ndarray) -> list[int]:
    first = np.bincount(codes[:, 0], minlength=2)
    both = np.bincount(codes[:, 0] * 3 + codes[:, 1], minlength=6)
    last = np.bincount((codes[:, 1] == 2).astype(int), minlength=2)
    parts = zip((first, both, last), np.split(EXPECTED, [2, 8]), strict=True)
    return [int(np.abs(table - own).sum()) for table, own in parts]


def test_distances_are_sums_of_absolute_differences() -> None:
    codes = np.random.default_rng(1).integers(0, [2, 3], (50, 2))
    assert exact_values([QUERY], counted(codes))[0].tolist() == plain_distances(codes)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_one_person_stays_within_the_bound_which_is_met(unit: Unit) -> None:
    """Brute force: any rows of one person beside all small tables; the bound is met under add-remove."""
    l1, l2 = QUERY.sensitivity(unit)
    cells, k = list(itertools.product(range(2), range(3))), unit.rows_per_person
    worst = np.zeros(2)
    for others in ([], [(0, 0)], [(0, 0)] * 4, [(1, 2)] * 4 + [(0, 1)] * 3):
        tables = [np.array([*others, *own], dtype=int).reshape(-1, 2) for own in itertools.product(cells, repeat=k)]
        values = [np.array(plain_distances(table)) for table in tables]
        without = np.array(plain_distances(np.array(others, dtype=int).reshape(-1, 2)))
        pairs = itertools.product(values, values) if unit.neighbours == "replace" else ((x, without) for x in values)
        for one, two in pairs:
            move = one - two
            worst = np.maximum(worst, [np.abs(move).sum(), np.linalg.norm(move)])
    assert worst[0] <= l1 and worst[1] <= l2
    if unit.neighbours == "add-remove":
        assert worst == pytest.approx([l1, l2])
        # The mistake that is easiest to make: one bound for all tables together.
        assert worst[1] > unit.l1


class Votes(CountedTable):
    """The rows of one person, which share a vote."""

    @property
    def votes(self) -> bool:
        return True

    def read_codes(self, columns):  # type: ignore[no-untyped-def]
        for batch in super().read_codes(columns):
            yield replace(batch, weight=2**VOTE_BITS // max(batch.rows, 1))


def test_distances_of_votes_are_rounded_down_within_the_bound() -> None:
    """|floor(a) - floor(b)| <= ceil(|a - b|): rounding to parts of 2^-14 never moves a distance by more than a vote."""
    rng = np.random.default_rng(3)
    for _ in range(2_000):
        a, moved = int(rng.integers(0, 2**40)), int(rng.integers(0, 2**VOTE_BITS + 1))
        step = VOTE_BITS - SUM_VOTE_BITS
        assert abs((a >> step) - ((a + moved) >> step)) <= 2**SUM_VOTE_BITS


def test_a_person_with_votes_moves_each_distance_by_at_most_one_vote() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        codes = rng.integers(0, [2, 3], (int(rng.integers(1, 7)), 2))
        with_, without = (CodeTable(columns={"a": own[:, 0], "b": own[:, 1]}) for own in (codes, codes[:0]))
        moved = exact_distances(QUERY, Votes(SCHEMA, with_)) - exact_distances(QUERY, Votes(SCHEMA, without))
        assert 0 < np.abs(moved).max() <= 2**SUM_VOTE_BITS


def test_the_digest_leaves_out_what_is_expected_and_the_price_is_the_same() -> None:
    other = replace(QUERY, expected=EXPECTED + 1)
    one, two = (Request(query=query, noise=Noise(kind="gaussian", scale=3.0)) for query in (QUERY, other))
    kept = replace(one, query=QUERY.without_expected())
    assert len({hash_request((request,)) for request in (one, two, kept)}) == 1
    fewer = replace(one, query=replace(QUERY, tables=TABLES[:2], expected=None))
    assert hash_request((one,)) != hash_request((fewer,))
    (event,) = price_measurements([one], "distances", UNITS[0])
    assert event.rho == pytest.approx(3 / (2 * 9), rel=1e-9)


@pytest.mark.parametrize(
    "change",
    [{"tables": ()}, {"expected": EXPECTED[:-1]}, {"expected": -EXPECTED}, {"expected": EXPECTED + 0.5},
     {"expected": EXPECTED * 2**31}],
    ids=["no table", "a cell short", "negative", "not whole", "too large"],
)  # fmt: skip
def test_odd_distances_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(DoorError):
        replace(QUERY, **change)


def test_distances_that_were_not_kept_cannot_be_evaluated() -> None:
    with pytest.raises(DoorError, match="not kept"):
        exact_values([QUERY.without_expected()], counted(np.zeros((3, 2), dtype=int)))
