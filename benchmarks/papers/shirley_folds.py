"""What the COPULA-SHIRLEY reproductions share: one ablation over folds of Adult and COMPAS."""

from __future__ import annotations

import argparse

from benchmarks.shirley import ablate


def run_ablation(what: str, about: str | None, paper: str) -> None:
    """Print an ablation, and how it compares with the paper."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--tables", default="adult,compas")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--runs", type=int, help="leave out only so many of the folds")
    given = parser.parse_args()
    ablate(what, given.tables.split(","), given.folds, given.runs or given.folds)
    print(
        f"Beside the paper: {paper}. Ours differs in the public grid, which replaces bins learned from the rows, and "
        "in rows drawn evenly spread."
    )
