"""Draft a schema from real rows, without noise, on their own or along SDV metadata.

All guesses are listed in the order they are tried; the kind of a column may also be stated beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from sklar.errors import SourceError, UsageError
from sklar.lab.drafting.codes import boolean, guess_amount, guess_boolean, guess_code
from sklar.lab.drafting.guess import Guess, leave_out
from sklar.lab.drafting.keys import (
    guess_empty,
    guess_key,
    guess_person,
    key,
    names_rows,
    row_names_key,
    sharing_notes,
    value_numbers,
    with_static,
)
from sklar.lab.drafting.labels import category, guess_category
from sklar.lab.drafting.moments import guess_clock, guess_moment, moment
from sklar.lab.drafting.ordered_words import guess_declared_order, guess_ordered_words
from sklar.lab.drafting.persons import guess_personal, holds_names
from sklar.lab.drafting.profile import Profile, numbers_of, profile_of
from sklar.lab.drafting.quantities import guess_quantity, quantity
from sklar.lab.drafting.relations import relation_notes
from sklar.lab.drafting.steps import with_steps
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import ExactTable
from sklar.rows.encode.arrays import one_type
from sklar.rows.sources import open_source
from sklar.sample.rng import named_streams
from sklar.schema.columns import Column, Ordinal
from sklar.schema.confirming import person_question, step_questions
from sklar.schema.numbers import Datetime
from sklar.schema.persons.person import Person
from sklar.schema.reading import ReadOptions, read_options
from sklar.schema.sdv import StatedKind, kinds_from_sdv, read_sdv
from sklar.schema.table import Schema

DRAFT_ROWS = 100_000
"""Rows looked at: more show rarer values and wider extremes, and take longer."""
FEWEST_ROWS = 2
"""A single row does not tell that a column is constant."""
INTRODUCTION = (
    "This draft was read off the rows themselves, so it is private until you have gone through it: do not publish it.",
    "Every fact is marked from-rows, and a private fit refuses such marks. For each one decide: is it known without "
    'these rows (a code book, a law, a form)? Then correct it and set its source to "assumed" (or "public"). Else set '
    'its source to "pay": bounds and lists of values are then measured, and paid from the privacy budget.',
    "The kind of a column is such a fact, too, also where a column is a key or left out, and so are format, "
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
    """Guess a schema from the first rows of a table. No noise is added: the result is private.

    Every fact, the kinds included, is marked from-rows, and a private fit refuses it until the custodian has confirmed
    it or, for bounds and lists of values, pays for it.

    Args:
        data: A file, a data frame, or anything that speaks Arrow, as for `fit`.
        sdv: SDV metadata (a file, or the parsed JSON) whose kinds to keep to; only domains are then read off the rows.
        table: The one that the metadata are read for, if they have several.
        rows: Look at this many rows from the beginning.
        read: How to read a file: `delimiter`, `encoding`, `null_values`, `sql`.

    Returns:
        A Schema with `todo`, the list of what to check; writing it puts the notes beside the columns.
    """

    kinds = _stated_kinds(sdv, table)
    looked_at, more, first = first_rows(data, rows, read_options(read))
    profiles = [profile_of(name, looked_at.column(i)) for i, name in enumerate(looked_at.column_names)]
    if isinstance(data, str | PathLike):
        _require_header(profiles)
    guesses = {
        one.name: (guess_stated(one, kinds[one.name]) if one.name in kinds else guess_column(one)).mark_from_rows()
        for one in profiles
    }
    if profiles[0].name not in kinds and names_rows(profiles[0], first, looked_at.column_names[1:]):
        guesses[profiles[0].name] = row_names_key(profiles[0]).mark_from_rows()
    if not any(guess.column.modelled for guess in guesses.values()):
        raise SourceError("no column of the table could be drafted: all are keys, empty or free text")
    drafted = _drafted(looked_at, guesses)
    columns = {name: guess.column for name, guess in guesses.items()}
    person = with_static(guess_person(profiles, columns), looked_at, columns)
    keys = None if person is None else value_numbers(looked_at.column(person.key))
    person, across = (None, {}) if keys is None else with_steps(person, drafted, keys, named_streams(0)("steps"))
    found = relation_notes(drafted, named_streams(0)("relations"))
    guesses = {n: guess.with_notes(*found.get(n, ()), *across.get(n, ())) for n, guess in guesses.items()}
    return Draft(guesses, _remarks(rows, more, set(kinds) - set(guesses)), person)


def _require_header(profiles: Sequence[Profile]) -> None:
    """Refuse names that are values of their own columns, as F above M and F: a row stands in the header's place."""
    labels = [one for one in profiles if one.form == "text" and one.distinct < one.present]
    if labels and all(one.name in one.values for one in labels):
        raise SourceError(
            "the names of the columns seem to be a row: those of columns of labels are labels that these hold; add a "
            "line with the names of the columns"
        )


