"""Speed of exact counting: `python -m benchmarks.counting [--rows 5240000] [--rounds 3]`.

1. All one- and two-way tables of 27 columns of 25 values, from codes in memory, against pandas group-bys and DuckDB.
2. All pairs of 1,000 binary columns, against a float32 matrix product.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.stopwatch import best_of, verdict
from sklar.rows import exact_counts, exact_ones, open_rows
from sklar.schema import Boolean, Integer, Schema

COLUMNS, VALUES = 27, 25
BITS = 1000


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_240_000)
    parser.add_argument("--bit-rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    tables(arguments.rows, arguments.rounds)
    pairs(arguments.bit_rows, arguments.rounds)


def tables(rows: int, rounds: int) -> None:
    """All one- and two-way tables, and that all three competitors agree."""
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(VALUES), COLUMNS)
    codes = {f"c{j}": rng.choice(VALUES, rows, p=weights[j]).astype(np.uint8) for j in range(COLUMNS)}
    asked = [(name,) for name in codes] + list(combinations(codes, 2))
    ours = open_rows(pa.table(codes), Schema({name: Integer(0, VALUES - 1) for name in codes}))
    frame = pd.DataFrame(codes)
    database = duckdb.connect()
    database.register("arrow", pa.table(codes))
    database.execute("create table codes as select * from arrow")
    found: dict[str, Any] = {}

    def count_ours() -> None:
        found["ours"] = exact_counts(ours, [(names, None) for names in asked])

    def count_pandas() -> None:
        found["pandas"] = [frame.groupby(list(names)).size() for names in asked]

    def count_duckdb() -> None:
        found["duckdb"] = [_query(database, names) for names in asked]

    count_ours()
    best = best_of(rounds, ours=count_ours, duckdb=count_duckdb)
    best |= best_of(1, pandas=count_pandas)
    for names, counts, series, rows_ in zip(asked, found["ours"], found["pandas"], found["duckdb"], strict=True):
        dense = series.reindex(pd.MultiIndex.from_product([range(VALUES)] * 2) if len(names) == 2 else range(VALUES))
        assert np.array_equal(counts.ravel(), dense.fillna(0).to_numpy(np.int64)), "pandas disagrees"
        assert np.array_equal(counts[tuple(rows_[name] for name in names)], rows_["n"]), "DuckDB disagrees"
    print(f"{len(asked)} tables of {rows:,} rows: " + ", ".join(f"{k} {v:.2f} s" for k, v in best.items()))
    verdict("faster than pandas group-bys", best["pandas"] / best["ours"], 10, True)
    verdict("faster than DuckDB", best["duckdb"] / best["ours"], 2, True)


def _query(database: Any, names: tuple[str, ...]) -> Any:
    listed = ", ".join(names)
    return database.execute(f"select {listed}, count(*) as n from codes group by {listed}").fetchnumpy()


def pairs(rows: int, rounds: int) -> None:
    """All pairs of binary columns, as counts of both set."""
    rng = np.random.default_rng(1)
    names = [f"b{j}" for j in range(BITS)]
    bits = np.empty((BITS, rows), dtype=bool)
    for j in range(BITS):
        bits[j] = rng.integers(0, 10, rows, dtype=np.uint8) < 1 + j % 9
    data = pa.table([pa.array(row) for row in bits], names=names)
    ours = open_rows(data, Schema({name: Boolean() for name in names}))
    numbers = bits.astype(np.float32)
    found: dict[str, Any] = {}

    def count_ours() -> None:
        found["ours"] = exact_ones(ours, names)

    def count_tables() -> None:
        found["tables"] = exact_counts(ours, [((a, b), None) for a, b in combinations(names, 2)])

    def multiply() -> None:
        found["matrix"] = numbers @ numbers.T

    count_ours()
    best = best_of(rounds, ours=count_ours, tables=count_tables, matrix=multiply)
    assert np.array_equal(found["ours"], found["matrix"]), "the matrix product disagrees"
    both = np.array([counts[1, 1] for counts in found["tables"]])
    assert np.array_equal(both, found["matrix"][np.triu_indices(BITS, 1)]), "the matrix product disagrees"
    print(f"all pairs of {BITS:,} x {rows:,} bits: " + ", ".join(f"{k} {v:.2f} s" for k, v in best.items()))
    verdict("faster than a float32 matrix product", best["matrix"] / best["ours"], 3, True)
    verdict("the same as half a million tables", best["matrix"] / best["tables"], 1, True)


if __name__ == "__main__":
    main()
