"""The result of a DuckDB query, over files, a .duckdb database or a frame, run anew for every pass."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from sklar.errors import MissingExtraError, SourceError
from sklar.rows.shield import shielded
from sklar.rows.sources.files import FileStamp
from sklar.rows.sources.source import BATCH_ROWS, ReadOptions, Source

FAILED = "the SQL query failed"
# Names in a query mean tables and files, never Python variables, and nothing is fetched from the network.
SETTINGS: dict[str, Any] = {"python_enable_replacements": "false", "autoinstall_known_extensions": "false"}


class SqlQuery(Source):
    """One SELECT statement. A frame or file handed over besides the query is visible in it as the table `data`."""

    what = "the result of the SQL query"

    def __init__(self, data: Any, options: ReadOptions):
        self._sql = options.sql or ""
        is_path = isinstance(data, str | os.PathLike)
        super().__init__(options.progress, [FileStamp(os.fspath(data))] if is_path else ())
        self._connection = _connect(data)
        _require_select(self._connection, self._sql)
        described = shielded(
            f"{FAILED}: a table, file or column it names may not exist", self._run, f"DESCRIBE {self._sql}"
        )
        self._names = tuple(row[0] for row in described.fetchall())

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._names

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        chosen = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        result = shielded(FAILED, self._run, f"SELECT {chosen} FROM ({self._sql})")
        yield from result.to_arrow_reader(BATCH_ROWS)

    def _run(self, sql: str) -> Any:
        return self._connection.sql(sql)


def _connect(data: Any) -> Any:
    """A connection that reads only: a database is opened read-only, and everything else is a view."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("a SQL query needs DuckDB: pip install duckdb") from None
    path = os.fspath(data) if isinstance(data, str | os.PathLike) else None
    if path is not None and path.lower().endswith((".duckdb", ".db", ".ddb")):
        return shielded(f"cannot open {path} as a DuckDB database", lambda: duckdb.connect(path, True, SETTINGS))
    connection = duckdb.connect(config=SETTINGS)
    if path is not None:
        view = f"CREATE VIEW data AS SELECT * FROM '{path.replace(chr(39), chr(39) * 2)}'"
        shielded(f"DuckDB cannot read {path}", connection.execute, view)
    elif data is not None:
        shielded("DuckDB cannot read the data handed over", connection.register, "data", data)
    return connection


def _require_select(connection: Any, sql: str) -> None:
    """One statement that reads; a query that writes would change what it reads."""
    import duckdb

    # The parser's message quotes the query, which is the caller's own text, and has seen no data.
    try:
        statements = connection.extract_statements(sql)
    except duckdb.ParserException as error:
        raise SourceError(f"the SQL query has a mistake: {str(error).splitlines()[0]}") from None
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise SourceError("sql must be one SELECT statement")
