"""Small tables and their worst-case neighbours."""

from __future__ import annotations

import numpy as np
import pandas as pd

import sklar


def schema() -> sklar.Schema:
    return sklar.Schema(
        {
            "age": sklar.Integer(0, 110, nullable=True),
            "income": sklar.Real(0, 1e6, bins=512),
            "gain": sklar.Integer(0, 5000),
            "sex": sklar.Category(["F", "M"]),
            "region": sklar.Category(["north", "south", "east", "west"], nullable=True),
            "smoker": sklar.Boolean(nullable=True),
            "since": sklar.Datetime("2000-01-01", "2024-12-31"),
        }
    )


def people(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    return pd.DataFrame(
        {
            "age": pd.array(age, dtype="Int64"),
            "income": np.exp(rng.normal(10, 1, rows)) * (age / 50),
            "gain": np.where(rng.random(rows) < 0.8, 0, rng.integers(0, 5000, rows)),
            "sex": np.where(rng.random(rows) < 0.5, "F", "M"),
            "region": rng.choice(["north", "south", "east", "west"], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "smoker": pd.array(rng.random(rows) < age / 150, dtype="boolean"),
            "since": pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 9000, rows), unit="D"),
        }
    )


def odd_rows() -> pd.DataFrame:
    """People who are alone in every respect: extremes, unlisted labels, all null."""
    return pd.DataFrame(
        {
            "age": pd.array([110, 0, None, -5, 10**9], dtype="Int64"),
            "income": [1e6, 0.0, np.nan, np.inf, -1e300],
            "gain": [5000, 4999, 0, -1, 2**60],
            "sex": ["M", "X", None, "", "f"],
            "region": ["west", "atlantis", None, "west", "'; drop"],
            "smoker": pd.array([True, None, None, False, True], dtype="boolean"),
            "since": pd.to_datetime(["2024-12-31", "2000-01-01", None, "1900-01-01", "2100-01-01"]),
        }
    )
