"""The schema of a table: its columns in order, and the public rules its rows obey."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from sklar import notebook
from sklar.errors import SchemaError, UnconfirmedFactError, UsageError
from sklar.schema import toml
from sklar.schema.columns import PROVENANCES, Column, Id, is_unicode
from sklar.schema.confirming import (
    PERSON,
    Confirmation,
    Question,
    confirmed_column,
    confirmed_person,
    describe_column,
    describe_step,
    left_out,
    marks_of,
    paid_column,
    person_question,
    question_of,
    require_column,
    rule_name,
    rule_question,
    step_name,
    step_questions,
    with_confirmation,
)
from sklar.schema.persons.linked import linked_faults, links, with_possible_steps, with_static_modelled
from sklar.schema.persons.person import PERSON_KEY, PERSON_ROWS, PERSON_STATIC, Person, entry_of, person_from
from sklar.schema.prices import Price, price_faults
from sklar.schema.rules import Rule, rule_faults

UNSETTLED = " (not confirmed)"
MAX_COLUMNS = 20_000
"""Bounds what is done, and kept, for each pair of columns."""


class Schema(Mapping[str, Column]):
    """Public facts about the columns of a table, in their order; rules that every synthetic row must obey; and what
    measured facts cost. Immutable; all faults are reported at once.

    Attributes:
        rules: Public rules between columns.
        prices: What measured facts cost.
        confirmed: Who vouches for which facts, where somebody said so.
        person: Who a person is, where one may have several rows; None if each row is a person of its own.
        null_values: Texts that stand for a missing value in every column, besides the empty one.
        notes: What a draft has to say about a column that is not confirmed yet, or under "" about all; no facts.
    """

    __slots__ = ("_columns", "confirmed", "notes", "null_values", "person", "prices", "rules")

    def __init__(
        self,
        columns: Mapping[str, Column],
        rules: Iterable[Rule] = (),
        prices: Iterable[Price] = (),
        *,
        person: Person | None = None,
        confirmed: Iterable[Confirmation] = (),
        null_values: Iterable[str] = (),
        notes: Mapping[str, Sequence[str]] | None = None,
    ):
        self._columns = dict(columns)
        self.person = person
        if isinstance(person, Person) and person.key not in columns and links(columns, person):
            self._columns = {person.key: Id(), **columns}  # samples come with keys
        self.rules = tuple(rules)
        self.prices = tuple(prices)
        self.confirmed = tuple(confirmed)
        self.null_values = (null_values,) if isinstance(null_values, str) else tuple(null_values)
        self.notes = {name: tuple(lines) for name, lines in (notes or {}).items()}
        faults = self._faults()
        if faults:
            raise SchemaError(faults)

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        same = list(self._columns.items()) == list(other._columns.items())
        said = (self.rules, self.prices, self.confirmed) == (other.rules, other.prices, other.confirmed)
        return same and said and (self.person, self.null_values) == (other.person, other.null_values)

    def __hash__(self) -> int:
        return hash((tuple(self._columns.items()), self.rules, self.prices, self.person, self.null_values))

    def __repr__(self) -> str:
        person = "" if self.person is None else f", person={self.person!r}"
        return f"Schema({self._columns!r}, rules={self.rules!r}, prices={self.prices!r}{person})"

    def __str__(self) -> str:
        """A line a column, and a line a rule."""
        asked = {question.column for question in self.questions()}
        lines = [f"{name}: {describe_column(column)}{UNSETTLED * (name in asked)}" for name, column in self.items()]
        for number, rule in enumerate(self.rules, 1):
            lines.append(f"{rule_name(number)}: {rule.describe()}{UNSETTLED * (rule_name(number) in asked)}")
        for number, step in enumerate(() if self.person is None else self.person.steps, 1):
            lines.append(f"{step_name(number)}: {describe_step(step)}{UNSETTLED * (step_name(number) in asked)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(name, describe_column(column), marks_of(column)) for name, column in self.items()]
        left = len(self.questions())
        asked = f"{left} of them have facts that nobody has confirmed: see questions() and confirm()." if left else ""
        rules = notebook.bullets(f"rule {rule.kind}: {', '.join(rule.columns)}" for rule in self.rules)
        head = f"Schema of {len(self)} columns"
        said = notebook.paragraph(asked) if asked else ""
        return notebook.card(head, said, notebook.table(("column", "what it is", "source"), rows), rules)

    @property
    def names(self) -> tuple[str, ...]:
        """All column names, in order."""
        return tuple(self._columns)

    @property
    def modelled(self) -> tuple[str, ...]:
        """Names of the columns that are read and modelled, in order."""
        return tuple(name for name, column in self._columns.items() if column.modelled)

    def size(self, name: str) -> int:
        """Number of base codes of a column."""
        return self._columns[name].size

    def facts_by_provenance(self, word: str) -> tuple[tuple[str, str], ...]:
        """The (column, fact) pairs whose provenance is `word`."""
        return tuple(
            (name, fact)
            for name, column in self._columns.items()
            for fact in column.facts
            if column.provenance(fact) == word
        )

    def with_prices(self, prices: Iterable[Price]) -> Schema:
        """The same facts with these prices."""
        return self._with(prices=prices)

    def with_columns(self, columns: Mapping[str, Column]) -> Schema:
        """The same schema with these columns in the place of those of the same name; others are added at the end."""
        return self._with(columns={**self._columns, **columns})

    def with_rules(self, rules: Iterable[Rule]) -> Schema:
        """The same schema with these rules instead of its own."""
        return self._with(rules=rules)

    def with_person(self, person: Person | None) -> Schema:
        """The same schema with another person, or none."""
        return self._with(person=person)

    def without_notes(self) -> Schema:
        """The same facts without what a draft had to say: it was read off rows, and may not leave with a release."""
        return self._with(notes=None)

    def _with(self, **parts: Any) -> Schema:
        """The same schema with some parts exchanged."""
        own: dict[str, Any] = {"columns": self._columns, **{n: getattr(self, n) for n in self.__slots__[1:]}}
        return Schema(**(own | parts))

    def questions(self) -> tuple[Question, ...]:
        """What is to be asked before a private fit: of each column with facts, rule and step that nobody confirmed."""
        asked = (question_of(name, column, self.notes.get(name, ())) for name, column in self._columns.items())
        rules = (rule_question(number, rule) for number, rule in enumerate(self.rules, 1))
        steps = step_questions(self.person)
        return tuple(q for q in (*asked, person_question(self.person), *rules, *steps) if q is not None)

    def confirm(self, *columns: str, by: str = "", pay: bool = False, source: str = "assumed", **facts: Any) -> Schema:
        """The schema after an answer: somebody knows these columns without looking at the rows, and corrects them.

        Args:
            columns: Names of columns, rules as "rule 1", rules across rows of a person as "step 1", or "person". All
                that was read off the rows about them counts as confirmed, or if facts are given, these facts alone.
            by: Who says so; the claim names them.
            pay: Only the kind is known: bounds or values are to be measured, and paid from the privacy budget.
            source: "assumed", or "public" for what anyone knows.
            facts: What is right instead of what the draft says, as lower=0, upper=120; kind="ignore" leaves out.
        """
        if not columns:
            raise UsageError('name the column to confirm, as schema.confirm("age", lower=0, upper=120)')
        if source not in PROVENANCES[:2]:
            raise UsageError(f"source is one of {', '.join(PROVENANCES[:2])}; pay=True has facts measured")
        if pay and facts:
            raise UsageError("what is to be paid for is not stated: give facts, or pay=True")
        if PERSON in columns and PERSON not in self._columns and self.person is not None:
            return self._with_answer(columns, by, pay, source, facts)
        if stepped := {number: name for name in columns if (number := self._step_number(name)) is not None}:
            return self._with_steps(columns, stepped, by, pay, source, facts)
        chosen = {number: name for name in columns if (number := self._rule_number(name)) is not None}
        if chosen and (pay or (facts and facts != {"kind": "ignore"})):
            raise UsageError("a rule is confirmed as it stands, or left out with kind='ignore'")
        answered = {n: self._answered(n, pay, source, facts) for n in columns if n not in chosen.values()}
        said = [f"{n}.{fact}" for n, column in answered.items() for fact in self._vouched(n, column, source)]
        said += [] if facts else [f"rules.{self.rules[number].describe()}" for number in chosen]
        marked = [replace(r, source=source) if i in chosen else r for i, r in enumerate(self.rules)]
        rules = [rule for i, rule in enumerate(marked) if i not in chosen or not facts]
        merged = {**self._columns, **answered}
        done = self._with(
            columns=merged, rules=rules, confirmed=with_confirmation(self.confirmed, by, said), notes=None,
            person=with_possible_steps(merged, rules, with_static_modelled(merged, self.person)),
        )  # fmt: skip
        asked = {question.column for question in done.questions()}
        # What a draft noted about the whole, and about columns, stays until it is settled.
        kept = {n: lines for n, lines in self.notes.items() if (n in asked or n not in columns if n else asked)}
        return done._with(notes=kept)

    def _with_answer(self, columns: Sequence[str], by: str, pay: bool, source: str, facts: Mapping[str, Any]) -> Schema:
        """The schema after an answer about the person, and then about the other columns."""
        assert self.person is not None
        others = [name for name in columns if name != PERSON]
        if facts and others:
            raise UsageError("facts of a person are given for the person alone")
        person = confirmed_person(self.person, source, pay, facts)
        person = person if "static" in facts else with_static_modelled(self._columns, person)
        person = with_possible_steps(self._columns, self.rules, person)
        said = [] if person is None else [PERSON_KEY, PERSON_ROWS, *([PERSON_STATIC] if person.static else [])]
        done = self._with(person=person, confirmed=with_confirmation(self.confirmed, by, said))
        return done.confirm(*others, by=by, pay=pay, source=source) if others else done

    def _with_steps(
        self,
        columns: Sequence[str],
        stepped: Mapping[int, str],
        by: str,
        pay: bool,
        source: str,
        facts: Mapping[str, Any],
    ) -> Schema:
        """The schema after an answer about rules across rows of a person, and then about the other columns."""
        assert self.person is not None
        if pay or (facts and facts != {"kind": "ignore"}):
            raise UsageError("a step is confirmed as it stands, or left out with kind='ignore'")
        others = [name for name in columns if name not in stepped.values()]
        said = [] if facts else [f"steps.{self.person.steps[number].describe()}" for number in stepped]
        marked = [replace(r, source=source) if i in stepped else r for i, r in enumerate(self.person.steps)]
        steps = tuple(rule for i, rule in enumerate(marked) if i not in stepped or not facts)
        person = replace(self.person, steps=steps)
        done = self._with(person=person, confirmed=with_confirmation(self.confirmed, by, said))
        return done.confirm(*others, by=by, source=source, **facts) if others else done

    def _step_number(self, name: str) -> int | None:
        """The place of a step that is named as in its question; a column of that name comes first."""
        names = [step_name(number) for number, _ in enumerate(() if self.person is None else self.person.steps, 1)]
        return names.index(name) if name in names and name not in self._columns else None

    def _rule_number(self, name: str) -> int | None:
        """The place of a rule that is named as in its question; a column of that name comes first."""
        names = [rule_name(number) for number in range(1, len(self.rules) + 1)]
        return names.index(name) if name in names and name not in self._columns else None

    def _answered(self, name: str, pay: bool, source: str, facts: Mapping[str, Any]) -> Column:
        require_column(name, self.names)
        if pay:
            return paid_column(self[name])
        if facts.get("kind") == "ignore":
            return left_out(source)
        return confirmed_column(self[name], toml.KINDS, source, facts)

    def _vouched(self, name: str, column: Column, source: str) -> list[str]:
        """The facts that an answer spoke for; unset bins and the like say nothing."""
        before = self[name]
        return [
            fact
            for fact in column.facts
            if column.provenance(fact) == source
            and column.states(fact)
            and (before.provenance(fact) == "from-rows" or getattr(before, fact, None) != getattr(column, fact))
        ]

    @property
    def unpriced(self) -> tuple[tuple[str, str], ...]:
        """The (column, fact) pairs that were measured at a price nobody states; ("person", "rows") is the person's."""
        priced = {fact for price in self.prices for fact in price.facts}
        person = [("person", "rows")] if self.person is not None and self.person.source == "measured" else []
        measured = (*self.facts_by_provenance("measured"), *person)
        return tuple(pair for pair in measured if ".".join(pair) not in priced)

    def require_confirmed(self) -> None:
        """Refuse facts that were read off private rows and neither confirmed nor paid for."""
        marked: dict[str, list[str]] = {}
        for name, fact in self.facts_by_provenance("from-rows"):
            marked.setdefault(name, []).append(fact)
        whole = {name for name, facts in marked.items() if 1 < len(facts) == len(self[name].facts)}
        found = [
            f"column '{name}': {'all facts' if name in whole else ', '.join(facts)}" for name, facts in marked.items()
        ]
        asked = (rule_question(number, rule) for number, rule in enumerate(self.rules, 1))
        open_questions = (person_question(self.person), *asked, *step_questions(self.person))
        found += [f"{question.column}: {question.says}" for question in open_questions if question is not None]
        if found:
            raise UnconfirmedFactError(found)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the schema's own text; it says nothing about rows."""
        return hashlib.sha256(schema_to_toml(self).encode()).hexdigest()

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Schema:
        """Read a schema from a TOML file; every fault is reported at once."""
        text = toml.read_text(path)
        return schema_from_dict(toml.parse_toml(text), toml.notes_in(text))

    def toml(self) -> str:
        """The schema as TOML text, with the notes on columns as comments."""
        return schema_to_toml(self, self.notes)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the schema to a TOML file; reading it back gives an equal schema.

        Only its owner may read one that states what may have been read off rows: unconfirmed, yet to be paid for, or
        noted by a draft.
        """
        words = {word for column in self.values() for _, word in column.sources} | {r.source for r in self.rules}
        words |= set() if self.person is None else {self.person.source, *(step.source for step in self.person.steps)}
        toml.write_text(self.toml(), path, private=bool(self.notes or words & {"from-rows", "pay"}))

    def _faults(self) -> list[str]:
        if not self._columns:
            return ["it has no columns"]
        if len(self._columns) > MAX_COLUMNS:
            return [f"it has {len(self._columns):,} columns; at most {MAX_COLUMNS:,} are supported"]
        faults: list[str] = []
        for name, column in self._columns.items():
            if not isinstance(name, str) or not name.strip() or not is_unicode(name):
                faults.append("a column has a name that is blank or not text")
            elif not isinstance(column, Column) or not column.kind:
                faults.append(f"column '{name}' is not one of the column kinds")
            else:
                faults += [f"column '{name}': {fault}" for fault in column.faults()]
        if not faults and not self.modelled:
            faults.append("it has no column to model: all are id or ignore")
        if not all(isinstance(text, str) and is_unicode(text) for text in self.null_values):
            faults.append('null_values must be a list of texts, as ["NA", "-"]')
        if self.person is not None and not isinstance(self.person, Person):
            return [*faults, "person must be a Person, as Person(key='id', rows=5)"]
        return faults or [
            *rule_faults(self._columns, self.rules),
            *(f"person: {fault}" for fault in self._person_faults()),
            *price_faults(self.prices),
            *(f"confirmed {i}: {fault}" for i, one in enumerate(self.confirmed, 1) for fault in one.faults()),
        ]

    def _person_faults(self) -> list[str]:
        if self.person is None:
            return []
        return self.person.faults(self._columns) or linked_faults(self._columns, self.rules, self.person)


def schema_from_toml(text: str) -> Schema:
    """Parse a schema from TOML text."""
    return schema_from_dict(toml.parse_toml(text))


def schema_from_dict(document: Mapping[str, Any], notes: Mapping[str, Sequence[str]] | None = None) -> Schema:
    """Build a schema from the parsed document."""
    faults: list[str] = []
    columns, rules, prices, confirmed = toml.parts_from_dict(document, faults)
    person = person_from(document["person"], faults) if "person" in document else None
    if steps := toml.rules_in(document, "steps", faults):
        person = None if person is None else replace(person, steps=tuple(steps))
        faults += (
            ["steps are rules across the rows of a person: they need [person]"] if "person" not in document else []
        )
    known = {name: column for name, column in columns.items() if column}
    try:
        nulls = toml.null_values_in(document, faults)
        schema = Schema(known, rules, prices, person=person, confirmed=confirmed, null_values=nulls, notes=notes)
    except SchemaError as error:
        raise SchemaError([*faults, *toml.first_hand(error.faults, broken=None in columns.values())]) from None
    if faults:
        raise SchemaError(faults)
    return schema


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """The schema as plain dicts, lists, numbers and strings; defaults are left out."""
    document = toml.dict_from_parts(schema, schema.rules, schema.prices, schema.confirmed)
    document |= {"null_values": list(schema.null_values)} if schema.null_values else {}
    if schema.person is not None:
        document["person"] = entry_of(schema.person)
        document |= {"steps": toml.rule_entries(schema.person.steps)} if schema.person.steps else {}
    return document


def schema_to_toml(schema: Schema, notes: Mapping[str, Sequence[str]] | None = None) -> str:
    """The schema as TOML text; notes on columns become comments above them."""
    return toml.HEADER + toml.document_text(schema_to_dict(schema), notes or {})
