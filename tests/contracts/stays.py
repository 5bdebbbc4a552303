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
}
RULES: tuple[Any, ...] = (
    rules.AtMost(low="admitted", high="left"),
    rules.Function(column="region", of="town", table=REGIONS),
)


def schema() -> sklar.Schema:
    return sklar.Schema(COLUMNS, RULES)


def stays(rows: int, seed: int = 0) -> pd.DataFrame:
    """A median stay of 3 nights, a few long ones, older people staying longer."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 1700, rows)
    age = np.clip(rng.normal(55, 18, rows), 0, 110).astype(int)
    nights = np.minimum(rng.geometric(np.clip(0.4 - age / 400, 0.05, 1.0)), 1825 - start)
    town = rng.choice(list(REGIONS), rows, p=[0.4, 0.2, 0.15, 0.15, 0.05, 0.05])
    left = pd.Series(pd.Timestamp(FIRST) + pd.to_timedelta(start + nights, unit="D"))
    return pd.DataFrame(
        {
            "admitted": pd.Timestamp(FIRST) + pd.to_timedelta(start, unit="D"),
            "left": left.mask(rng.random(rows) < 0.1),
            "town": town,
            "region": [REGIONS[name] for name in town],
            "age": age,
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
        }
    )
