"""Small models of every kind, fitted with scripted noise, for tests of conditional samples; how laws are compared."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import sklar
from sklar.model.protocol import TableModel
from tests.golden.cases import scripted_fit

ROWS, FEW, REFERENCE = 3_000, 250, 100_000
LEAST_EXPECTED = 15.0
"""Rows that a cell needs in both samples together; rarer ones are put together."""


def people(rows: int) -> dict[str, Any]:
    """Columns that depend strongly on each other, with nulls that are no accident and a sign that changes."""
    rng = np.random.default_rng(20)
    smoker = rng.random(rows) < 0.4
    z = rng.normal(size=(rows, 3))
    age = np.clip(10 + 4 * z[:, 0] - 2 * smoker, 0, 19).astype(int)
    income = np.clip(50 + 18 * (np.where(smoker, -0.9, 0.9) * z[:, 0] + 0.4 * z[:, 1]), 0, 100)
    return {
        "age": np.where(rng.random(rows) < 0.05 + 0.15 * smoker, np.nan, age),
        "income": income,
        "visits": np.clip(np.rint(3 + 2 * (0.8 * z[:, 0] + 0.6 * z[:, 2])), 0, 9).astype(int),
        "region": np.array(["n", "s", "e", "w"])[np.digitize(z[:, 2] + z[:, 1], [-1.2, 0, 1.2])].tolist(),
        "smoker": smoker,
    }


SCHEMA = sklar.Schema(
    {
        "age": sklar.Integer(0, 19, nullable=True),
        "income": sklar.Real(0, 100, bins=24),
        "visits": sklar.Integer(0, 9),
        "region": sklar.Category(["n", "s", "e", "w"]),
        "smoker": sklar.Boolean(),
    }
)
AGE, INCOME, VISITS, REGION, SMOKER = range(5)

PRIVATE: Mapping[str, dict[str, Any]] = {
    "vine": {"epsilon": 5.0},
    "vine-target": {"method": "vine", "epsilon": 5.0, "target": "smoker"},
    "vine-few-rows": {"method": "vine", "epsilon": 2.0, "rows": FEW},
    "vine-few-rows-target": {"method": "vine", "epsilon": 2.0, "rows": FEW, "target": "smoker"},
    "independent": {"epsilon": 2.0},
    "dpcopula-kendall": {"epsilon": 9.0},
    "dpcopula-kendall-random": {"method": "dpcopula-kendall", "epsilon": 9.0, "order": "random"},
    "dpcopula-mle": {"epsilon": 19.0, "k": 0.5},
    "dpcopula-hybrid": {"epsilon": 9.0, "small": 6},
    "dpc-gauss": {"epsilon": 9.0},
    "dpc-laplace": {"epsilon": 9.0},
}
PLAIN = ("plain-gaussian", "plain-vine", "cop", "cop-id", "cop-1", "shirley")
RESPONSE: Mapping[str, dict[str, Any]] = {
    "rvine": {"families": "gaussian"},
    "tvine": {"target": "income", "sensitive": ["age"], "families": "gaussian"},
    "tvine-split": {
        "method": "tvine",
        "target": "smoker",
        "sensitive": ["income"],
        "conditional_root": True,
        "families": "gaussian",
    },
    "rvine-star1": {"target": "smoker", "families": "gaussian"},
}
BASELINES = {
    name: {"no_guarantee": True, "seed": 3, "rows": 800, **RESPONSE.get(name, {})} for name in (*PLAIN, *RESPONSE)
}
CASES: Mapping[str, dict[str, Any]] = {
    name: {"method": name, **case} for name, case in {**PRIVATE, **BASELINES}.items()
}


QUICK_TO_FIT = [name for name in CASES if name not in ("plain-vine", "dpc-gauss", "dpc-laplace")]
"""Cases whose fits take less than a second."""


@cache
def fitted(name: str) -> sklar.Model:
    """The model of a case; its noise and its seeds come from a script."""
    case = dict(CASES[name])
    data = people(case.pop("rows", ROWS))
    with pytest.MonkeyPatch.context() as patch:
        return scripted_fit(data, SCHEMA, case, patch)


@cache
def reference(name: str) -> np.ndarray:
    """Many independent rows."""
    return fitted(name).table_model.simulate(REFERENCE, np.random.default_rng(1))


def conditions(rows: np.ndarray) -> dict[str, dict[int, np.ndarray]]:
    """Sets of base codes: of one column, of two, with nulls, and rare ones (of probability about 1%)."""
    sizes = [SCHEMA.size(name) for name in SCHEMA.modelled]
    null = sizes[AGE] - 1
    high = np.arange(sizes[INCOME]) >= np.quantile(rows[:, INCOME], 0.7)
    low = np.arange(sizes[AGE]) <= np.quantile(rows[:, AGE], 0.3)
    rare = np.arange(sizes[INCOME]) >= np.quantile(rows[:, INCOME], 0.99)
    scattered = np.arange(sizes[VISITS]) % 3 == 1
    return {
        "a label": {REGION: np.arange(sizes[REGION]) == 1},
        "a range": {INCOME: high},
        "two columns": {AGE: low, INCOME: high},
        "null": {AGE: np.arange(sizes[AGE]) == null},
        "null or low, and a class": {AGE: low | (np.arange(sizes[AGE]) == null), SMOKER: np.array([False, True])},
        "not null, scattered": {AGE: np.arange(sizes[AGE]) != null, VISITS: scattered},
        "rare": {INCOME: rare},
        "three columns": {VISITS: scattered, AGE: low, INCOME: high},
    }


def inside(rows: np.ndarray, allowed: Mapping[int, np.ndarray]) -> np.ndarray:
    """The rows whose codes are allowed."""
    return rows[np.all([mask[rows[:, column]] for column, mask in allowed.items()], axis=0)]


def surprise(one: np.ndarray, worth: float, other: np.ndarray) -> float:
    """The largest chi-square of all one- and two-way tables, as a multiple of its quantile at 1e-9.

    Args:
        one: Rows.
        worth: How many independent rows they are worth.
        other: Independent rows.
    """
    columns = range(one.shape[1])
    return max(_ratio(one, worth, other, table) for size in (1, 2) for table in combinations(columns, size))


def _ratio(one: np.ndarray, worth: float, other: np.ndarray, table: tuple[int, ...]) -> float:
    sizes = [int(max(one[:, j].max(), other[:, j].max())) + 1 for j in table]
    p, q = (np.bincount(_cells(rows, table, sizes), minlength=int(np.prod(sizes))) / len(rows) for rows in (one, other))
    pooled = (worth * p + len(other) * q) / (worth + len(other))
    common = pooled * min(worth, len(other)) >= LEAST_EXPECTED
    p, q, pooled = (np.append(x[common], x[~common].sum()) for x in (p, q, pooled))
    seen = pooled > 0
    statistic = float(((p - q)[seen] ** 2 / pooled[seen]).sum()) / (1 / worth + 1 / len(other))
    return statistic / float(chi2.isf(1e-9, max(int(seen.sum()) - 1, 1)))


def _cells(rows: np.ndarray, table: tuple[int, ...], sizes: list[int]) -> np.ndarray:
    return np.ravel_multi_index(tuple(rows[:, j] for j in table), tuple(sizes))


class Unweighted:
    """A broken model: its proposals all weigh the same."""

    def __init__(self, model: TableModel):
        self.margins, self.simulate, self._proposals = model.margins, model.simulate, model.proposals

    def proposals(self, allowed: Mapping[int, np.ndarray]) -> Any:
        propose = self._proposals(allowed)
        return lambda rows, rng: (propose(rows, rng)[0], np.zeros(rows))
