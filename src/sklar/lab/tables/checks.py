"""A schema against a table: has a file its columns (no value is looked at), and how often does each value rule fire.

For the audit of the rules each column is read by the same encoder as in a fit, but onto a probe: a column of the same
kind whose only cells are "below the lower bound", "inside" and "above the upper bound", and which may be null. So the
audit cannot differ from the fit. Its counts are exact, for the custodian's eyes only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Any, cast

import numpy as np

from sklar.arrays import Ints
from sklar.lab.methods import check_method
from sklar.rows.encode import encoder_of
from sklar.rows.sources import open_source
from sklar.schema.columns import INT64_MIN, Boolean, Category, Column, Labels
from sklar.schema.grid import Grid
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.reading import ReadOptions, read_options
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaCheck:
    """What a check found; faults are errors and never get here.

    Attributes:
        columns: Number of columns of each kind.
        codes: Number of values or cells of each modelled column.
        rules: Number of public rules.
        unconfirmed: Facts marked from-rows, as "column.fact"; a private fit refuses them.
        file_columns: Number of columns of the file, if one was checked.
        file_ignored: How many of them a fit would not read; not named, since without a header names would be cells.
        method: The method that the schema was checked for.
    """

    columns: Mapping[str, int]
    codes: Mapping[str, int]
    rules: int
    unconfirmed: tuple[str, ...]
    file_columns: int | None = None
    file_ignored: int | None = None
    method: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
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
    """What the schema says; a file that cannot be read, or lacks one of its columns, is refused.

    So is a schema with which the method, its target or its options cannot be fitted.
    """
    fits = None if method is None else check_method(schema, method, options, target)
    names = None if data is None else open_source(data, schema=schema, read=read).column_names
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


NOTICE = "Exact counts of private rows, for the custodian's eyes only: not part of any privacy guarantee."
OUTCOMES = ("inside", "below", "above", "other", "unreadable", "missing")
INSIDE, BELOW, ABOVE, OTHER, UNREADABLE, MISSING = range(6)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAudit:
    """How often each rule fired in one column; exact.

    Attributes:
        inside: Rows whose value the schema lists or whose number lies within the bounds.
        below, above: Rows clipped to the lower or the upper bound.
        other: Rows whose value is not listed and becomes `other`.
        unreadable: Rows whose text is not a value of this kind and becomes null or the `missing_value`.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleAudit:
    """How often the value rules fire on a table; exact."""

    rows: int
    columns: tuple[ColumnAudit, ...]
    notice: str = NOTICE

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def audit_schema(data: Any, schema: Schema, read: ReadOptions | None = None) -> RuleAudit:
    """Exact counts, by column, of rows that are clipped, become `other`, cannot be read, or are missing.

    Args:
        data: The table, as for `fit`.
        schema: The public facts to audit.
        read: How to read the table, as for `fit`.
    """
    read = read_options(read)
    source = open_source(data, schema=schema, read=read)
    probes = [_Probe(schema[name], tuple(read.null_values)) for name in schema.modelled]
    counts = np.zeros((len(probes), len(OUTCOMES)), dtype=np.int64)
    rows = 0
    for batch in source.batches(schema.modelled):
        rows += batch.num_rows
        for i, probe in enumerate(probes):
            counts[i] += np.bincount(probe.outcomes(batch.column(i)), minlength=len(OUTCOMES))
    columns = tuple(
        ColumnAudit(column=name, kind=schema[name].kind, **dict(zip(OUTCOMES, found, strict=True)))
        for name, found in zip(schema.modelled, counts.tolist(), strict=True)
    )
    return RuleAudit(rows=rows, columns=columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProbeColumn(Column):
    """What an encoder of numbers asks of a column."""

    kind: str  # type: ignore[misc]
    grid: Grid
    lower: str = ""
    upper: str = ""
    resolution: str | None = None
    format: str | None = None
    zone: str | None = None
    nullable: bool = True

    @property
    def value_cells(self) -> int:
        return self.grid.cells


class _Probe:
    """Sorts the rows of one column into outcomes."""

    def __init__(self, column: Column, null_values: tuple[str, ...]):
        probe, meaning = _probe_of(column)
        self._meaning = np.array(meaning)
        self._encode = encoder_of(probe, null_values)
        # A category that lists nothing real tells what is missing in any column, by the rules of the encoders.
        self._null = Category(("\0",), nullable=True)
        self._encode_null = encoder_of(self._null, null_values)

    def outcomes(self, array: Any) -> Ints:
        """The outcome of each row."""
        found = self._meaning[self._encode(array)]
        missing = self._encode_null(array) == self._null.null_code
        return np.where(missing & (found == UNREADABLE), MISSING, found)


def _probe_of(column: Column) -> tuple[Column, list[int]]:
    """A column that tells the outcomes apart, and the outcome that each of its codes stands for."""
    if isinstance(column, Labels):
        return replace(column, nullable=True), [INSIDE] * column.value_cells + [OTHER, MISSING]
    if isinstance(column, Boolean):
        return replace(column, nullable=True), [INSIDE, INSIDE, UNREADABLE]
    grid, meaning = _three_cells(cast("Integer | Real | Datetime", column))
    probe = _ProbeColumn(kind=column.kind, grid=grid)
    if isinstance(column, Datetime):
        probe = replace(
            probe, lower=column.lower, upper=column.upper, resolution=column.resolution, format=column.format,
            zone=column.zone,
        )  # fmt: skip
    return probe, [*meaning, UNREADABLE]


def _three_cells(column: Integer | Real | Datetime) -> tuple[Grid, list[int]]:
    """Below, inside and above (below only if something can be there); what lies further out goes to the outer cells."""
    whole = column.grid
    lower: Any = whole.starts[0]
    pairs = [(lower, INSIDE), (whole.stop, ABOVE)]
    if not whole.integer or lower > INT64_MIN:
        pairs.insert(0, (lower - 1 if whole.integer else np.nextafter(lower, -np.inf), BELOW))
    starts = np.array([start for start, _ in pairs], dtype=whole.starts.dtype)
    atoms = np.zeros(len(starts), dtype=bool)
    return Grid(starts=starts, stop=whole.stop, is_atom=atoms, integer=whole.integer), [m for _, m in pairs]
