"""Answers to the questions of a drafted schema, as text from a terminal or a web page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklar.errors import UsageError
from sklar.schema.confirming import PERSON, parse_fact
from sklar.schema.toml import KINDS

if TYPE_CHECKING:
    from sklar.schema.table import Schema

EDITED_FACTS = ("kind", "lower", "upper", "values", "decimals", "nullable")
"""Facts that an edit prompts for one by one; others are given in one line, as bins=50."""


def answer_question(
    schema: Schema, column: str, way: str, said: Mapping[str, str] | None = None, by: str = ""
) -> Schema:
    """Return the schema after one answer.

    Args:
        schema: A schema with questions.
        column: The column, the rule as "rule 1" or the step as "step 1" that is answered.
        way: "yes" (known without these rows, and right), "edit" (right with the given corrections), "pay" (bounds or
            values are to be measured) or "ignore" (leave it out).
        said: Facts of an edit as text.
        by: Who answers.
    """
    if way == "pay":
        return schema.confirm(column, by=by, pay=True)
    if way == "ignore":
        return schema.confirm(column, by=by, kind="ignore")
    if way not in ("yes", "edit"):
        raise UsageError("an answer is yes, edit, pay or ignore")
    if way == "edit" and column not in (*schema, PERSON):
        raise UsageError("a rule is right (y) or not (i); edit it in the file")
    facts = facts_from_texts(schema, column, said or {}) if way == "edit" else {}
    corrected = schema.confirm(column, by=by, **facts) if facts else schema
    return corrected.confirm(column, by=by)  # what was not corrected is right as it stands


def facts_from_texts(schema: Schema, name: str, said: Mapping[str, str]) -> dict[str, Any]:
    """Parse facts of a column from text, by the rules of its kind, or of the kind that the text states."""
    if name not in schema:  # the person: a number of rows, else names
        return {fact: int(text) if fact == "rows" and text.isdecimal() else text for fact, text in said.items()}
    column = schema[name]
    kind = KINDS.get(said.get("kind", column.kind))
    if kind is None:
        raise UsageError(f"kind must be one of {', '.join(KINDS)}")
    return {fact: parse_fact(kind, fact, text, column) for fact, text in said.items()}
