"""Panels of a few hundred persons: values stay from row to row as often as in the real ones; reports say the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.methods.side_by_side import KEPT, kept_query
from sklar.model.kept import KeptModel
from sklar.model.linked import LinkedModel
from sklar.schema.coordinates import coordinates
from sklar.schema.persons.linked import NEXT

PERSONS, ROWS = 400, 6
JOBS = [f"job {k}" for k in range(12)]
COLUMNS = {
    "year": sklar.Integer(2000, 2005), "job": sklar.Category(JOBS), "home": sklar.Category(list("nesw")),
    "paid": sklar.Integer(0, 40), "height": sklar.Real(0, 3),
}  # fmt: skip
RISES = sklar.rules.AtMost(low="previous paid", high="paid", at_least=1, at_most=1)


def schema(*steps: Any) -> sklar.Schema:
    return sklar.Schema(COLUMNS, person=sklar.Person(key="id", rows=ROWS, order="year", steps=steps))


def panel() -> pd.DataFrame:
    """Homes are kept in 97% of steps, jobs in 70%, and what was paid rises by 1."""
    rng = np.random.default_rng(1)
    of, place = np.repeat(np.arange(PERSONS), ROWS), np.tile(np.arange(ROWS), PERSONS)

    def staying(labels: list[str], moves: float) -> np.ndarray:
        drawn, at = rng.integers(0, len(labels), len(of)), 0
        found = np.empty(len(of), dtype=int)
        for row in range(len(of)):
            at = row if place[row] == 0 or rng.random() < moves else at
            found[row] = drawn[at]
        return np.array(labels)[found]

    paid = rng.integers(0, 30, PERSONS)[of] + place
    columns = {"job": staying(JOBS, 0.32), "home": staying(list("nesw"), 0.04), "paid": paid, "height": 1.7}
    return pd.DataFrame({"id": of, "year": 2000 + place, **columns})


def kept(rows: pd.DataFrame, name: str) -> float:
    rows = rows.sort_values(["id", "year"], kind="stable")
    same = rows["id"].to_numpy()[1:] == rows["id"].to_numpy()[:-1]
    return float(np.mean((rows[name].to_numpy()[1:] == rows[name].to_numpy()[:-1])[same]))


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    return sklar.fit(panel(), schema(RISES), epsilon=2.0)


@pytest.mark.slow
def test_values_stay_as_often_as_in_the_real_rows(model: sklar.Model, tmp_path: Path) -> None:
    """The noise of a share is 0.05 at most: 0.2 is four standard deviations. Drawn at random, 8% and 25% would stay."""
    model.save(tmp_path / "m.sklar")
    loaded = sklar.load(tmp_path / "m.sklar")
    rows: pd.DataFrame = loaded.sample_persons(400, seed=3, to="pandas")
    for name in ("job", "home"):
        assert abs(kept(rows, name) - kept(panel(), name)) < 0.2, name
    rows = rows.sort_values(["id", "year"], kind="stable")
    assert (rows.groupby("id")["paid"].diff().dropna() == 1).all()
    part = loaded.table_model
    assert isinstance(part, LinkedModel) and isinstance(part.part(NEXT), KeptModel)


@pytest.mark.slow
def test_the_report_says_that_noise_hides_transitions(model: sklar.Model) -> None:
    found = model.report()
    assert not [one.columns for one in found.checked if one.residual.contradicts]
    (said,) = [line for line in found.doubt if "Changes from one row of a person to the next" in line]
    assert "job" in said and "home" in said and "as often as measured" in said and "paid" not in said


@pytest.mark.slow
def test_answers_about_steps_use_how_often_values_stay(model: sklar.Model) -> None:
    found = model.estimate("share(home=n) where previous home=n")
    assert found.low is not None and found.high is not None and found.high > 0.7


def test_columns_that_can_keep_a_value_are_counted_once_each() -> None:
    views = {view.name: view for view in coordinates(schema(RISES)).views}
    query = kept_query(views[NEXT])
    # Years and what was paid are measured as differences, and real numbers hardly ever stay the same.
    assert query is not None and query.second == ("job", "home") and query.first == ("previous job", "previous home")
    assert kept_query(next(iter(views.values()))) is None
    labels = {line.label for line in sklar.plan(schema(), epsilon=1).lines}
    assert f"{NEXT}: {KEPT}" in labels
