"""Peak memory of a fit from a big Parquet file, also when it is one row group: `python -m benchmarks.memory`.

The file is written by one process and fitted by another, whose peak is what the operating system says.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stopwatch import verdict
from sklar.schema import Boolean, Category, Datetime, Integer, Real, Schema

GOAL_MB = 1000
WORDS = tuple(f"region {k}" for k in range(20))
SCHEMA = Schema(
    {
        "age": Integer(0, 100),
        "wage": Integer(0, 1_000_000),
        "weight": Real(0, 200),
        "height": Real(0, 250, nullable=True),
        "region": Category(WORDS),
        "sector": Category(WORDS[:7], nullable=True),
        "member": Boolean(),
        "since": Datetime("2000-01-01", "2024-12-31"),
        "score": Real(-10, 10),
        "children": Integer(0, 12),
    }
)


def main() -> None:
    """Both layouts, each with the given methods."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--methods", default="independent,vine")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for groups in (1, 20):
            path = Path(folder) / f"{groups}.parquet"
            in_process(write, path, arguments.rows, groups)
            for method in arguments.methods.split(","):
                seconds, peak = in_process(fit, path, method)
                print(
                    f"{method}, {arguments.rows:,} rows in {groups} row group(s): {seconds:.0f} s, peak {peak:.0f} MB"
                )
                verdict("peak in MB", peak, GOAL_MB, False)
            path.unlink()


def in_process(work: Any, *arguments: Any) -> Any:
    """Run in a process of its own, so that nobody else's memory is counted."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def write(path: Path, rows: int, groups: int) -> None:
    """A table of all kinds of columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(2)
    columns = {
        "age": rng.integers(0, 101, rows, dtype=np.int8),
        "wage": rng.integers(0, 1_000_000, rows, dtype=np.int32),
        "weight": rng.normal(75, 15, rows),
        "height": pa.array(rng.normal(170, 10, rows), mask=rng.random(rows) < 0.05),
        "region": pa.DictionaryArray.from_arrays(rng.integers(0, 20, rows, dtype=np.int8), pa.array(WORDS)),
        "sector": pa.DictionaryArray.from_arrays(rng.integers(0, 7, rows, dtype=np.int8), pa.array(WORDS[:7])),
        "member": pa.array(rng.random(rows) < 0.3),
        "since": np.datetime64("2000-01-01", "s") + rng.integers(0, 9000 * 86400, rows).astype("timedelta64[s]"),
        "score": rng.standard_cauchy(rows),
        "children": rng.poisson(1.5, rows).astype(np.int16),
    }
    pq.write_table(pa.table(columns), path, row_group_size=-(-rows // groups))


def fit(path: Path, method: str) -> tuple[float, float]:
    """(seconds, peak in MB)."""
    import sklar

    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        sklar.fit(path, SCHEMA, method=method, epsilon=1.0, ledger=Path(folder) / "ledger", new_ledger=True)
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    main()
