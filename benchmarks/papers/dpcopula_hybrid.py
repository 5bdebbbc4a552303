"""Li et al. 2014, figure 7: relative error of random ranges over epsilon on the US and the Brazil census, with Hybrid.

python -m benchmarks.papers.dpcopula_hybrid [--rows N] [--runs 5] [--quick]

Both censuses are STAND-INS of their rows and domain sizes: IPUMS does not let the tables be handed on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import sklar
from benchmarks.data.made_up import CENSUS, census
from benchmarks.dpcopula import paper_arguments
from benchmarks.papers.beside import Beside
from benchmarks.papers.competitors import psd
from benchmarks.papers.figures import draw_lines
from sklar.lab.metrics.queries import random_ranges, range_counts, relative_errors

EPSILONS = (0.1, 0.25, 0.5, 1.0)
METHODS: dict[str, dict[str, Any]] = {
    "Hybrid, as published": {"method": "dpcopula-hybrid", "published": True},
    "Hybrid, ours": {"method": "dpcopula-hybrid"},
    "Hybrid, ours, no cells": {"method": "dpcopula-hybrid", "small": 1},
    "Kendall, as published": {"method": "dpcopula-kendall", "published": True},
    "Kendall, ours": {"method": "dpcopula-kendall"},
    "independent": {"method": "independent"},
    "PSD": {},
}
SANITY = {"us": lambda rows: 0.0005 * rows, "brazil": lambda rows: 10.0}
"""The paper's bounds: 0.05% of the rows, and 10."""


def relative(name: str, label: str, epsilon: float, rows: int | None, seed: int) -> float:
    """Mean relative error of 1,000 random ranges over all columns."""
    table = census(name, rows, seed)
    sizes = CENSUS[name][1]
    schema = sklar.Schema({column: sklar.Integer(0, size - 1) for column, size in sizes.items()})
    if label == "PSD":
        made = psd(epsilon).made(table, schema, len(table))
    else:
        model = sklar.fit(table, schema, epsilon=epsilon, delta=0.0, **METHODS[label])
        made = model.sample(len(table), seed=seed).to_pandas()
    queries = random_ranges(list(sizes.values()), 1_000, np.random.default_rng(100 + seed))
    real, synthetic = (range_counts(frame[list(sizes)].to_numpy(), queries) for frame in (table, made))
    return float(relative_errors(real, synthetic, SANITY[name](len(table))).mean())


def main() -> None:
    """Print and draw both censuses."""
    asked, beside = paper_arguments(__doc__, rows=None, quick_rows=50_000), Beside()
    epsilons = EPSILONS[::3] if asked.quick else EPSILONS
    drawn: dict[str, dict[str, list[float]]] = {}
    for name in CENSUS:
        title = f"{name} (stand-in)"
        drawn[title] = {label: [] for label in METHODS}
        for epsilon in epsilons:
            for label in METHODS:
                found = [relative(name, label, epsilon, asked.rows, seed) for seed in range(asked.runs)]
                drawn[title][label].append(float(np.mean(found)))
            last = {label: values[-1] for label, values in drawn[title].items()}
            for method in ("Hybrid", "Kendall"):
                forms = last[f"{method}, as published"], last[f"{method}, ours"]
                beside.add(f"{title}, epsilon {epsilon:g}, {method}", "chart", *forms)
            for label in ("Hybrid, ours, no cells", "independent", "PSD"):
                beside.add(f"{title}, epsilon {epsilon:g}, {label}", "chart" if label == "PSD" else None, last[label])
    draw_lines(asked.out, "dpcopula_hybrid", drawn, "epsilon", "relative error", epsilons)
    beside.show()
    print("paper (charts): DPCopula-Hybrid has the smallest error of all at every epsilon and hardly depends on it.")
    print("Why they differ: the stand-ins' dependence is made up. Eight columns have 28 pairs: at epsilon 0.1 their")
    print(
        "noise is as large as what dependence adds to the answers, so that `independent`, which spends all of epsilon"
    )
    print(
        "on margins, is about level with Hybrid without cells on Brazil, and cells, which divide the rows, cost more."
    )
    print("Delta is 0. P-HP counts every cell (10^8 and more), so that it is left out; FP and Privelet+ are not built.")


if __name__ == "__main__":
    main()
