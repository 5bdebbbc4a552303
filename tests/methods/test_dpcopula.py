"""DPCopula-Kendall: dependence is recovered, converges, respects ties and orders, and bad input is no trouble."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import sklar
from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import calibrate
from sklar.accounting.unit import Unit
from sklar.errors import SklarError, UsageError
from sklar.methods.dpcopula.kendall import (
    KENDALL,
    KendallOptions,
    compared_rows,
    estimate_correlations,
    plan,
    tau_noise,
)
from sklar.methods.dpcopula.margins import MarginName, public_bins
from sklar.methods.dpcopula.stages import vector_noise
from sklar.model.conditioning import simulate_given
from sklar.model.correlation.bivariate import corr_from_tau, rank_groups, tie_share
from sklar.model.margins.margin import Margin, margin_from_dense
from sklar.model.margins.transforms import counts_from_differences, counts_from_frequencies
from sklar.release.taus import TauVector

CORR = np.array([[1.0, 0.7, -0.4], [0.7, 1.0, -0.2], [-0.4, -0.2, 1.0]])
UNIT = Unit(neighbours="replace")


def gaussian_table(rows, seed=0, top=199):
    z = np.random.default_rng(seed).multivariate_normal(np.zeros(3), CORR, rows)
    return pd.DataFrame(np.floor(ndtr(z) * (top + 1)).astype(int), columns=list("abc"))


def schema(top=199):
    return sklar.Schema({name: sklar.Integer(0, top) for name in "abc"})


def fitted(table, facts, **options):
    settings = {"method": "dpcopula-kendall", "epsilon": 1.0} | options
    return sklar.fit(table, facts, **settings)._stored.model


@pytest.mark.parametrize("margins", get_args(MarginName))
def test_dependence_and_margins_are_recovered(margins):
    table = gaussian_table(3_000)
    model = fitted(table, schema(), epsilon=50.0, margins=margins)
    assert np.abs(model.corr - CORR).max() < 0.06
    for column, margin in enumerate(model.margins):
        exact = np.bincount(table.iloc[:, column], minlength=200).cumsum() / 3_000
        assert np.abs(np.cumsum(margin.dense()) - exact).max() < 0.04
    assert model.rows_estimate == 3_000


@pytest.mark.slow
def test_the_error_falls_towards_the_sampling_floor():
    """With more rows the noise on tau fades as 1/n, faster than sampling error does.

    Over 12 repetitions with three tables each the mean errors were 0.132 (standard deviation 0.021) and 0.010 (0.0035).
    With eight tables the first exceeds four times the second by 0.091, five standard deviations of that difference,
    whose lower tail is light: it fails once in about 1e7 runs.
    """
    errors = []
    for rows in (500, 8_000):
        gaps = [
            np.abs(fitted(gaussian_table(rows, seed), schema(), margins="gaussian").corr - CORR) for seed in range(8)
        ]
        errors.append(float(np.mean(gaps)))
    assert errors[1] < errors[0] / 4 and errors[1] < 0.03


@pytest.mark.parametrize(("columns", "ratio"), [(8, 1.3), (30, 4.0)])
def test_one_gaussian_release_beats_the_papers_laplace(columns, ratio):
    feature = TauVector(columns=tuple(map(str, range(columns))), lookups=(np.arange(2),) * columns, rows=1_000)
    budget = Budget(epsilon=1.0, delta=1e-9)
    facts = sklar.Schema({name: sklar.Integer(0, 999) for name in feature.columns})
    ours = vector_noise(feature, calibrate(budget, UNIT, plan(facts, KendallOptions())).part(1 / 9), UNIT, "gaussian")
    rough = vector_noise(feature, calibrate(budget, UNIT).part(1 / 9), UNIT, "gaussian")
    assert 0.94 < ours.scale / rough.scale < 0.96, "exact accounting needs less noise than zCDP"
    pure = vector_noise(feature, Allowance(measure="epsilon", amount=1 / 9), UNIT, "laplace")
    paper = math.sqrt(2) * math.comb(columns, 2) * (4 / 1_000) * 9
    assert ours.scale * ratio < math.sqrt(2) * pure.scale <= paper


@pytest.mark.parametrize(
    ("options", "accounting"),
    [
        ({}, "exact"),
        ({"margins": "gaussian", "rows_per_person": 2}, "exact"),
        ({"noise": "laplace"}, "zcdp"),
        pytest.param({"margins": "efpa"}, "zcdp", marks=pytest.mark.slow),
        pytest.param({"margins": "laplace"}, "zcdp", marks=pytest.mark.slow),
        ({"delta": 0.0}, "pure"),
        ({"method": "dpcopula-mle", "epsilon": 60.0}, "exact"),
        pytest.param(
            {"method": "dpcopula-mle", "epsilon": 60.0, "neighbours": "add-remove"}, "exact", marks=pytest.mark.slow
        ),
        pytest.param({"method": "dpcopula-mle", "epsilon": 60.0, "noise": "laplace"}, "zcdp", marks=pytest.mark.slow),
    ],
)
def test_gaussian_noise_is_accounted_for_exactly(options, accounting):
    settings = {"method": "dpcopula-kendall", "epsilon": 1.0} | options
    claim = sklar.fit(gaussian_table(3_000), schema(), **settings).claim
    assert (claim.accounting, claim.epsilon) == (accounting, settings["epsilon"])


@pytest.mark.parametrize("rows", [2, 30])
def test_taus_of_few_rows_at_a_huge_epsilon_keep_to_the_plan(rows):
    """The lattice of taus is then coarse against the noise, which is widened to what was planned."""
    feature = TauVector(columns=("a", "b", "c"), lookups=(np.arange(200),) * 3, rows=rows)
    allowance = calibrate(Budget(epsilon=1e4, delta=1e-9), UNIT, plan(schema(), KendallOptions())).part(1 / 9)
    assert (
        vector_noise(feature, allowance, UNIT, None).scale
        > 2 * allowance.sum_noise(l1=1, l2=feature.sensitivity(UNIT)[1]).scale
    )
    assert np.isfinite(fitted(gaussian_table(rows), schema(), epsilon=1e4).corr).all()


@pytest.mark.parametrize(("columns", "rows"), [(3, 2), (3, 1_000), (8, 50_000), (25, 300)])
def test_as_published_every_tau_has_the_papers_noise(columns, rows):
    """Algorithm 5: Lap(C(m, 2) Delta / epsilon2) with Delta = 4 / (n + 1), which from three columns on is enough."""
    feature = TauVector(columns=tuple(map(str, range(columns))), lookups=(np.arange(2),) * columns, rows=rows)
    stage = Allowance(measure="epsilon", amount=1 / 9)
    noise = tau_noise(feature, stage, UNIT, KendallOptions(published=True))
    assert noise.kind == "laplace"
    assert noise.scale == pytest.approx(math.comb(columns, 2) * 4 / (rows + 1) * 9, rel=1e-8)
    assert feature.sensitivity(UNIT)[0] / noise.scale <= 1 / 9, "what it costs by the proof is within epsilon2"


def test_as_published_two_columns_have_the_noise_that_is_proved():
    """The paper's 4 / (n + 1) is less than the 4 / n by which a replaced row moves a tau."""
    feature = TauVector(columns=("a", "b"), lookups=(np.arange(2),) * 2, rows=1_000)
    noise = tau_noise(feature, Allowance(measure="epsilon", amount=0.5), UNIT, KendallOptions(published=True))
    assert noise.scale == pytest.approx(4 / 1_000 / 0.5, rel=1e-9) and noise.scale > 4 / 1_001 / 0.5


