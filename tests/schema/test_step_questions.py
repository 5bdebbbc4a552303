"""Rules across rows that were read off rows are asked about, confirmed or dropped, and refused until then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sklar
from sklar.errors import SchemaError, UnconfirmedFactError, UsageError
from sklar.schema.rules import AtMost, Never

RISES = AtMost(low="previous age", high="age", at_least=1, at_most=1, source="from-rows")
ENDS = Never(values={"previous dead": True, "dead": False}, source="from-rows")


def schema(*steps: Any, **person: Any) -> sklar.Schema:
    columns = {"age": sklar.Integer(0, 90), "year": sklar.Integer(2000, 2009), "dead": sklar.Boolean()}
    given: dict[str, Any] = {"key": "id", "rows": 5, "order": "year", "steps": steps, **person}
    return sklar.Schema(columns, person=sklar.Person(**given))


def steps_of(one: sklar.Schema) -> tuple[Any, ...]:
    assert one.person is not None
    return tuple(one.person.steps)


def test_proposed_steps_are_asked_about_and_refused_until_confirmed() -> None:
    drafted = schema(RISES, ENDS)
    assert [question.column for question in drafted.questions()] == ["step 1", "step 2"]
    assert "age rises by 1 with every row of a person" in str(drafted.questions()[0])
    assert "step 1: age rises by 1" in str(drafted)
    with pytest.raises(UnconfirmedFactError, match="step 2"):
        drafted.require_confirmed()
    sure = drafted.confirm("step 1", "step 2", by="Ada")
    sure.require_confirmed()
    assert [rule.source for rule in steps_of(sure)] == ["assumed", "assumed"]
    assert [(one.by, one.facts[0]) for one in sure.confirmed] == [("Ada", "steps.age - previous age is 1")]


def test_a_step_is_dropped_or_confirmed_as_it_stands() -> None:
    drafted = schema(RISES, ENDS)
    assert steps_of(drafted.confirm("step 1", kind="ignore")) == (ENDS,)
    for wrong in ({"pay": True}, {"at_least": 2}):
        with pytest.raises(UsageError, match="as it stands"):
            drafted.confirm("step 1", **wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no column 'step 3'"):
        drafted.confirm("step 3")


@pytest.mark.parametrize(
    ("column", "answer", "left"),
    [
        ("age", {"kind": "ignore"}, (ENDS,)), ("age", {"kind": "category", "values": ["1"]}, (ENDS,)),
        ("person", {"rows": 1}, ()), ("person", {"pay": True}, ()), ("person", {"rows": 3}, (RISES, ENDS)),
    ],
)  # fmt: skip
def test_answers_drop_proposed_steps_that_they_make_impossible(
    column: str, answer: dict[str, Any], left: tuple[Any, ...]
) -> None:
    assert steps_of(schema(RISES, ENDS, source="from-rows").confirm(column, **answer)) == left


def test_a_stated_step_is_never_dropped_silently() -> None:
    with pytest.raises(SchemaError, match="age"):
        schema(AtMost(low="previous age", high="age", at_least=1)).confirm("age", kind="ignore")


def test_proposed_steps_make_a_round_trip_in_a_file_of_their_owner(tmp_path: Path) -> None:
    drafted = schema(RISES, ENDS)
    drafted.write(tmp_path / "s.toml")
    assert sklar.Schema.read(tmp_path / "s.toml") == drafted
    assert (tmp_path / "s.toml").stat().st_mode & 0o077 == 0
