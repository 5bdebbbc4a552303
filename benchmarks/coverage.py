"""How often intervals of `model.estimate` hold the truth, over tables drawn from known laws.

    python -m benchmarks.coverage --rows 1000 5000 --epsilon 1 --tables 200

Each table has a Gaussian, a skewed, a discrete and zero-inflated, and a two-valued column. x and y depend on each
other, x and g a little, z on nothing. The reference for widths is the shortest interval around the same estimate of
somebody who knows the law of its error: 1.96 times its root mean square over the tables, either side.

At 25,000 rows the chance of the rows is most of the error, and 200 tables may be unlucky all together: without any
noise, intervals from the rows would be off as often. So a second number has the luck of the draw averaged out: how
often the interval would hold had the rows strayed from the law by any other draw of their known error, the noise being
as it was.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, pdtr
from scipy.stats import qmc

import sklar
from benchmarks.coverage_persons import run_persons
from benchmarks.coverage_spikes import run_spikes
from sklar.inference.answers.influence import compute_influences
from sklar.inference.answers.questions import parse_question
from sklar.inference.answers.statistics import describe_numbers
from sklar.sample.decode import Values

SCHEMA = sklar.Schema(
    {
        "x": sklar.Real(0, 100, decimals=2),
        "y": sklar.Real(0, 30, decimals=3),
        "z": sklar.Integer(0, 40),
        "g": sklar.Category(["F", "M"]),
    }
)
QUESTIONS = (
    "share(g=F)", "share(z=0)", "share(x=40..60)", "mean(x)", "mean(y)", "mean(z)", "median(y)", "mean(x) by g",
    "difference(x) by g", "difference(z) by g", "correlation(x, y)", "correlation(x, z)", "linear(y ~ x + z + g)",
    "logistic(g ~ x + y)",
)  # fmt: skip
INDEPENDENT = ("correlation(x, z)", "difference(z) [F - M]")
"""Between columns that have nothing to do with each other: how often 0 is outside is how often a test rejects."""
UNIFORMS = 5
TRUTH_ROWS = 2**21


def law(u: np.ndarray) -> pd.DataFrame:
    """Rows of the law, each from a line of uniform numbers."""
    first, second = ndtri(u[:, 0]), ndtri(u[:, 1])
    g, z = u[:, 2] < 0.3, np.minimum(1 + np.searchsorted(pdtr(np.arange(40), 4), u[:, 3]), 40)
    return pd.DataFrame(
        {
            "x": np.clip(50 + 10 * first + 3 * g, 0, 100),
            "y": np.exp(0.5 * first + math.sqrt(0.75) * second).clip(0, 30),
            "z": np.where(u[:, 4] < 0.6, 0, z),
            "g": np.where(g, "F", "M"),
        }
    )


def answered(frame: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """What rows answer, and the standard deviation of that times the root of their number; see `compute_influences`."""
    null = np.zeros(len(frame), bool)
    table = {name: Values(data=frame[name].to_numpy(), null=null) for name in "xyz"}
    table["g"] = Values(data=(frame["g"] == "M").to_numpy().astype(np.int32), null=null, labels=("F", "M", "other"))
    found: dict[str, tuple[float, float]] = {}
    for text in QUESTIONS:
        question = parse_question(text, SCHEMA)
        values, psi = compute_influences(question, SCHEMA, table, 1.0)
        numbers = zip(describe_numbers(question, SCHEMA), values, psi.std(axis=1), strict=True)
        found |= {_name(question.name, asked.group, asked.term): (float(v), float(sd)) for asked, v, sd in numbers}
    return found


@lru_cache
def truths() -> dict[str, tuple[float, float]]:
    """What the questions are answered by the law: by points that fill the cube of uniforms evenly (Sobol 1967)."""
    points = qmc.Sobol(UNIFORMS, rng=0).random(TRUTH_ROWS)
    return answered(law(np.clip(points, 1e-12, 1 - 1e-12)))


def _name(name: str, group: Any, term: str | None) -> str:
    return name + "".join(f" [{word}]" for word in (group, term) if word is not None)


@dataclass(slots=True)
class Tally:
    """What was found for one number: errors of estimates, half widths, and whether intervals held."""

    errors: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    rejected: list[bool] = field(default_factory=list)
    any_draw: list[float] = field(default_factory=list)

    def add(self, found: sklar.results.Estimated, truth: float, real: float, spread: float) -> None:
        """Truth and real rows on Fisher's scale for correlations."""
        if found.value is None or found.low is None or found.high is None:
            self.held.append(False)
            self.any_draw.append(0.0)
            return
        turned = math.atanh if "correlation" in found.name else float
        low, high = ((real - turned(end)) / spread for end in (found.low, found.high))
        self.any_draw.append(float(ndtr(low) - ndtr(high)))
        truth = math.tanh(truth) if "correlation" in found.name else truth
        self.errors.append(found.value - truth)
        self.widths.append((found.high - found.low) / 2)
        self.held.append(found.low <= truth <= found.high)
        self.rejected.append(not found.low <= 0 <= found.high)

    def line(self, name: str) -> dict[str, Any]:
        root = math.sqrt(float(np.mean(np.square(self.errors))))
        told = {
            "coverage": float(np.mean(self.held)),
            "any_draw": float(np.mean(self.any_draw)),
            "width": float(np.mean(self.widths)) / (1.96 * root),
        }
        bias = {"bias": float(np.mean(self.errors)), "rmse": root}
        more = {"rejects": float(np.mean(self.rejected))} if name in INDEPENDENT else {}
        return {"question": name, **told, **bias, **more}