def test_published_is_one_switch_for_all_the_paper_has():
    options = KENDALL.read_options({"published": True})
    assert (options.margins, options.noise, options.repair, options.ties) == (
        "efpa",
        "laplace",
        "eigenvalue",
        "ignored",
    )
    assert options.k == 8
    with pytest.raises(UsageError, match="margins='efpa'; 'privelet' was given"):
        KENDALL.read_options({"published": True, "margins": "privelet"})
    with pytest.raises(UsageError, match="delta = 0"):
        fitted(gaussian_table(50), schema(), published=True)


@pytest.mark.slow
def test_as_published_the_correlations_are_sines_of_noisy_taus():
    """sin(pi tau / 2), ties ignored, every value a rank: on 1,000 values tau-a of the rows themselves."""
    from scipy.stats import kendalltau

    table = gaussian_table(2_000, top=999)
    model = fitted(table, schema(999), published=True, delta=0.0, epsilon=1e5)
    for j, k in ((0, 1), (0, 2), (1, 2)):
        x, y = table.iloc[:, j].to_numpy(), table.iloc[:, k].to_numpy()
        order = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
        tau_a = order.sum() / (2_000 * 1_999)
        assert tau_a == pytest.approx(kendalltau(x, y).statistic, abs=1e-3)
        assert model.corr[j, k] == pytest.approx(math.sin(math.pi / 2 * tau_a), abs=1e-3)


