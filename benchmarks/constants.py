"""How sensitive the DP vine is to its constants: `python -m benchmarks.constants --tables OFP,HI --seeds 0,1`.

Halves and doubles one constant at a time, on the same scripted noise, and prints by how many percent the error of pairs
(tvd2) changes on average, with its standard error. Rows that change nothing either way name constants that could be
derived or deleted. Limits of computing (particles, rounds, tolerances) are left out.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pandas as pd

import benchmarks.elsewhere  # noqa: F401  # adds its tables
from benchmarks.metrics import fidelity
from benchmarks.tables import load
from benchmarks.yardstick import scripted_fit

PACKAGES = ("sklar.methods.vine", "sklar.model.pairs", "sklar.model.vine", "sklar.model.margins")
OTHER_USES = ("prior", "intervals", "classwise", "halves")
"""Modules that a fit without a prior and without a target does not use."""
METRICS = ("tvd1", "tvd2", "tvd3", "mean_err", "sd_err")
LIMITS = """
    BLOCK_ENTRIES BLOCK_PARTICLES BUDGET_STEPS EARLY_SWEEPS EMPTY EMPTY_CELL_LOG_WEIGHT FIT_ROUNDS GRID_SWEEPS
    GRID_TOLERANCE LARGE_SAMPLE MARGIN_SWEEPS MARGIN_TOLERANCE MASS_TOLERANCE MAX_CALIBRATION_STRENGTH MAX_CANDIDATES
    MAX_MARGIN_CELLS MAX_STRENGTH MAX_TABLE_CELLS MAX_TRIPLES MEAN_ABSOLUTE MIN_BLOCK_ROWS MIN_CELL_WEIGHT MIN_MASS
    MOST_CELL_NUMBERS NO_GROUP_LIMIT OUTLINE_TABLES PARTICLES PARTS_PER_CELL POLISHING_SWEEPS ROWS_AT_A_TIME
    STUDENT_DF TOLERANCE TRIAL_PARTICLES TRIAL_SWEEPS UNCONSTRAINED_NOISE UNIFORM_MARGIN
"""
"""Names of constants that limit computing, or stand for nothing and everything."""


def list_constants() -> Iterator[tuple[ModuleType, str, float]]:
    """Yield module, name and value of each numeric constant behind a fit of the vine."""
    for package in PACKAGES:
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not set(OTHER_USES) & set(found.name.split(".")):
                module = importlib.import_module(found.name)
                for name, value in vars(module).items():
                    number = name.isupper() and type(value) in (int, float)
                    if (
                        number
                        and name.lstrip("_") not in LIMITS.split()
                        and re.search(rf"^{name}\b.* = ", _source(module), re.M)
                    ):
                        yield module, name, value


def score_fit(table: str, seed: int) -> dict[str, float]:
    """Return the errors of one fit."""
    split = load(table, seed=seed)
    model = scripted_fit(seed, split.frame, split.schema, None, method="vine", epsilon=1.0, delta=1e-9)
    made = model.sample(seed=seed).to_pandas()
    return {metric: fidelity(split.frame, made, split.schema, seed)[metric] for metric in METRICS}


def score_with(module: ModuleType, name: str, value: Any, table: str, seed: int) -> dict[str, float]:
    """Return the errors of one fit with a constant replaced, also where other modules imported it."""
    imported = f"from {module.__name__} import"
    with ExitStack() as stack:
        for key, owner in list(sys.modules.items()):
            if key.startswith("sklar.") and name in vars(owner) and (owner is module or imported in _source(owner)):
                stack.enter_context(patch.object(owner, name, value))
        return score_fit(table, seed)


def _source(module: ModuleType) -> str:
    path = getattr(module, "__file__", None)
    return Path(path).read_text() if path else ""


def main() -> None:
    """Print one line for each constant: the change of tvd2 in percent, halved and doubled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="OFP,Chile,HI,Benefits,Snmesp")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--only", help="names of constants, separated by commas")
    parser.add_argument("--save", type=Path, help="append one line of JSON for each constant to this file")
    given = parser.parse_args()
    runs = [(table, int(seed)) for table in given.tables.split(",") for seed in given.seeds.split(",")]
    whole = pd.DataFrame([score_fit(*run) for run in runs])
    for module, name, value in list_constants():
        if given.only and name not in given.only.split(","):
            continue
        line: dict[str, Any] = {"module": module.__name__, "name": name, "value": value}
        for word, factor in (("halved", 0.5), ("doubled", 2.0)):
            try:
                other = pd.DataFrame([score_with(module, name, type(value)(value * factor), *run) for run in runs])
            except Exception as problem:  # some values cannot be: the line says which
                line[word] = f"{type(problem).__name__}: {problem}"
                continue
            change = 100 * (other / whole - 1)
            line[word] = {
                metric: [round(float(x), 2) for x in (change[metric].mean(), change[metric].sem())]
                for metric in METRICS
            }
        said = [line[word] if isinstance(line[word], str) else line[word]["tvd2"] for word in ("halved", "doubled")]
        print(f"{module.__name__[6:]:32s} {name:24s} {value:<10g} {said[0]!s:20s} {said[1]!s}", flush=True)
        if given.save:
            with given.save.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
