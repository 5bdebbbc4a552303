"""Metrics agree with independent implementations on random tables."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, ks_2samp, spearmanr

import sklar
from sklar.lab.learning import transfer as measures
from sklar.lab.metrics.correlations.kendall import kendall_matrix, kendall_tau
from sklar.lab.metrics.correlations.phik import phik_matrix
from sklar.lab.metrics.correlations.spearman import spearman, spearman_matrix
from sklar.lab.metrics.ks import ks
from sklar.lab.metrics.tvd import margin_distance
from sklar.lab.tables.table import coarse_codes, coarse_grid, ordered_names
from tests.lab.pairs import MIXED, mixed_frame, read

SEEDS = (1, 2, 3)
ORDER = {"low": 0, "mid": 1, "high": 2}


@pytest.mark.parametrize("seed", SEEDS)
def test_ks_is_scipys(seed: int) -> None:
    one, two = mixed_frame(700, seed), mixed_frame(500, seed + 10, strength=0.3)
    score = ks(read(one), read(two))
    for part in score.parts:
        (name,) = part.columns
        assert part.value == pytest.approx(ks_2samp(one[name].dropna(), two[name].dropna()).statistic, abs=1e-12)
    assert {p.columns[0] for p in score.parts} == {"age", "income", "debt"}


def test_kendall_of_two_rows_is_a_sign() -> None:
    up, down = np.array([1.0, 2.0]), np.array([3.0, 0.5])
    assert kendall_tau(up, up) == 1.0 and kendall_tau(up, down) == -1.0
    assert np.isnan(kendall_tau(up, np.ones(2)))


@pytest.mark.parametrize("seed", SEEDS)
def test_rank_correlations_are_pandas_with_nulls(seed: int) -> None:
    frame = mixed_frame(400, seed)
    table, names = read(frame), list(ordered_names(MIXED))
    plain = frame.assign(level=frame["level"].map(ORDER), smoker=frame["smoker"].astype(int))[names].astype(float)
    assert np.allclose(spearman_matrix(table), plain.corr(method="spearman"), atol=1e-9)
    assert np.allclose(kendall_matrix(table), plain.corr(method="kendall"), atol=1e-9)


def test_rank_correlations_without_nulls_are_scipys() -> None:
    frame = mixed_frame(300, 5).fillna({"income": 10.0})
    table = read(frame)
    at = ordered_names(MIXED).index
    pair = frame["income"], frame["debt"]
    assert spearman_matrix(table)[at("income"), at("debt")] == pytest.approx(spearmanr(*pair).statistic, abs=1e-12)
    assert kendall_matrix(table)[at("income"), at("debt")] == pytest.approx(kendalltau(*pair).statistic, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_phi_k_is_that_of_its_package(seed: int) -> None:
    import phik

    frame = mixed_frame(500, seed)
    expected = phik.phik_matrix(frame, interval_cols=["age", "income", "debt"], verbose=False, njobs=1)
    names = list(expected.columns)
    assert np.allclose(phik_matrix(read(frame), tuple(names)), expected.to_numpy(), atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_single_column_tvd_is_one_minus_tv_complement(seed: int) -> None:
    """sdmetrics defines TVComplement as 1 - 1/2 sum |share_real - share_synthetic| over the categories."""
    one, two = mixed_frame(300, seed), mixed_frame(200, seed + 5, strength=0.0)
    score = margin_distance(read(one), read(two), coarse_grid(MIXED), 1, np.random.default_rng(0))
    found = {part.columns[0]: part.value for part in score.parts}
    for name in ("level", "city", "smoker"):
        shares = pd.concat([one[name].value_counts(normalize=True), two[name].value_counts(normalize=True)], axis=1)
        assert found[name] == pytest.approx(0.5 * shares.fillna(0).diff(axis=1).iloc[:, 1].abs().sum(), abs=1e-12)


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_margins_by_brute_force(ways: int) -> None:
    one, two = read(mixed_frame(200, 1)), read(mixed_frame(150, 2))
    grid = coarse_grid(MIXED)
    score = margin_distance(one, two, grid, ways, np.random.default_rng(0))
    left, right = coarse_codes(one, grid), coarse_codes(two, grid)
    assert len(score.parts) == len(list(itertools.combinations(MIXED.modelled, ways)))
    for part in score.parts:
        at = [MIXED.modelled.index(name) for name in part.columns]
        cells = [pd.Series(list(map(tuple, stack[at].T))).value_counts(normalize=True) for stack in (left, right)]
        gap = cells[0].subtract(cells[1], fill_value=0).abs().sum() / 2
        assert part.value == pytest.approx(gap, abs=1e-12)


def test_wide_margins_are_compared_without_a_dense_table() -> None:
    schema = sklar.Schema({name: sklar.Category([f"v{i}" for i in range(1500)]) for name in "ab"})
    rng = np.random.default_rng(0)
    frames = [pd.DataFrame({n: [f"v{i}" for i in rng.integers(0, 1500, 300)] for n in "ab"}) for _ in range(2)]
    one, two = (read(frame, schema) for frame in frames)
    score = margin_distance(one, two, coarse_grid(schema), 2, rng)
    joint = [frame.value_counts(normalize=True) for frame in frames]
    assert score.value == pytest.approx(joint[0].subtract(joint[1], fill_value=0).abs().sum() / 2, abs=1e-12)


@pytest.mark.parametrize("classes", [2, 4])
def test_measures_are_those_of_scikit_learn(classes: int) -> None:
    from sklearn import metrics as m

    rng = np.random.default_rng(classes)
    truth, guess = rng.integers(0, classes, 300), rng.integers(0, classes, 300)
    chances = rng.dirichlet(np.ones(classes), 300).round(2) + 1e-3
    chances /= chances.sum(axis=1, keepdims=True)
    assert measures.mcc(truth, guess) == pytest.approx(m.matthews_corrcoef(truth, guess), abs=1e-12)
    assert measures.f1(truth, guess) == pytest.approx(m.f1_score(truth, guess, average="macro"), abs=1e-12)
    expected = m.roc_auc_score(truth, chances[:, 1] if classes == 2 else chances, multi_class="ovr")
    assert measures.multiclass_auc(truth, chances) == pytest.approx(expected, abs=1e-12)
    y, p = rng.normal(size=50), rng.normal(size=50)
    assert measures.r2(y, p) == pytest.approx(m.r2_score(y, p), abs=1e-12)
    assert measures.rmse(y, p) == pytest.approx(m.root_mean_squared_error(y, p), abs=1e-12)


def test_a_constant_guess_scores_nothing() -> None:
    truth = np.array([0, 1, 1, 0])
    assert measures.mcc(truth, np.zeros(4, int)) == 0.0
    assert measures.auc(truth, np.ones(4)) == 0.5
    assert measures.auc(np.zeros(4, int), np.arange(4.0)) == 0.5


def test_a_correlation_undefined_in_one_table_counts_as_zero() -> None:
    frame = mixed_frame(300, 1).fillna({"income": 0.0})
    flat = frame.assign(age=40)
    score = spearman(read(frame), read(flat))
    real = spearman_matrix(read(frame))
    names = ordered_names(MIXED)
    for part in score.parts:
        if "age" in part.columns:
            i, j = (names.index(n) for n in part.columns)
            assert part.value == pytest.approx(abs(real[i, j]))
    assert len(spearman(read(flat), read(flat)).parts) < len(score.parts)
