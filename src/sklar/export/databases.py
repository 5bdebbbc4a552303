"""Write samples to tables of databases, in one transaction, so that a table is complete or absent.

A new table has the types of the sample, or those of another table of the database (`?like=NAME`). An existing table is
filled if it is empty, and keeps its types; one that contains rows is refused.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import replace
from datetime import date
from typing import Any, Protocol

import pyarrow as pa

from sklar.errors import MissingExtraError, OutputError, SklarError
from sklar.schema.address import TableAddress, explain_unreachable, quote_identifier, quote_identifiers, quote_literal

STAGE = "sklar_stage"
"""Name of the temporary table for rows whose types are converted."""
SQLITE_TYPES = {"int64": "INTEGER", "double": "REAL", "bool": "INTEGER"}
"""SQLite types of Arrow types; all others are text."""


class OutputDatabase(Protocol):
    """An open database in a transaction."""

    def types(self, table: str) -> dict[str, str] | None:
        """Return names and types of the columns of a table; None if it does not exist."""
        ...

    def holds_rows(self, table: str) -> bool: ...
    def write(self, address: TableAddress, rows: Any, types: Mapping[str, str] | None, new: bool) -> None:
        """Write a stream of batches to the table of an address, new or not, with these types or the stream's."""
        ...


def write_to_database(
    tables: Iterable[pa.Table], address: TableAddress, written: Callable[[int], None] | None = None
) -> None:
    """Write batches, at least one, all with the same columns."""
    with _opened(address) as target:
        _write(target, address, iter(tables), written)


def write_tables_to_database(tables: Mapping[str, pa.Table], address: TableAddress) -> None:
    """Write several tables, each under its name, in one transaction."""
    with _opened(address) as target:
        for name, table in tables.items():
            _write(target, replace(address, table=name), iter([table]), None)


def _write(
    target: OutputDatabase, address: TableAddress, batches: Iterator[pa.Table], written: Callable[[int], None] | None
) -> None:
    first = next(batches)
    there, types = _wanted(target, address)
    names = first.schema.names
    missing = [name for name in names if types is not None and name not in types]
    if missing:
        raise OutputError(f"the table whose types are used has no column '{missing[0]}'")
    chosen = None if types is None else {name: types[name] for name in names}
    target.write(address, _stream(first, batches, written), chosen, not there)


def require_database_output(address: TableAddress) -> None:
    """Refuse a table that cannot be written, before any work is done."""
    if address.kind != "postgresql" and not os.path.isdir(os.path.dirname(os.path.abspath(address.connection))):
        raise OutputError(f"cannot write to {address}: the folder does not exist")
    if address.kind != "postgresql" and not os.path.exists(address.connection):
        address.name  # noqa: B018 - refuses an address without a table
        return
    with _opened(address) as target:
        _wanted(target, address)


def _wanted(target: OutputDatabase, address: TableAddress) -> tuple[bool, dict[str, str] | None]:
    """Return whether the table exists, and the types to use."""
    there = target.types(address.name)
    if there is not None and target.holds_rows(address.name):
        raise OutputError(
            f"the table {address.name} of {address} already contains rows; use a new table, or an empty one"
        )
    if there is not None or address.like is None:
        return there is not None, there
    like = target.types(".".join(quote_identifier(part) for part in (address.namespace, address.like) if part))
    if like is None:
        raise OutputError(f"there is no table '{address.like}' in {address} to copy the types of")
    return False, like


def _stream(first: pa.Table, rest: Iterator[pa.Table], written: Callable[[int], None] | None) -> Any:
    def batches() -> Iterator[Any]:
        table: pa.Table | None = first
        while table is not None:
            yield from table.to_batches()
            if written is not None:
                written(table.num_rows)
            table = next(rest, None)

    return pa.RecordBatchReader.from_batches(first.schema.remove_metadata(), batches())


@contextmanager
def _opened(address: TableAddress) -> Generator[OutputDatabase]:
    """Open the database in a transaction, which is committed when the block ends and rolled back when it fails."""
    fresh = address.kind != "postgresql" and not os.path.exists(address.connection)
    try:
        with OPENERS[address.kind](address) as target:
            yield target
        return
    except (SklarError, MemoryError):
        _remove(address, fresh)
        raise
    except BaseException as error:
        _remove(address, fresh)
        if not isinstance(error, Exception):
            raise
        reason = explain_unreachable(str(error)) or "the database refused the rows"
    raise OutputError(f"cannot write to {address}: {reason}. Nothing was written")


def _remove(address: TableAddress, fresh: bool) -> None:
    if fresh:
        with suppress(OSError):
            os.unlink(address.connection)


@contextmanager
def _open_postgres(address: TableAddress) -> Generator[OutputDatabase]:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise MissingExtraError("PostgreSQL needs its driver: pip install '.[postgres]'") from None
    with closing(dbapi.connect(address.connection, autocommit=False)) as connection:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL client_encoding = 'UTF8'")  # overrides the default of the database or user
            yield _Postgres(cursor)
        connection.commit()


