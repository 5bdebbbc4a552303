"""What the COPULA-SHIRLEY reproductions share: one ablation over folds of Adult and COMPAS, as published and ours."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

import sklar
from benchmarks.papers.beside import Beside
from benchmarks.papers.figures import add_picture_options, draw_lines
from benchmarks.shirley import ABLATIONS, TARGETS, load, score
from sklar.lab.tables.reading import read_table

MEASURES = ("ks", "rho", "mcc2", "mccn", "rmse")
FORMS: dict[str, dict[str, Any]] = {"as published": {"published": True}, "ours": {}}
QUICK_ROWS = 3_000
"""Rows of a table in the profile quick."""


def quick_rows(frame: pd.DataFrame, quick: bool) -> pd.DataFrame:
    """The whole table, or random rows of it."""
    return frame.sample(QUICK_ROWS, random_state=0) if quick and len(frame) > QUICK_ROWS else frame


def folds_of(frame: pd.DataFrame, folds: int, runs: int) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Training and left-out rows of some folds."""
    fold = np.random.default_rng(0).permutation(np.arange(len(frame)) % folds)
    return [(frame[fold != k], frame[fold == k]) for k in range(runs)]


def score_against(test: pd.DataFrame, made: pd.DataFrame, schema: sklar.Schema, name: str) -> dict[str, float]:
    """Every measure of synthetic rows against left-out ones."""
    rng = np.random.default_rng(0)
    tables = [read_table(table, schema, rng, role=role) for table, role in ((test, "real"), (made, "synthetic"))]
    return score(*tables, TARGETS[name])


def means(found: list[dict[str, float]]) -> dict[str, float]:
    """The mean of each measure over folds."""
    return {measure: float(np.mean([one[measure] for one in found])) for measure in found[0]}


def run_ablation(what: str, about: str | None, paper: str) -> None:
    """Print and draw an ablation, and how it compares with the paper."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--tables", default="adult,compas")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--runs", type=int, help="leave out this number of the folds only")
    add_picture_options(parser)
    asked = parser.parse_args()
    beside = Beside()
    for name in asked.tables.split(","):
        _ablate(what, name, asked, beside)
    beside.show()
    print(f"Beside the paper: {paper}. Ours differs in discrete pair copulas (ties), in the public grid, which")
    print("replaces bins learned from the rows, and in rows drawn evenly spread. On left-out rows: ks, all columns;")
    print("rho, Spearman; mcc2, mccn, boosting; rmse, linear regression. NO DP GUARANTEE in either form.")


def _ablate(what: str, name: str, asked: argparse.Namespace, beside: Beside) -> None:
    frame, schema = load(name)
    frame = quick_rows(frame, asked.quick)
    pairs = folds_of(frame, asked.folds, 1 if asked.quick else asked.runs or asked.folds)
    real = means([score_against(test, train, schema, name) for train, test in pairs])
    for measure in MEASURES:
        beside.add(f"{name} real rows {measure}", "chart", None, real[measure])
    drawn = {measure: {form: list[float]() for form in FORMS} for measure in MEASURES}
    places = [str(settings.get(what)) for settings in ABLATIONS[what]]
    for place, settings in zip(places, ABLATIONS[what], strict=True):
        found = {form: _fitted(name, pairs, schema, {**settings, **own}) for form, own in FORMS.items()}
        for measure in MEASURES:
            beside.add(f"{name} {what} {place} {measure}", "chart", *(found[form][measure] for form in FORMS))
            for form in FORMS:
                drawn[measure][form].append(found[form][measure])
    draw_lines(asked.out, f"shirley_{what}_{name}", drawn, what, "", places)


def _fitted(
    name: str, pairs: list[tuple[pd.DataFrame, pd.DataFrame]], schema: sklar.Schema, settings: dict[str, Any]
) -> dict[str, float]:
    found: list[dict[str, float]] = []
    for seed, (train, test) in enumerate(pairs):
        own = {"reference": TARGETS[name]["mcc2"], "seed": seed, **settings}
        model = sklar.fit(train, schema, method="shirley", no_guarantee=True, **own)
        made = model.sample(len(train), seed=seed, iid="published" in settings).to_pandas()
        found.append(score_against(test, made, schema, name))
    return means(found)
