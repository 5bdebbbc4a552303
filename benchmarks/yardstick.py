"""Accuracy of a method on the yardstick's tables: `python -m benchmarks.yardstick --tables tail6 --epsilons 1`.

Prints one line of metrics (`benchmarks.metrics`), averaged over the seeds, for every table and epsilon. gauss8, tail6
and sim20 are made here; the other tables are fetched once, see `benchmarks.data`. Needs the extra dev.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

import sklar
from benchmarks.metrics import all_scores
from benchmarks.tables import Split, load

Maker = Callable[[Split, int], pd.DataFrame]
"""A synthesizer: a split and a seed to a table like the rows to learn from."""


def maker(
    method: str, epsilon: float, delta: float, options: dict[str, Any], *, target: bool = False, iid: bool = False
) -> Maker:
    """One of our methods as a synthesizer; with `target` the table's target is declared."""

    def make(split: Split, seed: int) -> pd.DataFrame:
        settings = {**options, **({"target": split.target} if target and split.target else {})}
        model = sklar.fit(split.frame, split.schema, method=method, epsilon=epsilon, delta=delta, **settings)
        return model.sample(seed=seed, iid=iid).to_pandas()

    return make


def one_run(table: str, make: Maker, seed: int) -> dict[str, float]:
    """All metrics of one seed, and the seconds it took to make the table."""
    split = load(table, seed=seed)
    began = time.perf_counter()
    made = make(split, seed)
    seconds = time.perf_counter() - began
    return {**all_scores(split, made, seed), "seconds": seconds}


def score(table: str, make: Maker, seeds: Sequence[int] = (0, 1, 2)) -> dict[str, float]:
    """Means over seeds."""
    return pd.DataFrame([one_run(table, make, seed) for seed in seeds]).mean().to_dict()


def main() -> None:
    """Run the yardstick."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default="adult,compas,tail6,gauss8,support2,sim20")
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--method", default="vine")
    parser.add_argument("--delta", type=float, default=1e-9)
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--target", action="store_true", help="declare the table's target")
    parser.add_argument("--iid", action="store_true")
    parser.add_argument("--options", default="{}", help="method options as JSON")
    given = parser.parse_args()
    seeds, options = [int(seed) for seed in given.seeds.split(",")], json.loads(given.options)
    for table in given.tables.split(","):
        for epsilon in (float(e) for e in given.epsilons.split(",")):
            make = maker(given.method, epsilon, given.delta, options, target=given.target, iid=given.iid)
            told = " ".join(f"{name}={value:.4f}" for name, value in score(table, make, seeds).items())
            print(f"{given.method:12s} {table:9s} {epsilon:7g} {told}", flush=True)


if __name__ == "__main__":
    main()
