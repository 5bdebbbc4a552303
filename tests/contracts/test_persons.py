"""Persons of many rows: every method asks the same of neighbours by a person, and sees them differ by one vote."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import UsageError
from sklar.methods.registry import METHODS
from sklar.rows.persons import linked as linked_rows
from sklar.rows.persons import rows as person_rows
from sklar.rows.persons import used
from sklar.rows.persons.keys import Secret
from tests.accounting.total_loss import total_loss
from tests.contracts.record_replay import Recording, compare, record
from tests.contracts.tables import odd_rows, people, schema
from tests.tiers import BOTH_RELATIONS, first_per_method

CASES: list[tuple[str, dict[str, Any]]] = [
    ("independent", {}),
    ("independent", {"noise": "laplace"}),
    ("independent", {"delta": 0.0}),
    ("independent", {"histogram": "efpa"}),
    ("independent", {"histogram": "privelet"}),
    ("vine", {}),
    ("vine", {"epsilon": 40.0, "workload": ["sex * *"]}),
    ("vine", {"delta": 0.0, "epsilon": 30.0}),
    ("dpcopula-hybrid", {"small": 4, "ranks": 2}),
    ("dpc-gauss", {"bins": 4, "rounds": 0}),
    ("dpc-laplace", {"bins": 4, "rounds": 0}),
]
REFUSED = {"dpcopula-kendall", "dpcopula-mle"}
"""Methods whose proofs need whole rows."""


@pytest.fixture(autouse=True)
def _one_secret(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Which rows are used depends on the secret of a fit: neighbours are compared under the same one."""
    monkeypatch.setattr(person_rows, "Secret", lambda: Secret(words=(1, 2, 3, 4, 5)))


def with_persons(rows: int = 3, weights: str = "votes", order: str | None = "since") -> sklar.Schema:
    return schema().with_person(sklar.Person(key="id", rows=rows, order=order, weights=weights, linked=False))


def crowd(persons: int = 120) -> pd.DataFrame:
    """Persons of 1 to 6 rows."""
    of = np.repeat(np.arange(persons), np.random.default_rng(4).integers(1, 7, persons))
    return people(len(of)).assign(id=of.astype(str)).sample(frac=1, random_state=1)


def whole_persons() -> dict[str, pd.DataFrame]:
    """Everything one person may bring."""
    odd = odd_rows()
    return {
        "all rows in one cell": pd.concat([odd.iloc[[0]]] * 3).assign(id="x"),
        "rows spread": odd.assign(id="x"),
        "beyond the bound": people(40, seed=9).assign(id="x"),
        "a null key": pd.concat([odd, people(4, seed=8)]).assign(id=None),
    }


def neighbour(base: pd.DataFrame, relation: str, person: pd.DataFrame) -> pd.DataFrame:
    """With a whole person more, or in the place of another; its rows first and last, so that they meet from afar.

    Rows without a key belong to no person, so they replace nobody.
    """
    kept = base if relation == "add-remove" or person["id"].isna().all() else base[base["id"] != "5"]
    return pd.concat([person.iloc[::2], kept, person.iloc[1::2]], ignore_index=True)


def test_every_method_is_checked_or_refused() -> None:
    assert {name for name, _ in CASES} | REFUSED == set(METHODS)


@pytest.mark.parametrize("relation", BOTH_RELATIONS)
@pytest.mark.parametrize(("method", "options"), first_per_method(CASES), ids=lambda x: str(x))
def test_record_and_replay_by_whole_persons(
    monkeypatch: pytest.MonkeyPatch, relation: str, method: str, options: dict[str, Any]
) -> None:
    settings = {"schema": with_persons(), "method": method, "epsilon": 1.0, "neighbours": relation, **options}
    base = crowd()
    first = record(monkeypatch, data=base, **settings)
    persons = whole_persons()
    for name in persons if method == "independent" else ("beyond the bound", "a null key"):
        again = record(monkeypatch, first, data=neighbour(base, relation, persons[name]), **settings)
        assert compare(first, again) == []
    assert "any one person, with any number of rows" in str(assert_within_the_claim(first))


