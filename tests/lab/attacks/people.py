"""A made-up table of people, split into rows to learn from and rows to hold out, and releases of known honesty."""

from __future__ import annotations

import numpy as np
import pandas as pd

import sklar

SCHEMA = sklar.Schema(
    {
        "age": sklar.Integer(16, 100),
        "income": sklar.Real(0, 1_000, nullable=True),
        "weight": sklar.Real(30, 160),
        "height": sklar.Real(140, 210),
        "sex": sklar.Category(["F", "M"]),
        "region": sklar.Category([f"r{i}" for i in range(9)]),
        "smoker": sklar.Boolean(nullable=True),
        "person": sklar.Id(),
    }
)


def people(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    height = rng.normal(172, 9, rows).clip(141, 209)
    income = np.clip(5 * age + rng.normal(0, 60, rows), 0, 1000)
    income[rng.random(rows) < 0.05] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "weight": (0.9 * height - 85 + rng.normal(0, 10, rows)).clip(31, 159),
            "height": height,
            "sex": np.where(height + rng.normal(0, 6, rows) > 172, "M", "F"),
            "region": rng.choice([f"r{i}" for i in range(9)], rows),
            "smoker": rng.random(rows) < 0.3,
            "person": np.arange(rows),
        }
    )


def copies(real: pd.DataFrame, rows: int, jitter: float, seed: int) -> pd.DataFrame:
    """An overfitted generator: real rows drawn with replacement, numbers moved a little."""
    rng = np.random.default_rng(seed)
    out = real.sample(rows, replace=True, random_state=seed).reset_index(drop=True)
    for name in ("income", "weight", "height"):
        out[name] = out[name] + rng.normal(0, jitter * out[name].std(), rows)
    return out


def shuffled(real: pd.DataFrame, rows: int, seed: int) -> pd.DataFrame:
    """Independent columns."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: real[name].to_numpy()[rng.integers(len(real), size=rows)] for name in real})
