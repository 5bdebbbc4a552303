"""Who a person is: what a schema may say of it, its form on disk, questions, and the coordinate that comes of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import sklar
from sklar.errors import SchemaError, UnconfirmedFactError, UsageError
from sklar.schema.coordinates import coordinates
from sklar.schema.table import schema_from_toml

COLUMNS = {"id": sklar.Id(), "year": sklar.Integer(2000, 2020), "sex": sklar.Category(["F", "M"])}


def schema(**facts: Any) -> sklar.Schema:
    return sklar.Schema(COLUMNS, person=sklar.Person(**{"key": "id", "rows": 5, **facts}))


@pytest.mark.parametrize(
    "facts",
    [{}, {"order": "year"}, {"weights": "rows"}, {"rows": "pay"}, {"rows": 1}, {"key": "not declared"},
     {"source": "from-rows"}, {"rows": 7, "order": "year", "weights": "rows", "source": "public"}],
    ids=str,
)  # fmt: skip
def test_the_round_trip_is_exact(facts: dict[str, Any], tmp_path: Path) -> None:
    said = schema(**facts)
    said.write(tmp_path / "s.toml")
    assert sklar.Schema.read(tmp_path / "s.toml") == said
    assert said != sklar.Schema(COLUMNS)
    assert said.fingerprint != sklar.Schema(COLUMNS).fingerprint


@pytest.mark.parametrize(
    ("facts", "fault"),
    [
        ({"rows": 0}, "from 1 to 1,000"),
        ({"rows": -1}, "from 1 to 1,000"),
        ({"rows": 10**9}, "from 1 to 1,000"),
        ({"rows": True}, "from 1 to 1,000"),
        ({"rows": 2.5}, "from 1 to 1,000"),
        ({"rows": "many"}, "from 1 to 1,000"),
        ({"key": ""}, "name of a column"),
        ({"key": None}, "name of a column"),
        ({"key": "sex"}, "never modelled"),
        ({"order": "id"}, "order must be"),
        ({"order": "sex"}, "order must be"),
        ({"order": "nobody"}, "order must be"),
        ({"weights": "noses"}, "weights must be"),
        ({"source": "hearsay"}, "source must be"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_with_its_reason(facts: dict[str, Any], fault: str) -> None:
    with pytest.raises(SchemaError, match=fault):
        schema(**facts)


@pytest.mark.parametrize("entry", ['"id"', "{ key = 'id' }", "{ key = 'id', rows = 5, size = 3 }"])
def test_a_file_with_another_form_is_refused(entry: str) -> None:
    text = f"version = 1\nperson = {entry}\n[columns.sex]\nkind = 'boolean'\n"
    with pytest.raises(SchemaError, match="person: it needs key and rows"):
        schema_from_toml(text)
    wrong = text.replace(entry, "{ key = 5, rows = 5 }")
    with pytest.raises(SchemaError, match="'key' has the wrong type"):
        schema_from_toml(wrong)


def test_a_person_must_be_a_person() -> None:
    with pytest.raises(SchemaError, match="person must be a Person"):
        sklar.Schema(COLUMNS, person={"key": "id"})  # type: ignore[arg-type]


def test_the_number_of_rows_is_a_coordinate_where_rows_share_a_vote() -> None:
    by = coordinates(schema())
    assert by.rows_of_person == "rows of one id"
    assert by.schema.modelled == ("year", "sex", "rows of one id")
    assert by.schema.size("rows of one id") == 5
    for plain in (schema(rows=1), schema(weights="rows"), sklar.Schema(COLUMNS)):
        assert coordinates(plain).rows_of_person is None
        assert coordinates(plain).schema.modelled == ("year", "sex")


def test_its_name_gives_way_to_a_column() -> None:
    columns = {**COLUMNS, "rows of one id": sklar.Boolean()}
    by = coordinates(sklar.Schema(columns, person=sklar.Person(key="id", rows=3)))
    assert by.rows_of_person == "(rows of one id)"


def test_a_drafted_person_is_asked_about_and_refused() -> None:
    drafted = schema(source="from-rows")
    (question,) = drafted.questions()
    assert question.column == "person"
    assert "one value of 'id' is one person, of whom at most 5 rows are used" in str(question)
    with pytest.raises(UnconfirmedFactError, match="person"):
        drafted.require_confirmed()


def test_answers_about_a_person() -> None:
    drafted = schema(source="from-rows", order="year")
    yes = drafted.confirm("person", by="Ada")
    assert yes.person == sklar.Person(key="id", rows=5, order="year")
    assert [(one.by, one.facts) for one in yes.confirmed] == [("Ada", ("person.key", "person.rows"))]
    yes.require_confirmed()
    assert drafted.confirm("person", rows=3).person == sklar.Person(key="id", rows=3, order="year")
    assert drafted.confirm("person", pay=True).person == sklar.Person(key="id", rows="pay", order="year")
    assert drafted.confirm("person", kind="ignore").person is None
    assert drafted.confirm("person", "year", by="Ada").person == yes.person
    with pytest.raises(UsageError, match="a person has no 'lower'"):
        drafted.confirm("person", lower=3)
    with pytest.raises(UsageError, match="alone"):
        drafted.confirm("person", "year", rows=3)


def test_a_draft_proposes_the_key_that_rows_share() -> None:
    rows = [(f"p{k // 4:03}", 2000 + k % 4, "FM"[k % 2]) for k in range(480)]
    data = {"patient_id": [r[0] for r in rows], "year": [r[1] for r in rows], "sex": [r[2] for r in rows]}
    draft = sklar.draft_schema(data)
    rises = sklar.rules.AtMost(low="previous year", high="year", at_least=1, at_most=1, source="from-rows")
    assert draft.person == sklar.Person(key="patient_id", rows=4, order="year", steps=[rises], source="from-rows")
    assert "[person]" in draft.toml()
    assert re.search(r"\* person: one value of 'patient_id' is one person", draft.todo)  # type: ignore[attr-defined]
    alone = sklar.draft_schema({**data, "patient_id": [f"p{k:03}" for k in range(480)]})
    assert alone.person is None


def panel() -> dict[str, list[object]]:
    """Sex and birth never change; a flag that hardly anyone has does not change either, and one column does once."""
    person = [k // 4 for k in range(480)]
    return {
        "patient_id": [f"p{p:03}" for p in person], "year": [2000 + k % 4 for k in range(480)],
        "sex": ["FM"[p % 2] for p in person], "born": [1950 + p % 30 for p in person],
        "rare": [p == 7 for p in person], "moves": ["ab"[p % 2] if k else "c" for k, p in enumerate(person)],
    }  # fmt: skip


def test_a_draft_proposes_columns_that_never_change_and_asks() -> None:
    draft = sklar.draft_schema(panel())
    assert draft.person is not None
    assert (draft.person.static, draft.person.source) == (("sex", "born"), "from-rows")
    assert "never change: 'sex', 'born'" in str(next(q for q in draft.questions() if q.column == "person"))
    sure = draft.confirm("person", by="Ada")
    assert sure.person is not None and sure.person.static == ("sex", "born")
    assert sure.confirmed[0].facts == ("person.key", "person.rows", "person.static")
    assert sklar.draft_schema({**panel(), "year": list(map(str, panel()["sex"]))}).person.static == ()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("column", "answer", "left"),
    [
        ("person", {"static": ["sex"]}, ("sex",)), ("person", {"order": None}, ()), ("person", {"rows": 1}, ()),
        ("person", {"weights": "rows"}, ()), ("person", {"pay": True}, ()), ("sex", {"kind": "ignore"}, ("born",)),
    ],
)  # fmt: skip
def test_answers_leave_only_columns_that_may_be_static(column: str, answer: dict[str, Any], left: tuple[str]) -> None:
    person = sklar.draft_schema(panel()).confirm(column, **answer).person
    assert person is not None and person.static == left


def test_notes_and_columns_may_change_around_a_person() -> None:
    said = schema(order="year")
    for other in (said.with_columns({"age": sklar.Integer(0, 99)}), said.with_prices([]), said.without_notes()):
        assert other.person == said.person
    assert repr(said.person) in repr(said)
