"""Gambs et al. 2021, figures 5 to 7 and table 1: quality, membership score and seconds of the models over epsilon.

python -m benchmarks.papers.shirley_privacy [--table compas] [--folds 5] [--quick]

PrivBayes has degree 3, as there. Texas can be fetched (`benchmarks.data`), but no schema of it is written yet.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd

import sklar
from benchmarks.papers.beside import Beside
from benchmarks.papers.competitors import MIN_SIGMAS, OLD_NOISE, privbayes
from benchmarks.papers.figures import add_picture_options, draw_lines
from benchmarks.papers.shirley_folds import folds_of, means, quick_rows, score_against
from benchmarks.shirley import TARGETS, load

EPSILONS = (0.01, 0.1, 1.0, 8.0)
OWN_EPSILON = "DP-Histograms, epsilon a column"
"""As the authors' program has them: each column gets the whole epsilon, so that d columns cost d times as much."""
FREE = {"no_guarantee": True, "published": True}
AS_PUBLISHED, OURS = "COPULA-SHIRLEY as published, NO GUARANTEE", "COPULA-SHIRLEY ours, NO GUARANTEE"
COMPARED: dict[str, tuple[str, dict[str, Any]]] = {
    AS_PUBLISHED: ("shirley", FREE),
    OURS: ("shirley", {"no_guarantee": True}),
    "DP-Copula": ("dpcopula-kendall", {"k": 1.0, "delta": 0.0}),
    OWN_EPSILON: ("independent", {"delta": 0.0}),
    "DP-Histograms, epsilon in all": ("independent", {"delta": 0.0}),
    f"PrivBayes, {OLD_NOISE}": ("privbayes", {"old_noise": True}),
    "PrivBayes": ("privbayes", {}),
    "vine (ours)": ("vine", {}),
}
SHOWN = ("ks", "rho", "mcc2", "mccn", "rmse", "privacy", "seconds")
PAPER_MINUTES = {
    "adult": {"COPULA-SHIRLEY": 33.45, "PrivBayes": 67.21, "DP-Copula": 2.24},
    "compas": {"COPULA-SHIRLEY": 1.59, "PrivBayes": 3.18, "DP-Copula": 0.70},
}
"""Table 1, on 4 cores."""


def synthesize(label: str, train: pd.DataFrame, schema: sklar.Schema, epsilon: float, reference: str) -> pd.DataFrame:
    """Rows of a model, as many as it learned from."""
    method, options = COMPARED[label]
    if method == "privbayes":
        return privbayes(epsilon, **options).made(train, schema, len(train))
    spent = epsilon * len(schema.modelled) if label == OWN_EPSILON else epsilon
    settings: dict[str, Any] = {**options, **({"reference": reference} if method == "shirley" else {})}
    return sklar.fit(train, schema, method=method, epsilon=spent, **settings).sample(len(train)).to_pandas()


def one_fold(label: str, name: str, train: Any, test: Any, schema: sklar.Schema, epsilon: float) -> dict[str, float]:
    """Scores of a model against the left-out fold, the greatest membership number, and the seconds it took."""
    start = time.perf_counter()
    made = synthesize(label, train, schema, epsilon, TARGETS[name]["mcc2"])
    seconds = time.perf_counter() - start
    found = sklar.attack("membership", train, made, schema, test, targets=200, iterations=3)
    risk = max(number.attack.value for number in found.numbers)
    return {**score_against(test, made, schema, name), "privacy": risk, "seconds": seconds}


def main() -> None:
    """One line a model and epsilon, means over folds and over epsilons (figure 6), and one panel a measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", default="compas", choices=list(TARGETS))
    parser.add_argument("--folds", type=int, default=5)
    add_picture_options(parser)
    asked = parser.parse_args()
    frame, schema = load(asked.table)
    epsilons, runs = (EPSILONS[1:3], 1) if asked.quick else (EPSILONS, asked.folds)
    pairs = folds_of(quick_rows(frame, asked.quick), asked.folds, runs)
    drawn: dict[str, dict[str, list[float]]] = {measure: {label: [] for label in COMPARED} for measure in SHOWN}
    for label in COMPARED:
        for epsilon in epsilons:
            found = means([one_fold(label, asked.table, *pair, schema, epsilon) for pair in pairs])
            print(f"{label:41s} {epsilon:<5g} " + " ".join(f"{k}={v:.3f}" for k, v in found.items()), flush=True)
            for measure in SHOWN:
                drawn[measure][label].append(found[measure])
    draw_lines(asked.out, f"shirley_privacy_{asked.table}", drawn, "epsilon", "", epsilons)
    _show_means(asked.table, drawn)
    print("paper: charts without numbers but for table 1 (minutes on 4 cores).")
    print("Why they differ: 'privacy' is the greatest number of our membership attack.")
    print(MIN_SIGMAS)


def _show_means(table: str, drawn: dict[str, dict[str, list[float]]]) -> None:
    """Figure 6, means over epsilons, and table 1, each model's form as published beside ours."""
    means_of = {m: {label: float(np.mean(values)) for label, values in lines.items()} for m, lines in drawn.items()}
    pairs = {
        "COPULA-SHIRLEY": (AS_PUBLISHED, OURS), "DP-Copula": ("DP-Copula", None),
        "DP-Histograms": (OWN_EPSILON, "DP-Histograms, epsilon in all"),
        "PrivBayes": (f"PrivBayes, {OLD_NOISE}", "PrivBayes"), "vine (ours)": (None, "vine (ours)"),
    }  # fmt: skip
    beside = Beside()
    for model, forms in pairs.items():
        for measure in SHOWN:
            minutes = PAPER_MINUTES[table].get(model) if measure == "seconds" else None
            paper = f"{minutes * 60:.0f}" if minutes else "chart" if measure != "seconds" else None
            beside.add(f"{model} {measure}", paper, *(means_of[measure][form] if form else None for form in forms))
    print("Means over the epsilons (figure 6); 'ours' of PrivBayes and DP-Histograms: with the noise of their claim.")
    beside.show()


if __name__ == "__main__":
    main()
