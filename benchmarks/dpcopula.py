"""DPCopula's experiments: errors of range counts against epsilon, k, dimension, range size and kind of margin.

    python -m benchmarks.dpcopula [epsilon|k|dimension|size|margins|mle|noise] [--rows 50000] [--runs 5]

Gaussian dependence, columns of 1,000 values, 1,000 random ranges, errors averaged over runs (sanity bound 1), as in the
paper's section 5.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np
import pandas as pd

import sklar
from benchmarks.stopwatch import verdict
from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import calibrate
from sklar.accounting.unit import Unit
from sklar.disclosed.metrics.queries import random_ranges, range_counts, relative_errors
from sklar.methods.dpcopula import tau_noise
from sklar.release.copula_features import TauVector

UNIT = Unit(neighbours="replace")
DOMAIN = 1_000


def gaussian(rows: int, columns: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(columns, 3))
    cov = loadings @ loadings.T + np.eye(columns)
    scale = np.sqrt(cov.diagonal())
    z = rng.multivariate_normal(np.zeros(columns), cov / scale[:, None] / scale, rows)
    # Margins are Gaussian too: equal cells over +-4 standard deviations.
    return np.clip(np.floor((z + 4) / 8 * DOMAIN), 0, DOMAIN - 1).astype(int)


def run(
    rows: int, columns: int, runs: int, *, method: str = "dpcopula-kendall", cells: float | None = None, **options: Any
) -> str:
    relative, absolute, seconds = [], [], []
    for seed in range(runs):
        codes = gaussian(rows, columns, seed)
        names = [f"x{j}" for j in range(columns)]
        schema = sklar.Schema({name: sklar.Integer(0, DOMAIN - 1) for name in names})
        start = time.perf_counter()
        fitted = sklar.fit(pd.DataFrame(codes, columns=names), schema, method=method, **({"epsilon": 1.0} | options))
        made = fitted._stored.model.simulate(rows, np.random.default_rng(seed))
        seconds.append(time.perf_counter() - start)
        queries = random_ranges([DOMAIN] * columns, 1_000, np.random.default_rng(100 + seed), cells=cells)
        real, synthetic = range_counts(codes, queries), range_counts(made, queries)
        relative.append(relative_errors(real, synthetic).mean())
        absolute.append(np.abs(real - synthetic).mean())
    return f"relative {np.mean(relative):.3f}, absolute {np.mean(absolute):.1f}, {np.mean(seconds):.1f} s"


def noise_ratio(rows: int) -> None:
    """Standard deviation of the noise on each tau at epsilon 1, delta 1e-9, k = 8: the paper's Laplace over ours."""
    for columns, goal in ((8, 1.3), (30, 4.0)):
        lookups = (np.arange(2, dtype=np.int32),) * columns
        feature = TauVector(columns=tuple(map(str, range(columns))), lookups=lookups, rows=rows)
        ours = tau_noise(feature, calibrate(Budget(epsilon=1.0, delta=1e-9), UNIT).part(1 / 9), UNIT, "gaussian")
        tight = tau_noise(feature, Allowance(measure="epsilon", amount=1 / 9), UNIT, "laplace")
        paper = np.sqrt(2) * math.comb(columns, 2) * (4 / rows) * 9
        verdict(f"{columns} columns, the paper's noise over ours", paper / ours.scale, goal, True)
        verdict(
            f"{columns} columns, Laplace with our tighter bound over ours",
            np.sqrt(2) * tight.scale / ours.scale,
            goal,
            True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["epsilon", "k", "dimension", "size", "margins", "mle", "noise"])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    rows, runs = given.rows, given.runs
    paper: dict[str, Any] = {"delta": 0.0, "margins": "efpa"}
    if given.what == "epsilon":
        print("paper (read off the chart of figure 9a): relative error from about 2 at epsilon 0.1 to 0.5 at 1")
        for epsilon in (0.1, 0.25, 0.5, 1.0):
            print(f"epsilon {epsilon}: ours {run(rows, 8, runs, epsilon=epsilon)}", flush=True)
            print(f"epsilon {epsilon}: as published {run(rows, 8, runs, epsilon=epsilon, **paper)}", flush=True)
    elif given.what == "k":
        for k in (0.125, 0.5, 1.0, 2.0, 8.0, 32.0):
            print(
                f"k {k}: ours {run(rows, 2, runs, k=k)} | as published {run(rows, 2, runs, k=k, **paper)}", flush=True
            )
    elif given.what == "dimension":
        for columns in (2, 4, 6, 8):
            print(f"{columns} columns: {run(rows, columns, runs)}", flush=True)
    elif given.what == "size":
        for cells in (1, 100, 10_000, 1_000_000):
            print(f"{cells:,} cells, epsilon 0.1: {run(rows, 2, runs, cells=cells, epsilon=0.1)}", flush=True)
    elif given.what == "margins":
        for name in ("density", "efpa", "laplace", "gaussian", "privelet"):
            print(f"{name}: {run(rows, 8, runs, margins=name)}", flush=True)
    elif given.what == "noise":
        noise_ratio(rows)
    else:
        for columns in (2, 4, 8):
            for method in ("dpcopula-kendall", "dpcopula-mle"):
                print(f"{columns} columns, {method}: {run(max(rows, 10**6), columns, 1, method=method)}", flush=True)


if __name__ == "__main__":
    main()
