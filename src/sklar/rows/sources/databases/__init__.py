"""Tables of databases: read in a transaction with one snapshot while the source is open.

Nothing here writes, and no error of a driver is passed on: it may quote a cell or a password. Start with `postgres`;
`snapshot` holds one moment of a server, `sqlite` and `duckdb` read files. Types of columns are those that the database
declares, never guessed from rows.
"""

from __future__ import annotations

from collections.abc import Callable

from sklar.rows.sources.databases.duckdb import DuckDBTable
from sklar.rows.sources.databases.postgres import PostgresTable
from sklar.rows.sources.databases.sqlite import SqliteTable
from sklar.rows.sources.source import Source, SourceOptions
from sklar.schema.address import TableAddress

KINDS: dict[str, Callable[[TableAddress, SourceOptions], Source]] = {
    "postgresql": PostgresTable,
    "duckdb": DuckDBTable,
    "sqlite": SqliteTable,
}
"""Kind of a database to the source that reads it."""
