"""Small tables and their worst-case neighbours."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

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


def objects(values: list[object]) -> pd.Series:
    return pd.Series(values, dtype=object)


def mixed_schema() -> sklar.Schema:
    """Columns in which a text and the value it spells may be two things."""
    return sklar.Schema(
        {
            "age": sklar.Integer(0, 110, nullable=True),
            "score": sklar.Category(["1", "2", "3"], nullable=True),
            "gain": sklar.Category(["0.5", "1.5", "2"]),
            "sex": sklar.Category(["F", "M", "1"]),
            "smoker": sklar.Category(["true", "false"]),
            "since": sklar.Datetime("2000-01-01", "2024-12-31", format="%d/%m/%Y", nullable=True),
        }
    )


def mixed_people(rows: int, seed: int = 0) -> pd.DataFrame:
    """People as a frame of Python objects, as it comes from a database or a spreadsheet."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": objects(rng.choice([-9, 30, 40, 50], rows).tolist()),
            "score": objects(rng.choice([1.0, 2.0, 3.0], rows).tolist()),
            "gain": objects([Decimal(int(gain)) / 2 for gain in rng.integers(1, 5, rows)]),
            "sex": pd.Categorical(rng.choice(["F", "M"], rows), categories=SEXES),
            "smoker": objects((rng.random(rows) < 0.3).tolist()),
            "since": objects([date(2000, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 9000, rows)]),
        }
    )


SEXES = pd.Index(["F", "M", 1, date(2020, 1, 1)], dtype=object)


def mixed_odd_rows() -> pd.DataFrame:
    """People with cells of another type than everybody else's: in all columns, and in one column each."""
    usual: dict[str, object] = {
        "age": 40, "score": 1.0, "gain": Decimal(1), "sex": "F", "smoker": True, "since": date(2010, 1, 1),
    }  # fmt: skip
    odd: dict[str, object] = {
        "age": 2**70, "score": "n/a", "gain": Decimal("0.55"), "sex": 1, "smoker": "n/a", "since": "unknown",
    }  # fmt: skip
    rows = [odd, *({**usual, name: value} for name, value in odd.items())]
    frame = pd.DataFrame({name: objects([row[name] for row in rows]) for name in usual})
    return frame.assign(sex=pd.Categorical(frame["sex"], categories=SEXES))
