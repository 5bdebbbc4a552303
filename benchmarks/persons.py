"""Persons with many rows: `python -m benchmarks.persons [--rows 1000000] [--big 5000000] [--rounds 3] [--spark N]`.

1. Counting votes against counting rows: all one- and two-way tables of 12 columns, from kept codes, in processor time.
2. A Parquet file of `--big` rows of a fifth as many persons: processor time and peak memory of gathering and counting.
3. With `--spark 200000`: a vine of so many rows that follow one another, fitted on Spark and here, in processor time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from benchmarks.scale import family_cpu
from sklar import ReadOptions, fit
from sklar.rows import exact_counts, open_rows
from sklar.schema import Integer, Person, Schema

COLUMNS, VALUES, ROWS_A_PERSON = 12, 25, 5
MOST = 1.5
"""Times the processor time of plain counting that counting votes may take."""


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--big", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spark", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.spark:
        on_spark(arguments.spark)
        return
    counting(arguments.rows, arguments.rounds)
    if arguments.big:
        big_file(arguments.big)


def counting(rows: int, rounds: int) -> None:
    """Votes against rows, in turns."""
    asked = [((name,), None) for name in names()] + [(pair, None) for pair in combinations(names(), 2)]
    # A bound beyond which hardly anyone has rows: both count the same number of them.
    opened = {kind: open_rows(made(rows), schema(kind, 6 * ROWS_A_PERSON), threads=1) for kind in ("rows", "votes")}
    spent: dict[str, list[float]] = {kind: [] for kind in opened}
    for kind in [*opened] * (1 + rounds):
        started = time.process_time()
        exact_counts(opened[kind], asked)
        spent[kind].append(time.process_time() - started)
    best = {kind: min(times[1:]) for kind, times in spent.items()}  # the first one keeps codes, and compiles
    ratio = best["votes"] / best["rows"]
    print(f"{len(asked)} tables of {rows:,} rows: rows {best['rows']:.2f} s, votes {best['votes']:.2f} s, "
          f"ratio {ratio:.2f} (at most {MOST}): {'met' if ratio <= MOST else 'MISSED'}")  # fmt: skip


def big_file(rows: int) -> None:
    """Each kind in a process of its own, so that its peak is its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "persons.parquet")
        pyarrow.parquet.write_table(made(rows), path, row_group_size=1 << 17)
        for kind in ("rows", "votes"):
            process = multiprocessing.get_context("spawn").Process(target=measured, args=(path, kind))
            process.start()
            process.join()


def measured(path: str, kind: str) -> None:
    """What opening and counting take."""
    started = time.process_time()
    rows = open_rows(path, schema(kind))
    rows.keep_codes()
    gathered = time.process_time() - started
    exact_counts(rows, [(pair, None) for pair in combinations(names(), 2)])
    counted = time.process_time() - started - gathered
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{kind}: {rows.exact_rows:,} rows of {rows.exact_persons:,}; codes {gathered:.1f} s, counts {counted:.1f} s "
          f"of processor time, peak {peak:.0f} MB")  # fmt: skip


def on_spark(rows: int) -> None:
    """First rows and steps of persons with five rows each, from a Parquet file; Spark is up before the clock starts."""
    from sklar.rows.spark.connection import connect

    linked = Schema(
        {"year": Integer(2000, 2004), **{name: Integer(0, VALUES - 1) for name in names()[:7]}},
        person=Person(key="id", rows=ROWS_A_PERSON, order="year"),
    )
    whole = np.arange(rows)
    panel = made(rows).set_column(0, "id", pa.array(whole // ROWS_A_PERSON))
    panel = panel.append_column("year", pa.array(2000 + whole % ROWS_A_PERSON))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "panel.parquet")
        pyarrow.parquet.write_table(panel, path)
        for engine in (None, "local[2]"):
            if engine is not None:
                connect(engine)
            before, started = family_cpu(), time.perf_counter()
            fit(path, linked, epsilon=1.0, delta=1e-9, read=ReadOptions(spark=engine))
            print(f"{engine or 'here'}: {family_cpu() - before:.1f} s of processor time, "
                  f"{time.perf_counter() - started:.1f} s", flush=True)  # fmt: skip


def names() -> list[str]:
    """Of the columns."""
    return [f"c{j}" for j in range(COLUMNS)]


def schema(kind: str, bound: int = ROWS_A_PERSON) -> Schema:
    """Plain rows, or persons whose rows share a vote."""
    person = Person(key="id", rows=bound) if kind == "votes" else None
    return Schema({name: Integer(0, VALUES - 1) for name in names()}, person=person)


def made(rows: int) -> pa.Table:
    """Rows in random order, of persons with one to nine of them."""
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, VALUES, rows).astype(np.uint8) for name in names()}
    return pa.table({"id": rng.integers(0, rows // ROWS_A_PERSON, rows), **columns})


if __name__ == "__main__":
    main()
