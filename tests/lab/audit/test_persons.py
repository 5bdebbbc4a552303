"""An audit with neighbours by a whole person: fits of either table are told apart no better than the claim says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.accounting.composition.gaussian import analytic_gaussian_sigma
from sklar.methods.dpc.fit import HISTOGRAMS
from sklar.pipeline.fit.request import FitRequest
from sklar.pipeline.fit.run import run_for_releases
from sklar.private.noise import SYSTEM
from sklar.rows.persons import rows as person_rows

RUNS = 30
"""Fits of either table: what they tell of the distance of the two laws is off by sqrt(2 / 30) = 0.26 of a deviation."""
MARGIN = 6 * math.sqrt(2 / RUNS)
"""A false alarm once in a billion audits."""
EPSILON, DELTA = 2.0, 1e-9
SCHEMA = sklar.Schema(
    {"age": sklar.Integer(0, 7), "kind": sklar.Category(["a", "b", "c"])},
    person=sklar.Person(key="id", rows=3),
)
PERSONS: dict[str, pd.DataFrame] = {
    "all rows in one cell": pd.DataFrame({"id": "x", "age": [7] * 3, "kind": ["c"] * 3}),
    "beyond the bound": pd.DataFrame({"id": "x", "age": [7] * 40, "kind": ["c"] * 40}),
}
NOBODY = pd.DataFrame({"id": None, "age": [7] * 20, "kind": ["c"] * 20})
"""Rows without a key."""


class NoNoise:
    """What would be released without noise: where two tables differ, and by how much."""

    def add(self, exact_tables: Any, noises: Any, cells: Any = None) -> Any:
        return [np.asarray(table) for table in exact_tables]

    pick = SYSTEM.pick


def crowd() -> pd.DataFrame:
    """Others have one row each, so that nothing but noise and the one person differs between fits."""
    rng = np.random.default_rng(3)
    values = {"age": rng.integers(0, 7, 60), "kind": rng.choice(["a", "b"], 60)}
    return pd.DataFrame({"id": [str(k) for k in range(60)], **values})


def released(data: pd.DataFrame, noise: Any = SYSTEM) -> tuple[np.ndarray, np.ndarray]:
    """All counts of one fit, and the spread of the noise on each; no model is made of them."""
    request = FitRequest(
        data=data, schema=SCHEMA, method="dpc-gauss", epsilon=EPSILON, delta=DELTA, neighbours="add-remove",
        options={"bins": 4, "rounds": 0},
    )  # fmt: skip
    steps = run_for_releases(request, last=HISTOGRAMS, noise=noise)
    tables: list[Any] = [table for step in steps for table in step.releases]
    counts = [np.asarray(table.values, dtype=float).ravel() for table in tables]
    spread = [np.full(len(x), table.noise.std) for x, table in zip(counts, tables, strict=True)]
    return np.concatenate(counts), np.concatenate(spread)


def found_mu(person: pd.DataFrame) -> float:
    """How many standard deviations the best statistic tells the two tables apart by."""
    base, other = crowd(), pd.concat([crowd(), person], ignore_index=True)
    (exact, spread), (moved, _) = released(base, NoNoise()), released(other, NoNoise())
    direction = (moved - exact) / spread**2
    told = [np.array([released(data)[0] @ direction for _ in range(RUNS)]) for data in (base, other)]
    pooled = math.sqrt((told[0].var(ddof=1) + told[1].var(ddof=1)) / 2)
    return float(told[1].mean() - told[0].mean()) / pooled


@pytest.mark.slow
@pytest.mark.parametrize("which", PERSONS)
def test_a_whole_person_is_no_clearer_than_the_claim(which: str) -> None:
    assert found_mu(PERSONS[which]) <= 1 / analytic_gaussian_sigma(EPSILON, DELTA) + MARGIN


def test_rows_without_a_key_move_nothing() -> None:
    tables = crowd(), pd.concat([crowd(), NOBODY], ignore_index=True)
    assert np.array_equal(*(released(data, NoNoise())[0] for data in tables))


@pytest.mark.slow
def test_a_person_with_more_votes_than_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of three rows a vote of ten."""
    monkeypatch.setattr(person_rows, "vote_weight", lambda rows: (10 if rows > 1 else 1) << 20)  # pyright: ignore[reportUnknownLambdaType]
    claimed = 1 / analytic_gaussian_sigma(EPSILON, DELTA)
    assert found_mu(PERSONS["beyond the bound"]) > claimed + MARGIN
