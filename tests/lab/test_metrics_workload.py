"""Query workloads on whole tables: exact on a copy, at the floor on fresh rows, bad on unrelated ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sklar
from sklar.lab.metrics.queries import QueryProfiles, _reference_scales, query_profiles, range_score
from sklar.lab.tables.table import ExactTable, coarse_grid
from tests.lab.pairs import MIXED, mixed, read

GRID = coarse_grid(MIXED)
QUERY_BUDGET = (0.99, 2.0**-30)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def profiled(real: ExactTable, synthetic: ExactTable) -> QueryProfiles:
    return query_profiles((real, synthetic), GRID, QUERY_BUDGET, rng())


def test_a_copy_answers_every_query_exactly() -> None:
    table = mixed(300, 1)
    assert range_score(table, table, GRID, rng()).value == 0.0
    for asked in profiled(table, table).sets:
        synthetic = asked.answered[0]
        assert synthetic.source == "synthetic" and synthetic.lines[-1].largest == 0.0 and min(synthetic.cdf) == 1.0


def test_fresh_rows_answer_better_than_unrelated_ones_and_curves_rise() -> None:
    real = mixed(800, 1)
    tables = mixed(800, 2), mixed(800, 3, strength=0.0)
    scores = [range_score(real, table, GRID, rng()).value for table in tables]
    assert scores[0] < 0.6 * scores[1]
    fresh, unrelated = (profiled(real, table) for table in tables)
    for asked in fresh.sets:
        for found in asked.answered:
            assert (np.diff(found.cdf) >= 0).all() and found.cdf[-1] == 1.0, asked.name
            assert [line.share for line in found.lines] == [0.95, 0.99, 1.0]
            assert sorted(line.largest for line in found.lines) == [line.largest for line in found.lines]
    assert fresh.sets[1].answered[0].lines[1].largest < unrelated.sets[1].answered[0].lines[1].largest


def test_without_ordered_columns_it_says_why() -> None:
    schema = sklar.Schema({"city": sklar.Category(["a", "b"])})
    table = read({"city": ["a", "b"] * 20}, schema)
    assert "ordered" in range_score(table, table, coarse_grid(schema), rng()).reason
    alone = query_profiles((table, table), coarse_grid(schema), QUERY_BUDGET, rng())
    assert [asked.name for asked in alone.sets] == ["Q1"] and alone.sets[0].queries == 4


def test_profiles_are_those_of_the_paper_by_hand() -> None:
    """Three columns of two values: 12 queries of one value, 12 of two, 8 of three; errors in rows of the real table."""
    schema = sklar.Schema({name: sklar.Boolean() for name in "abc"})
    real = read(
        {"a": [True] * 200 + [False] * 200, "b": [True] * 200 + [False] * 200, "c": [True, False] * 200}, schema
    )
    made = read({"a": [True] * 50 + [False] * 50, "b": [False] * 50 + [True] * 50, "c": [True] * 100}, schema)
    found = query_profiles((real, made), coarse_grid(schema), (0.5, 1e-6), rng())
    sets = {asked.name: asked for asked in found.sets}
    assert {name: asked.queries for name, asked in sets.items()} == {
        "Q1": 12, "Q2": 12, "Q3": 8, "Q2, |corr| >= 0.5": 4, "Q2, |corr| < 0.5": 8, "Q3, 100 rows or more": 4,
    }  # fmt: skip
    # c is true in all of 100 rows, so in 400 of 400 for 200: the other two columns have the right shares.
    assert (sets["Q1"].answered[0].lines[2].average, sets["Q1"].answered[0].lines[2].largest) == (200 * 4 / 12, 200.0)
    # a and b agree in the real rows and never in the others: each of their four pairs is off by 200.
    assert sets["Q2, |corr| >= 0.5"].answered[0].lines[2].average == 200.0
    by_source = {one.source: one for one in sets["Q2, |corr| >= 0.5"].answered}
    assert by_source["no-cor"].lines[2].average == 100.0
    assert list(by_source) == ["synthetic", "no-cor", "Lap", "Gauss"]
    assert [one.source for one in sets["Q1"].answered] == ["synthetic", "Lap", "Gauss"]


def test_references_have_the_noise_of_section_4() -> None:
    """m' = m + C(m, 2) tables for Q1 and Q2, C(m, 3) for Q3; no Gauss where its formula has no proof."""
    tables = [_reference_scales(14, *QUERY_BUDGET)[at] for at in (0, 1, 2)]
    assert tables[0] == tables[1] and tables[0]["gaussian"] == pytest.approx(94.90, rel=1e-3)
    assert tables[0]["laplace"] == pytest.approx(2 / 0.014782, rel=0.02)  # printed for an epsilon of 1
    assert tables[2]["gaussian"] / tables[0]["gaussian"] == pytest.approx(math.sqrt(364 / 105))
    assert _reference_scales(14, 2.0, 0.0)[0] == {"laplace": pytest.approx(105.0)}
    assert list(_reference_scales(14, 2.0, 1e-9)[2]) == ["laplace"]
