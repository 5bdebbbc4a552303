"""A table of PostgreSQL, streamed as Arrow by COPY in bounded memory, at one moment for all passes.

What has no plain Arrow type is turned into one by the server, value by value: decimals into their digits, enumerations
and the like into text. The driver wraps moments beyond its range around, so those are moved to its ends, far outside
any bounds. Values that are neither numbers nor words (arrays, documents, ranges, durations) are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from sklar.errors import SklarError, SourceError
from sklar.rows.sources.databases.snapshot import Snapshot
from sklar.rows.sources.source import BATCH_ROWS, Source, SourceOptions
from sklar.schema.address import TableAddress, quote_identifier, quote_literal

BATCH_BYTES = 8 << 20
"""About the size of a batch of the driver: more takes memory, less is slower."""
GONE = (
    "could not be read to its end: the database went away, ended the transaction or refused. What was charged stays "
    "charged; run the same again to go on"
)
READ: dict[str, str] = {
    **dict.fromkeys(("int2", "int4", "int8", "float4", "float8", "bool", "text", "varchar", "time", "bytea"), "{0}"),
    **dict.fromkeys(("bpchar", "name", "char", "uuid", "inet", "cidr", "macaddr", "macaddr8", "bit", "varbit"),
                    "{0}::text"),
    "oid": "{0}::int8",
    "numeric": "trim_scale(nullif({0}, 'NaN'))::text",
    "money": "trim_scale({0}::numeric)::text",
    "date": "CASE {0} WHEN 'infinity' THEN date '5874897-12-31' WHEN '-infinity' THEN date '4713-01-01 BC' "
            "ELSE {0} END",
    "timestamp": "CASE WHEN {0} > '290000-01-01' THEN timestamp '290000-01-01' WHEN {0} = '-infinity' THEN timestamp "
                 "'4713-01-01 BC' ELSE {0} END",
    "timestamptz": "CASE WHEN {0} > '290000-01-01 00:00Z' THEN timestamptz '290000-01-01 00:00Z' WHEN {0} = "
                   "'-infinity' THEN timestamptz '4713-01-02 00:00Z BC' ELSE {0} END",
}  # fmt: skip
"""SQL that selects values of a type, so that exactly the value arrives."""
UNREAD = {"A": "arrays", "C": "records", "R": "ranges", "T": "durations", "G": "shapes"}
"""Category of a server's type that cannot be read, to the name of its values in messages."""
UNREADABLE = "NULL::int4[]"
"""SQL in place of a column that cannot be read, for drafts."""


class DeclaredColumn(NamedTuple):
    """A column as the database declares it; a domain is resolved to its base type."""

    name: str
    type: str
    sort: str
    category: str

    def reading(self, prefix: str = "") -> str | None:
        """Return the SQL that selects its values; None if they are neither numbers nor words."""
        wanted = "{0}::text" if self.sort == "e" or self.category == "S" else None
        found = READ.get(self.type, wanted)
        return None if found is None else found.format(prefix + quote_identifier(self.name))


class PostgresTable(Source):
    """One table, or a view that the custodian vouches for.

    Attributes:
        snapshot: The moment that is read.
        columns: What the database declares, by name.
        place: The table as SQL writes it.
    """

    reads_ahead = True
    what = "the table of the database"

    def __init__(self, data: TableAddress | Snapshot, options: SourceOptions):
        self._own = isinstance(data, TableAddress)
        self.snapshot = Snapshot(data) if isinstance(data, TableAddress) else data
        address = self.snapshot.address
        if address.table is None and options.table:  # a snapshot of the whole database
            address = replace(address, table=options.table)
        self.what = f"the table {address.table} of {address}"
        self.place = address.name
        oid, rows = self._found(options.rows_are_rows)
        listed = [DeclaredColumn(*map(str, line)) for line in self._ask(_COLUMNS.format(oid))]
        self.columns = {column.name: column for column in listed}
        self._rows, self._drafting = rows, options.schema is None
        super().__init__(tuple(self.columns), options.progress)

    def close(self) -> None:
        if self._own:
            self.snapshot.close()

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        question = f"SELECT {', '.join(self._require_readable(name) for name in columns)} FROM {self.place}"
        try:
            yield from self._stream_batches(question)
        except (SklarError, MemoryError, GeneratorExit):
            raise
        except Exception:  # the driver's message may quote a cell
            pass
        else:
            return
        raise SourceError(f"{self.what} {GONE}")

    def _stream_batches(self, question: str) -> Iterator[Any]:
        done = 0
        with self.snapshot.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(BATCH_BYTES)})
            cursor.execute(question)
            for batch in cursor.fetch_record_batch():
                for start in range(0, batch.num_rows, BATCH_ROWS):
                    yield batch.slice(start, BATCH_ROWS)
                done += batch.num_rows
                if self._progress and self._rows:
                    self._progress(min(max(done / self._rows, 1e-6), 0.99))

    def _require_readable(self, name: str) -> str:
        column = self.columns[name]
        if column.reading() is None and not self._drafting:
            kind = UNREAD.get(column.category, f"values of type {column.type}")
            raise SourceError(
                f"column '{name}' of {self.what} holds {kind}, which are neither numbers nor words; take it out of the "
                "schema, or make a column (or a view) of what is wanted of it"
            )
        return f"{column.reading() or UNREADABLE} AS {quote_identifier(name)}"

    @property
    def server_version(self) -> int:
        """As 180004 for 18.4."""
        return int(self._ask("SELECT current_setting('server_version_num')::int8")[0][0])

    @property
    def server_encoding(self) -> str:
        """As UTF8 or LATIN1."""
        return str(self._ask("SELECT current_setting('server_encoding')")[0][0])

    def _found(self, rows_are_rows: bool) -> tuple[int, float]:
        """Return (number of the table in the catalogue, the server's estimate of its rows, for progress bars only)."""
        found = self._ask(_TABLE.format(quote_literal(self.place)))
        if not found or found[0][0] is None:
            raise SourceError(
                f"there is no table {self.place} in {self.snapshot.address}, or this user may not read it"
            )
        oid, kind, rows = found[0]
        if kind in "vm" and not rows_are_rows:
            raise SourceError(
                f"{self.place} is a view: state rows_are_rows=True (--rows-are-rows) if each of its rows comes from "
                "one row of a table alone; the claim will rest on it"
            )
        return int(oid), max(float(rows), 0.0)

    def _ask(self, question: str) -> list[tuple[Any, ...]]:
        with suppress(Exception):
            return self.snapshot.ask(question)
        raise SourceError(f"{self.what} {GONE}")


_TABLE = """
SELECT c.oid::int8, c.relkind::text, c.reltuples::float8 FROM pg_class c
WHERE c.oid = to_regclass({0}) AND c.relkind IN ('r', 'p', 'f', 'v', 'm') AND has_table_privilege(c.oid, 'SELECT')
"""
_COLUMNS = """
WITH RECURSIVE declared AS (
  SELECT a.attnum, a.attname::text AS name, t.typname::text AS type, t.typtype::text AS sort,
         t.typcategory::text AS category, t.typbasetype AS base
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  WHERE a.attrelid = {0} AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT d.attnum, d.name, t.typname::text, t.typtype::text, t.typcategory::text, t.typbasetype
  FROM declared d JOIN pg_type t ON t.oid = d.base WHERE d.sort = 'd'
)
SELECT name, type, sort, category FROM declared WHERE sort <> 'd' ORDER BY attnum
"""
