"""Samples as files: the end of the name tells the format, and `-` is CSV on standard output."""

from __future__ import annotations

import codecs
import os
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute

from sklar.errors import OutputError, UsageError
from sklar.export.atomic import PathLike, atomic_file, refuse_overwriting, require_writable, standard_output
from sklar.export.databases import require_database_output, write_to_database
from sklar.export.office import require_packages, write_excel, write_statistics
from sklar.export.parts import parquet_writer
from sklar.schema.address import table_address, without_secrets
from sklar.schema.columns import Column
from sklar.schema.numbers import Datetime, Real
from sklar.schema.table import Schema

pc: Any = pyarrow.compute
"""Its functions are made at run time, so type checkers do not know them."""
STANDARD_OUTPUT = "-"
ROWS_AT_ONCE = 65_536
"""Rows of text that are made at once: more take memory, fewer are slower."""
FORMULA = r"^[=+\-@\t\r]"
"""Spreadsheets may run a text that starts like this."""
Write = Callable[[pa.Table], None]
Form = Callable[[BinaryIO, pa.Schema, Schema | None, bool], AbstractContextManager[Write]]
"""(file, names and types, public facts, whether formulas are disarmed) -> what writes tables to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextStyle:
    """How a text file is written: what separates cells, its encoding and the decimal sign of reals."""

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."


def write_table(
    table: pa.Table,
    path: PathLike,
    schema: Schema | None = None,
    *,
    safe: bool = False,
    mode: int | None = None,
    style: TextStyle | None = None,
) -> None:
    """Write a table; the file appears whole or not at all."""
    write_stream([table], path, schema, safe=safe, mode=mode, style=style)


def write_stream(
    tables: Iterable[pa.Table],
    path: PathLike,
    schema: Schema | None = None,
    *,
    safe: bool = False,
    rows: int | None = None,
    written: Callable[[int], None] | None = None,
    mode: int | None = None,
    style: TextStyle | None = None,
) -> None:
    """Write batches one after the other in bounded memory; the file appears whole or not at all.

    Args:
        tables: At least one batch; all have the same columns.
        path: Its end tells the format, and `-` is CSV on standard output; or the URL of a table in a database.
        schema: How datetimes are written in text files.
        safe: Disarm texts that a spreadsheet would take for formulas (text files only).
        rows: Rows to come in all, to refuse early what the disk cannot hold.
        written: Told the number of rows after each batch.
        mode: Permissions of the file; by default those of any new one.
        style: How a text file is written; with commas and points, in UTF-8, by default.
    """
    address = table_address(os.fspath(path))
    if address is not None:
        write_to_database(tables, address, written)
        return
    form = file_format(path)
    if style is not None:
        require_text_output(path)
        form = partial(_csv, style=style)
    batches = iter(tables)
    first = next(batches)
    target = standard_output() if os.fspath(path) == STANDARD_OUTPUT else atomic_file(path, mode=mode)
    with target as file, form(file, first.schema, schema, safe) as write:
        for batch in chain([first], batches):
            write(batch)
            if batch is first and rows is not None:
                _require_space(path, file, batch.num_rows, rows)
            if written is not None:
                written(batch.num_rows)


def require_table_output(path: PathLike, *, force: bool = True) -> None:
    """Refuse an output that cannot be written, or whose format is unknown, before any work is done for it.

    Without `force` a file that is there already is refused, too. (A database refuses a table that is there by itself.)
    """
    address = table_address(os.fspath(path))
    if address is not None:
        require_database_output(address)
        return
    file_format(path)
    require_packages(os.path.splitext(os.fspath(path))[1].lower())
    if os.fspath(path) != STANDARD_OUTPUT:
        require_writable(path)
        refuse_overwriting(path, force=force)


def file_format(path: PathLike) -> Form:
    """How to write a file of this name."""
    name = os.fspath(path)
    if name == STANDARD_OUTPUT or (name.startswith("/dev/") and os.path.exists(name)):
        return FORMATS[".csv"]
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in FORMATS:
        raise UsageError(
            f"cannot tell the format of '{without_secrets(name)}': its name must end in {', '.join(FORMATS)}."
        )
    return FORMATS[suffix]


def require_text_output(path: PathLike) -> None:
    """Refuse a style of text for a file that is none."""
    if file_format(path) not in (FORMATS[".csv"], FORMATS[".tsv"]):
        raise UsageError("delimiter, encoding and decimal sign are those of text: write a .csv or .tsv file")


@contextmanager
def _csv(
    file: BinaryIO, types: pa.Schema, schema: Schema | None, safe: bool, style: TextStyle = TextStyle()
) -> Generator[Write]:
    # One encoder for the whole file: UTF-16 begins with a mark, and only once.
    encode = codecs.getincrementalencoder(style.encoding)("replace").encode
    plain = style.encoding == "utf-8"

    def put(lines: bytes) -> None:
        file.write(lines if plain else encode(lines.decode()))

    put(csv_header(types.names, delimiter=style.delimiter, safe=safe))

    def write(table: pa.Table) -> None:
        for lines in csv_lines(table, schema, delimiter=style.delimiter, safe=safe, decimal=style.decimal):
            put(lines)

    yield write


def _parquet(file: BinaryIO, types: pa.Schema, schema: Schema | None, safe: bool) -> AbstractContextManager[Write]:
    return parquet_writer(file, types, schema)


@contextmanager
def _feather(file: BinaryIO, types: pa.Schema, schema: Schema | None, safe: bool) -> Generator[Write]:
    with pa.ipc.new_file(file, types) as writer:
        yield writer.write_table


FORMATS: dict[str, Form] = {
    ".csv": _csv,
    ".tsv": partial(_csv, style=TextStyle(delimiter="\t")),
    ".parquet": _parquet,
    ".feather": _feather,
    ".arrow": _feather,
    ".xlsx": write_excel,
    ".sav": write_statistics,
    ".zsav": partial(write_statistics, ending="zsav"),
    ".dta": partial(write_statistics, ending="dta"),
}


def _require_space(path: PathLike, file: BinaryIO, done: int, rows: int) -> None:
    """Projects the size of the file from its first batch."""
    if rows <= done or not file.seekable():
        return
    needed = file.tell() / max(done, 1) * (rows - done)
    folder = os.path.dirname(os.path.realpath(os.fspath(path)))
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise OutputError(
            f"cannot write {os.fspath(path)}: {rows:,} rows would need about {needed / 1e9:,.0f} GB more, "
            f"and the disk has {free / 1e9:,.0f} GB free."
        )


def csv_header(names: list[str], *, delimiter: str = ",", safe: bool = False) -> bytes:
    """The first line."""
    texts = _text(pa.array(names, pa.string()), delimiter, safe).to_pylist()
    return (delimiter.join(texts) + "\n").encode()


def csv_lines(
    table: pa.Table,
    schema: Schema | None = None,
    *,
    delimiter: str = ",",
    safe: bool = False,
    decimal: str = ".",
) -> Iterator[bytes]:
    """The rows of a table, some tens of thousands at a time: quotes as in RFC 4180 and only where needed, line feeds,
    nulls empty. An empty text is written as a pair of quotes, so that it is told from a null.

    Args:
        schema: Tells how datetimes are written and which reals have no decimals.
        safe: Put an apostrophe before texts that a spreadsheet would take for a formula.
        decimal: The decimal sign of reals.
    """
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        columns = ((batch.column(i), name) for i, name in enumerate(table.column_names))
        cells = [_cells(array, name, schema, delimiter, safe, decimal) for array, name in columns]
        if len(cells) == 1:  # an empty line would read as no row at all
            cells = [pc.fill_null(cells[0], '""')]
        cells[-1] = pc.binary_join_element_wise(cells[-1], "\n", "", null_handling="replace", null_replacement="")
        lines = pc.binary_join_element_wise(*cells, delimiter, null_handling="replace", null_replacement="")
        yield _bytes(lines)


def _cells(array: pa.Array, name: str, schema: Schema | None, delimiter: str, safe: bool, decimal: str) -> pa.Array:
    column = schema.get(name) if schema is not None else None
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return _by_distinct(array, lambda texts: _text(texts, delimiter, safe))
    texts = texts_of(array, column)
    if pa.types.is_temporal(array.type):
        return _by_distinct(texts, lambda found: _quoted(found, delimiter))
    if decimal != "." and pa.types.is_floating(array.type):
        texts = pc.replace_substring(texts, ".", decimal)
        return _quoted(texts, delimiter) if decimal == delimiter else texts
    return texts


def texts_of(array: Any, column: Column | None) -> Any:
    """The values of a column as text: moments in its own format or ISO 8601, reals with a point."""
    if pa.types.is_temporal(array.type):
        pattern = column.format if isinstance(column, Datetime) else None
        if pattern is None and getattr(array.type, "tz", None) is not None:
            return _by_distinct(array, _with_offset)
        if pattern is None:
            return pc.replace_substring(array.cast(pa.string()), " ", "T")
        return _by_distinct(array, lambda moments: _formatted(moments, pattern))
    texts = array.cast(pa.string())
    if pa.types.is_floating(array.type) and not (isinstance(column, Real) and column.whole):
        return pc.replace_substring_regex(texts, r"^(-?\d+)$", r"\1.0")
    return texts


def _by_distinct(array: Any, write: Callable[[pa.Array], pa.Array]) -> Any:
    """The same texts written cell by cell, but worked out once for each distinct one."""
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([_by_distinct(chunk, write) for chunk in array.chunks], pa.string())
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


def _with_offset(moments: pa.Array) -> pa.Array:
    """ISO 8601 with the offset from UTC, by the zones that Python knows: Arrow's may be missing."""
    return pa.array([None if moment is None else moment.isoformat() for moment in moments.to_pylist()], pa.string())


def _formatted(moments: pa.Array, pattern: str) -> pa.Array:
    """Written with the column's own format, which Python understands more of than Arrow does."""
    return pa.array([moment.strftime(pattern) for moment in moments.to_pylist()], pa.string())


def _bytes(lines: pa.Array) -> bytes:
    """The lines one after the other; Arrow stores them so already."""
    offsets, data = lines.buffers()[1], lines.buffers()[2]
    if data is None:
        return b""
    first, last = (int.from_bytes(offsets[4 * i : 4 * i + 4].to_pybytes(), "little") for i in (0, len(lines)))
    return data[first:last].to_pybytes()
