"""Check a schema against a table: whether the file has its columns (no value is read), and how often value rules apply.

For the audit of the rules each column is read as in a fit: labels by the same encoder, with nulls allowed, and numbers
before clipping. Its counts are exact, for the custodian only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sklar.arrays import Ints, Mask
from sklar.lab.methods import check_method
from sklar.rows.encode import encoder_of
from sklar.rows.encode.coordinates import raw_reader
from sklar.rows.encode.text import strings_of
from sklar.rows.persons.family import open_tables
from sklar.rows.sources import open_source
from sklar.rows.sources.source import Source
from sklar.schema.cell_classes import NULL_WORDS
from sklar.schema.columns import Category, Column, Labels
from sklar.schema.numbers import Ranged
from sklar.schema.reading import ReadOptions, read_options
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaCheck:
    """The result of a check; faults raise errors instead.

    Attributes:
        columns: Number of columns of each kind.
        codes: Number of values or cells of each modelled column.
        rules: Number of public rules.
        unconfirmed: Facts marked from-rows, as "column.fact"; a private fit rejects them.
        file_columns: Number of columns of the file, if one was checked.
        file_ignored: Number of columns that a fit would not read; without names, which may be cells if there is no
            header.
        method: The method for which the schema was checked.
    """

    columns: Mapping[str, int]
    codes: Mapping[str, int]
    rules: int
    unconfirmed: tuple[str, ...]
    file_columns: int | None = None
    file_ignored: int | None = None
    method: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def check_schema(
    schema: Schema,
    data: str | PathLike[str] | None = None,
    read: ReadOptions | None = None,
    *,
    method: str | None = None,
    target: str | None = None,
    **options: Any,
) -> SchemaCheck:
    """Summarize the schema; reject a file that cannot be read or lacks a column.

    A schema that does not fit the method, its target or its options is also rejected.
    """
    fits = None if method is None else check_method(schema, method, options, target)
    names = None if data is None else [n for one in _open_all(data, schema, read) for n in one.column_names]
    return SchemaCheck(
        columns=dict(Counter(column.kind for column in schema.values())),
        codes={name: schema.size(name) for name in schema.modelled},
        rules=len(schema.rules),
        unconfirmed=tuple(f"{name}.{fact}" for name, fact in schema.facts_by_provenance("from-rows"))
        + tuple(question.column for question in schema.questions() if question.column not in schema),
        file_columns=None if names is None else len(names),
        file_ignored=None if names is None else len(names) - len(schema.modelled),
        method=fits,
    )


NOTICE = "Exact counts of private rows, for the custodian only: not part of any privacy guarantee."
OUTCOMES = ("inside", "below", "above", "other", "unreadable", "missing")
INSIDE, BELOW, ABOVE, OTHER, UNREADABLE, MISSING = range(6)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAudit:
    """Exact counts of the outcomes of value rules in one column.

    Attributes:
        inside: Rows whose value is listed or within the bounds.
        below, above: Rows clipped to the lower or the upper bound.
        other: Rows whose value is not listed and becomes `other`.
        unreadable: Rows whose text is not a value of this kind and becomes null or `missing_value`.
        missing: Rows without a value.
    """

    column: str
    kind: str
    inside: int
    below: int
    above: int
    other: int
    unreadable: int
    missing: int

    @property
    def present(self) -> int:
        """Return the number of rows with a value, readable or not."""
        return self.inside + self.below + self.above + self.other + self.unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleAudit:
    """Exact counts of the outcomes of value rules on a table."""

    rows: int
    columns: tuple[ColumnAudit, ...]
    notice: str = NOTICE

    def __repr__(self) -> str:
        lost = sum(one.inside < one.present for one in self.columns)
        return f"<sklar.RuleAudit: {self.rows:,} rows; {lost} of {len(self.columns)} columns have changed values>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


MAX_LOST_SHARE = 0.2
"""A column with a larger share of unreadable, unlisted or clipped values is reported."""
READ_AS = {"integer": "whole numbers", "real": "numbers", "datetime": "dates or times", "boolean": "truth values"}


def unread_columns(audit: RuleAudit, schema: Schema) -> tuple[str, ...]:
    """Report columns with many values that are unreadable, unlisted or clipped, with exact counts."""
    notes: list[str] = []
    for one in audit.columns:
        column = schema[one.column]
        lost = one.other if isinstance(column, Labels) else one.unreadable
        if not one.present:
            notes.append(f"{one.column}: it has no value at all in {audit.rows:,} rows.")
        elif lost > MAX_LOST_SHARE * one.present:
            few = "none" if lost == one.present else f"only {one.present - lost:,}"
            how = "are labels of the schema" if isinstance(column, Labels) else f"can be read as {_read_as(column)}"
            notes.append(f"{one.column}: {few} of {one.present:,} values {how}.")
        elif one.below + one.above > MAX_LOST_SHARE * one.present:
            notes.append(f"{one.column}: {one.below + one.above:,} of {one.present:,} values lie outside its bounds.")
    return tuple(notes)


def _read_as(column: Column) -> str:
    form = getattr(column, "format", None)
    if form is not None:
        return f"{READ_AS[column.kind]} written as {form}"
    plain = {"integer": " in plain digits", "real": " with a decimal point", "datetime": " of the form 2024-12-31"}
    return READ_AS[column.kind] + plain.get(column.kind, "")


def audit_schema(data: Any, schema: Schema, read: ReadOptions | None = None) -> RuleAudit:
    """Count by column the rows that are clipped, become `other`, cannot be read, or are missing; exact.

    Args:
        data: The table, as for `fit`.
        schema: The public facts to audit.
        read: How to read the table, as for `fit`.
    """
    read = read_options(read, schema.null_values)
    parts = [_audit_source(source, schema, tuple(read.null_values)) for source in _open_all(data, schema, read)]
    by_name = {one.column: one for _, columns in parts for one in columns}
    return RuleAudit(rows=parts[-1][0], columns=tuple(by_name[name] for name in schema.modelled))


def _open_all(data: Any, schema: Schema, read: ReadOptions | None) -> list[Source]:
    """Open a table; of a schema of two linked tables both, parents first."""
    read = read_options(read, schema.null_values)
    if schema.person is None or schema.person.parents is None:
        return [open_source(data, schema=schema, read=read)]
    return list(open_tables(data, schema, read).values())


def _audit_source(source: Source, schema: Schema, null_values: tuple[str, ...]) -> tuple[int, list[ColumnAudit]]:
    """Count the rows of one table, and the outcomes of its modelled columns."""
    names = [name for name in schema.modelled if name in source.column_names]
    classifiers = [make_classifier(schema[name], null_values) for name in names]
    counts = np.zeros((len(classifiers), len(OUTCOMES)), dtype=np.int64)
    rows = 0
    for batch in source.batches(names):
        rows += batch.num_rows
        for i, classify in enumerate(classifiers):
            counts[i] += np.bincount(classify(batch.column(i)), minlength=len(OUTCOMES))
    return rows, [
        ColumnAudit(column=name, kind=schema[name].kind, **dict(zip(OUTCOMES, found, strict=True)))
        for name, found in zip(names, counts.tolist(), strict=True)
    ]


def make_classifier(column: Column, null_values: tuple[str, ...]) -> Callable[[Any], Ints]:
    """Return a function from the cells of a column to the outcome of each row."""
    # A category without real labels detects missing values in any column, by the rules of the encoders.
    blank = Category(("\0",), nullable=True)
    encode_blank = encoder_of(blank, null_values)
    make = _classify_numbers if isinstance(column, Ranged) else _classify_labels
    classify = make(column, null_values)  # type: ignore[arg-type]

    def outcomes(array: Any) -> Ints:
        found = classify(array)
        unread = found == UNREADABLE
        if not unread.any():
            return found
        return np.where(unread & ((encode_blank(array) == blank.null_code) | _stands_for_null(array)), MISSING, found)

    return outcomes


def _stands_for_null(array: Any) -> Mask:
    """Return the cells that are blank, or a text that usually stands for a missing value."""
    plain = pc.call_function("utf8_trim_whitespace", [strings_of(array)])
    found = pc.call_function("is_in", [plain], pc.SetLookupOptions(pa.array(["", *NULL_WORDS], plain.type)))
    return found.to_numpy(zero_copy_only=False).astype(bool)


def _classify_numbers(column: Ranged, null_values: tuple[str, ...]) -> Callable[[Any], Ints]:
    read, low, stop = raw_reader(column, null_values), column.grid.starts[0], column.grid.stop

    def classify(array: Any) -> Ints:
        found, missing = read(array)
        return np.select([missing, found < low, found >= stop], [UNREADABLE, BELOW, ABOVE], INSIDE)

    return classify


def _classify_labels(column: Column, null_values: tuple[str, ...]) -> Callable[[Any], Ints]:
    rest = [OTHER, MISSING] if isinstance(column, Labels) else [UNREADABLE]
    meaning = np.array([INSIDE] * column.value_cells + rest)
    encode = encoder_of(replace(column, nullable=True), null_values)  # type: ignore[call-arg]
    return lambda array: meaning[encode(array)]
