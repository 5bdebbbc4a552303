"""A draft proposes what holds from row to row of a person, if rows at random would break it; it asks about the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sklar
from sklar.schema.rules import AtMost, Never

PERSONS, ROWS = 150, 5


def panel(**columns: Any) -> dict[str, Any]:
    """Persons with five years each, in an order that tells nothing."""
    rng = np.random.default_rng(1)
    person, place = np.repeat(np.arange(PERSONS), ROWS), np.tile(np.arange(ROWS), PERSONS)
    shuffled = rng.permutation(len(person))
    made = {name: make(person, place, rng) for name, make in columns.items()}
    whole = {"patient_id": [f"p{p:03}" for p in person], "year": 2000 + 2 * place, **made}
    return {name: np.asarray(values)[shuffled] for name, values in whole.items()}


def steps_about(name: str, make: Any) -> list[Any]:
    person = sklar.draft_schema(panel(**{name: make})).person
    assert person is not None
    return [rule for rule in person.steps if name in rule.columns]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda p, t, rng: 20 + p % 40 + 2 * t, {"low": "previous x", "high": "x", "at_least": 2, "at_most": 2}),
        (lambda p, t, rng: 90 - p % 40 - t, {"low": "x", "high": "previous x", "at_least": 1, "at_most": 1}),
        (lambda p, t, rng: p % 40 + t * (1 + p % 3), {"low": "previous x", "high": "x", "at_least": 1}),
        (lambda p, t, rng: p % 40 + (t > p % 5), {"low": "previous x", "high": "x"}),
    ],
    ids=["rises by 2", "falls by 1", "rises", "never falls"],
)
def test_numbers_that_rise_or_fall_become_steps(make: Any, expected: dict[str, Any]) -> None:
    assert steps_about("x", make) == [AtMost(**expected, source="from-rows")]


def test_what_never_goes_back_becomes_a_step() -> None:
    (rule,) = steps_about("dead", lambda p, t, rng: t > p % 7)
    assert rule == Never(values={"previous dead": True, "dead": False}, source="from-rows")


@pytest.mark.parametrize(
    "make",
    [
        lambda p, t, rng: rng.integers(0, 40, len(p)),
        lambda p, t, rng: np.where((p == 3) & (t == 2), 0, 20 + p % 40 + t),
    ],
    ids=["at random", "one person breaks it"],
)
def test_what_does_not_hold_is_not_proposed(make: Any) -> None:
    assert [rule for rule in steps_about("x", make) if rule.at_most is None or rule.at_least == rule.at_most] == []


def test_what_mostly_stays_the_same_is_asked_about() -> None:
    draft = sklar.draft_schema(
        panel(
            home=lambda p, t, rng: np.where(rng.random(len(p)) < 0.05, "z", np.array(list("abcd"))[p % 4]),
            mood=lambda p, t, rng: rng.choice(list("abcd"), len(p)),
        )
    )
    assert any("stays the same in 9" in note and "ever change" in note for note in draft.notes["home"])
    assert not any("stays the same" in note for note in draft.notes["mood"])


def test_a_number_that_mostly_rises_gets_a_question_about_a_bound_on_its_change() -> None:
    draft = sklar.draft_schema(panel(age=lambda p, t, rng: 20 + p % 40 + 2 * t - 5 * (rng.random(len(p)) < 0.02)))
    assert draft.person is not None
    (bound,) = [rule for rule in draft.person.steps if "age" in rule.columns]
    assert bound == AtMost(low="previous age", high="age", at_least=-3, at_most=7, source="from-rows")
    (asked,) = [one for one in draft.questions() if one.says.startswith("age changes by -3 to 7 with every row")]
    assert draft.confirm(asked.column, by="Ada").person.steps[1].source == "assumed"  # type: ignore[union-attr]
    assert "rises by 2 in 9" in next(note for note in draft.notes["age"] if "steps" in note)


def test_a_date_that_never_changes_within_a_person_orders_no_rows() -> None:
    day = np.datetime64("2001-01-01")
    data = panel(born=lambda p, t, rng: day + p * 7)
    person = sklar.draft_schema({"born": data["born"], **data}).person
    assert person is not None and person.order == "year" and person.static == ("born",)


@pytest.mark.slow
def test_a_confirmed_step_holds_in_every_synthetic_person() -> None:
    import pandas as pd

    data = panel(age=lambda p, t, rng: 20 + p % 40 + 2 * t, home=lambda p, t, rng: np.array(list("abcd"))[p % 4])
    draft = sklar.draft_schema(data)
    sure = draft.confirm(*(question.column for question in draft.questions()), by="Ada")
    rows: pd.DataFrame = sklar.fit(data, sure, epsilon=2.0).sample_persons(60, seed=1, to="pandas")
    rows = rows.sort_values(["patient_id", "year"], kind="stable")
    rises = rows.groupby("patient_id")["age"].diff().dropna()
    assert len(rises) > 100 and (rises == 2).all()
