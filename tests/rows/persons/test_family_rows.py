"""Rows of two tables without an order: what one parent adds never depends on what others have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sklar
from sklar.rows import exact_counts, open_rows
from sklar.rows.persons.keys import Secret

VOTE = 1 << 20
TABLES = (("parent: kind", "parent: rows of the person"), ("first row: kind", "first row: ward"),
          ("next row: previous ward", "next row: ward"))  # fmt: skip


def tables(bound: int) -> sklar.Tables:
    parents = sklar.Schema({"id": sklar.Id(), "kind": sklar.Category(["a", "b"])})
    person = sklar.Person(key="of", rows=bound)
    rows = sklar.Schema({"of": sklar.Id(), "ward": sklar.Category(["w", "x", "y", "z"])}, person=person)
    return sklar.Tables({"p": parents, "c": rows}, keys={"c": ("of", "p")}, person="p")


def data(parents: int, rows: int, more: int) -> dict[str, pa.Table]:
    """Parents with so many rows each, in an order that is not that of a hash; and one with `more`, if any."""
    ids = [str(at) for at in range(parents)]
    of = [(name, "wxyz"[at]) for name in ids for at in range(rows)] + [("new", "z")] * more
    ids += ["new"] if more else []
    return {
        "p": pa.table({"id": ids, "kind": ["ab"[at % 2] for at in range(len(ids))]}),
        "c": pa.table({"of": [name for name, _ in of], "ward": [ward for _, ward in of]}),
    }


def counts(given: Any, bound: int) -> list[np.ndarray]:
    rows: Any = open_rows(given, tables(bound).schema)
    rows._secret = Secret(words=(1, 2, 3, 4, 5))
    known = [columns for columns in TABLES if columns[0] in rows.schema]
    found = [exact_counts(rows, [(columns, None)])[0] for columns in known]
    rows.close()
    return found


@pytest.mark.parametrize("bound", [1, 2, 4])
def test_a_parent_with_more_rows_than_anybody_moves_no_table_by_more_than_a_vote(bound: int) -> None:
    """Nobody else is above the bound: where rows of others then came in another order, first rows would be others."""
    rows = min(bound, 3)
    for one, other in zip(counts(data(400, rows, 0), bound), counts(data(400, rows, 9), bound), strict=True):
        assert 0 < np.abs(one - other).sum() <= VOTE


@pytest.mark.parametrize("where", ["p", "c", "both"])
def test_parents_and_rows_without_a_key_are_left_out(where: str) -> None:
    given = data(50, 2, 0)
    more = {"p": pa.table({"id": pa.array([None], pa.string()), "kind": ["a"]}),
            "c": pa.table({"of": pa.array([None, " "], pa.string()), "ward": ["w", "x"]})}  # fmt: skip
    grown = {
        name: pa.concat_tables([table, more[name]]) if where in (name, "both") else table
        for name, table in given.items()
    }
    for one, other in zip(counts(given, 2), counts(grown, 2), strict=True):
        assert np.array_equal(one, other)


def test_one_row_of_a_parent_is_counted_in_votes() -> None:
    """Counts in parts of a vote with noise for whole rows would have next to none."""
    schema = tables(1).schema
    rows = open_rows(data(30, 1, 0), schema)
    assert rows.votes
    rows.close()
    model = sklar.fit(data(300, 1, 0), tables(1), epsilon=5.0)
    assert model.fit_facts["unit"]["votes"] is True
    assert 150 < model.sample_persons(seed=1)["p"].num_rows < 600
