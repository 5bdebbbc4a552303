"""Processor seconds of a vine's fit and sample: `python -m benchmarks.speed [adult] [cold] [long] [wide]`.

    adult  Adult, fit + rounded sample, everything compiled (its file is fetched once, see `benchmarks.data`)
    cold   a CSV file by a process that finds nothing compiled, as after installation, over the next process
    long   1,000,000 rows x 20 numbers, fit and rounded sample of as many rows
    wide   100,000 rows x 100 numbers

Each runs in a process of its own. Set OMP_NUM_THREADS=1 for the work of one core.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import in_process
from benchmarks.stopwatch import verdict

DEFAULT = ("adult", "cold", "long", "wide")
FACTORS = 4
"""Normal factors that all columns of a made-up table load on."""


def main() -> None:
    """Each run that is asked for."""
    for name in sys.argv[1:] or DEFAULT:
        RUNS[name]()


def run_adult() -> None:
    """Warm, on the table as published."""
    fit, sample = in_process(adult_seconds)
    print(f"adult: fit {fit:.2f} s, sample {sample:.2f} s")
    verdict("fit + sample in CPU seconds", fit + sample, 5, False)


def run_cold() -> None:
    """From an empty cache of compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        try:
            first, later = in_process(cold_seconds), in_process(cold_seconds)
        finally:
            del os.environ["NUMBA_CACHE_DIR"]
    print(f"a CSV file: the first process {first:.2f} s, the next {later:.2f} s")
    verdict("more CPU seconds the first time", first - later, 10, False)


def run_long() -> None:
    """Many rows."""
    fit, sample = in_process(made_up_seconds, 1_000_000, 20)
    print(f"1,000,000 x 20: fit {fit:.2f} s, sample {sample:.2f} s")
    verdict("rounded sample in CPU seconds", sample, 15, False)
    verdict("fit + sample in CPU seconds", fit + sample, 30, False)


def run_wide() -> None:
    """Many columns."""
    fit, sample = in_process(made_up_seconds, 100_000, 100)
    print(f"100,000 x 100: fit {fit:.2f} s, sample {sample:.2f} s")
    verdict("fit + sample in CPU seconds", fit + sample, 90, False)


def adult_seconds() -> tuple[float, float]:
    """(fit, sample), the better of two after a first."""
    from benchmarks.tables import adult, as_stated

    yard = adult()
    frame = as_stated(yard.frame, yard.schema)
    return min((seconds(frame, yard.schema) for _ in range(3)), key=sum)


def cold_seconds() -> float:
    """Fit and sample together of a file of all kinds of columns, the first of a process."""
    import pyarrow.csv as csv

    from benchmarks.memory import SCHEMA
    from benchmarks.scale import chunk

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        csv.write_csv(chunk(0, 20_000), path)
        return sum(seconds(path, SCHEMA))


def made_up_seconds(rows: int, columns: int) -> tuple[float, float]:
    """(fit, sample) of columns that share a few factors, once a small table has compiled everything."""
    import pandas as pd

    import sklar

    rng = np.random.default_rng(1)
    loadings = rng.normal(0, 0.6, (FACTORS, columns))
    x = rng.normal(size=(rows, FACTORS)) @ loadings + rng.normal(size=(rows, columns))
    names = [f"x{j}" for j in range(columns)]
    frame, schema = pd.DataFrame(x, columns=names), sklar.Schema({name: sklar.Real(-8, 8) for name in names})
    seconds(frame.iloc[:20_000], schema)
    return seconds(frame, schema, rows)


def seconds(data: Any, schema: Any, rows: int | None = None) -> tuple[float, float]:
    """CPU seconds of a fit and of a rounded sample, by default as large as the table."""
    import sklar

    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        model = sklar.fit(
            data, schema, method="vine", epsilon=1.0, delta=1e-9, ledger=Path(folder) / "ledger", new_ledger=True
        )
        fitted = time.process_time()
        model.sample(rows, seed=1)
    return fitted - start, time.process_time() - fitted


RUNS = {"adult": run_adult, "cold": run_cold, "long": run_long, "wide": run_wide}

if __name__ == "__main__":
    main()
