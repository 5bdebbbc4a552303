"""Samples as files: the end of the name tells the format, and `-` is CSV on standard output."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from sklar.errors import OutputError, UsageError
from sklar.export.atomic import PathLike, atomic_file, require_writable, standard_output
from sklar.export.csv import csv_header, csv_lines
from sklar.schema.table import Schema

STANDARD_OUTPUT = "-"
Write = Callable[[pa.Table], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What a text file needs to know besides the table.

    Attributes:
        schema: Tells how datetimes are written in text files.
        safe: Disarm texts that a spreadsheet would take for formulas (text files only).
    """

    schema: Schema | None = None
    safe: bool = False


def write_table(table: pa.Table, path: PathLike, schema: Schema | None = None, *, safe: bool = False) -> None:
    """Write a table; the file appears whole or not at all."""
    write_stream([table], path, schema, safe=safe)


def write_stream(
    tables: Iterable[pa.Table],
    path: PathLike,
    schema: Schema | None = None,
    *,
    safe: bool = False,
    rows: int | None = None,
    written: Callable[[int], None] | None = None,
) -> None:
    """Write batches one after the other in bounded memory; the file appears whole or not at all.

    Args:
        tables: At least one batch; all have the same columns.
        path: Where to; its end tells the format, and `-` is CSV on standard output.
        schema: How datetimes are written in text files.
        safe: Disarm formulas in text files.
        rows: Rows to come in all, to refuse early what the disk cannot hold.
        written: Told the number of rows after each batch.
    """
    form = file_format(path)
    layout = Layout(schema=schema, safe=safe)
    batches = iter(tables)
    first = next(batches)
    with _target(path) as file, form(file, first.schema, layout) as write:
        for batch in _chain(first, batches):
            write(batch)
            if batch is first and rows is not None:
                _require_space(path, file, batch.num_rows, rows)
            if written is not None:
                written(batch.num_rows)


def require_table_output(path: PathLike) -> None:
    """Refuse an output that cannot be written, or whose format is unknown, before any work is done for it."""
    file_format(path)
    if os.fspath(path) != STANDARD_OUTPUT:
        require_writable(path)


def file_format(path: PathLike) -> Callable[[BinaryIO, pa.Schema, Layout], AbstractContextManager[Write]]:
    """How to write a file of this name."""
    name = os.fspath(path)
    if name == STANDARD_OUTPUT or (name.startswith("/dev/") and os.path.exists(name)):
        return FORMATS[".csv"]
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in FORMATS:
        raise UsageError(f"cannot tell the format of '{name}': its name must end in {', '.join(FORMATS)}.")
    return FORMATS[suffix]


@contextmanager
def _csv(file: BinaryIO, types: pa.Schema, layout: Layout, delimiter: str = ",") -> Generator[Write]:
    file.write(csv_header(types.names, delimiter=delimiter, safe=layout.safe))

    def write(table: pa.Table) -> None:
        for lines in csv_lines(table, layout.schema, delimiter=delimiter, safe=layout.safe):
            file.write(lines)

    yield write


def _tsv(file: BinaryIO, types: pa.Schema, layout: Layout) -> AbstractContextManager[Write]:
    return _csv(file, types, layout, delimiter="\t")


@contextmanager
def _parquet(file: BinaryIO, types: pa.Schema, layout: Layout) -> Generator[Write]:
    from sklar.export.parquet import parquet_writer

    with parquet_writer(file, types, layout.schema) as write:
        yield write


@contextmanager
def _feather(file: BinaryIO, types: pa.Schema, layout: Layout) -> Generator[Write]:
    with pa.ipc.new_file(file, types) as writer:
        yield writer.write_table


FORMATS: dict[str, Callable[[BinaryIO, pa.Schema, Layout], AbstractContextManager[Write]]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".parquet": _parquet,
    ".feather": _feather,
    ".arrow": _feather,
}


def _target(path: PathLike) -> AbstractContextManager[BinaryIO]:
    return standard_output() if os.fspath(path) == STANDARD_OUTPUT else atomic_file(path)


def _chain(first: pa.Table, rest: Iterator[pa.Table]) -> Iterator[pa.Table]:
    yield first
    yield from rest


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
