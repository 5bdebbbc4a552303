"""Draft a schema from real rows (disclosed), on its own or along SDV metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from sklar.errors import SourceError, UsageError
from sklar.lab.drafting.guess import Guess
from sklar.lab.drafting.kinds import guess_column, guess_stated
from sklar.lab.drafting.profile import profile_of
from sklar.rows.encode.arrays import one_type
from sklar.rows.sources import open_source
from sklar.schema.reading import ReadOptions, read_options
from sklar.schema.sdv import StatedKind, kinds_from_sdv, read_sdv
from sklar.schema.table import Schema, schema_to_toml, write_schema

DRAFT_ROWS = 100_000


def draft_schema(
    data: Any,
    *,
    sdv: str | PathLike[str] | Mapping[str, Any] | None = None,
    rows: int = DRAFT_ROWS,
    read: ReadOptions | None = None,
) -> Draft:
    """Guess a schema from the first rows of a table. No noise is added: the result is private.

    Every fact, the kinds included, is marked from-rows, and a private fit refuses it until the custodian has confirmed
    it or, for bounds and lists of values, pays for it.

    Args:
        data: A file, a data frame, or anything that speaks Arrow, as for `fit`.
        sdv: SDV metadata (a file, or the parsed JSON) whose kinds to keep to; only domains are then read off the rows.
        rows: Look at this many rows from the beginning.
        read: How to read a file: `delimiter`, `encoding`, `null_values`, `sql`.

    Returns:
        A Schema with `todo`, the list of what to check; writing it puts the notes beside the columns.
    """

    stated = None
    if sdv is not None:
        stated = kinds_from_sdv(sdv) if isinstance(sdv, Mapping) else read_sdv(sdv)
    return draft(data, stated=stated, rows=rows, read=read)


def draft(
    data: Any,
    *,
    stated: Mapping[str, StatedKind] | None = None,
    rows: int,
    read: ReadOptions | None = None,
) -> Draft:
    """Guess a schema from the first rows of a table.

    Args:
        data: The table, as for a fit.
        stated: Kinds to keep to, as from SDV metadata. They are marked like the rest: SDV, too, detects them in rows.
        rows: Look at this many rows from the beginning.
        read: How to read the table, as for a fit.
    """
    table, more = first_rows(data, rows, read_options(read))
    kinds = stated or {}
    guesses = {name: _guess(name, table.column(i), kinds) for i, name in enumerate(table.column_names)}
    if not any(guess.column.modelled for guess in guesses.values()):
        raise SourceError("no column of the table could be drafted: all are keys, empty or free text")
    return Draft(guesses, _remarks(rows, more, set(kinds) - set(guesses)))


def _guess(name: str, column: Any, stated: Mapping[str, StatedKind]) -> Guess:
    profile = profile_of(name, column)
    guess = guess_stated(profile, stated[name]) if name in stated else guess_column(profile)
    return guess.marked()


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


class Draft(Schema):
    """A schema guessed from rows. Writing it puts the notes next to the columns they speak of.

    Attributes:
        notes: For each column what was guessed and what to check.
        remarks: What to know about the draft as a whole.
    """

    __slots__ = ("notes", "remarks")

    def __init__(self, guesses: Mapping[str, Guess], remarks: tuple[str, ...] = ()):
        super().__init__({name: guess.column for name, guess in guesses.items()})
        self.remarks = (*INTRODUCTION, *remarks)
        self.notes: dict[str, tuple[str, ...]] = {name: guess.notes for name, guess in guesses.items()}

    @property
    def todo(self) -> str:
        """The to-do list as plain text: first for the whole table, then column by column."""
        lines = ["To do before this schema can be used for a private fit:", ""]
        lines += [f"* {remark}" for remark in self.remarks]
        for name, column in self.items():
            lines.append(f"* {name} ({column.kind}): {' '.join(_sentence(note) for note in self.notes[name])}")
        return "\n".join(lines)

    def toml(self) -> str:
        """The draft as TOML text, with its notes as comments."""
        return schema_to_toml(self, self._all_notes())

    def write(self, path: str | PathLike[str]) -> None:
        """Write the draft to a TOML file, with its notes as comments; only its owner may read it."""
        write_schema(self, path, self._all_notes(), private=True)

    def _all_notes(self) -> dict[str, tuple[str, ...]]:
        return {"": self.remarks, **self.notes}


def _sentence(note: str) -> str:
    return note if note[:1].isupper() or note[:1] in "`'" else note[:1].upper() + note[1:]


def first_rows(data: Any, rows: int, read: ReadOptions) -> tuple[Any, bool]:
    """(the first rows with all columns, whether there are more rows)."""
    import pyarrow as pa

    if rows < 1:
        raise UsageError("a draft needs at least one row to look at")
    source = open_source(data, schema=None, read=read)
    names = source.column_names
    _require_names(names)
    batches, seen = [], 0
    for batch in source.batches(names):
        batches.append(pa.RecordBatch.from_arrays([one_type(column) for column in batch.columns], names=list(names)))
        seen += batch.num_rows
        if seen > rows:
            break
    if not seen:
        raise SourceError("the table has no rows to draft a schema from; write the schema by hand")
    table = pa.Table.from_batches([b for b in batches if b.num_rows]) if _same(batches) else _as_text(batches)
    return _nulled(table.slice(0, rows), tuple(read.null_values)), seen > rows


def _require_names(names: Sequence[str]) -> None:
    if not names:
        raise SourceError("the table has no columns")
    blank = [place for place, name in enumerate(names, 1) if not name.strip()]
    if blank:
        raise SourceError(f"column number {blank[0]} of the table has no name; name it or drop it")
    if len(set(names)) < len(names):
        raise SourceError("two columns of the table have the same name; rename or drop one")


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


def _nulled(table: Any, null_values: tuple[str, ...]) -> Any:
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