def run(rows: int, epsilon: float, tables: int, replicas: int, seed: int) -> list[dict[str, Any]]:
    """One cell of the grid."""
    known, tallies = truths(), defaultdict[str, Tally](Tally)
    for number in range(tables):
        frame = law(np.random.default_rng([seed, rows, round(1000 * epsilon), number]).random((rows, UNIFORMS)))
        real = answered(frame)
        model = sklar.fit(frame, SCHEMA, epsilon=epsilon, delta=1e-6)
        for text in QUESTIONS:
            found = model.estimate(text, replicas=replicas)
            for one in found if isinstance(found, tuple) else (found,):
                name = _name(one.name, one.group, one.term)
                truth, spread = known[name]
                tallies[name].add(one, truth, real[name][0], spread / math.sqrt(rows))
        print(f"\r{number + 1} of {tables}", end="", file=sys.stderr, flush=True)
        if (number + 1) % 10 == 0 or number + 1 == tables:
            lines = [tally.line(name) for name, tally in tallies.items()]
            _show(rows, epsilon, number + 1, lines)
    return lines


def _show(rows: int, epsilon: float, tables: int, lines: list[dict[str, Any]]) -> None:
    print(f"\n{rows:,} rows, epsilon {epsilon:g}, {tables} tables")
    for line in lines:
        rejects = f"  rejects {line['rejects']:.3f}" if "rejects" in line else ""
        told = f"covers {line['coverage']:.3f}  (any draw {line['any_draw']:.3f})  width {line['width']:.2f}"
        print(
            f"  {line['question']:36s} {told}  bias {line['bias']:+.4f}  rmse {line['rmse']:.4f}{rejects}", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 5000, 25_000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1.0, 3.0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--replicas", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spikes", type=float, nargs="+", default=[], help="columns with so large parts at one value")
    parser.add_argument("--persons", type=int, nargs="+", default=[], help="panels of so many persons, by group")
    parser.add_argument("--json", metavar="FILE")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.persons:
        for persons, epsilon in product(given.persons, given.epsilon):
            run_persons(persons, epsilon, given.tables, given.seed)
        return
    if given.spikes:
        for rows, epsilon, share in product(given.rows, given.epsilon, given.spikes):
            run_spikes(rows, epsilon, share, given.tables, given.replicas, given.seed)
        return
    cells = [
        {"rows": rows, "epsilon": epsilon, "lines": run(rows, epsilon, given.tables, given.replicas, given.seed)}
        for rows, epsilon in product(given.rows, given.epsilon)
    ]
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump(cells, file, indent=2)


if __name__ == "__main__":
    main()
