"""Show how the rows are read: delimiter and encoding, a few values of each column, and a small histogram.

The values come from real rows without noise, so they are for the custodian alone. They are shown as the schema reads
them, column by column: keys, columns that are left out and unlisted labels never appear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sklar.arrays import Ints
from sklar.lab.drafting.keys import number_values
from sklar.lab.drafting.linked import find_tables
from sklar.lab.drafting.sampling import DRAFT_ROWS, sample_rows
from sklar.lab.drafting.whole import count_keys
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import ExactTable
from sklar.rows.sources import open_source
from sklar.rows.sources.text import TextFile
from sklar.sample.rng import named_streams
from sklar.schema.columns import Boolean, Labels
from sklar.schema.grid import RESOLUTIONS
from sklar.schema.numbers import Datetime, Integer
from sklar.schema.persons.tables import table_schemas
from sklar.schema.reading import ReadOptions, read_options
from sklar.schema.table import Schema

NOTICE = "Read from real rows, without noise: for the custodian only."
EXAMPLES = 3
"""Number of different values that are shown of each column."""
EXAMPLE_ROWS = 50
"""Number of first rows from which the examples of a column are taken."""
BARS = 12
"""Maximum number of bars of a histogram: enough to see its shape in a line of text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPreview:
    """The first values of a column, the heights of its histogram (1 is the highest), and the share of missing ones."""

    examples: tuple[str, ...]
    bars: tuple[float, ...]
    missing: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """How a table is read.

    Attributes:
        rows: Number of rows of the table.
        seen: Number of those from which the columns are shown.
        persons: Number of persons in the table, if the schema has a person.
        delimiter, encoding: Those of a text file.
    """

    rows: int
    seen: int
    persons: int | None
    delimiter: str | None
    encoding: str | None
    columns: Mapping[str, ColumnPreview]
    notice: str = NOTICE

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def preview_table(data: Any, schema: Schema, read: ReadOptions | None = None, rows: int = DRAFT_ROWS) -> Preview:
    """Read rows as the schema states, and describe each modelled column."""
    options = read_options(read, schema.null_values)
    if schema.person is not None and schema.person.parents is not None:
        return _preview_linked(data, schema, options, rows)
    source = open_source(data, schema=None, read=options)
    delimiter, encoding = source.dialect if isinstance(source, TextFile) else (None, None)
    sampled = sample_rows(data, rows, options)
    table = read_table(sampled.table, schema, named_streams(0)("preview"), role="real")
    key = None if schema.person is None else schema.person.key
    whole = sampled.is_partial and sampled.repeatable
    persons = None if key is None else (
        count_keys(data, key, options) if whole else len(np.unique(number_values(sampled.table.column(key))))
    )  # fmt: skip
    columns = {name: _preview_column(table, name) for name in table.names}
    return Preview(
        rows=sampled.total, seen=table.rows, persons=persons, delimiter=delimiter, encoding=encoding, columns=columns
    )


def _preview_linked(data: Any, schema: Schema, read: ReadOptions, rows: int) -> Preview:
    """Preview persons and their rows as one table, with the number of rows of the second."""
    tables, schemas = find_tables(data, read), table_schemas(schema)
    persons, own = (preview_table(tables[name][0], schemas[name], tables[name][1], rows) for name in schemas)
    return replace(own, persons=persons.rows, columns={**persons.columns, **own.columns})


def _preview_column(table: ExactTable, name: str) -> ColumnPreview:
    codes, column = np.asarray(table.codes[name]), table.schema[name]
    null = np.zeros(len(codes), bool) if column.null_code is None else codes == column.null_code
    known = np.flatnonzero(~null)
    return ColumnPreview(
        examples=tuple(dict.fromkeys(_format_value(table, name, int(row)) for row in known[:EXAMPLE_ROWS]))[:EXAMPLES],
        bars=_heights(table, name, known),
        missing=round(float(null.mean()), 3),
    )


def _heights(table: ExactTable, name: str, known: Ints) -> tuple[float, ...]:
    """Return the heights of a histogram over the range of a number, or over the first labels."""
    column = table.schema[name]
    if not len(known):
        return ()
    if name in table.numbers:
        numbers = table.numbers[name][known]
        whole = isinstance(column, Integer)
        counts, _ = np.histogram(numbers, bins=min(BARS, int(np.ptp(numbers)) + 1) if whole else BARS)
    else:
        counts = np.bincount(np.asarray(table.codes[name])[known], minlength=column.value_cells)[:BARS]
    return tuple(round(float(count), 2) for count in counts / max(counts.max(), 1))


def _format_value(table: ExactTable, name: str, row: int) -> str:
    column, code = table.schema[name], int(table.codes[name][row])
    if isinstance(column, Datetime):
        micros = int(table.numbers[name][row]) * RESOLUTIONS[column.resolution]
        return str(np.datetime64(micros, "us")).removesuffix(".000000").removesuffix("T00:00:00")
    if name in table.numbers:
        return f"{table.numbers[name][row]:.9g}"
    if isinstance(column, Boolean):
        return "true" if code else "false"
    listed = isinstance(column, Labels) and code < len(column.values)
    return str(column.values[code]) if listed and isinstance(column, Labels) else "not listed"
