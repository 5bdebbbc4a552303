"""DPCopula's experiments: errors of range counts against epsilon, k, dimension, range size and kind of margin.

    python -m benchmarks.dpcopula [epsilon|k|dimension|size|distribution|margins|mle|noise] [--rows 50000] [--runs 5]

Gaussian dependence, columns of 1,000 values, 1,000 random ranges, errors averaged over runs (sanity bound 1), as in the
paper's section 5.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import sklar
from benchmarks.data.made_up import DOMAIN, SHAPES, gaussian_dependence
from benchmarks.papers.figures import add_picture_options
from benchmarks.stopwatch import verdict
from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import calibrate
from sklar.accounting.unit import Unit
from sklar.lab.metrics.queries import random_ranges, range_counts, relative_errors
from sklar.lab.metrics.ranges import ranges_of_size
from sklar.methods.dpcopula.kendall import KendallOptions, plan
from sklar.methods.dpcopula.stages import vector_noise
from sklar.release.taus import TauVector

UNIT = Unit(neighbours="replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Of random ranges, and the seconds of a fit and its rows; all averaged over runs."""

    relative: float
    absolute: float
    seconds: float

    def __str__(self) -> str:
        return f"relative {self.relative:.3f}, absolute {self.absolute:.1f}, {self.seconds:.1f} s"


def errors(
    rows: int, columns: int, runs: int, *, method: str = "dpcopula-kendall", cells: float | None = None,
    shape: str = "gaussian", **options: Any,
) -> Errors:  # fmt: skip
    """Errors of random ranges over all columns, averaged over runs."""
    relative, absolute, seconds = [], [], []
    for seed in range(runs):
        codes = gaussian_dependence(rows, columns, seed, shape)
        names = [f"x{j}" for j in range(columns)]
        schema = sklar.Schema({name: sklar.Integer(0, DOMAIN - 1) for name in names})
        start = time.perf_counter()
        fitted = sklar.fit(pd.DataFrame(codes, columns=names), schema, method=method, **({"epsilon": 1.0} | options))
        made = fitted._stored.model.simulate(rows, np.random.default_rng(seed))
        seconds.append(time.perf_counter() - start)
        rng = np.random.default_rng(100 + seed)
        sides = np.full(columns, DOMAIN)
        queries = random_ranges(sides, 1_000, rng) if cells is None else ranges_of_size(sides, cells, 1_000, rng)
        real, synthetic = range_counts(codes, queries), range_counts(made, queries)
        relative.append(relative_errors(real, synthetic).mean())
        absolute.append(np.abs(real - synthetic).mean())
    means = (float(np.mean(values)) for values in (relative, absolute, seconds))
    return Errors(**dict(zip(("relative", "absolute", "seconds"), means, strict=True)))


def noise_ratio(rows: int) -> None:
    """Standard deviation of the noise on each tau at epsilon 1, delta 1e-9, k = 8: the paper's Laplace over ours."""
    budget = Budget(epsilon=1.0, delta=1e-9)
    for columns, goal in ((8, 1.3), (30, 4.0)):
        lookups = (np.arange(2, dtype=np.int32),) * columns
        feature = TauVector(columns=tuple(map(str, range(columns))), lookups=lookups, rows=rows)
        schema = sklar.Schema({name: sklar.Integer(0, DOMAIN - 1) for name in feature.columns})
        ours = vector_noise(
            feature, calibrate(budget, UNIT, plan(schema, KendallOptions())).part(1 / 9), UNIT, "gaussian"
        )
        zcdp = vector_noise(feature, calibrate(budget, UNIT).part(1 / 9), UNIT, "gaussian")
        print(f"{columns} columns, {rows:,} rows: {ours.scale:.6f} a tau; {zcdp.scale:.6f} by zCDP")
        tight = vector_noise(feature, Allowance(measure="epsilon", amount=1 / 9), UNIT, "laplace")
        paper = np.sqrt(2) * math.comb(columns, 2) * (4 / rows) * 9
        verdict(f"{columns} columns, the paper's noise over ours", paper / ours.scale, goal, True)
        verdict(
            f"{columns} columns, Laplace with our tighter bound over ours",
            np.sqrt(2) * tight.scale / ours.scale,
            goal,
            True,
        )


PAPER = {
    "k": "figure 5: the error falls as k grows to 1, and hardly changes beyond; k = 8 is used from there on.",
    "mle": "figure 6: at a million rows Kendall is more accurate than MLE at every dimension, and a little slower.",
    "epsilon": "figures 7 and 9a: the error falls as epsilon grows, ahead of PSD and Privelet+.",
    "size": "figure 8: the relative error falls as ranges grow, but is small for single cells; the absolute one grows.",
    "distribution": "figure 9: smaller errors with uniform and Zipf margins than with Gaussian ones (by EFPA).",
    "dimension": "figure 10: two columns have the smallest errors, which grow from 4 to 8 columns.",
}
"""What the paper says in words; its charts have no numbers."""


def paper_arguments(about: str | None, rows: int | None = 50_000, quick_rows: int = 20_000) -> argparse.Namespace:
    """The options of the scripts in benchmarks.papers that repeat DPCopula's figures."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=rows)
    parser.add_argument("--runs", type=int, default=5)
    add_picture_options(parser)
    asked = parser.parse_args()
    if asked.quick:
        asked.rows, asked.runs = min(asked.rows or quick_rows, quick_rows), 1
    return asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "what", choices=["epsilon", "k", "dimension", "size", "distribution", "margins", "mle", "noise"]
    )
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    rows, runs = given.rows, given.runs
    paper: dict[str, Any] = {"delta": 0.0, "published": True}
    if given.what == "epsilon":
        for epsilon in (0.1, 0.25, 0.5, 1.0):
            print(f"epsilon {epsilon}: ours {errors(rows, 8, runs, epsilon=epsilon)}", flush=True)
            print(f"epsilon {epsilon}: as published {errors(rows, 8, runs, epsilon=epsilon, **paper)}", flush=True)
    elif given.what == "k":
        for k in (0.125, 0.5, 1.0, 2.0, 8.0, 32.0):
            print(
                f"k {k}: ours {errors(rows, 2, runs, k=k)} | as published {errors(rows, 2, runs, k=k, **paper)}",
                flush=True,
            )
    elif given.what == "dimension":
        for columns in (2, 4, 6, 8):
            print(f"{columns} columns: {errors(rows, columns, runs)}", flush=True)
    elif given.what == "size":
        for cells in (1, 100, 10_000, 1_000_000):
            print(f"{cells:,} cells, epsilon 0.1: {errors(rows, 2, runs, cells=cells, epsilon=0.1)}", flush=True)
    elif given.what == "distribution":
        for shape in SHAPES:
            print(f"{shape}: ours {errors(rows, 8, runs, shape=shape)}", flush=True)
            print(f"{shape}: as published {errors(rows, 8, runs, shape=shape, **paper)}", flush=True)
    elif given.what == "margins":
        for name in ("density", "efpa", "laplace", "gaussian", "privelet"):
            print(f"{name}: {errors(rows, 8, runs, margins=name)}", flush=True)
    elif given.what == "noise":
        noise_ratio(rows)
    else:
        for columns in (2, 4, 8):
            for method in ("dpcopula-kendall", "dpcopula-mle"):
                print(f"{columns} columns, {method}: {errors(max(rows, 10**6), columns, 1, method=method)}", flush=True)
    if given.what in PAPER:
        print(f"paper, {PAPER[given.what]} Ours differs in the noise (one release of all taus) and in the margins.")


if __name__ == "__main__":
    main()
