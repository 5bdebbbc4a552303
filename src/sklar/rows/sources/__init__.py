"""Where rows come from: one file a kind of source, chosen by what is handed over and by the ending of a path."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sklar.errors import SourceError
from sklar.rows.shield import shielded
from sklar.rows.sources.arrow import ArrowDataset, ArrowStream, ArrowTable, RepeatableStream
from sklar.rows.sources.files import suffix_of
from sklar.rows.sources.folder import Folder
from sklar.rows.sources.frames import ColumnMapping, NarwhalsFrame, PandasFrame, PolarsFrame
from sklar.rows.sources.ipc import IpcFile
from sklar.rows.sources.parquet import ParquetFile
from sklar.rows.sources.source import Progress, ReadOptions, Source, require_columns
from sklar.rows.sources.sql import SqlQuery
from sklar.rows.sources.text import TextFile
from sklar.schema import Schema

FILES: dict[str, Callable[[str, ReadOptions], Source]] = {
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
}
"""Ending of a file to the source that reads it."""

OBJECTS: dict[tuple[str, str], Callable[[Any, ReadOptions], Source]] = {
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


def open_source(
    data: Any,
    *,
    schema: Schema | None,
    delimiter: str | None = None,
    encoding: str | None = None,
    null_values: Sequence[str] | None = None,
    sql: str | None = None,
    rows_are_rows: bool = False,
    progress: Progress | None = None,
) -> Source:
    """Open rows for any number of passes, and check that all modelled columns of the schema are there.

    Args:
        data: A path (CSV, TSV, Parquet, Arrow, Feather, a folder of them, a .duckdb database with `sql`), a data frame,
            Arrow data, or an object with the Arrow C stream interface. A bare stream can be passed over once only.
        schema: The public facts; columns it does not have are ignored. None when a schema is yet to be drafted.
        delimiter: Of a text file; found in its header line by default.
        encoding: Of a text file; UTF-8, or what a byte-order mark says, by default.
        null_values: Texts that stand for null, besides the empty one; a listed label is never null.
        sql: A DuckDB SELECT whose result is the table; `data` may be None, or is the table `data` in it.
        rows_are_rows: You vouch that each row of the query's result comes from one row of the table alone. Without it
            a query may only choose and compute columns and leave out rows, each row by itself.
        progress: Told the fraction of each pass that is done.
    """
    if isinstance(null_values, str) or not all(isinstance(text, str) for text in null_values or ()):
        raise SourceError("null_values must be a list of texts")
    options = ReadOptions(
        schema=schema, delimiter=delimiter, encoding=encoding, null_values=tuple(null_values or ()), sql=sql,
        rows_are_rows=rows_are_rows, progress=progress,
    )  # fmt: skip
    source = SqlQuery(data, options, _open) if sql is not None else _open(data, options)
    require_columns(schema, source.column_names, source.what)
    return source


def _open(data: Any, options: ReadOptions) -> Source:
    if isinstance(data, str | os.PathLike):
        return _open_path(os.fspath(data), options)
    for base in type(data).__mro__:
        kind = OBJECTS.get((base.__module__.split(".")[0], base.__name__))
        if kind is not None:
            return shielded("the data frame cannot be opened", kind, data, options)
    if hasattr(data, "__arrow_c_stream__"):
        return ArrowStream(data, options)
    if isinstance(data, Mapping):
        return shielded("the mapping does not hold columns", ColumnMapping, data, options)
    return shielded(
        "data must be a path, a data frame, Arrow data, an object with an Arrow stream, or a mapping of columns",
        NarwhalsFrame, data, options,
    )  # fmt: skip


def _open_path(path: str, options: ReadOptions) -> Source:
    if os.path.isdir(path):
        return Folder(path, options, _open_file, set(FILES))
    return _open_file(path, options)


def _open_file(path: str, options: ReadOptions) -> Source:
    kind = FILES.get(suffix_of(path))
    if kind is None and os.path.exists(path):
        raise SourceError(f"{path} has no known ending; known are {', '.join(FILES)}")
    return (kind or TextFile)(path, options)
