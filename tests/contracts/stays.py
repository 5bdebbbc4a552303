"""Stays in a hospital: a made table with every rule that shapes a fit, and rows that break each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import sklar
from sklar import rules

FIRST, LAST = "2015-01-01", "2019-12-31"
REGIONS = {"a": "N", "b": "N", "c": "S", "d": "S", "e": "W", "f": "W"}
COLUMNS: dict[str, Any] = {
    "admitted": sklar.Datetime(FIRST, LAST),
    "left": sklar.Datetime(FIRST, LAST, nullable=True),
    "town": sklar.Category(list(REGIONS)),
    "region": sklar.Category(["N", "S", "W"]),
    "age": sklar.Integer(0, 110),
    "walks": sklar.Boolean(),
    "rides": sklar.Integer(0, 1),
    "carried": sklar.Category([0, 1]),
    "room": sklar.Real(0, 900, decimals=2),
    "meals": sklar.Real(0, 300, decimals=2),
    "bill": sklar.Real(0, 1200, decimals=2),
    "owed": sklar.Real(0, 1000, decimals=2),
    "paid": sklar.Real(0, 900, decimals=2, nullable=True),
    "smoker": sklar.Boolean(),
    "cigarettes": sklar.Integer(1, 60, nullable=True),
    "since": sklar.Integer(1950, 2019, nullable=True),
}
RULES: tuple[Any, ...] = (
    rules.AtMost(low="admitted", high="left"),
    rules.Function(column="region", of="town", table=REGIONS),
    rules.OneHot(columns=["walks", "rides", "carried"]),
    rules.Sum(total="bill", parts=["room", "meals"]),
    rules.Sum(total="owed", parts={"meals": 0.5, "room": 1}, offset=2.5),
    rules.Ratio(column="paid", of="room", lower=0.2, upper=1),
    rules.Together(columns=["cigarettes", "since"], only_if={"smoker": True}),
)
MEASURED = [
    "admitted (year)", "admitted (month)", "admitted (weekday)", "left - admitted", "town",
    "age", "walks | rides | carried", "room", "meals", "paid / room", "smoker",
    "cigarettes", "since",
]  # fmt: skip


def schema() -> sklar.Schema:
    return sklar.Schema(COLUMNS, RULES)


def stays(rows: int, seed: int = 0) -> pd.DataFrame:
    """A median stay of 3 nights, a few long ones, older people staying longer."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 1700, rows)
    age = np.clip(rng.normal(55, 18, rows), 0, 110).astype(int)
    nights = np.minimum(rng.geometric(np.clip(0.4 - age / 400, 0.05, 1.0)), 1825 - start)
    town = rng.choice(list(REGIONS), rows, p=[0.4, 0.2, 0.15, 0.15, 0.05, 0.05])
    arrives = rng.choice(3, rows, p=[0.6, 0.3, 0.1])
    room, meals = np.round(np.minimum(60 * nights, 900) * rng.random(rows), 2), np.round(rng.gamma(2, 30, rows), 2)
    meals = np.minimum(meals, 300)
    smoker = rng.random(rows) < 0.3
    asked = smoker & (rng.random(rows) < 0.8)
    left = pd.Series(pd.Timestamp(FIRST) + pd.to_timedelta(start + nights, unit="D"))
    return pd.DataFrame(
        {
            "admitted": pd.Timestamp(FIRST) + pd.to_timedelta(start, unit="D"),
            "left": left.mask(rng.random(rows) < 0.1),
            "town": town,
            "region": [REGIONS[name] for name in town],
            "age": age,
            "walks": arrives == 0,
            "rides": (arrives == 1).astype(int),
            "carried": (arrives == 2).astype(int),
            "room": room,
            "meals": meals,
            "bill": room + meals,
            "owed": (room + 0.5 * meals + 2.5).round(2),
            "paid": pd.Series(np.floor(100 * room * rng.beta(6, 2, rows).clip(0.25, 0.999)) / 100).mask(room < 1),
            "smoker": smoker,
            "cigarettes": pd.Series(rng.integers(1, 40, rows).astype(float)).where(asked),
            "since": pd.Series(2019.0 - np.minimum(age, 69)).where(asked),
        }
    )


def odd_stays() -> pd.DataFrame:
    """Who is alone in every respect: leaves before they come, comes from nowhere, is null throughout."""
    return pd.DataFrame(
        {
            "admitted": pd.to_datetime(["2019-12-31", "2015-01-01", None, "1900-01-01"]),
            "left": pd.to_datetime(["2015-01-01", "2019-12-31", None, "2100-01-01"]),
            "town": ["a", "atlantis", None, "f"],
            "region": ["W", None, "N", "atlantis"],
            "age": [110, -5, 0, 10**9],
            "walks": [True, False, None, True],
            "rides": [1, 0, None, 7],
            "carried": [1, 0, None, -3],
            "room": [900.0, -1.0, None, 1e300],
            "meals": [300.0, 0.0, None, 1e-300],
            "bill": [0.0, 1200.0, None, -1e300],
            "owed": [None, -1e300, 1e300, 0.0],
            "paid": [0.0, 900.0, None, 1e300],
            "smoker": [False, True, None, True],
            "cigarettes": [60.0, None, None, 1e9],
            "since": [None, 1950.0, None, -1.0],
        }
    )
