"""Answers as words: each way, and what is refused; a schema is changed as a whole or not at all."""

from __future__ import annotations

import pytest

from sklar.errors import UsageError
from sklar.schema import Category, Integer, Schema
from sklar.schema.answering import answer_question, facts_from_texts
from sklar.schema.rules import AtMost

DRAFT = Schema(
    {
        "low": Integer(0, 60, source="from-rows"),
        "high": Integer(0, 90, source="from-rows"),
        "sex": Category(["F", "M"]),
    },
    rules=[AtMost(low="low", high="high", source="from-rows")],
)


def test_each_way_settles_a_column_or_a_rule() -> None:
    schema = answer_question(DRAFT, "low", "edit", {"upper": "99", "nullable": "yes"}, by="Ada")
    assert schema["low"] == Integer(0, 99, nullable=True) and schema["low"].provenance("kind") == "assumed"
    schema = answer_question(answer_question(schema, "high", "pay"), "rule 1", "yes", by="Ada")
    assert schema["high"].provenance("upper") == "pay" and schema.rules[0].source == "assumed"
    assert not schema.questions() and {one.by for one in schema.confirmed} == {"Ada"}
    assert answer_question(DRAFT, "rule 1", "ignore").rules == ()
    assert answer_question(DRAFT, "sex", "ignore")["sex"].kind == "ignore"


def test_an_edit_without_facts_confirms_and_a_new_kind_reads_its_own_facts() -> None:
    assert answer_question(DRAFT, "low", "edit")["low"].provenance("lower") == "assumed"
    assert facts_from_texts(DRAFT, "low", {"kind": "category", "values": "1, 2"})["values"] == ("1", "2")


@pytest.mark.parametrize(
    ("column", "way", "said", "words"),
    [
        ("rule 1", "edit", {}, "a rule is right"),
        ("low", "perhaps", {}, "an answer is"),
        ("low", "edit", {"kind": "shape"}, "kind must be one of"),
        ("low", "edit", {"lower": "x"}, "lower is a number"),
        ("none", "yes", {}, "no column"),
    ],
)
def test_what_cannot_be_taken_is_said(column: str, way: str, said: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        answer_question(DRAFT, column, way, said)
