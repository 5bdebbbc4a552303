"""Does more budget ever hurt, and does a large one come near the table? `python -m benchmarks.sweep --tables tail6`.

Runs the vine at epsilons from 0.1 to 1000 on the yardstick's tables (see benchmarks.yardstick). Names every metric that
is worse at a larger epsilon than at a smaller one by more than two standard errors of the difference, and compares
tvd2 at epsilon 100 with that of a bootstrap of the table (goal: at most 1.3 times).
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.stopwatch import verdict
from benchmarks.tables import Split
from benchmarks.yardstick import maker, one_run

EPSILONS = "0.1,0.3,1,3,10,30,100,300,1000"
LOWER_IS_BETTER = ("tvd1", "tvd2", "tvd3", "ks", "rho_delta", "range_rel", "range_abs")
HIGHER_IS_BETTER = ("auc_synth", "mcc_synth")
NEAR = 100.0
GOAL = 1.3


def bootstrap(split: Split, seed: int) -> pd.DataFrame:
    """The table drawn again from itself."""
    return split.frame.sample(len(split.frame), replace=True, random_state=seed).reset_index(drop=True)


def reversals(runs: pd.DataFrame) -> list[str]:
    """Metrics that get worse with epsilon, beyond two standard errors over the seeds."""
    found: list[str] = []
    for metric in [m for m in (*LOWER_IS_BETTER, *HIGHER_IS_BETTER) if m in runs]:
        sign = 1.0 if metric in LOWER_IS_BETTER else -1.0
        by_epsilon = runs.groupby("epsilon")[metric].agg(["mean", "sem"])
        for low, high in combinations(by_epsilon.index, 2):
            worse = sign * (by_epsilon["mean"][high] - by_epsilon["mean"][low])
            error = float(np.hypot(by_epsilon["sem"][low], by_epsilon["sem"][high]))
            if worse > 2 * error:
                values = f"{by_epsilon['mean'][low]:.4f} -> {by_epsilon['mean'][high]:.4f}"
                found.append(
                    f"{metric} from epsilon {low:g} to {high:g}: {values} ({worse / max(error, 1e-12):.1f} se)"
                )
    return found


def tell(table: str, runs: pd.DataFrame, floor: float) -> None:
    """Print the means, the reversals and the ratio to the bootstrap."""
    shown = [c for c in (*LOWER_IS_BETTER, *HIGHER_IS_BETTER) if c in runs]
    print(f"\n{table}\n{runs.groupby('epsilon')[shown].mean().round(4).to_string()}")
    print("\n".join(f"WORSE {line}" for line in reversals(runs)) or "never worse beyond two standard errors")
    if NEAR in set(runs["epsilon"]):
        ratio = float(runs[runs["epsilon"] == NEAR]["tvd2"].mean()) / floor
        verdict(f"tvd2 at epsilon 100 / bootstrap {floor:.4f}", ratio, GOAL, at_least=False)


def main() -> None:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="tail6,gauss8,compas,support2,sim20,adult")
    parser.add_argument("--epsilons", default=EPSILONS)
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--iid", action="store_true")
    parser.add_argument("--target", action="store_true")
    parser.add_argument("--save", type=Path, help="append every run to this file, as lines of JSON")
    given = parser.parse_args()
    seeds = [int(s) for s in given.seeds.split(",")]
    for table in given.tables.split(","):
        floor = float(np.mean([one_run(table, bootstrap, seed)["tvd2"] for seed in seeds]))
        rows: list[dict[str, Any]] = []
        for epsilon in (float(e) for e in given.epsilons.split(",")):
            make = maker("vine", epsilon, 1e-9, {}, target=given.target, iid=given.iid)
            rows += [{"table": table, "epsilon": epsilon, **one_run(table, make, seed)} for seed in seeds]
            if given.save:
                with given.save.open("a") as file:
                    file.writelines(json.dumps(row) + "\n" for row in rows[-len(seeds) :])
        tell(table, pd.DataFrame(rows), floor)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
