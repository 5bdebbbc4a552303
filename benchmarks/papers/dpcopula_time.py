"""Li et al. 2014, figure 11: seconds over the number of rows (4 columns) and of columns (50,000 rows).

python -m benchmarks.papers.dpcopula_time [--runs 3] [--quick]
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import sklar
from benchmarks.data.made_up import CENSUS, DOMAIN, census, gaussian_dependence
from benchmarks.dpcopula import paper_arguments
from benchmarks.papers.competitors import psd
from benchmarks.papers.figures import draw_lines

ROWS, COLUMNS = (10_000, 50_000, 100_000, 1_000_000), (2, 4, 6, 8)
METHOD = "dpcopula-kendall"


def seconds(table: pd.DataFrame, sizes: dict[str, int], runs: int) -> float:
    """Processor seconds to fit and to draw as many rows, the least of some runs."""
    schema = sklar.Schema({name: sklar.Integer(0, size - 1) for name, size in sizes.items()})
    spent: list[float] = []
    for run in range(runs):
        start = time.process_time()
        sklar.fit(table, schema, method=METHOD, epsilon=1.0).sample(len(table), seed=run)
        spent.append(time.process_time() - start)
    return float(np.min(spent))


def psd_seconds(table: pd.DataFrame, sizes: dict[str, int], runs: int) -> float:
    """The same of PSD, as a command: wall seconds with its start."""
    schema = sklar.Schema({name: sklar.Integer(0, size - 1) for name, size in sizes.items()})
    spent: list[float] = []
    for _ in range(runs):
        start = time.perf_counter()
        psd(1.0).made(table, schema, len(table))
        spent.append(time.perf_counter() - start)
    return float(np.min(spent))


def main() -> None:
    """Print and draw both panels."""
    asked = paper_arguments(__doc__)
    sizes = CENSUS["us"][1]
    seconds(census("us", 2_000), sizes, 1)  # compile and load
    rows = ROWS[:3] if asked.quick else ROWS
    by_rows = [seconds(census("us", n), sizes, asked.runs) for n in rows]
    print("4 columns:   " + ", ".join(f"{n:,} rows {s:.2f} s" for n, s in zip(rows, by_rows, strict=True)), flush=True)
    psd_rows = [psd_seconds(census("us", n), sizes, asked.runs) for n in rows]
    print("        PSD: " + ", ".join(f"{n:,} rows {s:.2f} s" for n, s in zip(rows, psd_rows, strict=True)), flush=True)
    by_columns, psd_columns = list[float](), list[float]()
    for columns in COLUMNS:
        names = [f"x{j}" for j in range(columns)]
        table = pd.DataFrame(gaussian_dependence(50_000, columns, 0), columns=names)
        by_columns.append(seconds(table, dict.fromkeys(names, DOMAIN), asked.runs))
        psd_columns.append(psd_seconds(table, dict.fromkeys(names, DOMAIN), asked.runs))
    print("50,000 rows: " + ", ".join(f"{m} columns {s:.2f} s" for m, s in zip(COLUMNS, by_columns, strict=True)))
    print("        PSD: " + ", ".join(f"{m} columns {s:.2f} s" for m, s in zip(COLUMNS, psd_columns, strict=True)))
    drawn = {"4 columns": {METHOD: by_rows, "PSD": psd_rows}}
    draw_lines(asked.out, "dpcopula_time_rows", drawn, "rows", "seconds", rows)
    drawn = {"50,000 rows": {METHOD: by_columns, "PSD": psd_columns}}
    draw_lines(asked.out, "dpcopula_time_columns", drawn, "columns", "seconds", COLUMNS)
    print("paper (charts): linear in the rows, quadratic in the columns; PSD is slower over rows, faster over columns.")
    print("Why they differ: the US census is a stand-in of its sizes; taus are counted exactly and not on a sample;")
    print(
        "the paper's programs are in MATLAB and Python, on a PC of 2.8 GHz. Ours are seconds of the processor, PSD's by"
    )
    print("the clock and with the start of its command.")


if __name__ == "__main__":
    main()
