"""Draft a schema from real rows, without noise, optionally with the column kinds of SDV metadata.

All guesses are listed in the order in which they are tried.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from sklar.errors import SourceError, UsageError
from sklar.lab.drafting.codes import draft_boolean, guess_amount, guess_boolean, guess_code
from sklar.lab.drafting.functions import find_long_functions
from sklar.lab.drafting.guess import Guess, leave_out
from sklar.lab.drafting.keys import (
    ask_who,
    contains_row_names,
    describe_sharing,
    draft_key,
    find_static_columns,
    guess_empty,
    guess_key,
    guess_person,
    number_values,
    repeats_evenly,
)
from sklar.lab.drafting.labels import draft_category, guess_category, missing_words
from sklar.lab.drafting.linked import LINK_ROWS, find_tables, join_drafts
from sklar.lab.drafting.moments import draft_datetime, guess_clock, guess_datetime
from sklar.lab.drafting.ordered_words import guess_declared_order, guess_ordered_words
from sklar.lab.drafting.persons import contains_names, guess_personal
from sklar.lab.drafting.profile import Profile, parse_numbers, profile_column
from sklar.lab.drafting.quantities import draft_quantity, guess_quantity
from sklar.lab.drafting.relations import find_relations
from sklar.lab.drafting.sampling import DRAFT_ROWS, SampledRows, sample_rows
from sklar.lab.drafting.steps import find_steps
from sklar.lab.drafting.whole import WholeColumn, count_shares, read_whole, widen_profile
from sklar.lab.tables.reading import read_table
from sklar.sample.rng import named_streams
from sklar.schema.columns import Column, Labels, Ordinal
from sklar.schema.confirming import keep_possible_rules
from sklar.schema.numbers import Datetime
from sklar.schema.persons.linked import keep_possible_steps
from sklar.schema.persons.person import Person
from sklar.schema.reading import ReadOptions, read_options
from sklar.schema.rules import Rule
from sklar.schema.sdv import StatedKind, kinds_from_sdv, read_sdv
from sklar.schema.table import Schema

MIN_CONSTANT_ROWS = 2
"""Minimum number of rows of a constant column: a single row does not show that a column is constant."""
INTRODUCTION = (
    "This draft was read from the rows, so it is private until you have reviewed it: do not publish it.",
    "Every fact is marked from-rows, and a private fit rejects such marks. For each one decide: is it known without "
    'these rows (a code book, a statute, a form)? Then correct it and set its source to "assumed" (or "public"). Else '
    'set its source to "pay": bounds and lists of values are then measured, and paid from the privacy budget.',
    "The kind of a column is such a fact, too, even if the column is a key or left out, and so are format, "
    "resolution, other, missing_value and whether labels are integers (integer_labels): one odd row can change them. "
    "They cannot be measured, only confirmed.",
    'To confirm a whole column write source = "assumed". To confirm its kind and pay for its bounds write '
    'source = { lower = "pay", upper = "pay" }, and for a list of values source = { values = "pay" }: what is not '
    "named there is assumed, and the claim lists it.",
    "Whether a column can be missing is such a fact, too. When in doubt, nullable = true is always safe.",
)


def draft_schema(
    data: Any,
    *,
    sdv: str | PathLike[str] | Mapping[str, Any] | None = None,
    table: str | None = None,
    rows: int = DRAFT_ROWS,
    read: ReadOptions | None = None,
) -> Draft:
    """Guess a schema from the rows of a table. No noise is added: the result is private.

    All rows are read once or twice. Labels and rules are guessed from at most `rows` of them, in runs that are evenly
    spread over the table; bounds, missing values and keys are those of all rows.

    Every fact, including the kinds, is marked from-rows, and a private fit rejects it until the custodian confirms it
    or, for bounds and lists of values, pays for it.

    Args:
        data: A file, a data frame, or any object with the Arrow interface, as for `fit`. A folder, a database or a
            mapping with several tables gives one schema of persons and their rows, if a key joins two of them.
        sdv: SDV metadata (a file, or the parsed JSON) whose kinds are kept; only domains are then read from the rows.
        table: The table in the metadata, if they have several.
        rows: Maximum number of rows from which labels and rules are guessed.
        read: How to read a file: `delimiter`, `encoding`, `null_values`, `sql`.

    Returns:
        A Schema with `todo`, the list of what to check; writing it puts the notes next to the columns.
    """

    if sdv is None and table is None and (linked := find_tables(data, read_options(read))):
        return _draft_linked(linked, rows)
    kinds = _read_stated_kinds(sdv, table)
    options = read_options(read)
    sampled = sample_rows(data, rows, options)
    head = sampled.table
    profiles = [profile_column(name, head.column(i)) for i, name in enumerate(head.column_names)]
    if isinstance(data, str | PathLike):
        _require_header(profiles)
    guesses = {one.name: guess_stated(one, kinds[one.name]) if one.name in kinds else guess_column(one)
               for one in profiles}  # fmt: skip
    first = profiles[0]
    if first.name not in kinds and contains_row_names(first, sampled.first_column, head.column_names[1:]):
        note = "It looks like row names or an index, as R and pandas write them. Is it anything else?"
        guesses[first.name] = draft_key(first).with_notes(note)
    if not any(guess.column.modelled for guess in guesses.values()):
        raise SourceError("no column of the table could be drafted: all are keys, empty or free text")
    if sampled.is_partial and sampled.repeatable:
        profiles, guesses = _correct_by_whole(data, sampled.total, options, profiles, guesses, kinds)
    guesses = {name: guess.mark_from_rows() for name, guess in guesses.items()}
    columns = {name: guess.column for name, guess in guesses.items()}
    drafted = read_table(head, Schema(columns), named_streams(0)("rows"), role="real")
    person = find_static_columns(guess_person(profiles, columns), head, columns)
    keys = None if person is None else number_values(head.column(person.key))
    person, across = (None, {}) if keys is None else find_steps(person, drafted, keys, named_streams(0)("steps"))
    found = find_relations(drafted, named_streams(0)("relations"))
    long = find_long_functions(drafted)
    guesses = {n: guess.with_notes(*across.get(n, ()), *long.get(n, ())) for n, guess in guesses.items()}
    words = sorted({word for one in profiles if isinstance(columns[one.name], Labels) for word in missing_words(one)})
    return Draft(guesses, _list_remarks(sampled, set(kinds) - set(guesses), words), person, found)


def _correct_by_whole(
    data: Any,
    total: int,
    read: ReadOptions,
    profiles: Sequence[Profile],
    guesses: Mapping[str, Guess],
    kinds: Mapping[str, StatedKind],
) -> tuple[list[Profile], dict[str, Guess]]:
    """Return profiles and guesses after a pass over all rows: wider bounds, nulls, and keys that rows share."""
    whole = read_whole(data, {name: guess.column for name, guess in guesses.items()}, total, read)
    known, corrected = list(profiles), dict(guesses)
    for at, profile in enumerate(profiles):
        name, found = profile.name, whole.get(profile.name, WholeColumn())
        if found.shares is not None:
            known[at] = count_shares(profile, found.shares)
            shared = describe_sharing(known[at]) if profile.unique else ()
            corrected[name] = guesses[name].with_notes(*shared)
        elif found.beyond:
            known[at] = widen_profile(profile, found, total)
            corrected[name] = guess_stated(known[at], kinds[name]) if name in kinds else guess_column(known[at])
        if found.missing and not getattr(corrected[name].column, "nullable", True):
            corrected[name] = corrected[name].allow_null()
    return known, corrected


def _draft_linked(tables: Mapping[str, tuple[Any, ReadOptions]], rows: int) -> Draft:
    """Draft tables with a key between them as one schema of persons."""
    joined, remark = join_drafts(
        tables,
        lambda data, read: draft_schema(data, rows=rows, read=read),
        lambda data, read: sample_rows(data, max(rows, LINK_ROWS), read).table,
    )
    guesses = {name: Guess(column=column, notes=joined.notes[name]) for name, column in joined.items()}
    return Draft(guesses, (remark,), joined.person, joined.rules)


def _require_header(profiles: Sequence[Profile]) -> None:
    """Reject a table whose column names are values of their columns, as F above M and F: the header is a row."""
    labels = [one for one in profiles if one.form == "text" and one.distinct < one.present]
    if labels and all(one.name in one.values for one in labels):
        raise SourceError(
            "the first line seems to be a row, not column names: its words also occur as values below; add a line with "
            "the names of the columns"
        )


def _read_stated_kinds(sdv: str | PathLike[str] | Mapping[str, Any] | None, table: str | None) -> dict[str, StatedKind]:
    if sdv is None and table is not None:
        raise UsageError("table selects a table of SDV metadata; give the metadata as sdv=")
    if sdv is None:
        return {}
    return kinds_from_sdv(sdv, table) if isinstance(sdv, Mapping) else read_sdv(sdv, table)


def _list_remarks(sampled: SampledRows, absent: set[str], missing: Sequence[str]) -> tuple[str, ...]:
    remarks: list[str] = []
    if sampled.is_partial:
        seen, total = sampled.table.num_rows, sampled.total
        rest = ("bounds, missing values and keys from all of them" if sampled.repeatable else
                "the other rows may have wider bounds and missing values")  # fmt: skip
        remarks.append(
            f"Labels and rules were guessed from {seen:,} of the {total:,} rows, evenly spread over the table; {rest}."
        )
    if missing:
        listed = ", ".join(json.dumps(word, ensure_ascii=False) for word in missing)
        remarks.append(
            "Some columns of labels contain texts that usually mean a missing value. If they do here, write "
            f"null_values = [{listed}] before the first column and delete them from the lists of values: a listed "
            "label is never missing."
        )
    if absent:
        shown = ", ".join(f"'{name}'" for name in sorted(absent))
        remarks.append(f"The metadata also name {shown}, which the table does not have.")
    return tuple(remarks)


class Draft(Schema):
    """A schema guessed from rows. Writing it puts the notes next to their columns."""

    __slots__ = ()

    def __init__(
        self,
        guesses: Mapping[str, Guess],
        remarks: tuple[str, ...] = (),
        person: Person | None = None,
        rules: Sequence[Rule] = (),
    ):
        notes = {name: guess.notes for name, guess in guesses.items()}
        columns = {name: guess.column for name, guess in guesses.items()}
        kept = keep_possible_rules(columns, rules, person)
        person = keep_possible_steps(columns, kept, person)
        super().__init__(columns, kept, person=person, notes={"": (*INTRODUCTION, *remarks), **notes})

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return the notes about the whole draft."""
        return self.notes[""]

    @property
    def todo(self) -> str:
        """Return the to-do list as plain text: first for the whole table, then column by column."""
        lines = ["To do before this schema can be used for a private fit:", "", *(f"* {one}" for one in self.remarks)]
        return "\n".join([*lines, self.guessed])

    @property
    def guessed(self) -> str:
        """Return the guesses and questions as plain text, column by column."""
        texts = {name: " ".join(_capitalize(note) for note in self.notes[name]) for name in self}
        questions = [question for question in self.questions() if question.column not in self]
        lines = [f"* {name} ({column.kind}): {texts[name]}" for name, column in self.items()]
        return "\n".join([*lines, *(f"* {question}" for question in questions)])


