"""Sources of rows: one module per kind of source, chosen by the type of the data or the ending of a path.

Types are never guessed from values, and no library's error text, which may quote a cell, is passed on. Start with
`source`, what all of them share; `stores` finds files, `text` reads CSV, `columnar` Parquet and Arrow files, `frames`
data frames, `office` Excel, SAS, SPSS and Stata, `databases` tables where they live.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sklar.errors import SourceError
from sklar.rows.sources.arrow import ArrowDataset, ArrowStream, ArrowTable, RepeatableStream
from sklar.rows.sources.columnar import IpcFile, ParquetFile
from sklar.rows.sources.databases import KINDS
from sklar.rows.sources.databases.postgres import PostgresTable
from sklar.rows.sources.databases.snapshot import Snapshot
from sklar.rows.sources.folder import Folder
from sklar.rows.sources.frames import ColumnMapping, NarwhalsFrame, PandasFrame, PolarsFrame
from sklar.rows.sources.office import READERS, OfficeFile
from sklar.rows.sources.source import Source, SourceOptions, call_shielded, require_columns, suffix_of
from sklar.rows.sources.sql import SqlQuery
from sklar.rows.sources.stores import is_folder
from sklar.rows.sources.text import TextFile
from sklar.schema import Schema
from sklar.schema.address import DATABASES, STORES, TableAddress, find_scheme, is_pattern, remove_secrets, table_address
from sklar.schema.reading import ReadOptions

FILES: dict[str, Callable[[str, SourceOptions], Source]] = {
    ".csv": TextFile,
    ".tsv": TextFile,
    ".tab": TextFile,
    ".txt": TextFile,
    ".parquet": ParquetFile,
    ".pq": ParquetFile,
    ".feather": IpcFile,
    ".arrow": IpcFile,
    ".arrows": IpcFile,
    ".ipc": IpcFile,
    **{f".{ending}": OfficeFile for ending in READERS},
}
"""Ending of a file to the source that reads it."""

OBJECTS: dict[tuple[str, str], Callable[[Any, SourceOptions], Source]] = {
    ("pandas", "DataFrame"): PandasFrame,
    ("polars", "DataFrame"): PolarsFrame,
    ("polars", "LazyFrame"): PolarsFrame,
    ("pyarrow", "Table"): ArrowTable,
    ("pyarrow", "RecordBatch"): ArrowTable,
    ("pyarrow", "Dataset"): ArrowDataset,
    ("narwhals", "DataFrame"): NarwhalsFrame,
    ("narwhals", "LazyFrame"): NarwhalsFrame,
    ("modin", "DataFrame"): NarwhalsFrame,
    ("cudf", "DataFrame"): NarwhalsFrame,
    ("duckdb", "DuckDBPyRelation"): RepeatableStream,
    ("_duckdb", "DuckDBPyRelation"): RepeatableStream,
}
"""(package, class) of an object, or of a class it is derived from, to the source that reads it."""


def open_source(data: Any, *, schema: Schema | None, read: ReadOptions | None = None, **more: Any) -> Source:
    """Open rows for any number of passes, and check that all modelled columns of the schema are there.

    Args:
        data: A path (CSV, TSV, Parquet, Arrow, Feather, a folder of them, a database), the URL of a table in a
            database, a data frame, Arrow data, or an object with the Arrow C stream interface. A bare stream can be
            passed over only once.
        schema: The public facts; columns it does not have are ignored. None when a schema is yet to be drafted.
        read: How to read it.
        **more: Options by name, which override those of `read`.
    """
    stated = {**({} if read is None else {f.name: getattr(read, f.name) for f in fields(ReadOptions)}), **more}
    options = SourceOptions(schema=schema, **stated)
    if options.sql is not None and find_scheme(data) is not None:
        raise SourceError("sql queries files, frames and DuckDB only; in a database on a server, create a view instead")
    source = SqlQuery(data, options, _open) if options.sql is not None else _open(data, options)
    require_columns(schema, source.column_names, source.what, options.also)
    return source


def hold_source(data: Any, read: ReadOptions) -> Any:
    """Return the data for several openings; a table on a server is held at one snapshot.

    Close it, if it can be closed, in the end.
    """
    address = table_address(data, read.table)
    return Snapshot(address) if address is not None and address.kind == "postgresql" else data


def address_of(path: str, table: str | None) -> TableAddress | None:
    """Return the table of a database that a URL or the path of a database file leads to; None for everything else."""
    return table_address(path, table) or _database_file(path, table)


def _open(data: Any, options: SourceOptions) -> Source:
    if isinstance(data, Snapshot):
        return PostgresTable(data, options)
    if isinstance(data, str | os.PathLike):
        return _open_path(os.fspath(data), options)
    for base in type(data).__mro__:
        kind = OBJECTS.get((base.__module__.split(".")[0], base.__name__))
        if kind is not None:
            return call_shielded("the data frame cannot be opened", kind, data, options)
    if hasattr(data, "__arrow_c_stream__"):
        return ArrowStream(data, options)
    if isinstance(data, Mapping):
        return call_shielded("the mapping does not contain columns", ColumnMapping, data, options)
    return call_shielded(
        "data must be a path, a data frame, Arrow data, an object with an Arrow stream, or a mapping of columns",
        NarwhalsFrame, data, options,
    )  # fmt: skip


def _open_path(path: str, options: SourceOptions) -> Source:
    address = address_of(path, options.table)
    if address is not None:
        return KINDS[address.kind](address, options)
    if find_scheme(path) not in (None, *STORES):
        known = ", ".join(f"{scheme}://" for scheme in (*DATABASES, *STORES))
        raise SourceError(f"{remove_secrets(path)} is not a known kind of address; known are {known}")
    if is_pattern(path) or is_folder(path):
        return Folder(path, options, _open_file, set(FILES))
    return _open_file(path, options)


def _open_file(path: str, options: SourceOptions) -> Source:
    if options.table is not None:
        raise SourceError(f"{remove_secrets(path)} is not a database: a file is one table, so leave out the table")
    kind = FILES.get(suffix_of(path))
    if kind is None and (os.path.exists(path) or find_scheme(path) is not None):
        raise SourceError(f"{remove_secrets(path)} has no known ending; known are {', '.join(FILES)}")
    return (kind or TextFile)(path, options)


def _database_file(path: str, table: str | None) -> TableAddress | None:
    """Return the address of a table in a file that is a database, by its first bytes; None for any other."""
    try:
        if not Path(path).is_file():  # a pipe would be waited for
            return None
        with Path(path).open("rb") as file:
            head = file.read(16)
    except (OSError, ValueError):
        return None
    kind = "sqlite" if head == b"SQLite format 3\0" else "duckdb" if head[8:12] == b"DUCK" else None
    return None if kind is None else table_address(f"{kind}://{quote(path)}", table)