def assert_within_the_claim(seen: Recording) -> sklar.Claim:
    """The charges add up to no more than the claim says, which it gives."""
    assert seen.model is not None
    claim = seen.model.claim
    events = [event for _, batch in seen.charges for event in batch]
    bound = total_loss(events, claim.delta or 0.0, planned=claim.accounting == "exact")
    assert bound.epsilon <= claim.epsilon * (1 + 1e-9)
    return claim


def linked(static: tuple[str, ...] = ("sex",)) -> sklar.Schema:
    """Rows of a person follow one another, and some columns never change."""
    return schema().with_person(sklar.Person(key="id", rows=3, order="since", static=static))


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "epsilon"), [("add-remove", 40.0), ("replace", 1.0)])
def test_record_and_replay_with_linked_rows(monkeypatch: pytest.MonkeyPatch, relation: str, epsilon: float) -> None:
    settings = {"schema": linked(), "method": "vine", "epsilon": epsilon, "neighbours": relation}
    base = crowd()
    first = record(monkeypatch, data=base, **settings)
    persons = whole_persons()
    for name in ("beyond the bound", "a null key"):
        again = record(monkeypatch, first, data=neighbour(base, relation, persons[name]), **settings)
        assert compare(first, again) == []
    assert_within_the_claim(first)


def test_steps_that_weigh_too_much_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = linked_rows.vote_weight
    monkeypatch.setattr(linked_rows, "vote_weight", lambda rows: right(rows) + 1)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    settings = {"schema": linked(), "method": "vine", "epsilon": 1.0}
    base = crowd()
    first = record(monkeypatch, data=base, **settings)
    again = record(monkeypatch, first, data=neighbour(base, "add-remove", whole_persons()["rows spread"]), **settings)
    assert any("moved" in fault for fault in compare(first, again))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["independent", "dpcopula-mle"])
def test_with_rows_as_weights_the_bound_is_charged(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    options = {"k": 0.1, "block_rows": 20} if method == "dpcopula-mle" else {}
    facts = with_persons(3, "rows", None)
    settings = {"schema": facts, "method": method, "epsilon": 200.0, "neighbours": "add-remove", **options}
    base = crowd()
    first = record(monkeypatch, data=base, **settings)
    for person in whole_persons().values():
        again = record(monkeypatch, first, data=neighbour(base, "add-remove", person), **settings)
        assert compare(first, again) == []
    assert {event.unit.rows_per_person for _, events in first.charges for event in events} == {3}


def test_a_person_without_a_bound_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"schema": with_persons(3, "rows", None), "method": "independent", "epsilon": 1.0}
    base, right = crowd(), used.select_rows
    first = record(monkeypatch, data=base, **settings)
    monkeypatch.setattr(used, "select_rows", lambda keys, order, ties, bound: right(keys, order, ties, 10**6))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    again = record(
        monkeypatch, first, data=neighbour(base, "add-remove", whole_persons()["beyond the bound"]), **settings
    )
    assert any("moved" in fault for fault in compare(first, again))


def test_a_weight_one_too_large_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = person_rows.vote_weight
    monkeypatch.setattr(person_rows, "vote_weight", lambda rows: right(rows) + 1)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    settings = {"schema": with_persons(), "method": "independent", "epsilon": 1.0}
    base = crowd()
    first = record(monkeypatch, data=base, **settings)
    again = record(monkeypatch, first, data=neighbour(base, "add-remove", whole_persons()["rows spread"]), **settings)
    assert any("moved" in fault for fault in compare(first, again))


@pytest.mark.parametrize("method", sorted(REFUSED))
def test_methods_of_whole_rows_say_so_and_charge_nothing(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    seen = None
    with pytest.raises(UsageError, match="share one vote"):
        seen = record(monkeypatch, data=crowd(), schema=with_persons(), method=method, epsilon=1.0)
    assert seen is None


def test_a_person_and_rows_per_person_do_not_go_together() -> None:
    with pytest.raises(sklar.errors.BudgetError, match="leave out rows_per_person"):
        sklar.fit(crowd(), with_persons(), epsilon=1.0, rows_per_person=2)
    with pytest.raises(sklar.errors.BudgetError, match="votes"):
        sklar.fit(crowd(), with_persons(weights="rows"), epsilon=1.0, neighbours="replace")
    one = replace(with_persons().person, rows=1)
    assert sklar.fit(crowd(), schema().with_person(one), method="independent", epsilon=1.0).claim.rows_per_person == 1