class _Postgres:
    def __init__(self, cursor: Any):
        self._cursor = cursor

    def types(self, table: str) -> dict[str, str] | None:
        found = self._run_query(
            "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute "
            f"WHERE attrelid = to_regclass({quote_literal(table)}) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        return dict(found) if found else None

    def holds_rows(self, table: str) -> bool:
        return bool(self._run_query(f"SELECT 1 FROM {table} LIMIT 1"))

    def write(self, address: TableAddress, rows: Any, types: Mapping[str, str] | None, new: bool) -> None:
        if types is None:
            # The driver crashes if the name of the table is None, so each of several tables has its own address.
            named = {"db_schema_name": address.namespace} if address.namespace else {}
            self._cursor.adbc_ingest(address.table, rows, mode="create", **named)
            return
        self._cursor.adbc_ingest(STAGE, rows, mode="create", temporary=True)
        if new:
            self._run(f"CREATE TABLE {address.name} ({_declare_columns(types)})")
        self._run(
            f"INSERT INTO {address.name} ({quote_identifiers(types)}) SELECT {_cast_all(types)} FROM pg_temp.{STAGE}"
        )
        self._run(f"DROP TABLE pg_temp.{STAGE}")

    def _run_query(self, statement: str) -> list[tuple[Any, ...]]:
        self._cursor.execute(statement)
        return self._cursor.fetchall()

    def _run(self, statement: str) -> None:
        self._cursor.execute(statement)


class _Connected:
    """Common part of the connections to DuckDB and SQLite."""

    def __init__(self, connection: Any):
        self._connection = connection

    def holds_rows(self, table: str) -> bool:
        return bool(self._connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall())


@contextmanager
def _open_duckdb(address: TableAddress) -> Generator[OutputDatabase]:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("a DuckDB database needs DuckDB: pip install '.[sql]'") from None
    with duckdb.connect(address.connection) as connection:
        connection.execute("BEGIN")
        yield _DuckDB(connection)
        connection.execute("COMMIT")


class _DuckDB(_Connected):
    def types(self, table: str) -> dict[str, str] | None:
        known = self._connection.execute("SELECT schema_name, table_name FROM duckdb_tables()").fetchall()
        spelled = {
            name for pair in known for name in (quote_identifiers([pair[1]]), ".".join(map(quote_identifier, pair)))
        }
        if table not in spelled:
            return None
        return {str(name): str(kind) for name, kind, *_ in self._connection.execute(f"DESCRIBE {table}").fetchall()}

    def write(self, address: TableAddress, rows: Any, types: Mapping[str, str] | None, new: bool) -> None:
        self._connection.register(STAGE, rows)
        if types is None:
            self._connection.execute(f"CREATE TABLE {address.name} AS SELECT * FROM {STAGE}")
            return
        if new:
            self._connection.execute(f"CREATE TABLE {address.name} ({_declare_columns(types)})")
        chosen = ", ".join(f"CAST({quote_identifier(name)} AS {kind})" for name, kind in types.items())
        self._connection.execute(
            f"INSERT INTO {address.name} ({quote_identifiers(types)}) SELECT {chosen} FROM {STAGE}"
        )


@contextmanager
def _open_sqlite(address: TableAddress) -> Generator[OutputDatabase]:
    with closing(sqlite3.connect(address.connection, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield _Sqlite(connection)
        connection.execute("COMMIT")


class _Sqlite(_Connected):
    def types(self, table: str) -> dict[str, str] | None:
        found = self._connection.execute(f"PRAGMA table_info({table.rpartition('.')[2]})").fetchall()
        return {name: kind for _, name, kind, *_ in found} or None

    def write(self, address: TableAddress, rows: Any, types: Mapping[str, str] | None, new: bool) -> None:
        names = rows.schema.names
        if new:
            own = {field.name: SQLITE_TYPES.get(str(field.type), "TEXT") for field in rows.schema}
            self._connection.execute(f"CREATE TABLE {address.name} ({_declare_columns(types or own)})")
        places = ", ".join("?" * len(names))
        for batch in rows:
            lines = zip(*(map(_plain, column.to_pylist()) for column in batch.columns), strict=True)
            self._connection.executemany(
                f"INSERT INTO {address.name} ({quote_identifiers(names)}) VALUES ({places})", lines
            )


OPENERS: dict[str, Callable[[TableAddress], AbstractContextManager[OutputDatabase]]] = {
    "postgresql": _open_postgres,
    "duckdb": _open_duckdb,
    "sqlite": _open_sqlite,
}
"""Functions that open a database for writing, by kind."""


def _plain(value: Any) -> Any:
    """Return a value for SQLite, which has no dates and times: they become ISO text."""
    return value.isoformat() if isinstance(value, date) else value


def _declare_columns(types: Mapping[str, str]) -> str:
    return ", ".join(f"{quote_identifier(name)} {kind}" for name, kind in types.items())


def _cast_all(types: Mapping[str, str]) -> str:
    return ", ".join(f"{quote_identifier(name)}::{kind}" for name, kind in types.items())
