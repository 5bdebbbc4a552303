"""Li et al. 2014, figure 7: relative error of random ranges over epsilon on the US and the Brazil census, with Hybrid.

python -m benchmarks.papers.dpcopula_hybrid [--rows N] [--runs 5] [--quick]
"""

from __future__ import annotations

import numpy as np

import sklar
from benchmarks.data.made_up import CENSUS, census
from benchmarks.dpcopula import paper_arguments
from benchmarks.papers.competitors import psd
from benchmarks.papers.figures import draw_lines
from sklar.lab.metrics.queries import random_ranges, range_counts, relative_errors

EPSILONS = (0.1, 0.25, 0.5, 1.0)
METHODS = ("dpcopula-hybrid", "dpcopula-kendall", "independent", "psd")
SANITY = {"us": lambda rows: 0.0005 * rows, "brazil": lambda rows: 10.0}
"""The paper's bounds: 0.05% of the rows, and 10."""


def relative(name: str, method: str, epsilon: float, rows: int | None, seed: int) -> float:
    """Mean relative error of 1,000 random ranges over all columns."""
    table = census(name, rows, seed)
    sizes = CENSUS[name][1]
    schema = sklar.Schema({column: sklar.Integer(0, size - 1) for column, size in sizes.items()})
    if method == "psd":
        made = psd(epsilon).made(table, schema, len(table))
    else:
        model = sklar.fit(table, schema, method=method, epsilon=epsilon, delta=0.0)
        made = model.sample(len(table), seed=seed).to_pandas()
    queries = random_ranges(list(sizes.values()), 1_000, np.random.default_rng(100 + seed))
    real, synthetic = (range_counts(frame[list(sizes)].to_numpy(), queries) for frame in (table, made))
    return float(relative_errors(real, synthetic, SANITY[name](len(table))).mean())


def main() -> None:
    """Print and draw both censuses."""
    asked = paper_arguments(__doc__, rows=None, quick_rows=50_000)
    drawn: dict[str, dict[str, list[float]]] = {}
    for name in CENSUS:
        drawn[name] = {}
        for method in METHODS:
            found = [
                float(np.mean([relative(name, method, epsilon, asked.rows, seed) for seed in range(asked.runs)]))
                for epsilon in EPSILONS
            ]
            drawn[name][method] = found
            told = ", ".join(f"{epsilon:g}: {error:.3f}" for epsilon, error in zip(EPSILONS, found, strict=True))
            print(f"{name:7s} {method:17s} {told}", flush=True)
    draw_lines(asked.out, "dpcopula_hybrid", drawn, "epsilon", "relative error", EPSILONS)
    print("paper (charts): DPCopula-Hybrid has the smallest error of all at every epsilon and hardly depends on it.")
    print("Why they differ: both censuses are licensed by IPUMS and may not be handed on, so stand-ins with their rows")
    print("and domain sizes take their place; their dependence is made up. Delta is 0. P-HP and FP are not built.")


if __name__ == "__main__":
    main()
