"""Li et al. 2014, figures 5, 6, 8 and 10: k, MLE, size of the range and dimension, on synthetic tables.

python -m benchmarks.papers.dpcopula_sweeps [--rows 50000] [--runs 5] [--quick]

Columns of 1,000 values with Gaussian margins; 1,000 random ranges. PSD and P-HP (two columns only) are peers.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd

import sklar
from benchmarks.data.made_up import DOMAIN, gaussian_dependence
from benchmarks.dpcopula import PAPER, Errors, paper_arguments
from benchmarks.papers.beside import Beside
from benchmarks.papers.competitors import Competitor, php, psd
from benchmarks.papers.figures import draw_lines
from sklar.lab.metrics.queries import random_ranges, range_counts, relative_errors
from sklar.lab.metrics.ranges import ranges_of_size

PUBLISHED: dict[str, Any] = {"delta": 0.0, "published": True}
FORMS: dict[str, dict[str, Any]] = {"as published": PUBLISHED, "ours": {}}
KS = (0.125, 0.5, 1.0, 2.0, 8.0, 32.0)
SIZES = (1, 100, 10_000, 100_000)
DIMENSIONS = (2, 4, 6, 8)


def synthesize(codes: np.ndarray, fitted: Competitor | dict[str, Any], seed: int) -> np.ndarray:
    """Codes from a method with its options, or from a peer."""
    names = [f"x{j}" for j in range(codes.shape[1])]
    schema = sklar.Schema({name: sklar.Integer(0, DOMAIN - 1) for name in names})
    table = pd.DataFrame(codes, columns=names)
    if isinstance(fitted, Competitor):
        return fitted.made(table, schema, len(table))[names].to_numpy()
    options: dict[str, Any] = {"method": "dpcopula-kendall", "epsilon": 1.0, **fitted}
    model = sklar.fit(table, schema, **options)
    return model._stored.model.simulate(len(table), np.random.default_rng(seed))


def errors(
    asked: argparse.Namespace, columns: int, fitted: Competitor | dict[str, Any], *, shape: str = "gaussian",
    cells: float | None = None, rows: int | None = None,
) -> Errors:  # fmt: skip
    """Errors of random ranges over all columns, averaged over runs, with the seconds of fit and rows."""
    found: list[tuple[float, float, float]] = []
    for seed in range(asked.runs):
        codes = gaussian_dependence(rows or asked.rows, columns, seed, shape)
        start = time.perf_counter()
        made = synthesize(codes, fitted, seed)
        seconds = time.perf_counter() - start
        rng, sides = np.random.default_rng(100 + seed), np.full(columns, DOMAIN)
        queries = random_ranges(sides, 1_000, rng) if cells is None else ranges_of_size(sides, cells, 1_000, rng)
        real, synthetic = range_counts(codes, queries), range_counts(made, queries)
        found.append((relative_errors(real, synthetic).mean(), np.abs(real - synthetic).mean(), seconds))
    relative, absolute, seconds = np.mean(found, axis=0)
    return Errors(relative=float(relative), absolute=float(absolute), seconds=float(seconds))


def figure_5(asked: argparse.Namespace, beside: Beside) -> None:
    """Relative error over k."""
    ks = (0.125, 1.0, 8.0, 32.0) if asked.quick else KS
    lines = {form: [errors(asked, 2, {"k": k, **own}).relative for k in ks] for form, own in FORMS.items()}
    for at, k in enumerate(ks):
        beside.add(f"figure 5, k {k:g}, relative error", "chart", *(values[at] for values in lines.values()))
    draw_lines(asked.out, "dpcopula_figure5", {"2 columns": lines}, "k", "relative error", ks)


def figure_6(asked: argparse.Namespace, beside: Beside) -> None:
    """Kendall against MLE at a million rows: errors and seconds."""
    rows, columns = (200_000, (2, 4)) if asked.quick else (1_000_000, (2, 4, 8))
    drawn: dict[str, dict[str, list[float]]] = {"relative error": {}, "seconds": {}}
    once = argparse.Namespace(**{**vars(asked), "runs": 1})
    for method in ("dpcopula-kendall", "dpcopula-mle"):
        for form, own in FORMS.items():
            found = [errors(once, m, {"method": method, **own}, rows=rows) for m in columns]
            for name, field in zip(drawn, ("relative", "seconds"), strict=True):
                drawn[name][f"{method}, {form}"] = [getattr(one, field) for one in found]
        for name in drawn:
            for at, m in enumerate(columns):
                values = [drawn[name][f"{method}, {form}"][at] for form in FORMS]
                beside.add(f"figure 6, {rows:,} rows, {m} columns, {method}, {name}", "chart", *values)
    draw_lines(asked.out, "dpcopula_figure6", drawn, "columns", "", columns)


def figure_8(asked: argparse.Namespace, beside: Beside) -> None:
    """Relative and absolute error over the size of the range, two columns, epsilon 0.1, beside PSD and P-HP."""
    systems: dict[str, Any] = {form: {"epsilon": 0.1, **own} for form, own in FORMS.items()}
    systems |= {"PSD": psd(0.1), "P-HP": php(0.1)}
    _sweep(asked, beside, "figure 8", systems, [(2, cells) for cells in SIZES], [f"{size:,} cells" for size in SIZES])


def figure_10(asked: argparse.Namespace, beside: Beside) -> None:
    """Relative and absolute error over the number of columns, beside PSD."""
    systems: dict[str, Any] = {**FORMS, "PSD": psd(1.0)}
    columns = (2, 4, 8) if asked.quick else DIMENSIONS
    _sweep(asked, beside, "figure 10", systems, [(m, None) for m in columns], [f"{m} columns" for m in columns])


def _sweep(
    asked: argparse.Namespace, beside: Beside, figure: str, systems: dict[str, Any],
    settings: list[tuple[int, float | None]], places: list[str],
) -> None:  # fmt: skip
    found = {label: [errors(asked, m, own, cells=cells) for m, cells in settings] for label, own in systems.items()}
    drawn = {name: {label: [getattr(one, field) for one in line] for label, line in found.items()}
             for name, field in (("relative error", "relative"), ("absolute error", "absolute"))}  # fmt: skip
    for name, lines in drawn.items():
        for at, place in enumerate(places):
            beside.add(f"{figure}, {place}, {name}", "chart", lines["as published"][at], lines["ours"][at])
            for rival in systems.keys() - FORMS.keys():
                beside.add(f"{figure}, {place}, {name}, {rival}", "chart", lines[rival][at])
    draw_lines(asked.out, f"dpcopula_{figure.replace(' ', '')}", drawn, "", "", places)


def main() -> None:
    """Print and draw the four figures."""
    asked, beside = paper_arguments(__doc__), Beside()
    for figure in (figure_5, figure_6, figure_8, figure_10):
        figure(asked, beside)
    beside.show()
    for name in ("k", "mle", "size", "dimension"):
        print(f"paper, {PAPER[name]}")
    print("Why they differ: the paper's charts have no numbers; dependence is drawn anew; ours has one release of all")
    print("taus and other margins. P-HP counts every cell, so that it is for two columns, as in the paper.")


if __name__ == "__main__":
    main()
