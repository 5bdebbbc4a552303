"""One small fit of every method with scripted noise and a fixed seed: the numbers behind the golden files."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import sklar
from benchmarks.data.panel import panel_schema, panel_table
from sklar.pipeline.fit import FitRequest, open_fit

ROWS = 4_000
FEW = 300


def table(rows: int = ROWS, seed: int = 20) -> dict[str, Any]:
    """Mixed columns with nulls, heaps, a skewed tail and dependence of more than one kind."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rows, 3))
    age = np.clip(45 + 15 * z[:, 0], 18, 95).astype(int)
    income = np.round(np.exp(9.5 + 0.6 * z[:, 0] + 0.7 * z[:, 1]), 2)
    visits = rng.poisson(np.exp(0.4 * np.abs(z[:, 2])))
    region = np.array(["north", "south", "east", "west"])[np.digitize(z[:, 1] + 0.5 * z[:, 2], [-1, 0, 1])]
    return {
        "age": np.where(rng.random(rows) < 0.05, np.nan, age),
        "income": income,
        "visits": visits,
        "region": region.tolist(),
        "smoker": rng.random(rows) < 1 / (1 + np.exp(-z[:, 0])),
        "since": np.datetime64("2010-01-01") + rng.integers(0, 3000, rows).astype("timedelta64[D]"),
    }


def schema() -> sklar.Schema:
    """Its public facts."""
    return sklar.Schema(
        {
            "age": sklar.Integer(18, 95, nullable=True),
            "income": sklar.Real(0, 200_000, bins=64),
            "visits": sklar.Integer(0, 30),
            "region": sklar.Category(["north", "south", "east", "west"]),
            "smoker": sklar.Boolean(),
            "since": sklar.Datetime("2010-01-01", "2018-12-31", bins=32),
        }
    )


PRIVATE: Mapping[str, dict[str, Any]] = {
    "vine": {"method": "vine", "epsilon": 12.0},
    "vine-planned": {"method": "vine", "epsilon": 60.0, "workload": ["smoker * *"]},
    "vine-target": {"method": "vine", "epsilon": 2.0, "target": "smoker"},
    "vine-few-rows": {"method": "vine", "epsilon": 1.0, "rows": FEW},
    "vine-few-rows-target": {"method": "vine", "epsilon": 1.0, "rows": FEW, "target": "smoker"},
    "vine-prior": {"method": "vine", "epsilon": 2.0, "prior": 21},
    "vine-few-rows-prior": {"method": "vine", "epsilon": 1.0, "rows": FEW, "target": "smoker", "prior": 22},
    "vine-linked": {"method": "vine", "epsilon": 8.0, "persons": 200},
    "independent": {"method": "independent", "epsilon": 1.0},
    "dpcopula-kendall": {"method": "dpcopula-kendall", "epsilon": 2.0},
    "dpcopula-kendall-random": {"method": "dpcopula-kendall", "epsilon": 2.0, "order": "random", "margins": "efpa"},
    "dpcopula-mle": {"method": "dpcopula-mle", "epsilon": 9.0, "k": 0.5},
    "dpcopula-hybrid": {"method": "dpcopula-hybrid", "epsilon": 4.0, "unlisted": "always"},
    "dpc-gauss": {"method": "dpc-gauss", "epsilon": 2.0},
    "dpc-laplace": {"method": "dpc-laplace", "epsilon": 2.0},
}
PLAIN = ("plain-gaussian", "plain-vine", "cop-id", "cop-1")
OURS: Mapping[str, Any] = {"families": "parametric", "margins": "smoothed"}
OPTIONS: Mapping[str, dict[str, Any]] = {
    "cop": {"rounds": 3, "projection": "weighted"},
    "shirley": {"families": "all", "match_ranks": True, "ties": "edge"},
    "rvine": {**OURS},
    "tvine": {"target": "smoker", "sensitive": ["income"], "conditional_root": None, **OURS},
    "tvine-one-vine": {"method": "tvine", "target": "income", "sensitive": ["age"], **OURS},
    "tvine-split": {
        "method": "tvine",
        "target": "smoker",
        "sensitive": ["income"],
        "conditional_root": True,
        "rows": 1_500,
        **OURS,
    },
    "rvine-star1": {"target": "smoker", **OURS},
}
BASELINES: Mapping[str, dict[str, Any]] = {
    name: {"method": name, "no_guarantee": True, "seed": 3, "rows": FEW, **OPTIONS.get(name, {})}
    for name in (*PLAIN, *OPTIONS)
}
CASES = {**PRIVATE, **BASELINES}


class ScriptedNoise:
    """Noise from a seeded generator, for tests alone."""

    def __init__(self) -> None:
        self._script = np.random.default_rng(7)

    def add(self, exact_tables: Any, noises: Any, cells: Any = None) -> list[np.ndarray]:
        return [self._drawn(np.asarray(table), noise) for table, noise in zip(exact_tables, noises, strict=True)]

    def pick(self, exact_scores: np.ndarray, sensitivity: float, epsilon: float, picks: int) -> tuple[int, ...]:
        noisy = exact_scores + self._script.gumbel(scale=2 * sensitivity / epsilon, size=exact_scores.shape)
        return tuple(int(i) for i in np.argsort(-noisy, kind="stable")[:picks])

    def _drawn(self, exact_values: np.ndarray, noise: Any) -> np.ndarray:
        spread = noise.scale if noise.kind == "gaussian" else noise.scale * np.sqrt(2)
        return exact_values + np.rint(self._script.normal(scale=spread, size=exact_values.shape)).astype(np.int64)


def fitted(name: str, patch: pytest.MonkeyPatch) -> sklar.Model:
    """The model of a case; its noise and the seed of its post-processing come from a script."""
    case = dict(CASES[name])
    if "persons" in case:
        return scripted_fit(panel_table(case.pop("persons")), panel_schema(), case, patch)
    if "prior" in case:
        case["prior"] = table(seed=case["prior"])
    return scripted_fit(table(case.pop("rows", ROWS)), schema(), case, patch)


def scripted_fit(data: Any, facts: sklar.Schema, case: Mapping[str, Any], patch: pytest.MonkeyPatch) -> sklar.Model:
    """A fit with scripted noise; what is no part of a request is an option of the method."""
    known = {field.name for field in fields(FitRequest)}
    asked = {key: value for key, value in case.items() if key in known}
    options = {key: value for key, value in case.items() if key not in known}
    patch.setattr(secrets, "randbits", lambda bits: 12345)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        request = FitRequest(data=data, schema=facts, **asked, options=options)
        with open_fit(request, ScriptedNoise()) as model:
            return model
