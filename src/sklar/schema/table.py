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
    add_confirmation,
    confirm_column,
    confirm_person,
    describe_column,
    describe_sources,
    describe_step,
    ignore_column,
    keep_possible_rules,
    list_step_questions,
    make_column_question,
    make_person_question,
    make_rule_question,
    mark_column_to_pay,
    require_column,
    rule_name,
    step_name,
)
from sklar.schema.persons.linked import has_linked_rows, keep_modelled_static, keep_possible_steps, linked_faults
from sklar.schema.persons.person import PERSON_KEY, PERSON_ROWS, PERSON_STATIC, Person, make_person_entry, parse_person
from sklar.schema.prices import Price, price_faults
from sklar.schema.rules import Rule, rule_faults

UNCONFIRMED_MARK = " (not confirmed)"
MAX_COLUMNS = 20_000
"""Most columns: time and memory grow with the number of pairs of columns."""


class Schema(Mapping[str, Column]):
    """Public facts about the columns of a table, the rules of its rows, and the prices of measured facts.

    Immutable; all faults are reported at once.

    Attributes:
        rules: Public rules between columns, which every synthetic row obeys.
        prices: Prices of measured facts.
        confirmed: Who vouches for which facts, where it is stated.
        person: The definition of a person with several rows; None if each row is a person.
        null_values: Texts that stand for a missing value in every column, in addition to the empty one.
        notes: Notes of a draft about a column that is not confirmed yet, or under "" about all; not facts.
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
        if isinstance(person, Person) and person.key not in columns and has_linked_rows(columns, person):
            self._columns = {person.key: Id(), **columns}  # samples come with keys
        self.rules = tuple(rules)
        self.prices = tuple(prices)
        self.confirmed = tuple(confirmed)
        self.null_values = (null_values,) if isinstance(null_values, str) else tuple(null_values)
        self.notes = {name: tuple(lines) for name, lines in (notes or {}).items()}
        faults = self._find_faults()
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
        stated = (self.rules, self.prices, self.confirmed) == (other.rules, other.prices, other.confirmed)
        return same and stated and (self.person, self.null_values) == (other.person, other.null_values)

    def __hash__(self) -> int:
        return hash((tuple(self._columns.items()), self.rules, self.prices, self.person, self.null_values))

    def __repr__(self) -> str:
        person = "" if self.person is None else f", person={self.person!r}"
        return f"Schema({self._columns!r}, rules={self.rules!r}, prices={self.prices!r}{person})"

    def __str__(self) -> str:
        """Return one line per column and one per rule."""
        open_names = {question.column for question in self.questions()}
        described = {name: describe_column(column) for name, column in self.items()}
        lines = list(described.items())
        lines += [(rule_name(number), rule.describe()) for number, rule in enumerate(self.rules, 1)]
        steps = () if self.person is None else self.person.steps
        lines += [(step_name(number), describe_step(step)) for number, step in enumerate(steps, 1)]
        return "\n".join(f"{name}: {text}{UNCONFIRMED_MARK * (name in open_names)}" for name, text in lines)

    def _repr_html_(self) -> str:
        rows = [(name, describe_column(column), describe_sources(column)) for name, column in self.items()]
        left = len(self.questions())
        unconfirmed = (
            f"{left} questions about columns and rules are open: see questions() and confirm()." if left else ""
        )
        rules = notebook.make_bullets(f"rule {rule.kind}: {', '.join(rule.columns)}" for rule in self.rules)
        head = f"Schema of {len(self)} columns"
        note = notebook.make_paragraph(unconfirmed) if left else ""
        return notebook.make_card(head, note, notebook.make_table(("column", "what it is", "source"), rows), rules)

    @property
    def names(self) -> tuple[str, ...]:
        """All column names, in order."""
        return tuple(self._columns)

    @property
    def modelled(self) -> tuple[str, ...]:
        """Names of the columns that are read and modelled, in order."""
        return tuple(name for name, column in self._columns.items() if column.modelled)

    def size(self, name: str) -> int:
        """Return the number of base codes of a column."""
        return self._columns[name].size

    def facts_by_provenance(self, word: str) -> tuple[tuple[str, str], ...]:
        """Return the (column, fact) pairs whose provenance is `word`."""
        return tuple(
            (name, fact)
            for name, column in self._columns.items()
            for fact in column.facts
            if column.provenance(fact) == word
        )

    def with_prices(self, prices: Iterable[Price]) -> Schema:
        """Return the schema with these prices."""
        return self._with(prices=prices)

    def with_columns(self, columns: Mapping[str, Column]) -> Schema:
        """Return the schema with these columns in place of those of the same name; others are added at the end."""
        return self._with(columns={**self._columns, **columns})

    def with_rules(self, rules: Iterable[Rule]) -> Schema:
        """Return the schema with these rules instead of its own."""
        return self._with(rules=rules)

    def with_person(self, person: Person | None) -> Schema:
        """Return the schema with another person, or None."""
        return self._with(person=person)

    def without_notes(self) -> Schema:
        """Return the schema without the notes of a draft: they were read off rows and may not leave with a release."""
        return self._with(notes=None)

    def _with(self, **parts: Any) -> Schema:
        """Return the schema with some parts exchanged."""
        own: dict[str, Any] = {"columns": self._columns, **{n: getattr(self, n) for n in self.__slots__[1:]}}
        return Schema(**(own | parts))

    def questions(self) -> tuple[Question, ...]:
        """Return the questions before a private fit: each column, rule and step with unconfirmed facts."""
        columns = (make_column_question(name, column, self.notes.get(name, ())) for name, column in self.items())
        rules = (make_rule_question(number, rule) for number, rule in enumerate(self.rules, 1))
        steps = list_step_questions(self.person)
        return tuple(q for q in (*columns, make_person_question(self.person), *rules, *steps) if q is not None)

    def confirm(self, *columns: str, by: str = "", pay: bool = False, source: str = "assumed", **facts: Any) -> Schema:
        """Return the schema after an answer that confirms or corrects columns, known without looking at the rows.

        Args:
            columns: Names of columns, rules as "rule 1", rules across rows of a person as "step 1", or "person". All
                that was read off the rows about them counts as confirmed, or if facts are given, these facts alone.
            by: Who confirms; the claim names them.
            pay: Only the kind is known: bounds or values are to be measured, and paid from the privacy budget.
            source: "assumed", or "public" for what anyone knows.
            facts: Corrections of the draft, as lower=0, upper=120; kind="ignore" leaves the column out.
        """
        if not columns:
            raise UsageError('name the column to confirm, as schema.confirm("age", lower=0, upper=120)')
        if source not in PROVENANCES[:2]:
            raise UsageError(f"source must be one of {', '.join(PROVENANCES[:2])}; use pay=True to have facts measured")
        if pay and facts:
            raise UsageError("give facts or pay=True, not both: a fact to be paid for is not stated")
        if PERSON in columns and PERSON not in self._columns and self.person is not None:
            return self._with_answer(columns, by, pay, source, facts)
        # Rules and steps are named as in their questions; a column of that name comes first.
        others = [name for name in columns if name not in self._columns]
        steps = {step_name(i + 1): i for i in range(0 if self.person is None else len(self.person.steps))}
        if stepped := {steps[name]: name for name in others if name in steps}:
            return self._with_steps(columns, stepped, by, pay, source, facts)
        numbers = {rule_name(i + 1): i for i in range(len(self.rules))}
        chosen = {numbers[name]: name for name in others if name in numbers}
        if chosen and (pay or (facts and facts != {"kind": "ignore"})):
            raise UsageError("a rule is confirmed as it stands, or left out with kind='ignore'")
        answered = {n: self._answer(n, pay, source, facts) for n in columns if n not in chosen.values()}
        said = [f"{n}.{fact}" for n, column in answered.items() for fact in self._find_confirmed(n, column, source)]
        said += [] if facts else [f"rules.{self.rules[number].describe()}" for number in chosen]
        marked = [replace(r, source=source) if i in chosen else r for i, r in enumerate(self.rules)]
        rules = [rule for i, rule in enumerate(marked) if i not in chosen or not facts]
        merged = {**self._columns, **answered}
        person = keep_modelled_static(merged, self.person)
        rules = keep_possible_rules(merged, rules, person)
        done = self._with(
            columns=merged, rules=rules, confirmed=add_confirmation(self.confirmed, by, said), notes=None,
            person=keep_possible_steps(merged, rules, person),
        )  # fmt: skip
        open_names = {question.column for question in done.questions()}
        # Notes of a draft, about the whole and about columns, stay until they are answered.
        kept = {n: x for n, x in self.notes.items() if (n in open_names or n not in columns if n else open_names)}
        return done._with(notes=kept)

    def _with_answer(self, columns: Sequence[str], by: str, pay: bool, source: str, facts: Mapping[str, Any]) -> Schema:
        """Answer for the person, and then for the other columns."""
        assert self.person is not None
        others = [name for name in columns if name != PERSON]
        if facts and others:
            raise UsageError("facts of a person are given for the person alone")
        person = confirm_person(self.person, source, pay, facts)
        person = person if "static" in facts else keep_modelled_static(self._columns, person)
        rules = keep_possible_rules(self._columns, self.rules, person)
        person = keep_possible_steps(self._columns, rules, person)
        said = [] if person is None else [PERSON_KEY, PERSON_ROWS, *([PERSON_STATIC] if person.static else [])]
        done = self._with(rules=rules, person=person, confirmed=add_confirmation(self.confirmed, by, said))
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
        """Answer for rules across rows of a person, and then for the other columns."""
        assert self.person is not None
        if pay or (facts and facts != {"kind": "ignore"}):
            raise UsageError("a step is confirmed as it stands, or left out with kind='ignore'")
        others = [name for name in columns if name not in stepped.values()]
        said = [] if facts else [f"steps.{self.person.steps[number].describe()}" for number in stepped]
        marked = [replace(r, source=source) if i in stepped else r for i, r in enumerate(self.person.steps)]
        steps = tuple(rule for i, rule in enumerate(marked) if i not in stepped or not facts)
        person = replace(self.person, steps=steps)
        done = self._with(person=person, confirmed=add_confirmation(self.confirmed, by, said))
        return done.confirm(*others, by=by, source=source, **facts) if others else done

    def _answer(self, name: str, pay: bool, source: str, facts: Mapping[str, Any]) -> Column:
        require_column(name, self.names)
        if pay:
            return mark_column_to_pay(self[name])
        if facts.get("kind") == "ignore":
            return ignore_column(source)
        return confirm_column(self[name], toml.KINDS, source, facts)

    def _find_confirmed(self, name: str, column: Column, source: str) -> list[str]:
        """Return the facts that an answer confirmed; unset bins and the like are not facts."""
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
        """The measured (column, fact) pairs without a stated price; ("person", "rows") is the person's."""
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
        found = [f"column '{n}': {'all facts' if n in whole else ', '.join(facts)}" for n, facts in marked.items()]
        rules = (make_rule_question(number, rule) for number, rule in enumerate(self.rules, 1))
        open_questions = (make_person_question(self.person), *rules, *list_step_questions(self.person))
        found += [f"{question.column}: {question.says}" for question in open_questions if question is not None]
        if found:
            raise UnconfirmedFactError(found)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the schema's own text; it does not depend on rows."""
        return hashlib.sha256(schema_to_toml(self).encode()).hexdigest()

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Schema:
        """Read a schema from a TOML file; every fault is reported at once."""
        text = toml.read_text(path)
        return schema_from_dict(toml.parse_toml(text), toml.parse_notes(text))

    def toml(self) -> str:
        """Return the schema as TOML text, with the notes on columns as comments."""
        return schema_to_toml(self, self.notes)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the schema to a TOML file; reading it back gives an equal schema.

        The file is readable by its owner only if it states what may have been read off rows: unconfirmed facts, facts
        to be paid for, or notes of a draft.
        """
        words = {word for column in self.values() for _, word in column.sources} | {r.source for r in self.rules}
        words |= set() if self.person is None else {self.person.source, *(step.source for step in self.person.steps)}
        toml.write_text(self.toml(), path, private=bool(self.notes or words & {"from-rows", "pay"}))

    def _find_faults(self) -> list[str]:
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
        person_faults: list[str] = []
        if self.person is not None and not faults:
            person_faults = self.person.faults(self._columns) or linked_faults(self._columns, self.rules, self.person)
        return faults or [
            *rule_faults(self._columns, self.rules),
            *(f"person: {fault}" for fault in person_faults),
            *price_faults(self.prices),
            *(f"confirmed {i}: {fault}" for i, one in enumerate(self.confirmed, 1) for fault in one.faults()),
        ]


def schema_from_toml(text: str) -> Schema:
    """Parse a schema from TOML text."""
    return schema_from_dict(toml.parse_toml(text))


def schema_from_dict(document: Mapping[str, Any], notes: Mapping[str, Sequence[str]] | None = None) -> Schema:
    """Build a schema from the parsed document."""
    faults: list[str] = []
    columns, rules, prices, confirmed = toml.parse_parts(document, faults)
    person = parse_person(document["person"], faults) if "person" in document else None
    if steps := toml.parse_rules(document, "steps", faults):
        person = None if person is None else replace(person, steps=tuple(steps))
        if "person" not in document:
            faults.append("steps are rules across the rows of a person: they need [person]")
    known = {name: column for name, column in columns.items() if column}
    try:
        nulls = toml.parse_null_values(document, faults)
        schema = Schema(known, rules, prices, person=person, confirmed=confirmed, null_values=nulls, notes=notes)
    except SchemaError as error:
        raise SchemaError(
            [*faults, *toml.drop_follow_up_faults(error.faults, broken=None in columns.values())]
        ) from None
    if faults:
        raise SchemaError(faults)
    return schema


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """Return the schema as plain dicts, lists, numbers and strings; defaults are left out."""
    document = toml.make_document(schema, schema.rules, schema.prices, schema.confirmed)
    document |= {"null_values": list(schema.null_values)} if schema.null_values else {}
    if schema.person is not None:
        document["person"] = make_person_entry(schema.person)
        document |= {"steps": toml.list_rule_entries(schema.person.steps)} if schema.person.steps else {}
    return document


def schema_to_toml(schema: Schema, notes: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return the schema as TOML text; notes on columns become comments above them."""
    return toml.HEADER + toml.format_document(schema_to_dict(schema), notes or {})
