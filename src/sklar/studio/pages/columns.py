"""Step one: public facts about all columns on one page, with a question about each fact that a draft read off rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from sklar.errors import SklarError, UsageError
from sklar.schema.answering import answer_question
from sklar.schema.columns import Column
from sklar.schema.confirming import (
    PERSON,
    Question,
    describe_column,
    describe_sources,
    describe_step,
    parse_fact,
    rule_name,
    step_name,
)
from sklar.schema.persons.linked import has_linked_rows
from sklar.schema.persons.person import ORDERED_KINDS, PAY_ROWS, WEIGHTS, Person
from sklar.schema.rules import Expression, Rule
from sklar.schema.table import Schema, schema_from_dict
from sklar.schema.toml import KINDS, parse_notes, parse_toml
from sklar.studio import commands
from sklar.studio.folder import READING
from sklar.studio.pages.budget import spent_on, start_plan
from sklar.studio.visit import Visit, go_to

MAX_EDITED_LABELS = 200
"""Maximum number of labels in an edit field; longer lists are edited in the text of the schema."""
EDITED_BY_KIND = {
    "lower": "integer real datetime", "upper": "integer real datetime", "decimals": "real", "step": "integer real",
    "atoms": "integer real", "format": "integer real datetime", "resolution": "datetime", "calendar": "datetime",
    "spelling": "boolean", "values": "category ordinal", "nullable": "category ordinal integer real boolean datetime",
}  # fmt: skip
"""Facts with a field of their own, and the kinds that have them."""
HINTS = {
    "lower": "smallest possible value", "upper": "largest possible value", "decimals": "digits after the point",
    "step": "all values are multiples of it", "atoms": "frequent single values, with commas",
    "format": "as 1.234,56 or %d.%m.%Y", "resolution": "day, minute, second ...",
    "calendar": "parts to measure, as month, weekday", "spelling": "false and true in the output, as no, yes",
    "values": "one label a line", "nullable": "",
}  # fmt: skip
SELDOM_RULES = ("ratio",)
"""Kinds of rules that "yes to all" answers by no: a range of ratios that holds in the rows is seldom a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditField:
    """A fact in a field of its own."""

    fact: str
    kinds: str
    hint: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownColumn:
    """A column as the page shows it; `seen` is what the draft saw in the rows, for the custodian."""

    name: str
    kind: str
    says: str
    marks: str
    question: Question | None
    nullable: bool
    seen: Mapping[str, Any]
    fields: tuple[EditField, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRule:
    """A rule, a step or the person, with its question, and the answer where all are answered at once."""

    name: str
    says: str
    question: Question | None
    usual: str = "yes"


def page(visit: Visit) -> Response:
    """Show all columns as rows of a table, and rules and the person as cards."""
    entry = visit.table
    lines = commands.Lines(
        commands=(
            *commands.draft(entry).typed,
            commands.quote_typed(["schema", "confirm", entry.schema, "--by", "NAME"]),
        ),
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
    open_questions = {question.column: question for question in schema.questions()}
    preview = preview_of(visit)
    rules = list_rules(schema)
    return visit.show(
        "columns.html", step="columns", schema=schema, lines=lines, left=len(open_questions), preview=preview,
        columns=[shown_column(schema, name, open_questions, (preview or {}).get("columns", {})) for name in schema],
        rules=rules, unanswered=Counter(one.usual for one in rules if one.question is not None),
        remarks=schema.notes.get("", ()), kinds=tuple(KINDS), real=bool(open_questions or schema.notes),
        toml=schema.toml(), by=visit.form.get("by", entry.by), weights=WEIGHTS, untouched=_is_untouched(schema),
        keys=[name for name in schema if not schema[name].modelled], spent=spent_on(visit), seen=schema.fingerprint,
        orders=[name for name in schema.modelled if schema[name].kind in ORDERED_KINDS],
    )  # fmt: skip


def read_schema(visit: Visit) -> Schema:
    """Return the schema of the table."""
    return Schema.read(visit.folder.root / visit.table.schema)


def is_linked(schema: Schema | None) -> bool:
    """Return whether a schema is of two tables, of persons and of their rows."""
    return schema is not None and schema.person is not None and schema.person.parents is not None


def preview_of(visit: Visit) -> dict[str, Any] | None:
    """Return how the draft read the rows; None without a draft."""
    job = visit.jobs.latest(visit.table.name, "draft")
    found = job.result(0) if job is not None and job.state == "done" else None
    return None if found is None else found.get("preview")


def shown_column(
    schema: Schema, name: str, open_questions: Mapping[str, Question], seen: Mapping[str, Any]
) -> ShownColumn:
    """Return a column with its question, if it has one, and the fields of an edit."""
    column = schema[name]
    listed = tuple(
        EditField(fact=fact, kinds=kinds, hint=HINTS[fact], value=text_of(getattr(column, fact, None), fact))
        for fact, kinds in EDITED_BY_KIND.items()
        if _fits(column, fact)
    )
    says = describe_column(column).removeprefix(column.kind).removesuffix(", may be missing").strip(" ,")
    return ShownColumn(
        name=name, kind=column.kind, says=says, marks=describe_sources(column), question=open_questions.get(name),
        nullable=getattr(column, "nullable", False), seen=seen.get(name, {}), fields=listed,
    )  # fmt: skip


def list_rules(schema: Schema) -> list[ShownRule]:
    """Return the person if it is in question, all rules, and all steps."""
    open_questions = {question.column: question for question in schema.questions()}
    person = open_questions.get(PERSON) if PERSON not in schema else None
    found = [] if person is None else [ShownRule(name=PERSON, says=person.says, question=person)]
    for number, rule in enumerate(schema.rules, 1):
        question = open_questions.get(rule_name(number))
        usual = "no" if rule.kind in SELDOM_RULES else "yes"
        found.append(ShownRule(name=rule_name(number), says=rule.describe(), question=question, usual=usual))
    for number, rule in enumerate(() if schema.person is None else schema.person.steps, 1):
        question = open_questions.get(step_name(number))
        found.append(ShownRule(name=step_name(number), says=describe_step(rule), question=question))
    return found


def _fits(column: Column, fact: str) -> bool:
    """Return whether a fact can be edited in a field; long lists cannot."""
    value = getattr(column, fact, None)
    return not isinstance(value, tuple) or len(value) <= MAX_EDITED_LABELS  # pyright: ignore[reportUnknownArgumentType]


def text_of(value: Any, fact: str = "") -> str:
    """Return a fact as text for an edit field; labels are one a line, since they may contain commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ("\n" if fact == "values" else ", ").join(str(one) for one in value)  # pyright: ignore[reportUnknownVariableType]
    return f"{value:.15g}" if isinstance(value, float) else "" if value is None else str(value)


def _is_untouched(schema: Schema) -> bool:
    """Return whether no one has answered a question of a draft yet, so that it can be drafted again."""
    return bool(schema.notes.get("")) and not schema.confirmed and len(schema.questions()) >= len(schema)


def reading(visit: Visit) -> Response:
    """Change the options for reading the file, and draft again unless answers would be lost."""
    entry, options = visit.table, {key: visit.form[key] for key in READING if visit.form.get(key)}
    place = visit.folder.root / entry.schema
    if place.exists() and not _is_untouched(read_schema(visit)):
        raise UsageError(f"questions were answered already: delete {entry.schema} to read the file in another way")
    visit.folder.change(entry.name, reading=options)
    place.unlink(missing_ok=True)
    visit.jobs.start(entry.name, commands.draft(visit.folder.table(entry.name)))
    return go_to("t", entry.name, "columns")


def draft(visit: Visit) -> Response:
    """Start drafting a schema."""
    entry = visit.table
    if (visit.folder.root / entry.schema).exists():
        raise UsageError(f"the schema {entry.schema} already exists: delete the file to draft it again")
    visit.jobs.start(entry.name, commands.draft(entry))
    return go_to("t", entry.name, "columns")


def answer(visit: Visit) -> Response:
    """Apply one answer, about a rule or a column; a schema is written as a whole or not at all."""
    entry, schema = visit.table, read_schema(visit)
    by = visit.text("by")
    _require_seen(visit, schema)  # a confirmation is about what the page showed
    changed = answer_question(schema, visit.form.get("column", ""), visit.text("way"), {}, by)
    changed.write(visit.folder.root / entry.schema)
    return go_to("t", entry.name, "columns", at="rules")


def answer_all(visit: Visit) -> Response:
    """Apply the answers about all columns that are ticked or edited, and about all rules, in the name of one person."""
    entry, schema = visit.table, read_schema(visit)
    _require_seen(visit, schema)
    by = visit.text("by")
    if not by:
        raise UsageError("write your name: it is stated in the claim of every fit, as the person who vouches for this")
    changed = _answer_rules(visit, schema, _answer_columns(visit, schema, by), by)
    changed.write(visit.folder.root / entry.schema)
    visit.folder.change(entry.name, by=by)
    if left := changed.questions():
        return go_to("t", entry.name, "columns", at="open" if any(one.column in changed for one in left) else "rules")
    with suppress(SklarError):  # without a plan, the page of the budget offers one
        start_plan(visit, changed, preview_of(visit))
    return go_to("t", entry.name, "budget")


def _answer_columns(visit: Visit, schema: Schema, by: str) -> Schema:
    """Return the schema after the answers about columns; those that are right as they stand are confirmed at once."""
    open_questions = {question.column for question in schema.questions()}
    right: list[str] = []
    done = schema
    for at, name in enumerate(schema):
        facts, way = _changed_facts(visit, schema, name, at), visit.text(f"way-{at}") or "yes"
        ticked = f"tick-{at}" in visit.form and name in open_questions
        if not (facts or ticked):
            continue
        if facts and way == "yes":
            done = done.confirm(name, by=by, **facts).confirm(name, by=by)
        elif way == "yes":
            right.append(name)
        else:
            done = answer_question(done, name, way, {}, by)
    return done.confirm(*right, by=by) if right else done


def _changed_facts(visit: Visit, schema: Schema, name: str, at: int) -> dict[str, Any]:
    """Return the facts that an edit changed, of those that the chosen kind has."""
    column, kind = schema[name], visit.text(f"kind-{at}") or schema[name].kind
    if kind not in KINDS:
        raise UsageError(f"the kind of {name} must be one of {', '.join(KINDS)}")
    facts: dict[str, Any] = {} if kind == column.kind else {"kind": kind}
    for field in shown_column(schema, name, {}, {}).fields:
        text = visit.form.get(f"{field.fact}-{at}", field.value).replace("\r\n", "\n").strip()
        if text == field.value.strip() or kind not in field.kinds.split():
            continue
        try:
            if field.fact == "values":
                facts["values"] = _labels(text, column)
            else:
                facts[field.fact] = parse_fact(KINDS[kind], field.fact, text or "none", column)
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from None
    return facts


def _labels(text: str, column: Column) -> tuple[str, ...] | tuple[int, ...]:
    """Return labels, one a line; whole numbers where those of the column are."""
    lines = tuple(line.strip() for line in text.split("\n") if line.strip())
    if not getattr(column, "integer_labels", False):
        return lines
    try:
        return tuple(int(line) for line in lines)
    except ValueError:
        raise UsageError("its labels are whole numbers, one a line") from None


def _answer_rules(visit: Visit, before: Schema, schema: Schema, by: str) -> Schema:
    """Return the schema after the answers about the person, rules and steps that are still possible."""
    at_once = bool(visit.text("all"))
    said = {
        one.name: answer
        for at, one in enumerate(list_rules(before))
        if one.question is not None
        and (answer := visit.text(f"rule-{at}") or (one.usual if at_once else "")) in ("yes", "no")
    }
    if said.get(PERSON) and schema.person is not None:
        schema = answer_question(schema, PERSON, "yes" if said[PERSON] == "yes" else "ignore", {}, by)
    for names, old in ((rule_name, before.rules), (step_name, _steps(before))):
        for way in ("yes", "no"):
            chosen = [rule for at, rule in enumerate(old, 1) if said.get(names(at)) == way]
            now = schema.rules if names is rule_name else _steps(schema)
            found = [names(at) for at, rule in enumerate(now, 1) if rule in chosen]
            if found and way == "yes":
                schema = schema.confirm(*found, by=by)
            elif found:
                schema = schema.confirm(*found, by=by, kind="ignore")
    return schema


def _steps(schema: Schema) -> Sequence[Rule]:
    return () if schema.person is None else schema.person.steps


def _require_seen(visit: Visit, schema: Schema) -> None:
    if visit.form.get("seen") != schema.fingerprint:
        raise UsageError("the schema has changed since this page was shown, perhaps in another tab: check it again")


def rule(visit: Visit) -> Response:
    """Add a public rule: one column compared with another, or a condition as text."""
    schema, text = read_schema(visit), visit.text("rule")
    if not text and visit.text("left") and visit.text("right"):
        text = f"`{visit.text('left')}` {visit.text('sign')} `{visit.text('right')}`"
    if not text:
        raise UsageError("choose two columns and how they compare, or write a condition, as left - admitted <= 60")
    more = schema.with_rules((*schema.rules, Expression(text)))
    more.write(visit.folder.root / visit.table.schema)
    return go_to("t", visit.table.name, "columns", at="rules")


def person(visit: Visit) -> Response:
    """Set the person; without a key each row is a person. Rules across rows are kept as long as rows are linked."""
    schema, rows, key = read_schema(visit), visit.text("rows"), visit.form.get("key", "")
    now = schema.person if schema.person is not None and schema.person.key == key else Person(key=key, rows=1)
    static = [name for at, name in enumerate(schema) if f"static-{at}" in visit.form]
    found = replace(
        now, rows=rows if rows == PAY_ROWS else visit.whole("rows", "the number of rows") or 0,
        order=visit.form.get("order") or None, weights=visit.text("weights") or "votes",
        static=static if now.parents is None else now.static, source="assumed",
    ) if key else None  # fmt: skip
    if found is not None and not has_linked_rows(schema, found):
        found = replace(found, static=(), steps=())
    schema.with_person(found).write(visit.folder.root / visit.table.schema)
    return go_to("t", visit.table.name, "columns", at="person")


def text(visit: Visit) -> Response:
    """Replace the schema by an edited text."""
    schema = read_schema(visit)
    _require_seen(visit, schema)
    changed = visit.form.get("toml", "").replace("\r\n", "\n")
    schema_from_dict(parse_toml(changed), parse_notes(changed)).write(visit.folder.root / visit.table.schema)
    return go_to("t", visit.table.name, "columns", at="text")
