"""Query workloads on whole tables: exact on a copy, at the floor on fresh rows, bad on unrelated ones."""

from __future__ import annotations

import numpy as np

import sklar
from sklar.lab.metrics.queries import error_curves, range_score
from sklar.lab.tables.table import coarse_grid
from tests.lab.pairs import MIXED, mixed, read

GRID = coarse_grid(MIXED)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_a_copy_answers_every_query_exactly() -> None:
    table = mixed(300, 1)
    assert range_score(table, table, GRID, rng()).value == 0.0
    assert all(max(line) == 0.0 for _, line in error_curves(table, table, GRID, rng()).curves)


def test_fresh_rows_answer_better_than_unrelated_ones_and_curves_rise() -> None:
    real = mixed(800, 1)
    tables = mixed(800, 2), mixed(800, 3, strength=0.0)
    scores = [range_score(real, table, GRID, rng()).value for table in tables]
    assert scores[0] < 0.6 * scores[1]
    fresh, unrelated = (error_curves(real, table, GRID, rng()) for table in tables)
    for name, line in fresh.curves:
        assert (np.diff(line) >= 0).all(), name
    assert fresh.curves[1][1][-1] < unrelated.curves[1][1][-1]


def test_without_ordered_columns_it_says_why() -> None:
    schema = sklar.Schema({"city": sklar.Category(["a", "b"])})
    table = read({"city": ["a", "b"] * 20}, schema)
    assert "ordered" in range_score(table, table, coarse_grid(schema), rng()).reason
    assert [name for name, _ in error_curves(table, table, coarse_grid(schema), rng()).curves] == ["one value"]
