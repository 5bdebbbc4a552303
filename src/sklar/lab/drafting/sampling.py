"""Read rows for a draft: all of a small table, and of a large one runs of rows that are evenly spread over it.

Runs, since rows of one person, and rows in the order of a key, stand together in most files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sklar.arrays import Ints
from sklar.errors import SourceError, UsageError
from sklar.rows.encode.arrays import one_type
from sklar.rows.encode.text import Text
from sklar.rows.sources import open_source
from sklar.schema.reading import ReadOptions

DRAFT_ROWS = 100_000
"""Number of rows kept: more show rarer labels and rules, and take longer."""
RUNS = 100
"""Number of runs of consecutive rows, up to a factor of two: more see more places of the file, and cut more persons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRows:
    """Rows of a table.

    Attributes:
        table: The rows in order, with texts that mean null replaced by null.
        total: Number of rows of the whole table.
        first_column: The name of the first column as written.
        repeatable: Whether the whole table can be read again.
    """

    table: Any
    total: int
    first_column: str
    repeatable: bool

    @property
    def is_partial(self) -> bool:
        """Whether the table has more rows than these."""
        return self.total > self.table.num_rows


def sample_rows(data: Any, rows: int, read: ReadOptions) -> SampledRows:
    """Read a whole table once, and keep at most `rows` of its rows."""
    if rows < 1:
        raise UsageError(f"a draft needs at least one row; found rows={rows}")
    source = open_source(data, schema=None, read=read)
    names = source.column_names
    kept = _Runs(rows, complete_names(names))
    for batch in source.column_batches(names):
        kept.add(batch)
    if not kept.total:
        raise SourceError("the table has no rows to draft a schema from; write the schema by hand")
    table = replace_nulls(kept.table(), tuple(read.null_values))
    return SampledRows(table=table, total=kept.total, first_column=names[0], repeatable=not source.one_shot)


class _Runs:
    """Every k-th run of consecutive rows, where k doubles whenever too many rows are kept."""

    def __init__(self, most: int, names: list[str]):
        self._most, self._length, self._names = most, max(1, most // RUNS), names
        self._every, self.total = 1, 0
        self._kept: list[tuple[Ints, Any]] = []

    def add(self, batch: Any) -> None:
        """Add the rows of a batch that are in kept runs."""
        runs = (self.total + np.arange(batch.num_rows)) // self._length
        self.total += batch.num_rows
        places = np.flatnonzero(runs % self._every == 0)
        if len(places):
            columns = [_take(column, places) for column in batch.columns]
            self._kept.append((runs[places], pa.RecordBatch.from_arrays(columns, names=self._names)))
        while sum(len(one) for one, _ in self._kept) > self._most:
            self._every *= 2
            chosen = [(runs, np.flatnonzero(runs % self._every == 0), rows) for runs, rows in self._kept]
            self._kept = [(runs[at], rows.take(pa.array(at))) for runs, at, rows in chosen if len(at)]

    def table(self) -> Any:
        """Return the rows as one table; batches of different types (a frame of Python objects) become text."""
        batches = [rows for _, rows in self._kept]
        if len({str(batch.schema) for batch in batches}) == 1:
            return pa.Table.from_batches(batches)
        text = {
            name: pa.chunked_array([batch.column(i).cast(pa.large_string()) for batch in batches])
            for i, name in enumerate(self._names)
        }
        return pa.table(text)


def _take(column: Any, places: Ints) -> Any:
    if isinstance(column, Text):
        return column.some(places).to_arrow()
    return one_type(column if len(places) == len(column) else column.take(pa.array(places)))


def complete_names(names: Sequence[str]) -> list[str]:
    """Return the names of all columns; name a nameless first column, which R and pandas write for row names."""
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


def replace_nulls(table: Any, null_values: tuple[str, ...]) -> Any:
    """Replace the texts that mean null, and equal numbers, by null."""
    for i, field in enumerate(table.schema if null_values else ()):
        listed = [value for text in null_values if (value := _cast_text(text, field.type)) is not None]
        if listed:
            options = pc.SetLookupOptions(value_set=pa.array(listed, type=field.type))
            found = pc.call_function("is_in", [table.column(i)], options)
            cleaned = pc.call_function("if_else", [found, pa.scalar(None, type=field.type), table.column(i)])
            table = table.set_column(i, field.name, cleaned)
    return table


def _cast_text(text: str, kind: Any) -> Any:
    """Cast a text to an Arrow type; None if that is impossible."""
    plain = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not (plain or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    try:
        return pa.scalar(text).cast(kind).as_py()
    except pa.ArrowInvalid:
        return None