@pytest.mark.slow
def test_a_sample_has_the_papers_size_and_the_noise_of_its_size():
    """n-hat = 50 m (m - 1) / epsilon2 - 1; nothing is claimed for the rows left out."""
    stage = Allowance(measure="epsilon", amount=1 / 9)
    assert compared_rows(KendallOptions(sample=True), 8, 10**6, stage) == 50 * 8 * 7 * 9 - 1
    assert compared_rows(KendallOptions(sample=True), 8, 500, stage) == 500
    assert compared_rows(KendallOptions(sample=40), 8, 500, stage) == 40
    assert compared_rows(KendallOptions(), 8, 500, stage) == 500
    with pytest.raises(UsageError, match="pure epsilon"):
        fitted(gaussian_table(50), schema(), sample=True)
    with pytest.raises(UsageError, match="sample must be"):
        KENDALL.read_options({"sample": 1})
    settings = {"method": "dpcopula-kendall", "epsilon": 90.0, "delta": 0.0}
    few, every = (sklar.fit(gaussian_table(3_000), schema(), sample=size, **settings) for size in (1_000, False))
    one, other = (model.inspect()["steps"][-1]["noise"]["std"] for model in (few, every))
    assert one == pytest.approx(3 * other, rel=1e-3)
    assert np.abs(few._stored.model.corr - CORR).max() < 0.25


def test_inspect_and_plan_tell_the_noise_on_taus_at_delta_0():
    """Laplace noise far below 1 is not the 0 that it would be on integers."""
    model = sklar.fit(gaussian_table(5_000), schema(), method="dpcopula-kendall", epsilon=9.0, delta=0.0)
    expected = math.sqrt(2) * 4 * 2 / 5_000  # L1 = 4 floor(m^2 / 4) / n, epsilon2 = 1
    assert model.inspect()["steps"][-1]["noise"]["std"] == pytest.approx(expected, rel=1e-3)
    planned = sklar.plan(schema(), epsilon=9e3, delta=0.0, rows=5_000, method="dpcopula-kendall")
    assert planned.lines[-1].std == pytest.approx(5_000 * expected / 1_000, rel=1e-3)


def test_add_remove_is_refused_with_the_reason():
    with pytest.raises(UsageError, match="number of rows"):
        fitted(gaussian_table(50), schema(), neighbours="add-remove")


@pytest.mark.parametrize(
    "option", [{"margins": "psd"}, {"noise": "none"}, {"k": 0}, {"repair": "hope"}, {"order": "abc"}]
)
def test_unknown_choices_are_refused_by_name(option):
    with pytest.raises(UsageError, match=next(iter(option))):
        KENDALL.read_options(option)


def test_gaussian_noise_needs_delta():
    with pytest.raises(UsageError, match="delta"):
        fitted(gaussian_table(50), schema(), delta=0.0, noise="gaussian")


@pytest.mark.slow
def test_ties_are_set_against_the_margins():
    """Columns cut at the median: tau-a is arcsin(corr) / pi, half of what it is without ties."""
    for corr in (-0.9, -0.3, 0.0, 0.5):
        assert corr_from_tau(math.asin(corr) / math.pi, 0.5, 0.5) == pytest.approx(corr)
        assert corr_from_tau(2 * math.asin(corr) / math.pi) == pytest.approx(corr)
    table = gaussian_table(4_000) // 100
    model = fitted(table, schema(1), epsilon=100.0)
    assert np.abs(model.corr - CORR).max() < 0.08
    assert np.abs(fitted(table, schema(1), epsilon=100.0, ties="ignored").corr - CORR).max() > 0.2


