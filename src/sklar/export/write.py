"""Write samples to files: the ending of the name determines the format, and `-` is CSV on standard output."""

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
from sklar.schema.address import remove_secrets, table_address
from sklar.schema.columns import Column
from sklar.schema.numbers import Datetime, Real
from sklar.schema.table import Schema

pc: Any = pyarrow.compute
"""Typed as Any: its functions are created at run time, so type checkers do not find them."""
STANDARD_OUTPUT = "-"
TEXT_BATCH_ROWS = 65_536
"""Rows that are converted to text at once: more take memory, fewer are slower."""
FORMULA = r"^[=+\-@\t\r]"
"""Pattern of texts that a spreadsheet may take for a formula."""
Write = Callable[[pa.Table], None]
Form = Callable[[BinaryIO, pa.Schema, Schema | None, bool], AbstractContextManager[Write]]
"""(file, names and types, schema, whether formulas are escaped) -> context manager of a function that writes tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextStyle:
    """Style of a text file: its delimiter, its encoding and the decimal sign of reals."""

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
    """Write a table atomically."""
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
    """Write batches atomically, in bounded memory.

    Args:
        tables: At least one batch; all have the same columns.
        path: Its ending determines the format, and `-` is CSV on standard output; or the URL of a database table.
        schema: Determines how datetimes are written in text files.
        safe: Escape texts that a spreadsheet would take for formulas (text files only).
        rows: Total number of rows, to refuse early what exceeds the disk.
        written: Progress callback: called with the number of rows of each batch.
        mode: Permissions of the file; by default those of any new one.
        style: Style of a text file; by default with commas and points, in UTF-8.
    """
    address = table_address(os.fspath(path))
    if address is not None:
        write_to_database(tables, address, written)
        return
    form = file_format(path)
    if style is not None:
        require_text_output(path)
        form = partial(_open_csv, style=style)
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
    """Refuse an output that cannot be written, or whose format is unknown, before any work is done.

    Without `force` an existing file is refused, too. (A database always refuses a table with rows.)
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
    """Return the writer for a file of this name."""
    name = os.fspath(path)
    if name == STANDARD_OUTPUT or (name.startswith("/dev/") and os.path.exists(name)):
        return FORMATS[".csv"]
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in FORMATS:
        raise UsageError(f"unknown format of '{remove_secrets(name)}': its name must end in {', '.join(FORMATS)}.")
    return FORMATS[suffix]


def require_text_output(path: PathLike) -> None:
    """Refuse a text style for a file that is not text."""
    if file_format(path) not in (FORMATS[".csv"], FORMATS[".tsv"]):
        raise UsageError("delimiter, encoding and decimal sign are for text files: write a .csv or .tsv file")


@contextmanager
def _open_csv(
    file: BinaryIO, types: pa.Schema, schema: Schema | None, safe: bool, style: TextStyle = TextStyle()
) -> Generator[Write]:
    # One encoder for the whole file: UTF-16 has a byte order mark at the beginning only.
    encode = codecs.getincrementalencoder(style.encoding)("replace").encode
    plain = style.encoding == "utf-8"

    def put(lines: bytes) -> None:
        file.write(lines if plain else encode(lines.decode()))

    put(csv_header(types.names, delimiter=style.delimiter, safe=safe))

    def write(table: pa.Table) -> None:
        for lines in csv_lines(table, schema, delimiter=style.delimiter, safe=safe, decimal=style.decimal):
            put(lines)

    yield write


def _open_parquet(file: BinaryIO, types: pa.Schema, schema: Schema | None, safe: bool) -> AbstractContextManager[Write]:
    return parquet_writer(file, types, schema)


@contextmanager
def _open_feather(file: BinaryIO, types: pa.Schema, schema: Schema | None, safe: bool) -> Generator[Write]:
    with pa.ipc.new_file(file, types) as writer:
        yield writer.write_table


FORMATS: dict[str, Form] = {
    ".csv": _open_csv,
    ".tsv": partial(_open_csv, style=TextStyle(delimiter="\t")),
    ".parquet": _open_parquet,
    ".feather": _open_feather,
    ".arrow": _open_feather,
    ".xlsx": write_excel,
    ".sav": write_statistics,
    ".zsav": partial(write_statistics, ending="zsav"),
    ".dta": partial(write_statistics, ending="dta"),
}


def _require_space(path: PathLike, file: BinaryIO, done: int, rows: int) -> None:
    """Refuse a file that is larger than the free space, projected from its first batch."""
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
    """Return the header line."""
    texts = _encode_texts(pa.array(names, pa.string()), delimiter, safe).to_pylist()
    return (delimiter.join(texts) + "\n").encode()


