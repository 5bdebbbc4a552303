"""A conditional sample of any model has the law of the model's own rows, kept where the condition holds."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest

import sklar.model
from sklar.errors import UnsupportedConditionError
from sklar.lab.baselines.registry import BASELINES
from sklar.methods.registry import METHODS
from sklar.model import conditioning
from sklar.model.conditioning import merge_intervals, place_inside, simulate_given
from sklar.model.gaussian import GaussianModel, MixtureModel
from sklar.model.kept import KeptModel
from sklar.model.linked import LinkedModel
from sklar.model.margins.margin import margin_from_dense
from sklar.model.proportion import InProportion, RowwiseInProportion
from tests.contracts.conditioned import (
    AGE,
    CASES,
    INCOME,
    QUICK_TO_FIT,
    REGION,
    SMOKER,
    VISITS,
    Unweighted,
    conditions,
    fitted,
    inside,
    reference,
    surprise,
)  # fmt: skip
from tests.tiers import slow_unless

ROWS = 1_500
TESTED_ELSEWHERE = {InProportion, RowwiseInProportion, KeptModel, LinkedModel}
"""Models around others: the law of the first three is tested in tests/model, and the third is only a part of the last
one; persons are drawn from that by `sklar.sample.persons`, and samples of it refuse conditions."""


REPEATS = ("vine-few-rows-target", "dpcopula-kendall-random", "cop-1", "rvine-star1", "tvine")
"""Cases whose models draw conditional rows as those of another case do."""


@pytest.mark.parametrize("name", slow_unless(lambda name: name in QUICK_TO_FIT and name not in REPEATS, CASES))
def test_the_law_is_that_of_filtered_rows(name):
    model, rows = fitted(name).table_model, reference(name)
    for seed, (label, allowed) in enumerate(conditions(rows).items()):
        drawn, worth = simulate_given(model, ROWS, allowed, np.random.default_rng(seed))
        assert drawn.shape == (ROWS, 5) and drawn.dtype == np.int32 and len(inside(drawn, allowed)) == ROWS, label
        assert ROWS / 2 < worth <= ROWS, label
        assert surprise(drawn, worth, inside(rows, allowed)) < 1, label


def test_every_method_and_every_model_is_among_them():
    assert {case["method"] for case in CASES.values()} == {*METHODS, *BASELINES}
    modules = [
        importlib.import_module(found.name) for found in pkgutil.walk_packages(sklar.model.__path__, "sklar.model.")
    ]
    offering = {x for m in modules for x in vars(m).values() if isinstance(x, type) and hasattr(x, "simulate_rounded")}
    offering -= {x for x in offering if getattr(x, "_is_protocol", False)}
    assert {type(fitted(name).table_model) for name in CASES} == offering - TESTED_ELSEWHERE
    assert offering > TESTED_ELSEWHERE


@pytest.mark.parametrize("name", ["vine", "dpcopula-kendall", "dpcopula-hybrid", "vine-few-rows", "tvine-split"])
def test_proposals_of_equal_weight_are_caught(name):
    model, rows = fitted(name).table_model, reference(name)
    for label in ("two columns", "three columns"):
        allowed = conditions(rows)[label]
        drawn, worth = simulate_given(Unweighted(model), 4_000, allowed, np.random.default_rng(1))
        assert surprise(drawn, worth, inside(rows, allowed)) > 1, label


def two_cells() -> MixtureModel:
    """Two cells of two columns each, with correlations .95 and -.95."""
    half = margin_from_dense("x", np.array([0.5, 0.5]))
    models = [
        GaussianModel(margins=(half, half), corr=np.array([[1, r], [r, 1]]), rows_estimate=1) for r in (0.95, -0.95)
    ]
    return MixtureModel(
        margins=(half, half, half), small=(0,), large=(1, 2), cells=np.array([[0], [1]]), weights=np.array([0.5, 0.5]),
        models=tuple(models), rows_estimate=1,
    )  # fmt: skip


def test_cells_weigh_by_what_their_dependence_makes_of_the_condition():
    """P(x = y = 1) is 1/4 + asin(r) / 2 pi in a cell of correlation r (Sheppard)."""
    one = np.array([False, True])
    rows, worth = simulate_given(two_cells(), 20_000, {1: one, 2: one}, np.random.default_rng(1))
    chances = 0.25 + np.arcsin([0.95, -0.95]) / (2 * np.pi)
    wanted = chances[0] / chances.sum()
    assert wanted == pytest.approx(0.899, abs=1e-3)
    assert abs((rows[:, 0] == 0).mean() - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / worth)


def correlated(count: int) -> GaussianModel:
    grid = margin_from_dense("x", np.full(20, 0.05))
    corr = np.full((count, count), 0.6) + 0.4 * np.eye(count)
    return GaussianModel(margins=(grid,) * count, corr=corr, rows_estimate=1)


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("gaussian", 5_000),
        pytest.param("gaussian", 400_000, marks=pytest.mark.slow),
        pytest.param("cells", 5_000, marks=pytest.mark.slow),
        ("cells", 400_000),
        pytest.param("vine", 5_000, marks=pytest.mark.slow),
        pytest.param("rejection", 5_000, marks=pytest.mark.slow),
    ],
)
def test_the_effective_size_is_that_of_an_independent_sample_of_the_same_spread(kind, most, monkeypatch):
    """Means of many samples spread as those of `effective` independent rows, whether or not proposals are scarce.

    With 300 samples the ratio of variances lies within a factor of 1.6 unless by a chance of 1e-7.
    """
    monkeypatch.setattr(conditioning, "MAX_PROPOSALS", most)
    low, high = np.arange(20) < 8, np.arange(20) >= 14
    model, column = correlated(3), 2
    allowed = {0: low, 1: high}
    if kind == "cells":
        model, column, allowed = two_cells(), 0, {1: np.array([False, True]), 2: np.array([False, True])}
    if kind == "rejection":
        model, column, allowed = fitted("cop-id").table_model, VISITS, {AGE: np.arange(21) == 3}
    if kind == "vine":
        model, column = fitted("vine-target").table_model, VISITS
        allowed = {INCOME: np.arange(26) >= 16, SMOKER: np.array([True, False]), REGION: np.arange(5) == 1}
    rows = 4_000 if most == 5_000 else 400
    draws = [simulate_given(model, rows, allowed, np.random.default_rng(seed)) for seed in range(300)]
    spread = np.var([codes[:, column].mean() for codes, _ in draws], ddof=1)
    variance = np.mean([codes[:, column].var() for codes, _ in draws])
    claimed = np.mean([worth for _, worth in draws])
    assert claimed <= rows and (most > 5_000 or claimed < 0.8 * rows)
    assert 1 / 1.6 < (variance / claimed) / spread < 1.6


def test_many_rows_come_in_batches(monkeypatch):
    monkeypatch.setattr(conditioning, "BATCH_ROWS", 1_000)
    model, allowed = correlated(3), {0: np.arange(20) < 8, 1: np.arange(20) >= 14}
    rows, worth = simulate_given(model, 7_777, allowed, np.random.default_rng(1))
    assert len(inside(rows, allowed)) == 7_777 and 7_000 < worth <= 7_777
    plain = inside(model.simulate(200_000, np.random.default_rng(2)), allowed)
    assert surprise(rows, worth, plain) < 1


def test_weights_far_below_the_smallest_number_are_no_trouble():
    """Thirty columns, each in a set of probability 1e-12: their product is no floating point number."""
    tail = margin_from_dense("x", np.array([1 - 1e-12, 1e-12]))
    model = GaussianModel(margins=(tail,) * 31, corr=np.eye(31), rows_estimate=1)
    allowed = {column: np.array([False, True]) for column in range(30)}
    rows, worth = simulate_given(model, 100, allowed, np.random.default_rng(1))
    assert rows[:, :30].all() and worth == 100


def test_parts_of_codes_count_by_their_size():
    model = correlated(2)
    shares = np.zeros(20)
    shares[[3, 7]] = 1.0, 0.25
    rows, worth = simulate_given(model, 20_000, {0: shares}, np.random.default_rng(1))
    assert set(np.unique(rows[:, 0])) == {3, 7}
    assert abs((rows[:, 0] == 3).mean() - 0.8) < 5 * 0.4 / np.sqrt(worth)


def test_sets_out_of_reach_are_refused_by_name(monkeypatch):
    monkeypatch.setattr(conditioning, "MAX_PROPOSALS", 20_000)
    model = fitted("cop-id").table_model
    rare = {AGE: np.arange(21) == 0, INCOME: np.arange(26) == 25, SMOKER: np.array([False, True])}
    with pytest.raises(UnsupportedConditionError, match=r"'age'.*and 30 is needed|'income': less than one row in"):
        simulate_given(model, 10, rare, np.random.default_rng(1))


def test_sets_in_pieces_are_covered_and_places_found():
    runs = merge_intervals(np.array([0.4, 0.0, 0.2]), np.array([0.6, 0.1, 0.4]))
    np.testing.assert_allclose([runs.low, runs.high], [[0.0, 0.2], [0.1, 0.6]])
    run, place, length = place_inside(
        np.tile(runs.low, (3, 1)).T, np.tile(runs.high, (3, 1)).T, np.array([0.1, 0.5, 0.9])
    )
    assert run.tolist() == [0, 1, 1]
    np.testing.assert_allclose(place, [0.05, 0.35, 0.55])
    np.testing.assert_allclose(length, 0.5)
    ends = np.arange(200) / 200
    assert len(merge_intervals(ends, ends + 0.002).low) <= 64
    assert merge_intervals(np.empty(0), np.empty(0)).high.tolist() == [0.0]


@pytest.mark.parametrize("name", ["vine", "dpcopula-hybrid"])
def test_the_public_verbs_give_the_same_law(name):
    """By value, with a range that cuts cells, in memory and in a stream."""
    model, given = fitted(name), {"income": (31.4, 57.9), "region": ["n", "s"]}
    plain = model.sample(60_000, seed=1, iid=True).to_pandas()
    plain = plain[plain.income.between(31.4, 57.9) & plain.region.isin(["n", "s"])]
    for table in (
        model.sample(6_000, seed=2, given=given),
        *model.stream(6_000, seed=2, batch_rows=6_000, given=given),
    ):
        drawn = table.to_pandas()
        assert drawn.income.between(31.4, 57.9).all() and drawn.region.isin(["n", "s"]).all()
        assert surprise(_binned(drawn), 6_000, _binned(plain)) < 1


def _binned(frame):
    ages, labels = frame.age.fillna(20).to_numpy().astype(int), frame.region.map({"n": 0, "s": 1}).to_numpy()
    incomes = ((frame.income.to_numpy() - 31.4) // 1.0).astype(int)
    return np.column_stack([ages, incomes, frame.visits.to_numpy(), labels, frame.smoker.to_numpy().astype(int)])
