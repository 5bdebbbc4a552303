"""What a schema says about rows that follow one another: its tables, its text, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

import sklar
from benchmarks.data.panel import panel_schema
from sklar.errors import SchemaError
from sklar.schema.coordinates import Same, coordinates, linked_views
from sklar.schema.persons.linked import has_linked_rows
from sklar.schema.table import schema_from_toml

COLUMNS = {"year": sklar.Integer(2000, 2009), "sex": sklar.Category(["F", "M"]), "born": sklar.Integer(1900, 2000),
           "age": sklar.Integer(0, 120), "dead": sklar.Boolean()}  # fmt: skip


def schema(*rules: Any, **person: Any) -> sklar.Schema:
    said: dict[str, Any] = {"key": "id", "rows": 4, "order": "year", **person}
    return sklar.Schema(COLUMNS, rules=rules, person=sklar.Person(**said))


def test_the_text_of_a_schema_tells_all_of_it() -> None:
    assert schema_from_toml(panel_schema().toml()) == panel_schema()
    assert schema_from_toml(panel_schema(linked=False).toml()) == panel_schema(linked=False)


def test_rows_are_linked_where_there_is_an_order_and_a_shared_vote() -> None:
    assert has_linked_rows(COLUMNS, schema().person)
    for person in ({"order": None}, {"linked": False}, {"weights": "rows"}, {"rows": 1}, {"rows": 65}, {"rows": "pay"}):
        assert not has_linked_rows(COLUMNS, schema(**person).person)


def test_the_key_is_a_column_of_its_own_so_that_samples_come_with_it() -> None:
    assert schema().names == ("id", *COLUMNS)
    assert schema(linked=False).names == tuple(COLUMNS)


def test_times_are_told_as_gaps_and_what_ends_a_person_by_the_rows_to_come() -> None:
    facts = schema(static=["sex", "born"], steps=[sklar.rules.Never(values={"previous dead": True})])
    wide, (first, steps) = linked_views(facts)
    assert "year - previous year" in steps.by.schema.modelled
    assert wide.tables["first row"].more in first.by.schema.modelled
    ends = [rule for rule in steps.by.declared.rules if isinstance(rule, sklar.rules.Never)]
    assert {rule.pairs for rule in ends} == {
        (("previous dead", True),), (("dead", True), ("rows after", 1)), (("dead", True), ("rows after", 2)),
    }  # fmt: skip


def test_what_rises_with_every_row_leaves_room_for_the_rows_to_come() -> None:
    def said(**step: Any) -> list[list[str]]:
        facts = schema(steps=[sklar.rules.AtMost(low="previous year", high="year", **step)])
        expressions = sklar.rules.Expression
        return [[rule.text for rule in view.by.declared.rules if isinstance(rule, expressions)]
                for view in linked_views(facts)[1]]  # fmt: skip

    assert said(at_least=2) == [["`year` + 2 * (`rows of the person` - 1) <= 2009"],
                                ["`year` + 2 * (`rows after` - 0) <= 2009"]]  # fmt: skip
    assert said(at_least=0) == [[], []]


def test_columns_that_are_known_when_a_row_is_drawn_are_told() -> None:
    first, steps = linked_views(schema(static=["sex", "born"]))[1]
    assert not first.known
    known = {"sex", "born", "previous year", "previous age", "previous dead", "rows after"}
    assert steps.known == known and steps.known < set(steps.by.schema.modelled)


def test_no_column_that_is_known_is_told_by_another() -> None:
    """Two known columns bound a drawn one: only one of them can tell it, and both stay as they are."""
    rules = (sklar.rules.AtMost(low="born", high="year"), sklar.rules.AtMost(low="age", high="year"))
    facts = schema(*rules, static=["born"], steps=[sklar.rules.AtMost(low="previous age", high="age")])
    wide, (_, steps) = linked_views(facts)
    plain = {part.name for part in steps.by.parts if isinstance(part, Same)}
    assert wide.tables["next row"].known <= plain
    assert set(rules) <= set(steps.by.declared.rules)


def test_a_request_over_both_tables_has_no_name() -> None:
    names = coordinates(schema()).schema.modelled
    assert {name.partition(": ")[0] for name in names} == {"first row", "next row"}
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("person", "says"),
    [
        ({"static": ["nobody"]}, "'nobody' is not a modelled column"),
        ({"static": ["year"]}, "orders the rows"),
        ({"static": ["sex"], "order": None}, "need order"),
        ({"static": ["sex"], "rows": 100}, "2 to 64 rows"),
        ({"linked": True, "weights": "rows"}, "need order"),
        ({"linked": "yes"}, "linked must be"),
        ({"static": "sex"}, "static must be a list"),
        ({"steps": [sklar.rules.Totals(column="sex", counts={"F": 1})]}, "steps must be a list"),
        ({"steps": [sklar.rules.Never(values={"previous ag": 1})]}, "'previous ag' is not a modelled column"),
        ({"steps": [sklar.rules.AtMost(low="previous age", high="age", at_least=500)]}, "can never hold"),
        ({"static": ["sex", "born", "age", "dead"], "order": "year"}, None),
    ],
)
def test_what_is_wrong_is_said(person: dict[str, Any], says: str | None) -> None:
    if says is None:
        schema(**person)
        return
    with pytest.raises(SchemaError, match=says):
        schema(**person)


def test_totals_of_rows_cannot_be_met() -> None:
    with pytest.raises(SchemaError, match="linked = false"):
        schema(sklar.rules.Totals(column="sex", counts={"F": 10, "M": 12}))


def test_a_column_that_hides_the_row_before_is_refused() -> None:
    with pytest.raises(SchemaError, match="rename it"):
        sklar.Schema(
            {**COLUMNS, "previous age": sklar.Integer(0, 9)}, person=sklar.Person(key="id", rows=3, order="year")
        )


def test_steps_without_a_person_are_refused() -> None:
    text = panel_schema().toml()
    with pytest.raises(SchemaError, match=r"they need \[person\]"):
        schema_from_toml(text[: text.index("[person]")] + text[text.index("[columns.") :])
