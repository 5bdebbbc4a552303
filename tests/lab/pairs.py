"""Pairs of made-up tables for comparisons, read as the metrics see them."""

from __future__ import annotations

import numpy as np
import pandas as pd

import sklar
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import ExactTable

MIXED = sklar.Schema(
    {
        "age": sklar.Integer(16, 100),
        "income": sklar.Real(0, 1_000, nullable=True),
        "debt": sklar.Integer(0, 10_000_000),
        "level": sklar.Ordinal(["low", "mid", "high"]),
        "city": sklar.Category(["Rome", "Oslo", "Bonn", "Lima"]),
        "smoker": sklar.Boolean(),
    }
)


def mixed_frame(rows: int, seed: int, strength: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=rows)
    other = lambda: strength * z + rng.normal(size=rows)  # noqa: E731
    income = np.clip(200 + 80 * other(), 0, 1_000)
    income[rng.random(rows) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "age": np.clip(np.rint(45 + 12 * other()), 16, 100).astype(int),
            "income": income,
            "debt": np.rint(np.exp(8 + other())).astype(int).clip(0, 10_000_000),
            "level": np.array(["low", "mid", "high"])[np.digitize(other(), [-1, 1])],
            "city": np.array(["Rome", "Oslo", "Bonn", "Lima"])[np.digitize(other(), [-1, 0, 2])],
            "smoker": other() > 0.5,
        }
    )


def read(frame: object, schema: sklar.Schema = MIXED, **options: object) -> ExactTable:
    return read_table(frame, schema, np.random.default_rng(0), role="real", **options)  # type: ignore[arg-type]


def mixed(rows: int, seed: int, strength: float = 1.0) -> ExactTable:
    return read(mixed_frame(rows, seed, strength))