def test_a_random_order_of_nominal_values_loses_the_dependence():
    labels = [f"v{i:02d}" for i in range(24)]
    codes = np.minimum(gaussian_table(4_000).to_numpy() // 8, 23)
    table = pd.DataFrame(np.array(labels)[codes], columns=list("abc"))
    facts = sklar.Schema({name: sklar.Category(labels) for name in "abc"})
    kept = fitted(table, facts, epsilon=100.0)
    lost = fitted(table, facts, epsilon=100.0, order="random")
    rng = np.random.default_rng(0)
    assert np.corrcoef(kept.simulate(5_000, rng).T)[0, 1] > 0.6
    assert abs(np.corrcoef(lost.simulate(5_000, rng).T)[0, 1]) < 0.45
    rows = lost.simulate_rounded(4_000, rng)
    exact = np.bincount(codes[:, 1], minlength=25) / 4_000
    assert np.abs(np.bincount(rows[:, 1], minlength=25) / 4_000 - exact).sum() < 0.1, "margins do not suffer"
    mask = np.zeros(25, dtype=bool)
    mask[3] = True
    assert (simulate_given(lost, 100, {1: mask}, rng)[0][:, 1] == 3).all()


HOSTILE = {
    "constant": pd.DataFrame({"a": [5] * 60, "b": [7] * 60, "c": range(60)}),
    "collinear": pd.DataFrame({name: range(60) for name in "abc"}),
    "two rows": gaussian_table(2),
    "one row": gaussian_table(1),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("options", [{}, {"delta": 0.0, "margins": "efpa"}, {"epsilon": 0.01, "repair": "eigenvalue"}])
def test_hostile_tables_give_rows_or_a_plain_error(name, options):
    try:
        model = fitted(HOSTILE[name], schema(), **options)
    except SklarError:
        return
    assert np.isfinite(model.corr).all() and np.linalg.eigvalsh(model.corr)[0] > 0
    assert model.simulate(50, np.random.default_rng(0)).shape == (50, 3)


@pytest.mark.parametrize("repair", ["higham", "eigenvalue"])
def test_taus_far_from_any_correlation_matrix_are_repaired(repair):
    """Noise may put taus beyond 1 and against each other."""
    margins = tuple(margin_from_dense(name, np.full(8, 1 / 8)) for name in "abcd")
    taus = np.array([5.0, -3.0, 1.0, 1.0, -1.0, 40.0])
    corr = estimate_correlations(taus, margins, (np.arange(8, dtype=np.int32),) * 4, KendallOptions(repair=repair))
    assert np.isfinite(corr).all() and np.linalg.eigvalsh(corr)[0] > 0
    np.testing.assert_allclose(corr.diagonal(), 1.0)


def test_one_column_is_no_trouble():
    model = fitted(gaussian_table(100)[["a"]], sklar.Schema({"a": sklar.Integer(0, 199)}))
    assert model.corr.shape == (1, 1)


def test_groups_of_ranks_keep_the_order_and_about_equal_mass():
    mass = np.random.default_rng(0).random(5_000)
    mass[100] = mass.sum()
    margin = margin_from_dense("x", mass / mass.sum())
    groups = rank_groups(margin, 64)
    assert (np.diff(groups) >= 0).all() and groups.max() < 64 and len(np.unique(groups)) == groups.max() + 1
    shares = np.bincount(groups, margin.dense())
    assert np.sort(shares)[-2] < 2.5 / 64 and shares.max() < 0.5 + 1 / 64
    assert tie_share(margin, groups) == pytest.approx((shares**2).sum())


def test_public_bins_cover_all_codes_in_order():
    bins = public_bins(sklar.Integer(0, 999, nullable=True), 16)
    assert bins.max() == 16 and (np.diff(bins) >= 0).all() and bins[-1] == 16
    assert np.bincount(bins)[:16].tolist() == [63, 62, 63, 62] * 4


def test_inverse_transforms_invert():
    counts = np.random.default_rng(1).integers(0, 50, 13).astype(float)
    from scipy.fft import dct

    np.testing.assert_allclose(counts_from_frequencies(dct(counts, norm="ortho"), 13), counts)
    leaves = np.append(counts, np.zeros(3))
    levels = []
    while len(leaves) > 1:
        levels.append(leaves[0::2] - leaves[1::2])
        leaves = leaves[0::2] + leaves[1::2]
    np.testing.assert_allclose(counts_from_differences(np.concatenate([leaves, *levels[::-1]]), 13), counts)


def test_the_outline_tells_the_noise_before_anything_is_spent():
    for options in (
        KendallOptions(),
        KendallOptions(margins="efpa"),
        KendallOptions(margins="privelet", noise="laplace"),
    ):
        lines = KENDALL.outline(schema(), options, Allowance(measure="rho", amount=0.1), UNIT, 1_000)
        assert lines[-1].cells == 3 and all(line.noise.scale > 0 for line in lines)
    assert isinstance(fitted(gaussian_table(100), schema()).margins[0], Margin)
