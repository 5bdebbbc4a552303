"""Tables with next to nothing in them, and budgets that drown or bare everything: both methods come to sane rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sklar
from tests.hostile.checks import assert_sane
from tests.tiers import slow_unless

COLUMNS = {
    "number": sklar.Integer(0, 9),
    "copy": sklar.Integer(0, 9),
    "label": sklar.Category(["a", "b"]),
    "real": sklar.Real(0, 1, bins=16),
    "always": sklar.Category(["k"]),
    "zero": sklar.Real(0, 1, nullable=True),
    "null": sklar.Boolean(nullable=True),
    "unlisted": sklar.Category(["never"], nullable=True),
    "day": sklar.Datetime("2020-01-01", "2020-12-31"),
    "one": sklar.Integer(5, 5),
    "two": sklar.Integer(3, 3),
    "key": sklar.Id(),
}
CHOICES = {
    "everything": tuple(COLUMNS),
    "one number": ("number",),
    "one label": ("always",),
    "one point": ("one",),
    "a key and a number": ("key", "number"),
    "two": ("label", "real"),
    "two points": ("one", "two"),
    "a copy": ("number", "copy"),
    "constants": ("always", "zero", "null", "unlisted"),
    "points": ("one", "two", "always"),
}


def table(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(rows)
    number = rng.integers(0, 10, rows)
    return pd.DataFrame(
        {
            "number": number,
            "copy": number,
            "label": np.array(["a", "b"], object)[number % 2],
            "real": rng.random(rows),
            "always": ["k"] * rows,
            "zero": np.zeros(rows),
            "null": pd.array([None] * rows, dtype="boolean"),
            "unlisted": [f"person {i}" for i in range(rows)],
            "day": [pd.Timestamp("2020-05-05")] * rows,
            "one": [5] * rows,
            "two": [3] * rows,
            "key": [f"person {i}" for i in range(rows)],
        }
    )


def schema(choice: str) -> sklar.Schema:
    return sklar.Schema({name: COLUMNS[name] for name in CHOICES[choice]})


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("epsilon", slow_unless((1.0).__eq__, [1e-3, 1.0, 1000.0]))
def test_vine(choice: str, epsilon: float) -> None:
    for rows in (0, 1, 2, 50) if epsilon == 1.0 else (0, 50):
        assert_sane(sklar.fit(table(rows), schema(choice), method="vine", epsilon=epsilon))


@pytest.mark.parametrize("choice", slow_unless("points".__eq__, ["everything", "points", "one point"]))
@pytest.mark.parametrize("options", [
    {"neighbours": "replace"}, {"rows_per_person": 1000}, {"delta": 0.0}, {"calibration": False}, {"depth": 1},
    {"rho": 1e-9},
], ids=str)  # fmt: skip
def test_vine_under_odd_settings(choice: str, options: dict[str, object]) -> None:
    budget = {} if "rho" in options else {"epsilon": 0.01}
    for rows in (0, 3):
        assert_sane(sklar.fit(table(rows), schema(choice), method="vine", **budget, **options))


@pytest.mark.parametrize("repair", ["density", "simplex", "clip"])
@pytest.mark.parametrize("epsilon", slow_unless((1e-3).__eq__, [1e-3, 1000.0]))
def test_independent(repair: str, epsilon: float) -> None:
    for rows in (0, 1, 50):
        for delta in (0.0, 1e-9):
            settings = {"epsilon": epsilon, "delta": delta, "repair": repair}
            assert_sane(sklar.fit(table(rows), schema("everything"), method="independent", **settings))


@pytest.mark.parametrize("choice", ["points", "one label"])
def test_independent_without_information(choice: str) -> None:
    assert_sane(sklar.fit(table(2), schema(choice), method="independent", epsilon=1e-3))


def test_almost_no_noise_shows_what_is_there() -> None:
    """With a huge epsilon a constant stays constant and a copy a copy: the cases above are not sane by emptiness.

    Of a day its year, month and weekday are measured: here the Tuesdays of a May.
    """
    model = sklar.fit(table(2000), schema("everything"), method="vine", epsilon=10_000.0)
    drawn = model.sample(300, seed=1).to_pandas()
    assert (
        (drawn["always"] == "k").all()
        and drawn["null"].isna().all()
        and set(drawn["day"].astype(str)) == {f"2020-05-{day:02}" for day in (5, 12, 19, 26)}
    )
    assert (drawn["number"] == drawn["copy"]).mean() > 0.5
