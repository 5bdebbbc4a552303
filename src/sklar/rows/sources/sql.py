"""The result of a DuckDB query, over files, a .duckdb database or a frame, run again for every pass.

DuckDB sees types that are declared, and guesses none: those of Arrow, Parquet and databases. A text file is read as
everywhere else, every cell as text, and so is a data frame: one odd or missing cell changes the type of a whole column
of pandas, and with it what an expression of the query makes of all other cells.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sklar.errors import MissingExtraError, SourceError
from sklar.rows.encode.arrays import texts_of
from sklar.rows.sources.arrow import ArrowDataset, ArrowStream, ArrowTable, RepeatableStream
from sklar.rows.sources.query import PARQUET, TEXTS, require_row_wise, require_typed_tables
from sklar.rows.sources.source import BATCH_ROWS, FileStamp, Source, SourceOptions, call_shielded, suffix_of
from sklar.rows.sources.text import TextFile

FAILED = "the SQL query failed"
DATABASES = (".duckdb", ".db", ".ddb")
# Names in a query mean tables and files, never Python variables, and nothing is fetched from the network.
SETTINGS: dict[str, Any] = {"python_enable_replacements": "false", "autoinstall_known_extensions": "false"}
Opener = Callable[[Any, SourceOptions], Source]


class SqlQuery(Source):
    """One SELECT statement. A frame or file given with the query is visible in it as the table `data`.

    Attributes:
        connection: DuckDB.
        query: The statement.
        types: Types of the columns of its result.
        inside: DuckDB reads the rows by itself, as often as it likes.
    """

    what = "the result of the SQL query"

    def __init__(self, data: Any, options: SourceOptions, open_other: Opener):
        self.query, self._options = options.sql or "", replace(options, schema=None, progress=None)
        path = os.fspath(data) if isinstance(data, str | os.PathLike) else None
        stamps = [FileStamp(path)] if path is not None else ()
        self.connection, self._text = _connect(path), None
        _require_select(self.connection, self.query)
        require_typed_tables(self.connection, self.query, data is not None and not _is_database(path))
        if not options.rows_are_rows:
            require_row_wise(self.query)
        if path is None and data is not None:
            self._register(_typed_data(data, self._options, open_other))
        elif path is not None and not _is_database(path):
            self._text = self._take_file(path)
        self.inside = path is not None and self._text is None
        described = call_shielded(
            f"{FAILED}: a table, file or column it names may not exist, or a text is compared with a number (columns "
            "of text files and data frames are text: write try_cast(age as int) > 3, or hand over an Arrow table)",
            self.connection.sql,
            f"DESCRIBE {self.query}",
        )
        self.types = {str(name): str(kind) for name, kind, *_ in described.fetchall()}
        super().__init__(tuple(self.types), options.progress, stamps)

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        faults: list[SourceError] = []
        if self._text is not None:
            self._register(_stream(self._text, faults))
        chosen = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        try:
            yield from self.connection.sql(f"SELECT {chosen} FROM ({self.query}\n)").to_arrow_reader(BATCH_ROWS)
        except MemoryError:
            raise
        except Exception:  # DuckDB quotes cells, and hides what was wrong with the file it was handed
            faults.append(SourceError(FAILED))
        if faults:
            raise faults[0]

    def _take_file(self, path: str) -> TextFile | None:
        """Let DuckDB read a Parquet file, or return a text file, which is read here."""
        if suffix_of(path) in PARQUET:
            view = f"CREATE VIEW data AS SELECT * FROM read_parquet('{path.replace(chr(39), chr(39) * 2)}')"
            call_shielded(f"DuckDB cannot read {path}", self.connection.execute, view)
            return None
        if suffix_of(path) not in TEXTS:
            raise SourceError(
                f"{path} cannot be queried: give a CSV, TSV or Parquet file, a .duckdb database or a data frame"
            )
        text = TextFile(path, self._options)
        if self._options.rows_are_rows:  # such a query may read the table again and again, so it is kept whole
            self._register(_stream(text, []).read_all())
            return None
        self._register(_stream(text, []).schema.empty_table())
        return text

    def _register(self, data: Any) -> None:
        call_shielded("DuckDB cannot read the data handed over", self.connection.register, "data", data)


def _is_database(path: str | None) -> bool:
    return path is not None and path.lower().endswith(DATABASES)


def _connect(path: str | None) -> Any:
    """Return a connection that reads only: a database is opened read-only, and everything else is a view."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("a SQL query needs DuckDB: pip install duckdb") from None
    if path is None or not _is_database(path):
        return duckdb.connect(config=SETTINGS)
    return call_shielded(f"cannot open {path} as a DuckDB database", lambda: duckdb.connect(path, True, SETTINGS))


def _typed_data(data: Any, options: SourceOptions, open_other: Opener) -> Any:
    """Return Arrow data as they are, and other frames as an Arrow table of text."""
    source = open_other(data, options)
    if isinstance(source, ArrowTable | ArrowStream | ArrowDataset | RepeatableStream):
        return data
    names = list(source.column_names)
    batches = [pa.RecordBatch.from_arrays(list(map(texts_of, batch.columns)), names) for batch in source.batches(names)]
    schema = pa.schema([(name, pa.large_string()) for name in names])
    return call_shielded("DuckDB cannot read the data handed over", pa.Table.from_batches, batches, schema)


def _stream(text: TextFile, faults: list[SourceError]) -> Any:
    """Return all columns of a text file as one Arrow stream of strings; faults of the file are added to `faults`."""
    names = text.column_names

    def batches() -> Iterator[Any]:
        try:
            yield from text.batches(names)
        except SourceError as fault:
            faults.append(fault)
            raise

    return pa.RecordBatchReader.from_batches(pa.schema([(name, pa.string()) for name in names]), batches())


def _require_select(connection: Any, sql: str) -> None:
    """Require one statement that reads: a query that writes would change its own input."""
    import duckdb

    # The parser's message quotes the query, which is the caller's own text, and has seen no data.
    try:
        statements = connection.extract_statements(sql)
    except duckdb.ParserException as error:
        raise SourceError(f"the SQL query has a mistake: {str(error).splitlines()[0]}") from None
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise SourceError("sql must be one SELECT statement")
