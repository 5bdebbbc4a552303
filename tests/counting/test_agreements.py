"""Counts of rows that have one value in two columns: exact, added up over batches, and moved by a person as stated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sklar.accounting.unit import VOTE_BITS, Unit
from sklar.counting.code_table import CodeTable, CountedTable
from sklar.counting.evaluate import exact_agreements, exact_values
from sklar.errors import DoorError
from sklar.release.agreements import Agreements
from sklar.schema import Integer, Schema

TWO = Agreements(first=("a", "b"), second=("c", "d"), sizes=(3, 3))
UNITS = [Unit(neighbours=n, rows_per_person=k) for n in ("add-remove", "replace") for k in (1, 3)]


def test_rows_that_agree_are_counted_for_each_pair() -> None:
    codes = np.array([[0, 1, 0, 2], [1, 1, 0, 1], [2, 2, 2, 2]])  # columns a, b, c, d
    assert exact_agreements(TWO, codes).tolist() == [2, 2]
    batches = exact_agreements(TWO, codes[:1]) + exact_agreements(TWO, codes[1:])
    assert batches.tolist() == [2, 2]
    schema = Schema({name: Integer(0, 2) for name in "abcd"})
    table = CodeTable(columns={name: codes[:, at] for at, name in enumerate("abcd")})
    assert exact_values([TWO], CountedTable(schema, table))[0].tolist() == [2, 2]


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_one_person_stays_within_the_bound_which_is_tight(unit: Unit) -> None:
    l1, l2 = TWO.sensitivity(unit)
    rows = [exact_agreements(TWO, np.array([code])) for code in itertools.product(range(3), repeat=4)]
    moves = [x if unit.neighbours == "add-remove" else x - y for x, y in itertools.product(rows, repeat=2)]
    moved = [unit.rows_per_person * move for move in moves]
    assert max(np.abs(move).sum() for move in moved) == l1
    assert l2 * (1 - 1e-15) <= max(float(np.linalg.norm(move)) for move in moved) <= l2


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_rows_that_share_a_vote_move_no_count_by_more_than_one(neighbours: str) -> None:
    """Any number of rows, each with its part of the vote as `sklar.accounting.unit` shares it out."""
    l1, l2 = TWO.sensitivity(Unit(neighbours=neighbours, votes=True))  # type: ignore[arg-type]
    rng = np.random.default_rng(1)

    def person() -> np.ndarray:
        codes = rng.integers(0, 2, (int(rng.integers(1, 9)), 4))
        part = (2**VOTE_BITS // len(codes)) / 2**VOTE_BITS
        return part * exact_agreements(TWO, codes)

    for _ in range(2_000):
        move = person() - (person() if neighbours == "replace" else 0.0)
        assert np.abs(move).sum() <= l1 and np.linalg.norm(move) <= l2


@pytest.mark.parametrize(
    "change",
    [{"first": (), "second": (), "sizes": ()}, {"second": ("c",)}, {"second": ("c", "a")}, {"sizes": (3,)}],
    ids=["no pair", "no partner", "twice", "no size"],
)
def test_queries_that_make_no_sense_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(DoorError):
        Agreements(**({"first": ("a", "b"), "second": ("c", "d"), "sizes": (3, 3)} | change))  # type: ignore[arg-type]
