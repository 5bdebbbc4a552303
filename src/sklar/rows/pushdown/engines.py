"""The two databases that count: how each is asked, and what its types are called here."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sklar.arrays import Ints
from sklar.counting.plans import CountingPlan, Feature
from sklar.errors import SklarError, SourceError
from sklar.rows.pushdown.counts import coded, counted_tables, flat_queries, with_sums
from sklar.rows.pushdown.dialects import Coded, Dialect, DuckDB, Postgres
from sklar.rows.pushdown.encoding import ColumnCode, InexactError
from sklar.rows.sources.databases.postgres import GONE, PostgresTable
from sklar.rows.sources.source import Source
from sklar.rows.sources.sql import FAILED, SqlQuery
from sklar.schema.address import identifier
from sklar.schema.coordinates import Coordinates, Same

WORK_MEMORY = "256MB"
"""What the server may hold for the grouped counts of one scan, before it writes them to its disk."""
OLDEST = 140_000
"""Versions of PostgreSQL before give moments as rounded doubles."""
WIDEST = 18
"""Digits of a decimal of DuckDB with which it computes without a chance of overflow."""
POSTGRES_KINDS = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), "integer"), "float8": "real", "float4": "single",
    "bool": "truth", "numeric": "decimal", "date": "date", "timestamp": "moment", "timestamptz": "zoned",
}  # fmt: skip
DUCKDB_KINDS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), "integer"),
    "DOUBLE": "real", "FLOAT": "single", "BOOLEAN": "truth", "VARCHAR": "text", "DATE": "date", "TIMESTAMP": "moment",
    "TIMESTAMP WITH TIME ZONE": "zoned",
}  # fmt: skip


class Engine(Protocol):
    """A database that counts the table of a source.

    Attributes:
        scans: Number of times it passed over the table.
    """

    scans: int

    def prepare(self) -> None:
        """Have the codes of all columns worked out or at least planned, so that what fails does so before a charge."""
        ...

    def rows(self) -> int:
        """Number of rows."""
        ...

    def counts(self, plan: CountingPlan) -> tuple[Ints, ...]:
        """All tables of a plan."""
        ...


def engine_of(source: Source, by: Coordinates, null_values: tuple[str, ...], most_bytes: int) -> Engine:
    """What counts a source; InexactError, with the reason, if no database can do it exactly."""
    if isinstance(source, PostgresTable):
        if source.server_version < OLDEST:
            raise InexactError(f"the server is older than PostgreSQL {OLDEST // 10_000}")
        return PostgresEngine(source, _codes(by, _PostgresColumns(source), Postgres(), null_values, "t"))
    if isinstance(source, SqlQuery) and source.inside:
        # What is registered in the connection hides tables of the same name, also those behind a view of the database.
        own = f"sklar_{secrets.token_hex(8)}_"
        codes = _codes(by, _DuckDBColumns(source), DuckDB(), null_values, own)
        return DuckDBEngine(source, codes, by, most_bytes, own)
    raise InexactError("only tables of PostgreSQL and DuckDB are counted where they are")


class _Columns(Protocol):
    def described(self, name: str) -> tuple[str, str, str]:
        """(kind of the values, the column as SQL, of decimals their digits)."""
        ...


def _codes(
    by: Coordinates, columns: _Columns, say: Dialect, null_values: tuple[str, ...], own: str
) -> dict[str, Coded]:
    """The codes of all columns; names of tables of constants begin with `own`."""
    codes: dict[str, Coded] = {}
    for at, name in enumerate(by.schema.modelled):
        try:
            if not isinstance(by.by_name[name], Same):
                raise InexactError("codes that a rule or a calendar makes of several values")
            kind, x, digits = columns.described(name)
            codes[name] = ColumnCode(by.declared[name], kind, x, f"{own}{at}", say, null_values, digits).coded()
        except InexactError as reason:
            raise InexactError(f"column '{name}' has {reason}") from None
    return codes


class _PostgresColumns:
    def __init__(self, source: PostgresTable):
        self._source, self._encoding = source, source.server_encoding

    def described(self, name: str) -> tuple[str, str, str]:
        column, x = self._source.columns[name], f"base.{identifier(name)}"
        read = column.reading("base.")
        if column.type in ("bytea", "time") or read is None:
            raise InexactError(f"values of type {column.type}")
        if column.type == "money":
            return "decimal", f"{x}::numeric", read
        kind = POSTGRES_KINDS.get(column.type, "text")
        if kind == "text" and self._encoding != "UTF8":  # other bytes are in another order, and lack some letters
            raise InexactError(f"text of a server whose encoding is {self._encoding}, not UTF8")
        return kind, f"nullif({x}, 'NaN')" if kind == "decimal" else read, read


class _DuckDBColumns:
    def __init__(self, source: SqlQuery):
        self._source = source

    def described(self, name: str) -> tuple[str, str, str]:
        declared, x = self._source.types[name], f"base.{identifier(name)}"
        decimal = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", declared)
        if decimal and int(decimal[1]) <= WIDEST:
            scale = int(decimal[2])
            # One digit before the point: DuckDB spells 0.5 as .5 where a type has no place for it.
            digits = f"({x})::DECIMAL({max(int(decimal[1]), scale + 1)},{scale})::VARCHAR"
            return "decimal", x, f"rtrim(rtrim({digits}, '0'), '.')" if scale else digits
        if declared.startswith("ENUM"):
            return "text", f"{x}::VARCHAR", ""
        if declared not in DUCKDB_KINDS:
            raise InexactError(f"values of type {declared.lower()}")
        return DUCKDB_KINDS[declared], x, ""


class PostgresEngine:
    """Each request is one scan for every few hundred tables, in the moment that the source holds."""

    def __init__(self, source: PostgresTable, codes: Mapping[str, Coded]):
        self._source, self._codes = source, codes
        self.scans = 0

    def prepare(self) -> None:
        numbers = {f"c{at}": code for at, code in enumerate(self._codes.values())}
        query = coded(numbers, self._source.place, dict.fromkeys(numbers, "bigint"))
        self._fetch(f"SELECT c0 AS cell, c0 AS rows FROM ({query}) AS planned LIMIT 0")

    def rows(self) -> int:
        return int(self._ask(f"SELECT count(*) AS cell, count(*) AS rows FROM {self._source.place}")[0][0])

    def counts(self, plan: CountingPlan) -> tuple[Ints, ...]:
        tables, sums = counted_tables(plan)
        found: dict[int, Ints] = {}
        for query in flat_queries(plan, tables, self._codes, self._source.place, Postgres()):
            found |= query.counts(plan, *self._ask(query.sql))
        return with_sums(plan, found, sums)

    def _ask(self, question: str) -> tuple[Ints, Ints]:
        self.scans += 1
        return self._fetch(question)

    def _fetch(self, question: str) -> tuple[Ints, Ints]:
        try:
            with self._source.snapshot.cursor() as cursor:
                cursor.execute(f"SELECT set_config('work_mem', '{WORK_MEMORY}', true)")
                cursor.fetchall()
                cursor.execute(question)
                answer = cursor.fetch_arrow_table()
            return answer["cell"].to_numpy(), answer["rows"].to_numpy()
        except (SklarError, MemoryError):
            raise
        except Exception:  # whatever the driver says may quote a cell
            pass
        raise SourceError(f"{self._source.what} {GONE}")


class DuckDBEngine:
    """Codes are kept in a table of the connection where they fit into memory; else each request codes them anew."""

    def __init__(self, source: SqlQuery, codes: Mapping[str, Coded], by: Coordinates, most_bytes: int, own: str):
        self._source, self._codes, self._own = source, codes, own
        self._sizes = {name: by.schema[name].size for name in codes}
        self._most_bytes, self._kept = most_bytes, False
        self._relation = f"(SELECT * FROM ({source.query}\n))"
        self.scans = 0
        for code in codes.values():
            for name, (table, _) in code.joins.items():
                source.connection.register(name, table)

    def prepare(self) -> None:
        if not self._keep():
            self._run(f"SELECT * FROM ({self._coded(dict.fromkeys(self._codes, 'bigint'))}) AS planned LIMIT 0")

    def rows(self) -> int:
        return int(self._ask(f"SELECT count(*) AS cell, count(*) AS rows FROM {self._relation} AS base")[0][0])

    def counts(self, plan: CountingPlan) -> tuple[Ints, ...]:
        tables, sums = counted_tables(plan)
        if not self._keep():
            found: dict[int, Ints] = {}
            for query in flat_queries(plan, tables, self._codes, self._relation, DuckDB()):
                found |= query.counts(plan, *self._ask(query.sql))
            return with_sums(plan, found, sums)
        self._group(plan, tables)
        return with_sums(plan, {table: self._counted(plan, table) for table in tables}, sums)

    def _keep(self) -> bool:
        """Whether codes are kept; they are made in one scan when they are first asked for."""
        casts = {name: _narrow(size) for name, size in self._sizes.items()}
        if not self._kept and self.rows() * sum(map(_bytes_of, self._sizes.values())) <= self._most_bytes:
            self._run(f"CREATE OR REPLACE TEMP TABLE {self._own}codes AS {self._coded(casts)}")
            self._kept = True
        return self._kept

    def _coded(self, casts: Mapping[str, str]) -> str:
        """A query for the codes of all columns, in columns c0, c1, ..."""
        alias = {name: f"c{at}" for at, name in enumerate(self._codes)}
        codes = {alias[name]: code for name, code in self._codes.items()}
        return coded(codes, self._relation, {alias[name]: cast for name, cast in casts.items()})

    def _group(self, plan: CountingPlan, tables: list[int]) -> None:
        """Codes that are looked up, once for all tables that ask for them."""
        used = sorted({feature for table in tables for feature in plan.tables[table]})
        place = {name: at for at, name in enumerate(self._codes)}
        chosen: list[str] = []
        joins = ""
        for at in used:
            feature: Feature = plan.features[at]
            code = f"codes.c{place[feature.column]}"
            if feature.lookup is None:
                chosen.append(f"{code} AS f{at}")
                continue
            groups = pa.table({"code": np.arange(len(feature.lookup)), "grp": feature.lookup.astype(np.int64)})
            self._source.connection.register(f"{self._own}lookup{at}", groups)
            joins += f" JOIN {self._own}lookup{at} AS lookup{at} ON lookup{at}.code = {code}"
            chosen.append(f"lookup{at}.grp::{_narrow(feature.groups)} AS f{at}")
        query = f"SELECT {', '.join(chosen)} FROM {self._own}codes AS codes{joins}"
        self._run(f"CREATE OR REPLACE TEMP TABLE {self._own}groups AS {query}")

    def _counted(self, plan: CountingPlan, table: int) -> Ints:
        axes = [f"f{feature}" for feature in plan.tables[table]]
        listed = ", ".join(axes)
        answer = self._fetch(f"SELECT {listed}, count(*) AS rows FROM {self._own}groups GROUP BY {listed}")
        found = np.zeros(plan.shape(table), dtype=np.int64)
        found[tuple(answer[axis].astype(np.int64) for axis in axes)] = answer["rows"]
        return found

    def _ask(self, question: str) -> tuple[Ints, Ints]:
        self.scans += 1
        answer = self._fetch(question)
        return answer["cell"], answer["rows"]

    def _fetch(self, question: str) -> dict[str, Any]:
        return self._run(question).fetchnumpy()

    def _run(self, question: str) -> Any:
        try:
            return self._source.connection.execute(question)
        except MemoryError:
            raise
        except Exception:  # DuckDB quotes cells
            pass
        raise SourceError(FAILED)


def _narrow(size: int) -> str:
    return {1: "UTINYINT", 2: "USMALLINT", 4: "UINTEGER"}[_bytes_of(size)]


def _bytes_of(size: int) -> int:
    return np.min_scalar_type(max(size - 1, 0)).itemsize