def _stated_kinds(sdv: str | PathLike[str] | Mapping[str, Any] | None, table: str | None) -> dict[str, StatedKind]:
    if sdv is None and table is not None:
        raise UsageError("table names one of the tables of SDV metadata: say which metadata, as sdv=")
    if sdv is None:
        return {}
    return kinds_from_sdv(sdv, table) if isinstance(sdv, Mapping) else read_sdv(sdv, table)


def _drafted(table: Any, guesses: Mapping[str, Guess]) -> ExactTable:
    """The rows looked at, as the drafted columns read them."""
    columns = {name: guess.column for name, guess in guesses.items()}
    return read_table(table, Schema(columns), named_streams(0)("rows"), role="real")


def _remarks(rows: int, more: bool, absent: set[str]) -> tuple[str, ...]:
    remarks: list[str] = []
    if more:
        remarks.append(
            f"Only the first {rows:,} rows were looked at: values, nulls and extremes that come later were not seen."
        )
    if absent:
        shown = ", ".join(f"'{name}'" for name in sorted(absent))
        remarks.append(f"The metadata also name {shown}, which the table does not have.")
    return tuple(remarks)


class Draft(Schema):
    """A schema guessed from rows. Writing it puts the notes next to the columns they speak of."""

    __slots__ = ()

    def __init__(self, guesses: Mapping[str, Guess], remarks: tuple[str, ...] = (), person: Person | None = None):
        notes = {name: guess.notes for name, guess in guesses.items()}
        columns = {name: guess.column for name, guess in guesses.items()}
        super().__init__(columns, person=person, notes={"": (*INTRODUCTION, *remarks), **notes})

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know about the draft as a whole."""
        return self.notes[""]

    @property
    def todo(self) -> str:
        """The to-do list as plain text: first for the whole table, then column by column."""
        lines = ["To do before this schema can be used for a private fit:", "", *(f"* {one}" for one in self.remarks)]
        return "\n".join([*lines, self.guessed])

    @property
    def guessed(self) -> str:
        """What was guessed and is asked, column by column, as plain text."""
        told = {name: " ".join(_sentence(note) for note in self.notes[name]) for name in self}
        asked = [q for q in (person_question(self.person), *step_questions(self.person)) if q is not None]
        lines = [f"* {name} ({column.kind}): {told[name]}" for name, column in self.items()]
        return "\n".join([*lines, *(f"* {question}" for question in asked)])


def _sentence(note: str) -> str:
    return note if note[:1].isupper() or note[:1] in "`'" else note[:1].upper() + note[1:]


def guess_constant(profile: Profile) -> Guess | None:
    """Category of one value; times are left to the guess about times."""
    if profile.distinct != 1 or profile.present < FEWEST_ROWS or profile.form in ("moment", "other", "boolean"):
        return None
    if holds_names(profile):
        return None
    return category(profile).with_notes("One single value was seen: if it tells nothing, make it `ignore`.")


GUESSES: tuple[Callable[[Profile], Guess | None], ...] = (
    guess_clock,
    guess_empty,
    guess_declared_order,
    guess_constant,
    guess_boolean,
    guess_key,
    guess_moment,
    guess_code,
    guess_quantity,
    guess_personal,
    guess_amount,
    guess_ordered_words,
    guess_category,
)
"""The first guess that fits is taken."""


def guess_column(profile: Profile) -> Guess:
    """What a column is, from its rows alone."""
    unfit = leave_out("too many different texts for a list. Use `category` with a public list if it has one.")
    return next((guess for attempt in GUESSES if (guess := attempt(profile)) is not None), unfit)


def guess_stated(profile: Profile, stated: StatedKind) -> Guess:
    """A column of a stated kind, with only its domain taken from the rows; a plain guess if the rows do not fit it."""
    guess = _stated(profile, stated)
    if guess is None:
        return guess_column(profile).with_notes(f"The metadata say {stated.sdtype}, which does not fit the rows.")
    # Metadata may call a key a number or leave it out; that rows share it matters all the same.
    shared = sharing_notes(profile) if stated.kind != "id" and guess_key(profile) is not None else ()
    return guess.with_notes(*stated.notes, *shared)


def _stated(profile: Profile, stated: StatedKind) -> Guess | None:
    if stated.kind == "id":
        return key(profile)
    if stated.kind == "ignore":
        return leave_out(f"{stated.sdtype} data are not modelled.")
    if stated.domain is not None:
        return _stated_range(profile, stated.domain)
    if stated.kind == "ordinal":
        column = Ordinal(stated.values, nullable=profile.missing > 0)
        return Guess(column=column, notes=("ordered values, as the metadata list them.",))
    if not profile.present:
        return guess_empty(profile)
    if stated.kind == "boolean":
        return boolean(profile)
    if stated.kind == "category":
        return category(profile)
    if stated.kind == "datetime":
        return moment(profile, None if profile.form == "moment" else stated.format)
    numbers = numbers_of(profile)
    return None if numbers is None else quantity(profile, numbers, real=stated.kind == "real")


def _stated_range(profile: Profile, column: Column) -> Guess:
    """The range that metadata state, which may be known; where SDV detected it, it is as much read off the rows."""
    if isinstance(column, Datetime) and profile.form == "moment":
        column = replace(column, format=None)
    return Guess(column=column, notes=("its range is that of the metadata, which SDV usually detects from the rows.",))


def first_rows(data: Any, rows: int, read: ReadOptions) -> tuple[Any, bool, str]:
    """(the first rows with all columns, whether there are more rows, what the first column was called)."""
    import pyarrow as pa

    if rows < 1:
        raise UsageError("a draft needs at least one row to look at")
    source = open_source(data, schema=None, read=read)
    names = source.column_names
    named = _named(names)
    batches, seen = [], 0
    for batch in source.batches(names):
        batches.append(pa.RecordBatch.from_arrays([one_type(column) for column in batch.columns], names=named))
        seen += batch.num_rows
        if seen > rows:
            break
    if not seen:
        raise SourceError("the table has no rows to draft a schema from; write the schema by hand")
    table = pa.Table.from_batches([b for b in batches if b.num_rows]) if _same(batches) else _as_text(batches)
    found = _replace_nulls(table.slice(0, rows), tuple(read.null_values))
    return found, seen > rows, names[0]


def _named(names: Sequence[str]) -> list[str]:
    """The names of all columns; a first one without a name, as R and pandas write row names, is given one."""
    if not names:
        raise SourceError("the table has no columns")
    first = next(name for name in ("row", *(f"row_{k}" for k in range(2, len(names) + 2))) if name not in names[1:])
    named = [first if names[0].strip() == "" and len(names) > 1 else names[0], *names[1:]]
    blank = [place for place, name in enumerate(named, 1) if not name.strip()]
    if blank:
        raise SourceError(f"column number {blank[0]} of the table has no name; name it or drop it")
    if len(set(named)) < len(named):
        raise SourceError("two columns of the table have the same name; rename or drop one")
    return named


def _same(batches: Sequence[Any]) -> bool:
    return len({str(batch.schema) for batch in batches if batch.num_rows}) == 1


def _as_text(batches: Sequence[Any]) -> Any:
    """Batches of a frame of Python objects may differ in type; as text they agree."""
    import pyarrow as pa

    names = batches[0].schema.names
    columns = {
        name: pa.chunked_array([b.column(i).cast(pa.large_string()) for b in batches]) for i, name in enumerate(names)
    }
    return pa.table(columns)


def _replace_nulls(table: Any, null_values: tuple[str, ...]) -> Any:
    """The table with the texts that stand for null, and the numbers among them, replaced by null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, field in enumerate(table.schema if null_values else ()):
        listed = [value for text in null_values if (value := _typed(text, field.type)) is not None]
        if listed:
            options = pc.SetLookupOptions(value_set=pa.array(listed, type=field.type))
            found = pc.call_function("is_in", [table.column(i)], options)
            cleaned = pc.call_function("if_else", [found, pa.scalar(None, type=field.type), table.column(i)])
            table = table.set_column(i, field.name, cleaned)
    return table


def _typed(text: str, kind: Any) -> Any:
    """A null text as a value of an Arrow type; None if it is not one."""
    import pyarrow as pa

    plain = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not (plain or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    try:
        return pa.scalar(text).cast(kind).as_py()
    except pa.ArrowInvalid:
        return None
