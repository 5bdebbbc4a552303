"""Two tables with a key: of neighbours by a parent with all its rows the same is asked, and they differ by one vote."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.rows.persons import family, linked
from sklar.rows.persons import rows as person_rows
from sklar.rows.persons.keys import Secret
from tests.accounting.total_loss import total_loss
from tests.contracts.record_replay import Recording, compare, record

Both = dict[str, pd.DataFrame]
PARENTS = {"id": sklar.Id(), "kind": sklar.Category(["a", "b", "c"]), "grown": sklar.Boolean()}
ROWS = {
    "of": sklar.Id(), "day": sklar.Integer(0, 30), "cost": sklar.Real(0, 100, bins=8, nullable=True),
    "ward": sklar.Category(["x", "y"], other="else"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _one_secret(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Which rows are used depends on the secret of a fit: neighbours are compared under the same one."""
    monkeypatch.setattr(person_rows, "Secret", lambda: Secret(words=(1, 2, 3, 4, 5)))


def schema(order: str | None = "day") -> sklar.Schema:
    rows = sklar.Schema(ROWS, person=sklar.Person(key="of", rows=3, order=order))
    return sklar.Tables({"p": sklar.Schema(PARENTS), "c": rows}, keys={"c": ("of", "p")}, person="p").schema


def parents(keys: list[Any], seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kinds, grown = rng.choice(["a", "b", "c"], len(keys)), rng.random(len(keys)) < 0.5
    return pd.DataFrame({"id": pd.Series(keys, dtype=object), "kind": kinds, "grown": grown})


def rows(keys: list[Any], seed: int = 0) -> pd.DataFrame:
    """Rows of these keys, some of them odd."""
    rng = np.random.default_rng(seed)
    cost = np.where(rng.random(len(keys)) < 0.2, np.nan, rng.normal(50, 40, len(keys)))
    ward = rng.choice(["x", "y", "atlantis"], len(keys))
    of = pd.Series(keys, dtype=object)
    return pd.DataFrame({"of": of, "day": rng.integers(-3, 34, len(keys)), "cost": cost, "ward": ward})


def base() -> Both:
    """Parents of 0 to 5 rows, and rows without a parent."""
    keys = [str(number) for number in range(100)]
    number = np.random.default_rng(3).integers(0, 6, len(keys))
    of = [*np.repeat(keys, number).tolist(), "nobody", "nobody"]
    return {"p": parents(keys), "c": rows(of).sample(frac=1, random_state=1)}


PERSONS: dict[str, Both] = {
    "without rows": {"p": parents(["x"]), "c": rows([])},
    "with rows": {"p": parents(["x"]), "c": rows(["x"] * 3, 1)},
    "beyond the bound": {"p": parents(["x"]), "c": rows(["x"] * 40, 2)},
    "a key that parents repeat": {"p": parents(["x"] * 5, 4), "c": rows(["x"] * 4, 4)},
    "a null key": {"p": parents([None, None], 5), "c": rows([None] * 4, 5)},
    "rows that miss their parent": {"p": parents(["x"]), "c": rows(["y"] * 6, 6)},
}
"""Everything one person may bring."""


def neighbour(of: Both, relation: str, person: Both) -> Both:
    """With a whole person more, or in the place of one of many rows; its rows first and last, to meet from afar.

    Parents without a key are no persons, so they replace nobody.
    """
    if relation == "replace" and person["p"]["id"].notna().any():
        gone = of["c"]["of"].value_counts().index[0]
        of = {"p": of["p"][of["p"]["id"] != gone], "c": of["c"][of["c"]["of"] != gone]}
    return {name: pd.concat([person[name].iloc[::2], table, person[name].iloc[1::2]]) for name, table in of.items()}


def faults(patch: pytest.MonkeyPatch, first: Recording, settings: dict[str, Any], person: Both) -> list[str]:
    """What betrays that a person came, or took the place of another."""
    return compare(first, record(patch, first, data=neighbour(base(), settings["neighbours"], person), **settings))


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "order", "epsilon"), [("add-remove", "day", 8.0), ("replace", None, 1.0)])
def test_record_and_replay_by_parents_with_all_their_rows(
    monkeypatch: pytest.MonkeyPatch, relation: str, order: str | None, epsilon: float
) -> None:
    settings: dict[str, Any] = {"schema": schema(order), "method": "vine", "epsilon": epsilon, "neighbours": relation}
    first = record(monkeypatch, data=base(), **settings)
    for name, person in PERSONS.items():
        assert faults(monkeypatch, first, settings, person) == [], name
    assert first.model is not None
    claim, events = first.model.claim, [event for _, batch in first.charges for event in batch]
    assert claim.epsilon is not None
    bound = total_loss(events, claim.delta or 0.0, planned=claim.accounting == "exact")
    assert bound.epsilon <= claim.epsilon * (1 + 1e-9)


@pytest.mark.slow
def test_rows_without_a_parent_come_and_go_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"schema": schema(), "method": "vine", "epsilon": 1.0, "neighbours": "add-remove"}
    first = record(monkeypatch, data=base(), **settings)
    strangers = {"p": parents([]), "c": rows([f"stranger {number}" for number in range(60)] * 2, 7)}
    again = record(monkeypatch, first, data=neighbour(base(), "add-remove", strangers), **settings)
    assert compare(first, again) == []
    pairs = [pair for a, b in zip(first.looks, again.looks, strict=True) for pair in zip(a.exact, b.exact, strict=True)]
    assert all(np.array_equal(one, two) for one, two in pairs)


def heavier_steps(patch: pytest.MonkeyPatch) -> None:
    right = linked.vote_weight
    patch.setattr(linked, "vote_weight", lambda rows: right(rows) + 1)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]


def parents_as_often_as_they_come(patch: pytest.MonkeyPatch) -> None:
    right = family.select_rows
    patch.setattr(family, "select_rows", lambda keys, order, ties, bound: right(keys, order, ties, 9))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]


@pytest.mark.parametrize(
    ("broken", "person"),
    [(heavier_steps, "with rows"), (parents_as_often_as_they_come, "a key that parents repeat")],
)
def test_a_person_of_more_than_a_vote_is_caught(monkeypatch: pytest.MonkeyPatch, broken: Any, person: str) -> None:
    broken(monkeypatch)
    settings: dict[str, Any] = {"schema": schema(), "method": "vine", "epsilon": 1.0, "neighbours": "add-remove"}
    first = record(monkeypatch, data=base(), **settings)
    assert any("moved" in fault for fault in faults(monkeypatch, first, settings, PERSONS[person]))
