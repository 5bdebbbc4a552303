"""Parts of COPULA-SHIRLEY: noise, levels, encoders, steps, and rank matching."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import pyvinecopulib as pv

import sklar
from sklar.lab.baselines.shirley.encoders import encoded_levels, set_aside, weights_of_evidence
from sklar.lab.baselines.shirley.options import ShirleyOptions
from sklar.lab.baselines.shirley.ranks import copula_correlation, match_ranks, mid_ranks, pearson_correlation, rank_axis
from sklar.lab.baselines.shirley.steps import (
    MIN_COUNT,
    count_columns,
    cumulative_shares,
    draw_noise,
    find_levels,
    noisy_counts,
    null_first,
    pseudo_observations,
    row_steps,
)
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import ExactTable
from sklar.lab.vines.fit import fit_rvine

LABELS = ["a", "b", "c", "d"]
SCHEMA = sklar.Schema(
    {"x": sklar.Integer(0, 20, nullable=True), "k": sklar.Category(LABELS), "y": sklar.Category(["no", "yes"])}
)


def table(rows: int = 2_000, seed: int = 0, last: str = "c") -> ExactTable:
    """x grows with y, and so does the chance of label b and c; `last` limits the labels that occur."""
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.4
    used = LABELS[: LABELS.index(last) + 1]
    odds = np.where(y[:, None], [0.2, 0.3, 0.5, 0.4], [0.5, 0.3, 0.2, 0.4])[:, : len(used)]
    k = [used[np.searchsorted(np.cumsum(p / p.sum()), u)] for p, u in zip(odds, rng.random(rows), strict=True)]
    x = np.clip(rng.poisson(np.where(y, 9, 4)), 0, 20).astype(float)
    frame = pd.DataFrame({"x": x, "k": k, "y": np.where(y, "yes", "no")})
    return read_table(frame, SCHEMA, rng, role="real")


@pytest.mark.parametrize(("mechanism", "variance"), [("laplace", 2 * 16.0), ("geometric", 31.83), ("gaussian", None)])
def test_noise_has_the_published_scale(mechanism: str, variance: float | None):
    options = ShirleyOptions(epsilon=0.5, mechanism=mechanism)  # type: ignore[arg-type]
    drawn = draw_noise(200_000, 0.5, options, np.random.default_rng(0))
    if variance is None:
        sigma = drawn.std() / 2
        from sklar.accounting.composition.gaussian import analytic_gaussian_delta

        assert analytic_gaussian_delta(float(sigma), 0.5) == pytest.approx(0.001, rel=0.1)
    else:
        assert drawn.var() == pytest.approx(variance, rel=0.03)
    assert abs(drawn.mean()) < 0.1
    assert (mechanism == "geometric") == bool((drawn == np.rint(drawn)).all())


def test_counts_stay_positive_and_exact_without_noise():
    exact = np.array([0, 3, 50])
    rng = np.random.default_rng(0)
    assert noisy_counts(exact, ShirleyOptions(), rng).tolist() == [MIN_COUNT, 3, 50]
    noisy = noisy_counts(np.zeros(1_000, dtype=np.int64), ShirleyOptions(epsilon=0.01), rng)
    assert noisy.min() == MIN_COUNT and noisy.max() > 100


def test_weight_of_evidence_is_its_formula():
    rows = table()
    found = encoded_levels(rows, ShirleyOptions(reference="y"), np.random.default_rng(0))
    assert set(found) == {"k"}
    k, y = rows.codes["k"], rows.codes["y"] == 1
    ones, zeros = (np.bincount(k[side], minlength=SCHEMA.size("k"))[:3] for side in (y, ~y))
    formula = np.log((ones + 1) / (y.sum() + 2)) - np.log((zeros + 1) / ((~y).sum() + 2))
    np.testing.assert_allclose(found["k"][:3], formula)
    assert (found["k"][3:] == 0).all()  # the label d, others: not seen, no evidence


def test_weight_of_evidence_is_the_librarys():
    import category_encoders as library

    rng = np.random.default_rng(3)
    codes = np.concatenate([rng.choice(9, 500, p=rng.dirichlet(np.ones(9))), [9, 10, 10, 12]])  # 9 and 12 occur once
    truth = (rng.random(len(codes)) < 0.1 + 0.05 * codes).astype(np.float64)
    labels = pd.DataFrame({"level": [f"c{code}" for code in range(14)]}, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library's own
        fitted = library.WOEEncoder(cols=["level"]).fit(labels.iloc[codes].reset_index(drop=True), pd.Series(truth))
        theirs = np.asarray(fitted.transform(labels)["level"])
    ours = weights_of_evidence(codes, truth, 14)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert ours[9] == ours[11] == 0.0 and np.abs(ours[:9]).max() > 0.5


def test_weight_of_evidence_needs_no_library():
    """A fresh process: the rest of a small fit takes less time than loading the library."""
    code = (
        "import sys, numpy as np; from sklar.lab.baselines.shirley.encoders import weights_of_evidence as w; "
        "import sklar.model.rvine.shirley; print(w(np.array([0, 1, 1, 0]), np.array([0.0, 1, 1, 0]), 3)); "
        "print([m for m in ('category_encoders', 'sklearn', 'pandas', 'scipy.stats') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.splitlines()[-1] == "[]"


def test_glmm_orders_labels_by_the_reference():
    rows = table(600)
    found = encoded_levels(rows, ShirleyOptions(reference="y", encoder="glmm"), np.random.default_rng(0))["k"]
    assert found[0] < found[1] < found[2] and found[3] == 0


def test_encoder_rows_are_no_training_rows():
    rows = table(500)
    marked = ExactTable(schema=SCHEMA, codes={**rows.codes, "x": np.arange(500)}, numbers=rows.numbers, total=500)
    one, two = set_aside(marked, ShirleyOptions(reference="y", encoder_share=0.3), np.random.default_rng(0))
    assert one is not None and one.rows == 150
    assert sorted([*one.codes["x"], *two.codes["x"]]) == list(range(500))


def test_tied_levels_share_a_step_and_are_decoded_by_their_counts():
    rows = table(last="d")
    options = ShirleyOptions()
    levels = find_levels(rows, {"k": np.array([1.0, 0.0, 1.0, 0.0, 0.0])}, options, np.random.default_rng(0))
    columns = count_columns(rows, levels, options, np.random.default_rng(0))
    found, column = levels[1], columns[1]
    assert found.codes.tolist() == [1, 3, 0, 2] and found.groups.tolist() == [0, 0, 1, 1]
    steps = row_steps(rows, levels, columns)
    assert len(np.unique(steps.upper[:, 1])) == 2  # the vine cannot tell tied labels apart
    drawn = column.at(np.random.default_rng(1).random(200_000))
    real = np.bincount(rows.codes["k"], minlength=4)[:4] / rows.rows
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 200_000, real, atol=0.006)


def test_a_null_goes_to_the_side_it_resembles():
    rng = np.random.default_rng(0)
    left = rng.normal(size=2_000)
    for sign in (1, -1):
        near = np.round(np.clip(left * 3 + 10, 0, 20))
        x = np.where(sign * left > 1, np.nan, near)
        schema = sklar.Schema({"x": sklar.Integer(0, 20, nullable=True), "z": sklar.Real(-6, 6)})
        rows = read_table(pd.DataFrame({"x": x, "z": left}), schema, rng, role="real")
        assert null_first(rows, "x") == (sign < 0)
        codes = find_levels(rows, {}, ShirleyOptions(), rng)[0].codes
        assert codes[0 if sign < 0 else -1] == schema["x"].null_code


def test_pseudo_observations_lie_on_their_steps():
    rows = table()
    rng = np.random.default_rng(0)
    levels = find_levels(rows, {}, ShirleyOptions(), rng)
    steps = row_steps(rows, levels, count_columns(rows, levels, ShirleyOptions(), rng))
    assert (pseudo_observations(steps, ShirleyOptions(), rng) < 1).all()
    spread = pseudo_observations(steps, ShirleyOptions(ties="spread"), rng)
    assert ((spread >= steps.lower) & (spread <= steps.upper)).all()
    for column in spread.T:
        assert np.abs(np.sort(column) - (np.arange(len(column)) + 0.5) / len(column)).max() < 0.04
    published = pseudo_observations(steps, ShirleyOptions(), rng)[:, 0]
    assert published.max() == pytest.approx(2_000 / 2_001)


def test_correlations_of_copulas_are_those_of_their_rows():
    rows = table()
    rng = np.random.default_rng(0)
    levels = find_levels(rows, {}, ShirleyOptions(), rng)
    steps = row_steps(rows, levels, count_columns(rows, levels, ShirleyOptions(), rng))
    one, two = rank_axis(steps, 0), rank_axis(steps, 2)
    copula = pv.Bicop.from_family(pv.BicopFamily.gaussian, 0, np.array([[0.6]]))
    drawn = np.asarray(copula.sample(400_000, seeds=[1, 2]))
    sampled = pearson_correlation(
        *(
            mid_ranks(np.searchsorted(np.unique(steps.lower[:, j]), drawn[:, side], side="right").astype(float))
            for side, j in ((0, 0), (1, 2))
        )
    )
    assert copula_correlation(copula, one, two) == pytest.approx(sampled, abs=0.005)


@pytest.mark.parametrize("families", ["gaussian", "clayton", "nonparametric"])
def test_matched_ranks_are_the_rows_ranks(families: str):
    rng = np.random.default_rng(3)
    z = rng.normal(size=(1_500, 3)) @ np.linalg.cholesky([[1, 0.7, 0.3], [0.7, 1, 0.5], [0.3, 0.5, 1]]).T
    schema = sklar.Schema({name: sklar.Real(-9, 9) for name in "abc"})
    rows = read_table(pd.DataFrame(z, columns=list("abc")), schema, rng, role="real")
    levels = find_levels(rows, {}, ShirleyOptions(), rng)
    steps = row_steps(rows, levels, count_columns(rows, levels, ShirleyOptions(), rng))
    vine = fit_rvine(pseudo_observations(steps, ShirleyOptions(), rng), families=families, truncation=1)
    matched = match_ranks(vine, steps)
    drawn = matched.simulate(60_000, rng)
    for edge in range(2):
        pair = [int(matched.first[edge]), int(matched.second[edge])]
        wanted = pearson_correlation(*(mid_ranks(steps.lower[:, j]) for j in pair))
        assert pearson_correlation(*(mid_ranks(drawn[:, j]) for j in pair)) == pytest.approx(wanted, abs=0.015)


def test_cumulative_shares_never_fall_whatever_the_rounding():
    rng = np.random.default_rng(2)
    tables = [np.append(rng.random(400) * 1e3, np.zeros(3)) for _ in range(200)]
    assert any((np.cumsum(counts) / counts.sum()).max() > 1 for counts in tables)  # sums in another order differ
    for counts in tables:
        edges = cumulative_shares(counts)
        assert (np.diff(edges) >= 0).all() and (edges[0], edges[-1]) == (0, 1)
