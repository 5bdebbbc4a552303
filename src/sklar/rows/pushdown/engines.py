"""The two databases that count: their queries, and the names of their types."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sklar.arrays import Ints
from sklar.counting.plans import CountingPlan, Feature
from sklar.counting.tables import find_derivable
from sklar.errors import SklarError, SourceError
from sklar.rows.pushdown.dialects import Coded, Dialect, DuckDB, Postgres
from sklar.rows.pushdown.encoding import ColumnCode, InexactError
from sklar.rows.sources.databases.postgres import GONE, PostgresTable
from sklar.rows.sources.source import Source
from sklar.rows.sources.sql import FAILED, SqlQuery
from sklar.schema.address import quote_identifier
from sklar.schema.coordinates import Coordinates, Same

TABLES_PER_SCAN = 256
"""Tables that one scan counts: each needs a hash table on the server, and PostgreSQL allows at most 4,096."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlatQuery:
    """A query whose lines are (cell, number of rows), the cells of several tables numbered one after the other."""

    sql: str
    tables: tuple[int, ...]
    starts: tuple[int, ...]

    def counts(self, plan: CountingPlan, cells: Ints, numbers: Ints) -> dict[int, Ints]:
        """Return the tables, from the lines of the answer."""
        flat = np.zeros(self.starts[-1], dtype=np.int64)
        flat[cells] = numbers
        bounds = zip(self.tables, self.starts[:-1], self.starts[1:], strict=True)
        return {table: flat[low:high].reshape(plan.shape(table)) for table, low, high in bounds}


def flat_queries(plan: CountingPlan, tables: Sequence[int], codes: Mapping[str, Coded], source: str,
                 say: Dialect) -> Iterator[FlatQuery]:  # fmt: skip
    """Yield queries that count these tables in one scan each: every row is encoded once, in a cell of each table."""
    for first in range(0, len(tables), TABLES_PER_SCAN):
        chosen = tuple(tables[first : first + TABLES_PER_SCAN])
        starts = tuple(accumulate((plan.cells(table) for table in chosen), initial=0))
        used = sorted({feature for table in chosen for feature in plan.tables[table]})
        keys = [
            f"{start} + {_place(plan, table)} AS k{at}"
            for at, (table, start) in enumerate(zip(chosen, starts, strict=False))
        ]
        names = [f"k{at}" for at in range(len(chosen))]
        sets = ", ".join(f"({name})" for name in names)
        cell = f"coalesce({', '.join(names)})" if len(names) > 1 else names[0]
        inner = select_groups([(f"f{at}", plan.features[at]) for at in used], codes, source, say)
        sql = (
            f"SELECT {cell} AS cell, count(*) AS rows FROM "
            f"(SELECT {', '.join(keys)} FROM ({inner}) AS grouped OFFSET 0) AS keyed "
            f"GROUP BY GROUPING SETS ({sets})"
        )
        yield FlatQuery(sql=sql, tables=chosen, starts=starts)


def select_codes(codes: Mapping[str, Coded], source: str, casts: Mapping[str, str]) -> str:
    """Return a query for the codes of some columns, each under the number of its column."""
    joins = {name: join for code in codes.values() for name, join in code.joins.items()}
    tables = "".join(f" LEFT JOIN {name} ON {condition}" for name, (_, condition) in joins.items())
    chosen = ", ".join(f"({code.sql})::{casts[name]} AS {name}" for name, code in codes.items())
    return f"SELECT {chosen} FROM {source} AS base{tables} OFFSET 0"  # not merged: each code is worked out once


def select_groups(
    features: Sequence[tuple[str, Feature]], codes: Mapping[str, Coded], source: str, say: Dialect
) -> str:
    """Return a query for features: codes as they are, or looked up."""
    wanted = dict.fromkeys(feature.column for _, feature in features)
    alias = {column: f"c{at}" for at, column in enumerate(wanted)}
    inner = select_codes(
        {alias[column]: codes[column] for column in wanted}, source, dict.fromkeys(alias.values(), "bigint")
    )
    chosen = [
        f"{alias[f.column] if f.lookup is None else say.looked_up(alias[f.column], f.lookup)} AS {name}"
        for name, f in features
    ]
    return f"SELECT {', '.join(chosen)} FROM ({inner}) AS coded OFFSET 0"


def counted_tables(plan: CountingPlan) -> tuple[list[int], dict[int, tuple[int, int]]]:
    """Return (tables to count, tables that are sums of those: which, and the axis that stays)."""
    sums = find_derivable(plan, set())
    return [table for table in range(len(plan.tables)) if table not in sums], sums


def with_sums(plan: CountingPlan, found: dict[int, Ints], sums: Mapping[int, tuple[int, int]]) -> tuple[Ints, ...]:
    """Return all tables of the plan, in order."""
    for table, (bigger, axis) in sums.items():
        found[table] = found[bigger].sum(axis=tuple(a for a in range(len(plan.tables[bigger])) if a != axis))
    return tuple(found[table] for table in range(len(plan.tables)))


