"""Step one: public facts about each column, with a question for each fact that a draft took from the rows."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
from typing import Any

from starlette.responses import Response

from sklar.errors import UsageError
from sklar.schema.answering import EDITED_FACTS, answer_question
from sklar.schema.confirming import (
    Question,
    describe_column,
    describe_sources,
    describe_step,
    payable_facts,
    rule_name,
    step_name,
)
from sklar.schema.persons.person import ORDERED_KINDS, PAY_ROWS, WEIGHTS, Person
from sklar.schema.rules import Expression
from sklar.schema.table import Schema, schema_from_dict
from sklar.schema.toml import KINDS, parse_notes, parse_toml
from sklar.studio import commands
from sklar.studio.folder import READING
from sklar.studio.pages.budget import spent_on
from sklar.studio.visit import Visit, go_to

MAX_EDITED_LABELS = 100
"""Maximum number of labels in an edit field; longer lists are edited in the text of the schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownColumn:
    """A column as the page shows it."""

    name: str
    kind: str
    says: str
    marks: str
    question: Question | None
    payable: bool
    facts: tuple[tuple[str, str], ...]


def page(visit: Visit) -> Response:
    """Show open questions first, then confirmed columns."""
    entry = visit.table
    lines = commands.Lines(
        commands=(*commands.draft(entry).typed, commands.typed(["schema", "confirm", entry.schema, "--by", "NAME"])),
        python=(
            "import sklar",
            f"schema = sklar.draft_schema({entry.source!r}{commands.read_in_python(entry)})",
            "schema.questions()",
            'schema = schema.confirm("age", lower=0, upper=120, by="NAME")',
            f"schema.write({entry.schema!r})",
        ),
    )
    if not (visit.folder.root / entry.schema).exists():
        return visit.show("columns.html", step="columns", schema=None, lines=lines, spent=spent_on(visit))
    schema = read_schema(visit)
    columns = [shown_column(schema, name) for name in schema]
    asked = {question.column: question for question in schema.questions()}
    across = () if schema.person is None else schema.person.steps
    rules = [(rule_name(n), rule.describe(), asked.get(rule_name(n))) for n, rule in enumerate(schema.rules, 1)]
    rules += [(step_name(n), describe_step(rule), asked.get(step_name(n))) for n, rule in enumerate(across, 1)]
    return visit.show(
        "columns.html", step="columns", schema=schema, lines=lines, columns=columns, rules=rules, left=len(asked),
        remarks=schema.notes.get("", ()), kinds=tuple(KINDS), real=bool(asked or schema.notes), toml=schema.toml(),
        by=visit.form.get("by", entry.by), keys=[name for name in schema if not schema[name].modelled], weights=WEIGHTS,
        orders=[name for name in schema.modelled if schema[name].kind in ORDERED_KINDS],
        spent=spent_on(visit), seen=schema.fingerprint,
    )  # fmt: skip


def read_schema(visit: Visit) -> Schema:
    """Return the schema of the table."""
    return Schema.read(visit.folder.root / visit.table.schema)


def shown_column(schema: Schema, name: str) -> ShownColumn:
    """Return a column with its question, if it has one, and the facts that an edit shows."""
    column = schema[name]
    question = next((one for one in schema.questions() if one.column == name), None)
    own = {f.name for f in fields(column)}
    facts = tuple(
        (fact, text_of(getattr(column, fact))) for fact in EDITED_FACTS[1:] if fact in own and _fits(column, fact)
    )
    return ShownColumn(
        name=name, kind=column.kind, says=describe_column(column), marks=describe_sources(column), question=question,
        payable=question is not None and bool(payable_facts(column)), facts=facts,
    )  # fmt: skip


def _fits(column: Any, fact: str) -> bool:
    """Return whether a fact can be edited in a field; long lists and labels with commas cannot."""
    value = getattr(column, fact)
    if not isinstance(value, tuple):
        return True
    return len(value) <= MAX_EDITED_LABELS and not any("," in str(one) for one in value)


def text_of(value: Any) -> str:
    """Return a fact as text for an edit field."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else "" if value is None else str(value)


def reading(visit: Visit) -> Response:
    """Change the options for reading the file, if a draft failed."""
    options = {key: visit.form[key] for key in READING if visit.form.get(key)}
    visit.folder.change(visit.table.name, reading=options)
    return go_to("t", visit.table.name, "columns")


def draft(visit: Visit) -> Response:
    """Start drafting a schema."""
    entry = visit.table
    if (visit.folder.root / entry.schema).exists():
        raise UsageError(f"the schema {entry.schema} already exists: delete the file to draft it again")
    visit.jobs.start(entry.name, commands.draft(entry))
    return go_to("t", entry.name, "columns")


def answer(visit: Visit) -> Response:
    """Apply one answer; a schema is written as a whole or not at all."""
    entry, schema = visit.table, read_schema(visit)
    column, way, by = visit.form.get("column", ""), visit.text("way"), visit.text("by")
    _require_seen(visit, schema)  # a confirmation is about what the page showed
    facts = _changed_facts(visit, schema, column) if way == "edit" and column in schema else {}
    changed = answer_question(schema, column, way, facts, by)
    changed.write(visit.folder.root / entry.schema)
    visit.folder.change(entry.name, by=by)
    left = [question.column for question in changed.questions()]
    following = next((name for name in left if name in changed), left[0] if left else "")
    return go_to("t", entry.name, "columns", at=f"column-{following}" if following else "settled")


def _require_seen(visit: Visit, schema: Schema) -> None:
    if visit.form.get("seen") != schema.fingerprint:
        raise UsageError("the schema has changed since this page was shown, perhaps in another tab: check it again")


def _changed_facts(visit: Visit, schema: Schema, name: str) -> dict[str, str]:
    """Return the facts that an edit changed."""
    shown = {"kind": schema[name].kind, **dict(shown_column(schema, name).facts)}
    changed = {fact: visit.text(fact) for fact in shown if fact in visit.form and visit.text(fact) != shown[fact]}
    try:
        more = dict(part.split("=", 1) for part in shlex.split(visit.text("more")))
    except ValueError:
        raise UsageError("write other facts as bins=50 other=else, with quotes around a text that has spaces") from None
    return {fact: text or "none" for fact, text in {**changed, **more}.items()}


def rule(visit: Visit) -> Response:
    """Add a public rule, as an expression."""
    schema = read_schema(visit)
    if not visit.text("rule"):
        raise UsageError("write the rule as a condition on columns, as left - admitted <= 60")
    more = schema.with_rules((*schema.rules, Expression(visit.text("rule"))))
    more.write(visit.folder.root / visit.table.schema)
    return go_to("t", visit.table.name, "columns", at="rules")


def person(visit: Visit) -> Response:
    """Set the person; without a key each row is a person."""
    schema, rows = read_schema(visit), visit.text("rows")
    found = None
    if visit.form.get("key"):
        found = Person(
            key=visit.form["key"], rows=rows if rows == PAY_ROWS else visit.whole("rows", "the number of rows") or 0,
            order=visit.form.get("order") or None, weights=visit.text("weights") or "votes",
        )  # fmt: skip
    schema.with_person(found).write(visit.folder.root / visit.table.schema)
    return go_to("t", visit.table.name, "columns", at="person")


def text(visit: Visit) -> Response:
    """Replace the schema by an edited text."""
    schema = read_schema(visit)
    _require_seen(visit, schema)
    changed = visit.form.get("toml", "").replace("\r\n", "\n")
    schema_from_dict(parse_toml(changed), parse_notes(changed)).write(visit.folder.root / visit.table.schema)
    return go_to("t", visit.table.name, "columns", at="text")
