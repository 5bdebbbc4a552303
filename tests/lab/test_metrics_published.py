"""Metrics in the form in which the papers publish them, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import UsageError
from sklar.lab.metrics.correlations.spearman import correlation_delta, spearman
from sklar.lab.metrics.ks import ks, ks_all
from sklar.lab.metrics.ranges import MIN_RARE_ROWS, RangeWorkload, range_errors, ranges_of_size, rare_score
from sklar.lab.tables.table import coarse_grid
from tests.lab.pairs import MIXED, mixed, mixed_frame, read

SCHEMA = sklar.Schema({"n": sklar.Integer(0, 3, nullable=True), "c": sklar.Category(["x", "y", "z"])})
ONE = pd.DataFrame({"n": pd.array([0, 1, 2, None], dtype="Int64"), "c": ["x", "x", "y", "z"]})
TWO = pd.DataFrame({"n": pd.array([0, 0, 2, 3], dtype="Int64"), "c": ["x", "z", "z", "z"]})


def test_ks_over_all_attributes_by_hand() -> None:
    """n: F = 1/4, 2/4, 3/4, 3/4 (null last) against 2/4, 2/4, 3/4, 1; c: 2/4, 3/4 against 1/4, 1/4."""
    score = ks_all(read(ONE, SCHEMA), read(TWO, SCHEMA))
    assert {part.columns[0]: part.value for part in score.parts} == {"n": 0.25, "c": 0.5}
    assert score.value == pytest.approx((0.25 + 0.5) / 2)
    assert [part.columns[0] for part in ks(read(ONE, SCHEMA), read(TWO, SCHEMA)).parts] == ["n"]


def test_mean_correlation_delta_is_over_the_full_matrix() -> None:
    """Appendix A of Gambs et al.: sum over i and j of |C_o - C_s|, over the number of all entries."""
    one, two = (mixed_frame(400, seed, strength).fillna({"income": 5.0}) for seed, strength in ((1, 1.0), (2, 0.3)))
    places = {"level": ["low", "mid", "high"], "city": ["Rome", "Oslo", "Bonn", "Lima"], "smoker": [False, True]}
    matrices = [
        frame.assign(**{c: frame[c].map(list(v).index) for c, v in places.items()})
        .astype(float)
        .corr(method="spearman")
        .to_numpy()
        for frame in (one, two)
    ]
    expected = np.abs(matrices[0] - matrices[1]).sum() / 36
    score = correlation_delta(read(one), read(two))
    assert score.value == pytest.approx(expected, abs=1e-12) and len(score.parts) == 15
    assert spearman(read(one), read(two)).value != pytest.approx(expected, abs=1e-3)


def test_correlation_delta_of_two_columns_by_hand() -> None:
    """Correlations 1 and -1: the full matrix has 0, 2, 2, 0, so the mean is 1."""
    schema = sklar.Schema({"a": sklar.Integer(0, 9), "c": sklar.Category(["x", "y", "z"])})
    up = pd.DataFrame({"a": [1, 2, 3], "c": ["x", "y", "z"]})
    assert correlation_delta(read(up, schema), read(up.assign(a=[3, 2, 1]), schema)).value == pytest.approx(1.0)


def test_range_queries_over_all_columns_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ranges: n in 0..1 and c = x holds 2 rows against 1; n in 2..3 and any c holds 1 against 2."""
    from sklar.lab.metrics import ranges
    from sklar.lab.metrics.queries import RangeQueries

    asked = RangeQueries(low=np.array([[0, 0], [2, 0]]), high=np.array([[1, 0], [3, 2]]))
    sizes: list[list[int]] = []
    monkeypatch.setattr(ranges, "random_ranges", lambda s, queries, rng: sizes.append(s) or asked)
    one, two = read(ONE, SCHEMA), read(TWO, SCHEMA)
    found = range_errors(one, two, RangeWorkload(), np.random.default_rng(0))
    assert sizes == [[SCHEMA["n"].size, SCHEMA["c"].size]]  # every attribute, over its whole domain
    assert found.relative == pytest.approx((1 / 2 + 1 / 1) / 2) and found.absolute == 1.0
    assert range_errors(one, two, RangeWorkload(sanity=4), np.random.default_rng(0)).relative == pytest.approx(1 / 4)
    half = range_errors(one, two, RangeWorkload(sanity="50%"), np.random.default_rng(0))
    assert half.sanity == 2.0 and half.relative == pytest.approx((1 / 2 + 1 / 2) / 2)
    doubled = range_errors(one, read(pd.concat([TWO, TWO]), SCHEMA), RangeWorkload(), np.random.default_rng(0))
    assert doubled == found  # answers are counts as of the real rows


def test_a_workload_has_its_number_size_and_bound() -> None:
    real, other = mixed(300, 1), mixed(300, 2)
    found = range_errors(real, other, RangeWorkload(queries=7, sanity="0.05%", cells=1), np.random.default_rng(1))
    assert (found.queries, found.cells) == (7, 1) and found.sanity == pytest.approx(0.15)
    queries = ranges_of_size([40, 5, 9], 200, 500, np.random.default_rng(2))
    assert 150 < np.median((queries.high - queries.low + 1).prod(axis=1)) < 260
    assert range_errors(real, real, RangeWorkload(), np.random.default_rng(1)).absolute == 0.0
    for wrong in ({"queries": 0}, {"sanity": 0}, {"sanity": "much"}, {"sanity": "nan%"}, {"cells": 0.5}):
        with pytest.raises(UsageError):
            RangeWorkload(**wrong)  # type: ignore[arg-type]


def test_rare_ranges_are_rare_and_their_error_a_median() -> None:
    grid, real = coarse_grid(MIXED), mixed(3_000, 1)
    rng = lambda: np.random.default_rng(0)  # noqa: E731
    assert rare_score(real, real, grid, rng()).value == 0.0
    fresh, apart = (rare_score(real, mixed(3_000, 2, strength=s), grid, rng()).value for s in (1.0, 0.0))
    assert fresh is not None and apart is not None and fresh < 0.5 * apart
    # A fresh sample is off by less than two counts of the fewest rows would be.
    assert fresh < np.sqrt(2 / MIN_RARE_ROWS)
    few = rare_score(mixed(15, 1), mixed(15, 2), grid, rng())
    assert few.value is None and "hardly any range" in (few.reason or "")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["smoker", "age"])
def test_learners_and_measures_of_g_epsilon_are_chosen(target: str) -> None:
    frames = [mixed_frame(200, seed).fillna({"income": 5.0}) for seed in (1, 2)]
    found = sklar.evaluate(*frames, MIXED, target=target, learners=["tree"], measures=["mcc"])
    g = found["g_epsilon_plus"].behind
    assert g.learners == ("tree",) and g.measures == ("mcc", "r2")
    usual = sklar.evaluate(*frames, MIXED, target=target)["g_epsilon_plus"].behind
    assert usual.learners == ("svc", "linear", "tree") and usual.measures == ("accuracy", "f1", "auc", "r2")
    assert found["g_epsilon"].value == pytest.approx(g.g_epsilon)
    assert found["g_epsilon_plus"].value == pytest.approx(g.g_epsilon + g.nu)
