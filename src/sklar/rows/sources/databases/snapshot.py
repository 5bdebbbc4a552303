"""A snapshot of a PostgreSQL server: a transaction that stays open, and connections that share its view."""

from __future__ import annotations

import weakref
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

from sklar.errors import MissingExtraError, SourceError
from sklar.schema.address import TableAddress, explain_unreachable, quote_literal

SETTINGS = ("statement_timeout", "idle_in_transaction_session_timeout", "transaction_timeout", "lock_timeout")
"""Limits that would end a long pass or the shared snapshot; switched off where the server has them."""
MEANINGS = {"client_encoding": "UTF8", "standard_conforming_strings": "on"}
"""Settings that fix how text is read and written: a server, a database or a user may have other defaults."""


class Snapshot:
    """A snapshot of a database. Given as data, it is the table of its address at that time.

    Every pass has a connection of its own, so that one that was left early leaves nothing behind; all of them import
    the snapshot of the transaction that is kept open here.
    """

    def __init__(self, address: TableAddress):
        self.address = address
        self._holder = connect(address)
        self._close = weakref.finalize(self, _closed, self._holder)
        with self._holder.cursor() as cursor:
            _begin(cursor)
            cursor.execute("SELECT pg_export_snapshot()")
            self._id = str(cursor.fetchone()[0])

    @contextmanager
    def cursor(self) -> Generator[Any]:
        """Yield a read-only cursor of this snapshot."""
        connection = connect(self.address)
        try:
            with connection.cursor() as cursor:
                _begin(cursor, self._id)
                yield cursor
        finally:
            _closed(connection)

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        """Return the answer to a query of few lines."""
        with self.cursor() as cursor:
            cursor.execute(question)
            return cursor.fetchall()

    def close(self) -> None:
        """Release the snapshot."""
        self._close()


def connect(address: TableAddress) -> Any:
    """Return a connection in a transaction; a failure is explained in our own words."""
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise MissingExtraError(
            "PostgreSQL needs its driver: pip install '.[postgres]' in the folder of Sklar"
        ) from None
    try:
        return dbapi.connect(address.connection, autocommit=False)
    except Exception as error:
        reason = explain_unreachable(str(error)) or "it refused"
    raise SourceError(f"cannot reach {address}: {reason}")


def _begin(cursor: Any, snapshot: str | None = None) -> None:
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    if snapshot is not None:
        cursor.execute(f"SET TRANSACTION SNAPSHOT {quote_literal(snapshot)}")
    said = ", ".join(
        f"set_config({quote_literal(name)}, {quote_literal(value)}, true)" for name, value in MEANINGS.items()
    )
    cursor.execute(f"SELECT {said}")
    cursor.fetchall()
    known = ", ".join(map(quote_literal, SETTINGS))
    cursor.execute(f"SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN ({known})")
    cursor.fetchall()


def _closed(connection: Any) -> None:
    """Close a connection, also one whose server is gone."""
    with suppress(Exception):
        connection.close()
