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
from benchmarks.papers.competitors import fp, php, psd
from benchmarks.papers.figures import draw_lines
from benchmarks.papers.privelet import answer_ranges, draw_noise
from sklar.lab.metrics.queries import random_ranges, range_counts, relative_errors

EPSILONS = (0.1, 0.25, 0.5, 1.0)
METHODS: dict[str, dict[str, Any]] = {
    "Hybrid, as published": {"method": "dpcopula-hybrid", "published": True},
    "Hybrid, ours": {"method": "dpcopula-hybrid"},
    "Hybrid, ours, no cells": {"method": "dpcopula-hybrid", "small": 1},
    "Kendall, as published": {"method": "dpcopula-kendall", "published": True},
    "Kendall, ours": {"method": "dpcopula-kendall"},
    "independent": {"method": "independent"},
}
PEERS = {"PSD": psd, "P-HP": php, "FP": fp}
PRIVELET = "Privelet+"
"""On the US census only: Brazil's has 10^11 cells, and it needs a number for each."""
SANITY = {"us": lambda rows: 0.0005 * rows, "brazil": lambda rows: 10.0}
"""The paper's bounds: 0.05% of the rows, and 10."""


def relative(name: str, label: str, epsilon: float, rows: int | None, seed: int) -> float:
    """Mean relative error of 1,000 random ranges over all columns."""
    table = census(name, rows, seed)
    sizes = CENSUS[name][1]
    queries = random_ranges(list(sizes.values()), 1_000, np.random.default_rng(100 + seed))
    real = range_counts(table[list(sizes)].to_numpy(), queries)
    if label == PRIVELET:
        noise = draw_noise(tuple(sizes.values()), epsilon, np.random.default_rng())
        return float(relative_errors(real, answer_ranges(noise, real, queries), SANITY[name](len(table))).mean())
    schema = sklar.Schema({column: sklar.Integer(0, size - 1) for column, size in sizes.items()})
    if label in PEERS:
        made = PEERS[label](epsilon).made(table, schema, len(table))
    else:
        model = sklar.fit(table, schema, epsilon=epsilon, delta=0.0, **METHODS[label])
        made = model.sample(len(table), seed=seed).to_pandas()
    synthetic = range_counts(made[list(sizes)].to_numpy(), queries)
    return float(relative_errors(real, synthetic, SANITY[name](len(table))).mean())


def main() -> None:
    """Print and draw both censuses."""
    asked, beside = paper_arguments(__doc__, rows=None, quick_rows=50_000), Beside()
    epsilons = EPSILONS[::3] if asked.quick else EPSILONS
    drawn: dict[str, dict[str, list[float]]] = {}
    for name in CENSUS:
        title, rivals = f"{name} (stand-in)", [*PEERS, *([PRIVELET] if name == "us" else [])]
        drawn[title] = {label: [] for label in (*METHODS, *rivals)}
        for epsilon in epsilons:
            for label in drawn[title]:
                found = [relative(name, label, epsilon, asked.rows, seed) for seed in range(asked.runs)]
                drawn[title][label].append(float(np.mean(found)))
            last = {label: values[-1] for label, values in drawn[title].items()}
            for method in ("Hybrid", "Kendall"):
                forms = last[f"{method}, as published"], last[f"{method}, ours"]
                beside.add(f"{title}, epsilon {epsilon:g}, {method}", "chart", *forms)
            for label in ("Hybrid, ours, no cells", "independent", *rivals):
                beside.add(f"{title}, epsilon {epsilon:g}, {label}", "chart" if label in rivals else None, last[label])
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
    print("Delta is 0. Privelet+ needs a number for every cell: 10^8 on the US census, 10^11 on Brazil's, where it is")
    print("left out. P-HP and FP keep only cells with rows; the total of FP is set to the number of rows.")


if __name__ == "__main__":
    main()
