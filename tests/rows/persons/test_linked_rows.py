"""First rows and steps of persons: counted as brute force does, and moved by one vote at most whoever comes or goes."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sklar
from sklar.errors import DoorError
from sklar.rows import exact_counts, open_rows
from sklar.schema.coordinates import coordinates

VOTE = 1 << 20
Row = tuple[int, int, str, str, int]
COLUMNS = {
    "year": sklar.Integer(2000, 2009),
    "sex": sklar.Category(["F", "M"]),
    "work": sklar.Category(["yes", "no", "maybe"]),
    "pay": sklar.Integer(0, 9),
}


def schema(bound: int = 4, **person: Any) -> sklar.Schema:
    who = sklar.Person(key="id", rows=bound, order="year", static=["sex"], **person)
    return sklar.Schema({"id": sklar.Id(), **COLUMNS}, person=who)


def made(persons: int = 50, seed: int = 3) -> list[Row]:
    """Persons of 1 to 6 rows, of different years each, in random order."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for person in range(persons):
        sex = "FM"[rng.integers(2)]
        for year in rng.choice(10, rng.integers(1, 7), replace=False).tolist():
            rows.append((person, 2000 + year, sex, ("yes", "no", "maybe")[rng.integers(3)], int(rng.integers(10))))
    return [rows[at] for at in rng.permutation(len(rows))]


def table(rows: list[Row]) -> pa.Table:
    return pa.table({name: pa.array([row[at] for row in rows]) for at, name in enumerate(("id", *COLUMNS))})


def used(rows: list[Row], bound: int) -> list[list[Row]]:
    of: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        of[row[0]].append(row)
    return [sorted(own, key=lambda row: row[1])[:bound] for own in of.values()]


def counts(rows: list[Row], facts: sklar.Schema, *columns: str) -> np.ndarray:
    with_rows = open_rows(table(rows), facts)
    (found,) = exact_counts(with_rows, [(columns, None)])
    with_rows.close()
    return found


@pytest.mark.parametrize("bound", [2, 3, 4, 8])
def test_steps_are_counted_as_by_hand(bound: int) -> None:
    rows, expected, gaps, left = made(), np.zeros((4, 4), np.int64), Counter[int](), Counter[int]()
    for own in used(rows, bound):
        for before, now in itertools.pairwise(own):
            weight = VOTE // (len(own) - 1)
            labels = ("yes", "no", "maybe")
            expected[labels.index(before[3]), labels.index(now[3])] += weight
            gaps[now[1] - before[1]] += weight
            left[len(own) - 1 - own.index(now)] += weight
    facts = schema(bound)
    assert (counts(rows, facts, "next row: previous work", "next row: work") == expected).all()
    assert counts(rows, facts, "next row: year - previous year").tolist() == [gaps[gap] for gap in range(10)]
    if bound > 2:
        assert counts(rows, facts, "next row: rows after").tolist() == [left[n] for n in range(bound - 1)]


def test_first_rows_have_a_whole_vote_and_tell_how_many_rows_there_are() -> None:
    rows, expected = made(), np.zeros((4, 4), np.int64)
    for own in used(rows, 4):
        expected[("yes", "no", "maybe").index(own[0][3]), len(own) - 1] += VOTE
    assert (counts(rows, schema(), "first row: work", "first row: rows of the person") == expected).all()


def test_a_static_column_is_that_of_the_first_row() -> None:
    rows = [(1, 2000, "F", "yes", 1), (1, 2001, "M", "no", 2), (1, 2002, "M", "no", 2)]
    assert counts(rows, schema(), "next row: sex").tolist() == [VOTE, 0, 0]


@pytest.mark.parametrize(
    "columns",
    [
        ("first row: work", "first row: pay"),
        ("next row: previous work", "next row: pay"),
        ("next row: year - previous year", "next row: rows after"),
    ],
)
def test_a_person_moves_no_table_by_more_than_a_vote(columns: tuple[str, str]) -> None:
    rows = made()
    extremes: list[list[Row]] = [
        [(999, 2000 + at, "F", "yes", 9) for at in range(9)],  # beyond the bound, all in one cell
        [(999, 2000 + at, "FM"[at % 2], ("yes", "no", "maybe")[at % 3], at) for at in range(4)],
        [(999, 2005, "M", "maybe", 0)],
    ]
    base = counts(rows, schema(), *columns)
    for person in extremes:
        change = counts([*rows, *person], schema(), *columns) - base
        assert change.min() >= 0
        assert change.sum() <= VOTE
    for person in range(10):
        change = base - counts([row for row in rows if row[0] != person], schema(), *columns)
        assert change.min() >= 0
        assert change.sum() <= VOTE


def test_what_a_person_adds_does_not_depend_on_others_nor_on_the_order_of_the_file() -> None:
    rows, columns = made(), ("next row: previous pay", "next row: pay")
    whole = counts(rows, schema(), *columns)
    parts = sum(counts([row for row in rows if row[0] % 5 == part], schema(), *columns) for part in range(5))
    assert (whole == parts).all()
    assert (whole == counts(rows[::-1], schema(), *columns)).all()


def test_no_table_is_of_first_rows_and_of_steps() -> None:
    with pytest.raises(DoorError, match="separate tables"):
        counts(made(), schema(), "first row: work", "next row: work")


def test_nulls_of_the_order_and_of_other_columns_are_told() -> None:
    facts = sklar.Schema(
        {"id": sklar.Id(), "year": sklar.Integer(2000, 2009, nullable=True), "pay": sklar.Integer(0, 9, nullable=True)},
        person=sklar.Person(key="id", rows=3, order="year"),
    )
    data = pa.table({"id": [1, 1, 1, 2], "year": [None, 2003, 2001, None], "pay": [5, None, 7, 1]})
    rows = open_rows(data, facts)
    (steps,) = exact_counts(rows, [(("next row: previous pay", "next row: pay"), None)])
    null = coordinates(facts).schema["next row: pay"].null_code
    assert (steps[7, null], steps[null, 5], steps.sum()) == (VOTE // 2, VOTE // 2, VOTE)
