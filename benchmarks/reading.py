"""Speed of reading a CSV file to codes, against pyarrow's own CSV reader: `python -m benchmarks.reading`.

Pyarrow reads with all defaults, guessing types from values; Sklar splits, reads every cell by the schema, and encodes.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv as pv

from benchmarks.stopwatch import best_of, verdict
from sklar.rows import open_rows
from sklar.schema import Boolean, Category, Datetime, Integer, Real, Schema

GOAL = 1.5
WORDS = ("alpha", "beta", "gamma delta", "x", "yy", "zzz")


def main() -> None:
    """Write tables of several kinds, and read each both ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    for what in ("mixed", "integers", "reals", "words"):
        columns, schema = table(what, arguments.rows)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.csv"
            pd.DataFrame(columns).to_csv(path, index=False)
            del columns
            compare(what, path, schema, arguments.rounds)


def compare(what: str, path: Path, schema: Schema, rounds: int) -> None:
    """Read one file both ways, in turn."""

    def ours() -> None:
        assert open_rows(path, schema, cache_bytes=2 << 30).exact_rows

    ours()
    best = best_of(rounds, ours=ours, pyarrow=lambda: pv.read_csv(path))
    size = path.stat().st_size / 1e6
    print(f"{what}, {size:.0f} MB: " + ", ".join(f"{k} {v:.2f} s ({size / v:.0f} MB/s)" for k, v in best.items()))
    verdict("slower than pyarrow", best["ours"] / best["pyarrow"], GOAL, False)


def table(what: str, rows: int) -> tuple[dict[str, Any], Schema]:
    """Columns and schema; a mixed table has all kinds."""
    rng = np.random.default_rng(0)
    makers = {
        "integers": [(rng.integers(0, 100, rows), Integer(0, 99)), (rng.integers(0, 10**9, rows), Integer(0, 10**9))],
        "reals": [(np.round(rng.lognormal(8, 1, rows), 2), Real(0, 100_000)), (rng.normal(size=rows), Real(-6, 6))],
        "words": [(rng.choice(WORDS, rows), Category(WORDS[:-1])), (rng.choice(WORDS[:3], rows), Category(WORDS))],
    }
    days = np.datetime64("2000-01-01") + rng.integers(0, 9000, rows).astype("timedelta64[D]")
    others = [(rng.random(rows) < 0.5, Boolean()), (days.astype(str), Datetime("2000-01-01", "2030-01-01"))]
    chosen = [pair for pairs in makers.values() for pair in pairs] * 3 + others if what == "mixed" else makers[what] * 6
    names = [f"c{k}" for k in range(len(chosen))]
    columns = {name: values for name, (values, _) in zip(names, chosen, strict=True)}
    return columns, Schema({name: column for name, (_, column) in zip(names, chosen, strict=True)})


if __name__ == "__main__":
    main()