def _capitalize(note: str) -> str:
    return note if note[:1].isupper() or note[:1] in "`'" else note[:1].upper() + note[1:]


def guess_constant(profile: Profile) -> Guess | None:
    """Guess a category of one value; constant times are guessed as times."""
    if profile.distinct != 1 or profile.present < MIN_CONSTANT_ROWS or profile.form in ("moment", "other", "boolean"):
        return None
    if contains_names(profile):
        return None
    return draft_category(profile).with_notes(
        "Only one value was seen: if it carries no information, make it `ignore`."
    )


GUESSES: tuple[Callable[[Profile], Guess | None], ...] = (
    guess_clock,
    guess_empty,
    guess_declared_order,
    guess_constant,
    guess_boolean,
    guess_key,
    guess_datetime,
    guess_code,
    guess_quantity,
    guess_personal,
    guess_amount,
    guess_ordered_words,
    guess_category,
)
"""All guesses; the first that fits is used."""


def guess_column(profile: Profile) -> Guess:
    """Guess a column from its rows."""
    unfit = leave_out("too many different texts for a list. Use `category` with a public list if it has one.")
    guess = next((guess for attempt in GUESSES if (guess := attempt(profile)) is not None), unfit)
    return guess.with_notes(ask_who(profile)) if guess.column.kind == "integer" and repeats_evenly(profile) else guess


