"""Is the vine ever behind independent margins, and does a score fall off a cliff? `python -m benchmarks.sizes`.

Fits the vine and independent margins to 500 to 50,000 rows of Adult and of HMEQ, drawn with replacement where the table
has fewer, with scripted noise. Prints the mean distances of pairs and triples, how far the vine is from independent
margins in standard errors, and names the sizes at which it is behind by more than two, or worse than at a smaller one.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import benchmarks.elsewhere  # noqa: F401  # adds its tables
from benchmarks.metrics import fidelity
from benchmarks.tables import TABLES, as_stated
from benchmarks.yardstick import scripted_fit

SIZES = "500,1000,2000,3000,5000,10000,20000,50000"
METRICS = ("tvd1", "tvd2", "tvd3", "ks", "sd_err")
JUDGED = ("tvd2", "tvd3")


def one_size(table: str, rows: int, seed: int, method: str, epsilon: float, *, target: bool) -> dict[str, Any]:
    """Scores of a fit to so many rows."""
    yard = TABLES[table]()
    some = yard.frame.sample(rows, replace=rows > len(yard.frame), random_state=seed)
    frame = as_stated(some.reset_index(drop=True), yard.schema)
    declared = yard.target if target and method == "vine" else None
    model = scripted_fit(seed, frame, yard.schema, declared, method=method, epsilon=epsilon, delta=1e-9)
    made = model.sample(rows, seed=seed).to_pandas()
    scores = fidelity(frame, made, yard.schema, seed)
    return {"table": table, "rows": rows, "seed": seed, "method": method, **{name: scores[name] for name in METRICS}}


def tell(runs: pd.DataFrame) -> None:
    """Means by size, the gap to independent margins, and what is wrong."""
    for table, group in runs.groupby("table", sort=False):
        means = group.pivot_table(index="rows", columns="method", values=list(METRICS))
        print(f"\n{table}\n{means.round(4).to_string()}")
        for metric in JUDGED:
            wide = group.pivot(index=["rows", "seed"], columns="method", values=metric)
            gap = (wide["vine"] - wide["independent"]).groupby("rows").agg(["mean", "sem"])
            told = ", ".join(f"{rows} {mean:+.4f} ({mean / error:+.1f} se)" for rows, mean, error in gap.itertuples())
            print(f"{metric} of the vine less independent's: {told}")
            print("".join(f"BEHIND at {rows}\n" for rows, mean, error in gap.itertuples() if mean > 2 * error), end="")
            by_size = wide["vine"].groupby("rows").agg(["mean", "sem"])
            steps = zip(by_size.itertuples(), list(by_size.itertuples())[1:], strict=False)
            for (low, before, sem), (high, after, own) in steps:
                if after - before > 2 * float(np.hypot(sem, own)):
                    print(f"CLIFF {metric} from {low} to {high} rows: {before:.4f} -> {after:.4f}")


def main() -> None:
    """Run and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default="hmeq,adult")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--target", action="store_true", help="declare the table's target")
    parser.add_argument("--save", type=Path, help="append every run to this file, as lines of JSON")
    given = parser.parse_args()
    runs: list[dict[str, Any]] = []
    for table in given.tables.split(","):
        for rows in map(int, given.sizes.split(",")):
            for seed in range(given.seeds):
                for method in ("independent", "vine"):
                    runs.append(one_size(table, rows, seed, method, given.epsilon, target=given.target))
                    if given.save:
                        with given.save.open("a") as file:
                            file.write(json.dumps(runs[-1]) + "\n")
    tell(pd.DataFrame(runs))


if __name__ == "__main__":
    main()
