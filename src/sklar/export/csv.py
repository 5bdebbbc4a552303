"""Arrow tables as CSV text: quotes as in RFC 4180 and only where needed, line feeds, nulls empty.

An empty text is written as a pair of quotes, so that it is told from a null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute

from sklar.schema.numbers import Datetime, Real
from sklar.schema.table import Schema

pc: Any = pyarrow.compute
"""Its functions are made at run time, so type checkers do not know them."""

ROWS_AT_ONCE = 65_536
FORMULA = r"^[=+\-@\t\r]"
"""Spreadsheets may run a text that starts like this."""


def csv_header(names: list[str], *, delimiter: str = ",", safe: bool = False) -> bytes:
    """The first line."""
    texts = _text(pa.array(names, pa.string()), delimiter, safe).to_pylist()
    return (delimiter.join(texts) + "\n").encode()


def csv_lines(
    table: pa.Table, schema: Schema | None = None, *, delimiter: str = ",", safe: bool = False
) -> Iterator[bytes]:
    """The rows of a table, some tens of thousands at a time.

    Args:
        table: What to write.
        schema: Tells how datetimes are written and which reals have no decimals.
        delimiter: Between cells.
        safe: Put an apostrophe before texts that a spreadsheet would take for a formula.
    """
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        cells = [_cells(batch.column(i), name, schema, delimiter, safe) for i, name in enumerate(table.column_names)]
        if len(cells) == 1:  # an empty line would read as no row at all
            cells = [pc.fill_null(cells[0], '""')]
        cells[-1] = _ended(cells[-1])
        lines = pc.binary_join_element_wise(*cells, delimiter, null_handling="replace", null_replacement="")
        yield _bytes(lines)


def _cells(array: pa.Array, name: str, schema: Schema | None, delimiter: str, safe: bool) -> pa.Array:
    column = schema.get(name) if schema is not None else None
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return _by_distinct(array, lambda texts: _text(texts, delimiter, safe))
    if pa.types.is_temporal(array.type):
        pattern = column.format if isinstance(column, Datetime) else None
        texts = _times(array) if pattern is None else _formatted(array, pattern)
        return _by_distinct(texts, lambda found: _quoted(found, delimiter))
    texts = array.cast(pa.string())
    if pa.types.is_floating(array.type) and not (isinstance(column, Real) and column.decimals == 0):
        return pc.replace_substring_regex(texts, r"^(-?\d+)$", r"\1.0")
    return texts


def _by_distinct(array: pa.Array, write: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """The same texts written cell by cell, but worked out once for each distinct one."""
    coded = array.dictionary_encode()
    return write(coded.dictionary).take(coded.indices)


def _text(texts: pa.Array, delimiter: str, safe: bool) -> pa.Array:
    if safe:
        texts = pc.if_else(pc.match_substring_regex(texts, FORMULA), pc.binary_join_element_wise("'", texts, ""), texts)
    return _quoted(texts, delimiter)


def _quoted(texts: pa.Array, delimiter: str) -> pa.Array:
    needed = pc.match_substring_regex(texts, rf'["\r\n{delimiter}]|^$|^\s|\s$')
    inside = pc.replace_substring(texts, '"', '""')
    return pc.if_else(needed, pc.binary_join_element_wise('"', inside, '"', ""), texts)


def _times(array: pa.Array) -> pa.Array:
    """ISO 8601."""
    return pc.replace_substring(array.cast(pa.string()), " ", "T")


def _formatted(array: pa.Array, pattern: str) -> pa.Array:
    """Written with the column's own format, which Python understands more of than Arrow does."""
    coded = array.dictionary_encode()
    texts = [moment.strftime(pattern) for moment in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(coded.indices)


def _ended(cells: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(cells, "\n", "", null_handling="replace", null_replacement="")


def _bytes(lines: pa.Array) -> bytes:
    """The lines one after the other; Arrow stores them so already."""
    offsets, data = lines.buffers()[1], lines.buffers()[2]
    if data is None:
        return b""
    first, last = (int.from_bytes(offsets[4 * i : 4 * i + 4].to_pybytes(), "little") for i in (0, len(lines)))
    return data[first:last].to_pybytes()
