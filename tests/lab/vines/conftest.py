"""A small table of numbers, labels and nulls with a known dependence."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sklar


def mixed_table(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    z = rng.multivariate_normal(np.zeros(5), 0.7 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5))), size=rows)
    y = z[:, 4] + 0.5 * rng.standard_normal(rows) > 0
    income = np.round(20_000 * np.exp(0.6 * z[:, 0]))
    children = np.clip(np.floor(1.2 + z[:, 1]), 0, 5).astype(int)
    town = np.array(["Oslo", "Rome", "Lyon", "Bern"])[np.searchsorted([-1, 0, 1], z[:, 2])]
    weight = [
        None if missing else float(w) for w, missing in zip(70 + 12 * z[:, 3], rng.random(rows) < 0.1, strict=True)
    ]
    score = np.round(50 + 10 * z[:, 4], 2)
    return pa.table({"income": income, "children": children, "town": town, "weight": weight, "score": score, "ill": y})


def mixed_schema() -> sklar.Schema:
    return sklar.Schema(
        {
            "income": sklar.Real(0, 400_000),
            "children": sklar.Integer(0, 5),
            "town": sklar.Category(["Bern", "Lyon", "Oslo", "Rome"]),
            "weight": sklar.Real(0, 200, nullable=True),
            "score": sklar.Real(0, 100),
            "ill": sklar.Boolean(),
        }
    )


@pytest.fixture(scope="session")
def table() -> pa.Table:
    return mixed_table(700, 1)


@pytest.fixture(scope="session")
def schema() -> sklar.Schema:
    return mixed_schema()
