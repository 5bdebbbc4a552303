"""What the TVineSynth reproductions share: its two tables, and utility and attacks over truncation levels of a fit."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import sklar
from benchmarks.data import prepare
from benchmarks.data.simulated import parameters
from benchmarks.data.simulated import simulated as simulated_rows
from benchmarks.papers.competitors import Competitor
from benchmarks.papers.figures import add_picture_options
from benchmarks.tables import APPENDIX_N, WIDER

RESPONSE = "Y"
QUICK_SETS = 3
"""Synthetic tables of a quick run."""
QUICK_GAMES = {"iterations": 2, "shadows": 2, "test_tables": 10}
"""Shadow models of a quick run, about one target: enough to see that a script works, too few for a number to mean
anything, as the standard error beside it shows."""
QUICK_FITS = {"iterations": 3, "reference": 500, "size": 500, "tables": 20}
"""Attribute inference of a quick run: the paper's 500 rows, since with 250 the rise over levels is not seen; 3 games
of its 10, and 20 tables of its 50."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tables:
    """Training and test rows of one of the paper's tables.

    Attributes:
        train: Rows to learn from.
        test: Rows to test classifiers on.
        sensitive: Columns that the paper attacks.
        levels: Truncation levels to look at.
        order_for: Sensitive columns that the order of the C-vine protects.
        outlying: The paper's targets (its tables 2 and 4) by sensitive column: rows at the quantiles .01, .025, .975
            and .99, counted from 0.
        random: The paper's targets that were drawn at random.
        schema: Public ranges.
    """

    train: pd.DataFrame
    test: pd.DataFrame
    sensitive: tuple[str, ...]
    levels: tuple[int, ...]
    order_for: tuple[str, ...]
    schema: sklar.Schema
    outlying: Mapping[str, tuple[int, ...]]
    random: tuple[int, ...]

    def targets(self, column: str) -> list[int]:
        """The paper's targets for a sensitive column."""
        return [*self.outlying[column], *self.random]

    def settings(self, method: str = "tvine", **more: Any) -> dict[str, Any]:
        """Options of a method: tvine in the published form unless `more` says otherwise (one vine, the response at its
        root), R-vine star1 around the response, and the R-vine as it finds itself."""
        own: dict[str, dict[str, Any]] = {
            "tvine": {"target": RESPONSE, "sensitive": self.order_for},
            "rvine-star1": {"target": RESPONSE},
        }
        return {"threads": 1, **own.get(method, {}), **more}


def simulated() -> Tables:
    """The simulated table: 20 covariates in three blocks."""
    train, test = (simulated_rows(part) for part in ("train", "test"))
    levels = (1, 2, 5, 10, 11, 12, 13, 15, 16, 17, 18, 19, 20)
    return Tables(
        train=train, test=test, sensitive=("X1", "X6", "X11"), levels=levels, order_for=("X1",),
        schema=_schema({f"X{i + 1}": (float(low), float(high)) for i, (low, high) in enumerate(_simulated_ends())}),
        outlying={"X1": (202, 164, 179, 843), "X6": (127, 4, 353, 326), "X11": (970, 949, 392, 862)},
        random=(123, 507, 589, 740, 922),
    )  # fmt: skip


def support2() -> Tables:
    """SUPPORT2: 26 covariates."""
    train, test = prepare.support2()
    levels = (1, 5, 10, 15, 20, 25)
    return Tables(
        train=train, test=test, sensitive=("totcst", "crea"), levels=levels, order_for=("totcst", "crea"),
        schema=_schema({**APPENDIX_N, **WIDER}),
        outlying={"totcst": (806, 823, 31, 41), "crea": (820, 45, 403, 447)}, random=(123, 507, 589, 740),
    )  # fmt: skip


def _schema(ends: Mapping[str, tuple[float, float]]) -> sklar.Schema:
    """Numbers with public ends, and the response."""
    return sklar.Schema({**{name: sklar.Real(*pair) for name, pair in ends.items()}, RESPONSE: sklar.Integer(0, 1)})


def _simulated_ends() -> np.ndarray:
    """Six standard deviations to both sides of both means: the definition of the table is public."""
    moments = [(mean, np.sqrt(cov.diagonal())) for mean, cov in map(parameters, (0, 1))]
    low = np.min([mean - 6 * spread for mean, spread in moments], axis=0)
    return np.column_stack([low, np.max([mean + 6 * spread for mean, spread in moments], axis=0)])


TABLES = {"simulated": simulated, "support2": support2}