def guess_stated(profile: Profile, stated: StatedKind) -> Guess:
    """Draft a column of a stated kind with its domain from the rows; guess the kind, too, if the rows do not fit."""
    guess = _draft_stated(profile, stated)
    if guess is None:
        return guess_column(profile).with_notes(f"The metadata say {stated.sdtype}, which does not fit the rows.")
    # Metadata may call a key a number or leave it out, but it still matters that rows share it.
    shared = describe_sharing(profile) if stated.kind != "id" and guess_key(profile) is not None else ()
    return guess.with_notes(*stated.notes, *shared)


def _draft_stated(profile: Profile, stated: StatedKind) -> Guess | None:
    if stated.kind == "id":
        return draft_key(profile)
    if stated.kind == "ignore":
        return leave_out(f"{stated.sdtype} data are not modelled.")
    if stated.domain is not None:
        return _draft_stated_range(profile, stated.domain)
    if stated.kind == "ordinal":
        column = Ordinal(stated.values, nullable=profile.missing > 0)
        return Guess(column=column, notes=("ordered values, as the metadata list them.",))
    if not profile.present:
        return guess_empty(profile)
    if stated.kind == "boolean":
        return draft_boolean(profile)
    if stated.kind == "category":
        return draft_category(profile)
    if stated.kind == "datetime":
        return draft_datetime(profile, None if profile.form == "moment" else stated.format)
    numbers = parse_numbers(profile)
    return None if numbers is None else draft_quantity(profile, numbers, real=stated.kind == "real")


def _draft_stated_range(profile: Profile, column: Column) -> Guess:
    """Use the range of the metadata; it may be public, or detected by SDV from the rows."""
    if isinstance(column, Datetime) and profile.form == "moment":
        column = replace(column, format=None)
    return Guess(column=column, notes=("its range is that of the metadata, which SDV usually detects from the rows.",))