def _place(plan: CountingPlan, table: int) -> str:
    """Return the number of a cell within its table."""
    place = "0"
    for feature in plan.tables[table]:
        place = f"({place}) * {plan.features[feature].groups} + f{feature}" if place != "0" else f"f{feature}"
    return place


WORK_MEMORY = "256MB"
"""Memory of the server for the grouped counts of one scan, before it writes them to disk."""
MIN_POSTGRES_VERSION = 140_000
"""Oldest PostgreSQL that is supported: earlier ones return datetimes as rounded doubles."""
MAX_DUCKDB_DIGITS = 18
"""Maximum digits of a DuckDB decimal with which it computes without overflow."""
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
        """Compute or plan the codes of all columns, so that a failure comes before a charge."""
        ...

    def rows(self) -> int:
        """Return the number of rows."""
        ...

    def counts(self, plan: CountingPlan) -> tuple[Ints, ...]:
        """Return all tables of a plan."""
        ...


def engine_of(source: Source, by: Coordinates, null_values: tuple[str, ...], most_bytes: int) -> Engine:
    """Return the engine that counts a source; InexactError, with the reason, if it cannot count exactly."""
    if isinstance(source, PostgresTable):
        if source.server_version < MIN_POSTGRES_VERSION:
            raise InexactError(f"the server is older than PostgreSQL {MIN_POSTGRES_VERSION // 10_000}")
        return PostgresEngine(source, _codes(by, _PostgresColumns(source), Postgres(), null_values, "t"))
    if isinstance(source, SqlQuery) and source.inside:
        # What is registered in the connection hides tables of the same name, also those behind a view of the database.
        own = f"sklar_{secrets.token_hex(8)}_"
        codes = _codes(by, _DuckDBColumns(source), DuckDB(), null_values, own)
        return DuckDBEngine(source, codes, by, most_bytes, own)
    raise InexactError("only tables of PostgreSQL and DuckDB are counted in the database")


class _Columns(Protocol):
    def described(self, name: str) -> tuple[str, str, str]:
        """Return (kind of the values, the column as SQL, digits of decimals)."""
        ...


def _codes(
    by: Coordinates, columns: _Columns, say: Dialect, null_values: tuple[str, ...], own: str
) -> dict[str, Coded]:
    """Return the codes of all columns; names of tables of constants begin with `own`."""
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
        column, x = self._source.columns[name], f"base.{quote_identifier(name)}"
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
        declared, x = self._source.types[name], f"base.{quote_identifier(name)}"
        decimal = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", declared)
        if decimal and int(decimal[1]) <= MAX_DUCKDB_DIGITS:
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
    """Counts by one scan for every few hundred tables, in the snapshot of the source."""

    def __init__(self, source: PostgresTable, codes: Mapping[str, Coded]):
        self._source, self._codes = source, codes
        self.scans = 0

    def prepare(self) -> None:
        numbers = {f"c{at}": code for at, code in enumerate(self._codes.values())}
        query = select_codes(numbers, self._source.place, dict.fromkeys(numbers, "bigint"))
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
        except Exception:  # the driver's message may quote a cell
            pass
        raise SourceError(f"{self._source.what} {GONE}")


class DuckDBEngine:
    """Codes are kept in a table of the connection where they fit into memory; else each request computes them again."""

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
        return with_sums(plan, {table: self._count_table(plan, table) for table in tables}, sums)

    def _keep(self) -> bool:
        """Return whether codes are kept; they are computed in one scan when first needed."""
        casts = {name: _choose_narrow_type(size) for name, size in self._sizes.items()}
        if not self._kept and self.rows() * sum(map(_count_bytes, self._sizes.values())) <= self._most_bytes:
            self._run(f"CREATE OR REPLACE TEMP TABLE {self._own}codes AS {self._coded(casts)}")
            self._kept = True
        return self._kept

    def _coded(self, casts: Mapping[str, str]) -> str:
        """Return a query for the codes of all columns, in columns c0, c1, ..."""
        alias = {name: f"c{at}" for at, name in enumerate(self._codes)}
        codes = {alias[name]: code for name, code in self._codes.items()}
        return select_codes(codes, self._relation, {alias[name]: cast for name, cast in casts.items()})

    def _group(self, plan: CountingPlan, tables: list[int]) -> None:
        """Compute codes by lookup, once for all tables that need them."""
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
            chosen.append(f"lookup{at}.grp::{_choose_narrow_type(feature.groups)} AS f{at}")
        query = f"SELECT {', '.join(chosen)} FROM {self._own}codes AS codes{joins}"
        self._run(f"CREATE OR REPLACE TEMP TABLE {self._own}groups AS {query}")

    def _count_table(self, plan: CountingPlan, table: int) -> Ints:
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


def _choose_narrow_type(size: int) -> str:
    return {1: "UTINYINT", 2: "USMALLINT", 4: "UINTEGER"}[_count_bytes(size)]


def _count_bytes(size: int) -> int:
    return np.min_scalar_type(max(size - 1, 0)).itemsize
