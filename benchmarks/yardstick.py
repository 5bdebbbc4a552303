"""Accuracy of a method on the yardstick's tables: `python -m benchmarks.yardstick --tables tail6 --epsilons 1`.

Prints one line of metrics (`benchmarks.metrics`), averaged over the seeds, for every table and epsilon. gauss8, tail6
and sim20 are made here; the other tables are fetched once, see `benchmarks.data`. Needs the extra dev.

Two versions of a method are compared with `--scripted`: noise then comes from a script that gives the same draws to the
same tables in both, so that little but the change itself differs. `--save FILE` keeps every run, and `--against FILE`
tells how far each metric moved from the runs kept there, paired by table, epsilon and seed.
"""

from __future__ import annotations

import argparse
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import benchmarks.elsewhere  # noqa: F401  # adds its tables
import sklar
from benchmarks.metrics import all_scores
from benchmarks.tables import Split, load
from sklar.pipeline.fit import FitRequest, open_fit

Maker = Callable[[Split, int], pd.DataFrame]
"""A synthesizer: a split and a seed to a table like the rows to learn from."""


class ScriptedNoise:
    """Noise by a script, for comparisons alone: the k-th table of a shape gets the same unit draws in every fit.

    Nothing that is fitted with it may be published.
    """

    def __init__(self, seed: int) -> None:
        self._seed, self._seen = seed, Counter[tuple[int, ...]]()

    def add(self, exact_tables: Sequence[np.ndarray], noises: Sequence[Any], cells: Any = None) -> list[np.ndarray]:
        """Rounded draws of the continuous law."""
        return [
            table + np.rint(self._draw(table.shape, noise)).astype(np.int64)
            for table, noise in zip(exact_tables, noises, strict=True)
        ]

    def pick(self, exact_scores: np.ndarray, sensitivity: float, epsilon: float, picks: int) -> tuple[int, ...]:
        """The highest scores with Gumbel noise."""
        noisy = exact_scores + self._generator((-1,)).gumbel(scale=2 * sensitivity / epsilon, size=exact_scores.shape)
        return tuple(int(i) for i in np.argsort(-noisy, kind="stable")[:picks])

    def _draw(self, shape: tuple[int, ...], noise: Any) -> np.ndarray:
        unit = self._generator(shape)
        return noise.scale * (unit.normal(size=shape) if noise.kind == "gaussian" else unit.laplace(size=shape))

    def _generator(self, shape: tuple[int, ...]) -> np.random.Generator:
        self._seen[shape] += 1
        return np.random.default_rng([self._seed, self._seen[shape], *(abs(size) for size in shape)])


def scripted_fit(seed: int, data: pd.DataFrame, schema: sklar.Schema, target: str | None, **given: Any) -> sklar.Model:
    """A fit whose noise and whose seed of everything after it come from a script."""
    known = {name: given.pop(name) for name in ("method", "epsilon", "delta", "prior") if name in given}
    request = FitRequest(data=data, schema=schema, target=target, **known, options=given)
    with patch.object(secrets, "randbits", lambda bits: seed), open_fit(request, ScriptedNoise(seed)) as model:
        return model


def maker(
    method: str,
    epsilon: float,
    delta: float,
    options: dict[str, Any],
    *,
    target: bool = False,
    iid: bool = False,
    scripted: bool = False,
) -> Maker:
    """One of our methods as a synthesizer; with `target` the table's target is declared."""

    def make(split: Split, seed: int) -> pd.DataFrame:
        settings: dict[str, Any] = {"method": method, "epsilon": epsilon, "delta": delta, **options}
        named = split.target if target else None
        if scripted:
            model = scripted_fit(seed, split.frame, split.schema, named, **settings)
        else:
            model = sklar.fit(split.frame, split.schema, target=named, **settings)
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


def changes(runs: pd.DataFrame, before: pd.DataFrame) -> pd.DataFrame:
    """By table, epsilon and metric: means before and after, and their paired change with its standard error.

    Only runs with the same table, epsilon and seed in both are compared; `percent` is the change over the mean before.
    """
    keys = ["table", "epsilon", "seed"]
    both = runs.merge(before, on=keys, suffixes=("", "_before"))
    lines: list[dict[str, Any]] = []
    for (table, epsilon), group in both.groupby(keys[:2], sort=False):
        for metric in [name for name in runs if f"{name}_before" in both]:
            pair = group[[metric, f"{metric}_before"]].dropna()
            gap, start = pair[metric] - pair[f"{metric}_before"], float(pair[f"{metric}_before"].mean())
            line = {"before": start, "after": float(pair[metric].mean()), "change": gap.mean(), "error": gap.sem()}
            percent = {"percent": 100 * gap.mean() / start, "percent_error": 100 * gap.sem() / start} if start else {}
            lines.append({"table": table, "epsilon": epsilon, "metric": metric, **line, **percent, "runs": len(pair)})
    return pd.DataFrame(lines)


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
    parser.add_argument("--scripted", action="store_true", help="noise by a script, to compare versions")
    parser.add_argument("--save", type=Path, help="append every run to this file, as lines of JSON")
    parser.add_argument("--against", type=Path, help="tell the paired change from the runs of this file")
    given = parser.parse_args()
    seeds, options = [int(seed) for seed in given.seeds.split(",")], json.loads(given.options)
    ways = {"target": given.target, "iid": given.iid, "scripted": given.scripted}
    for table in given.tables.split(","):
        for epsilon in (float(e) for e in given.epsilons.split(",")):
            make = maker(given.method, epsilon, given.delta, options, **ways)
            runs: list[dict[str, Any]] = []
            for seed in seeds:
                runs.append({"table": table, "epsilon": epsilon, "seed": seed, **one_run(table, make, seed)})
                if given.save:
                    with given.save.open("a") as file:
                        file.write(json.dumps(runs[-1]) + "\n")
            made = pd.DataFrame(runs)
            told = " ".join(f"{name}={made[name].mean():.4f}" for name in made.columns[3:])
            print(f"{given.method:12s} {table:9s} {epsilon:7g} {told}", flush=True)
            if given.against:
                moved = changes(made, pd.read_json(given.against, lines=True))
                print(moved.drop(columns=["table", "epsilon"]).round(4).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
