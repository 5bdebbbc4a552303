"""Accuracy of a method on the common yardstick tables: `python -m benchmarks.yardstick --tables adult --epsilons 1`.

Needs the yardstick (harness.py and its tables) beside the repository, at ../shared/bench or in SKLAR_BENCH, and the
extras eval and dev. Prints one line of metrics, averaged over the seeds, for every table and epsilon.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import sklar

BENCH = Path(os.environ.get("SKLAR_BENCH", Path(__file__).resolve().parents[2] / "shared" / "bench"))


def harness() -> Any:
    """The yardstick module."""
    if not (BENCH / "harness.py").exists():
        sys.exit(f"no yardstick at {BENCH}; set SKLAR_BENCH to the folder of harness.py")
    sys.path.insert(0, str(BENCH))
    return importlib.import_module("harness")


def to_schema(facts: dict[str, Any]) -> sklar.Schema:
    """The yardstick's public facts as a schema."""
    return sklar.Schema({name: _column(fact) for name, fact in facts.items()})


def _column(fact: dict[str, Any]) -> Any:
    if fact["kind"] == "cat":
        return sklar.Category(fact["values"])
    if fact["int"]:
        return sklar.Integer(int(fact["lo"]), int(fact["hi"]))
    return sklar.Real(fact["lo"], fact["hi"])


def maker(method: str, epsilon: float, delta: float, target: str | None, options: dict[str, Any], iid: bool) -> Any:
    """A synthesizer as the yardstick wants it: (train, facts, seed) -> synthetic frame."""

    def make(train: Any, facts: dict[str, Any], seed: int) -> Any:
        settings = {**options, **({"target": target} if target else {})}
        model = sklar.fit(train, to_schema(facts), method=method, epsilon=epsilon, delta=delta, **settings)
        return model.sample(seed=seed, iid=iid).to_pandas()

    return make


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
    arguments = parser.parse_args()
    yard = harness()
    seeds = tuple(int(s) for s in arguments.seeds.split(","))
    for table in arguments.tables.split(","):
        target = yard.TABLES[table]()[2] if arguments.target else None
        for epsilon in (float(e) for e in arguments.epsilons.split(",")):
            make = maker(
                arguments.method, epsilon, arguments.delta, target, json.loads(arguments.options), arguments.iid
            )
            scores = yard.score(table, make, seeds=seeds)
            print(
                f"{arguments.method:12s} {table:9s} {epsilon:7g} " + " ".join(f"{k}={v:.4f}" for k, v in scores.items())
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
