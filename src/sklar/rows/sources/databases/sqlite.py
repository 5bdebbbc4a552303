"""A table of an SQLite file. SQLite's types belong to values, not to columns: each value is taken by its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from sklar.errors import SourceError
from sklar.rows.sources.objects import object_array
from sklar.rows.sources.source import FileStamp, Source, SourceOptions, call_shielded
from sklar.schema.address import TableAddress, quote_identifiers

FETCHED_ROWS = 1 << 14
"""Rows fetched at once, as Python objects."""


class SqliteTable(Source):
    """One table, or a view that the custodian vouches for, read in one transaction."""

    what = "the table of the SQLite database"

    def __init__(self, address: TableAddress, options: SourceOptions):
        FileStamp(address.connection)  # refuses what is no file, in words
        self._connection = _connect(address.connection)
        address = _with_table(address, self._connection)
        self._place = address.name
        kind = self._ask("SELECT type FROM pragma_table_list WHERE name = ? AND schema = 'main'", [address.table])
        if not kind:
            raise SourceError(f"there is no table {self._place} in {address}")
        if kind[0][0] == "view" and not options.rows_are_rows:
            raise SourceError(
                f"{self._place} is a view: state rows_are_rows=True (--rows-are-rows) if each of its rows comes from "
                "one row of a table alone; the claim will rest on it"
            )
        names = self._ask("SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1", [address.table])
        super().__init__([name for (name,) in names], options.progress)

    def close(self) -> None:
        self._connection.close()

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        with closing(self._connection.execute(f"SELECT {quote_identifiers(columns)} FROM {self._place}")) as cursor:
            while lines := cursor.fetchmany(FETCHED_ROWS):
                arrays = [object_array(values) for values in zip(*lines, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _ask(self, question: str, parameters: list[Any]) -> list[Any]:
        return call_shielded(
            f"{self.what} cannot be read", lambda: self._connection.execute(question, parameters).fetchall()
        )


def _connect(path: str) -> sqlite3.Connection:
    """Return a connection that can only read, in a transaction: what others write meanwhile is not seen."""

    def opened() -> sqlite3.Connection:
        place = f"file:{quote(path)}?mode=ro"
        connection = sqlite3.connect(place, uri=True, isolation_level=None, check_same_thread=False)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # a lazy BEGIN starts with the first look
        return connection

    return call_shielded(f"cannot open {path} as an SQLite database", opened)


def _with_table(address: TableAddress, connection: sqlite3.Connection) -> TableAddress:
    """Return the address with the only table there is, if none was named."""
    from dataclasses import replace

    if address.table:
        return address
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    names = [name for (name,) in found]
    return replace(address, table=names[0]) if len(names) == 1 else address