def arguments(description: str | None, levels: Sequence[int]) -> argparse.Namespace:
    """The options that all these scripts have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--levels", default=",".join(map(str, levels)))
    parser.add_argument("--profile", default="paper", choices=["paper", "quick"], help="parameters of the attacks")
    parser.add_argument("--sets", type=int, default=50, help="synthetic tables for each utility")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--table", default="simulated", choices=list(TABLES), help="where a script has both")
    parser.add_argument("--attack", default="attribute", choices=["attribute", "shadow"], help="likewise")
    add_picture_options(parser)
    found = parser.parse_args()
    found.levels = [int(level) for level in found.levels.split(",")]
    if found.quick:
        found.profile, found.sets = "quick", min(found.sets, QUICK_SETS)
    return found


def utility(tables: Tables, levels: Sequence[int], sets: int, method: str = "tvine", **more: Any) -> dict[int, Any]:
    """(AUC of 0/1 predictions, AUC of probabilities) of a random forest, medians over synthetic tables, by level."""
    settings = tables.settings(method, **more)
    model = sklar.fit(tables.train, tables.schema, method=method, no_guarantee=True, **settings)
    out: dict[int, Any] = {}
    for level in levels:
        cut = sklar.lab.at_level(model, level)
        drawn = (cut.sample(len(tables.train), seed=seed, iid=True).to_pandas() for seed in range(sets))
        out[level] = np.median([forest_auc(table, tables.test, seed) for seed, table in enumerate(drawn)], axis=0)
    return out


def forest_auc(train: pd.DataFrame, test: pd.DataFrame, seed: int = 0) -> tuple[float, float]:
    """AUC of a random forest on the test rows: from 0/1 predictions, as in the paper, and from probabilities."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score

    names = [name for name in test if name != RESPONSE]
    forest = RandomForestClassifier(300, n_jobs=2, random_state=seed)
    forest.fit(train[names], train[RESPONSE].astype(int))
    truth, shares = test[RESPONSE].astype(int), forest.predict_proba(test[names])[:, 1]
    return float(roc_auc_score(truth, shares > 0.5)), float(roc_auc_score(truth, shares))


def competing_auc(tables: Tables, asked: argparse.Namespace, competitor: Competitor) -> Any:
    """The same of a competitor, which has no levels: it is fitted again for each table."""
    sets = 1 if asked.quick else asked.sets
    drawn = (competitor.made(tables.train, tables.schema, len(tables.train)) for _ in range(sets))
    return np.median([forest_auc(table, tables.test, seed) for seed, table in enumerate(drawn)], axis=0)


def competing_attributes(tables: Tables, asked: argparse.Namespace, competitor: Competitor) -> Mapping[str, float]:
    """MAB and WCAB of every sensitive column, of a competitor."""
    found = sklar.lab.attack_method(
        "attribute", competitor.name, tables.train, tables.schema, profile=asked.profile,
        sensitive=list(tables.sensitive), workers=asked.workers, changes=fewer_fits(asked), **competitor.told,
    )  # fmt: skip
    keys = [f"{name}.{measure}" for measure in ("mab", "wcab") for name in tables.sensitive]
    return {key: found[key].attack.value for key in keys}


def competing_gains(tables: Tables, asked: argparse.Namespace, column: str, competitor: Competitor) -> list[float]:
    """Privacy gains of a competitor; a quick run is without CTGAN, whose fits take longest."""
    if asked.quick and competitor.name == "ctgan":
        return [float("nan")]
    fewer = games_about(tables, column, asked.quick)
    found = sklar.lab.attack_method(
        "shadow", competitor.name, tables.train, tables.schema, profile=asked.profile, sensitive=[column],
        workers=asked.workers, **competitor.told, **fewer,
    )  # fmt: skip
    return _gains(found.details["levels"]["only"])


def games_about(tables: Tables, column: str, quick: bool) -> dict[str, Any]:
    """The paper's targets; in a quick run the one at the quantile .99, in fewer games."""
    if not quick:
        return {"targets": tables.targets(column)}
    return {"changes": QUICK_GAMES, "targets": [tables.outlying[column][-1]]}


def fewer_fits(asked: argparse.Namespace) -> dict[str, int] | None:
    """Changes of the profile of attribute inference in a quick run."""
    return QUICK_FITS if asked.quick else None


def attributes(
    tables: Tables, levels: Sequence[int], asked: argparse.Namespace, method: str = "tvine", **more: Any
) -> Mapping[str, list[float]]:
    """MAB and WCAB of every sensitive column over the levels, as {"X1.mab": [...]}."""
    settings = tables.settings(method, **more)
    found = sklar.lab.attack_method(
        "attribute", method, tables.train, tables.schema, profile=asked.profile, levels=list(levels),
        sensitive=list(tables.sensitive), settings=settings, workers=asked.workers, changes=fewer_fits(asked),
    )  # fmt: skip
    keys = [f"{name}.{measure}" for measure in ("mab", "wcab") for name in tables.sensitive]
    return {key: [found[f"{key}[{level}]"].attack.value for level in levels] for key in keys}


def privacy_gains(
    tables: Tables, levels: Sequence[int], asked: argparse.Namespace, column: str, method: str = "tvine"
) -> dict[int, list[float]]:
    """Privacy gain by level: of every game with targets that lie far out in the column, and with random ones."""
    fewer = games_about(tables, column, asked.quick)
    found = sklar.lab.attack_method(
        "shadow", method, tables.train, tables.schema, profile=asked.profile, levels=list(levels), sensitive=[column],
        settings=tables.settings(method), workers=asked.workers, **fewer,
    )  # fmt: skip
    return {level: _gains(found.details["levels"][str(level)]) for level in levels}


def _gains(by_features: Mapping[str, Any]) -> list[float]:
    """Of the best feature set."""
    return [gain for target in by_features["best"] for gain in target["gains"]]


def line(label: str, values: Sequence[float]) -> str:
    """One line of a table."""
    return f"{label:14s} " + " ".join(f"{value:6.3f}" for value in values)


def heading(levels: Sequence[int]) -> str:
    """The levels above a table."""
    return f"{'level':14s} " + " ".join(f"{level:6d}" for level in levels)