def csv_lines(
    table: pa.Table,
    schema: Schema | None = None,
    *,
    delimiter: str = ",",
    safe: bool = False,
    decimal: str = ".",
) -> Iterator[bytes]:
    """Yield the lines of a table, in batches: quotes as in RFC 4180 only where needed, line feeds, empty nulls.

    An empty text is written as a pair of quotes, which distinguishes it from a null.

    Args:
        table: The table.
        schema: Determines how datetimes are written and which reals have no decimals.
        delimiter: The delimiter of cells.
        safe: Put an apostrophe before texts that a spreadsheet would take for a formula.
        decimal: The decimal sign of reals.
    """
    for batch in table.to_batches(max_chunksize=TEXT_BATCH_ROWS):
        columns = ((batch.column(i), name) for i, name in enumerate(table.column_names))
        cells = [_cells(array, name, schema, delimiter, safe, decimal) for array, name in columns]
        if len(cells) == 1:  # an empty line would not be read as a row
            cells = [pc.fill_null(cells[0], '""')]
        cells[-1] = pc.binary_join_element_wise(cells[-1], "\n", "", null_handling="replace", null_replacement="")
        lines = pc.binary_join_element_wise(*cells, delimiter, null_handling="replace", null_replacement="")
        yield _bytes(lines)


def _cells(array: pa.Array, name: str, schema: Schema | None, delimiter: str, safe: bool, decimal: str) -> pa.Array:
    column = schema.get(name) if schema is not None else None
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return _by_distinct(array, lambda texts: _encode_texts(texts, delimiter, safe))
    texts = texts_of(array, column)
    if pa.types.is_temporal(array.type):
        return _by_distinct(texts, lambda found: _quote_texts(found, delimiter))
    if decimal != "." and pa.types.is_floating(array.type):
        texts = pc.replace_substring(texts, ".", decimal)
        return _quote_texts(texts, delimiter) if decimal == delimiter else texts
    return texts


def texts_of(array: Any, column: Column | None) -> Any:
    """Return the values of a column as text: timestamps in its own format or ISO 8601, reals with a point."""
    if pa.types.is_temporal(array.type):
        pattern = column.format if isinstance(column, Datetime) else None
        if pattern is None and getattr(array.type, "tz", None) is not None:
            return _by_distinct(array, _with_offset)
        if pattern is None:
            return pc.replace_substring(array.cast(pa.string()), " ", "T")
        return _by_distinct(array, lambda times: _formatted(times, pattern))
    texts = array.cast(pa.string())
    if pa.types.is_floating(array.type) and not (isinstance(column, Real) and column.whole):
        return pc.replace_substring_regex(texts, r"^(-?\d+)$", r"\1.0")
    return texts


def _by_distinct(array: Any, write: Callable[[pa.Array], pa.Array]) -> Any:
    """Apply a conversion to each cell, computed once per distinct value."""
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([_by_distinct(chunk, write) for chunk in array.chunks], pa.string())
    coded = array.dictionary_encode()
    return write(coded.dictionary).take(coded.indices)


def _encode_texts(texts: pa.Array, delimiter: str, safe: bool) -> pa.Array:
    if safe:
        texts = pc.if_else(pc.match_substring_regex(texts, FORMULA), pc.binary_join_element_wise("'", texts, ""), texts)
    return _quote_texts(texts, delimiter)


def _quote_texts(texts: pa.Array, delimiter: str) -> pa.Array:
    needed = pc.match_substring_regex(texts, rf'["\r\n{delimiter}]|^$|^\s|\s$')
    inside = pc.replace_substring(texts, '"', '""')
    return pc.if_else(needed, pc.binary_join_element_wise('"', inside, '"', ""), texts)


def _with_offset(times: pa.Array) -> pa.Array:
    """Return ISO 8601 with the offset from UTC, by Python's time zones, since Arrow's may be missing."""
    return pa.array([None if time is None else time.isoformat() for time in times.to_pylist()], pa.string())


def _formatted(times: pa.Array, pattern: str) -> pa.Array:
    """Format timestamps by Python, which supports more formats than Arrow."""
    return pa.array([time.strftime(pattern) for time in times.to_pylist()], pa.string())


def _bytes(lines: pa.Array) -> bytes:
    """Return the lines as contiguous bytes, as Arrow stores them."""
    offsets, data = lines.buffers()[1], lines.buffers()[2]
    if data is None:
        return b""
    first, last = (int.from_bytes(offsets[4 * i : 4 * i + 4].to_pybytes(), "little") for i in (0, len(lines)))
    return data[first:last].to_pybytes()
