"""Steps from a model's answer to what releases say: functions of single columns are found, and what is told is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.counting.code_table import CodeTable
from sklar.inference.linear_measurements import linear_measurements
from sklar.inference.one_step import TYPICAL_SQUARED_CORRELATION, compute_one_step, with_gaussian_copula
from sklar.pipeline.bundle.bundle import stored_of
from sklar.release.counts import Interaction
from sklar.sample.rng import generator
from tests.golden.cases import scripted_fit

SCHEMA = sklar.Schema({"x": sklar.Integer(0, 49), "g": sklar.Category(["a", "b", "c"]), "z": sklar.Integer(0, 9)})
ROWS = 2000


@pytest.fixture(scope="module")
def fitted() -> tuple[sklar.Model, pd.DataFrame]:
    """Hardly any noise: what releases tell of the table is the truth."""
    rng = generator(1)
    g = rng.integers(0, 3, ROWS)
    x = np.clip(rng.normal(20 + 6 * g, 5), 0, 49).astype(int)
    frame = pd.DataFrame({"x": x, "g": np.array(["a", "b", "c"])[g], "z": rng.integers(0, 10, ROWS)})
    with pytest.MonkeyPatch.context() as patch:
        return scripted_fit(frame, SCHEMA, {"epsilon": 400.0, "delta": 1e-6}, patch), frame


def codes_of(frame: pd.DataFrame) -> CodeTable:
    g = frame["g"].map({"a": 0, "b": 1, "c": 2})
    return CodeTable(columns={"x": frame["x"].to_numpy(), "g": g.to_numpy(), "z": frame["z"].to_numpy()})


def test_sums_of_functions_of_single_columns_need_no_other_release(fitted: tuple[sklar.Model, pd.DataFrame]) -> None:
    model, frame = fitted
    known = linear_measurements(stored_of(model).fitted)
    rng = generator(2)
    wrong = pd.DataFrame({"x": rng.integers(0, 50, 20_000), "g": rng.choice(["a", "b", "c"], 20_000), "z": 3})
    wrong["z"] = rng.integers(0, 10, 20_000)
    codes = codes_of(wrong)
    psi = (codes.columns["x"] ** 2 / 100 + (codes.columns["g"] == 1))[None].astype(float)
    step = compute_one_step(known, codes, psi, ("x", "g"), ROWS, False)
    assert step is not None
    truth = (frame["x"] ** 2 / 100 + (frame["g"] == "b")).mean()
    assert psi.mean() + step.shift[0] == pytest.approx(truth, abs=0.02)


def test_what_is_told_of_two_columns_sets_a_wrong_model_right(fitted: tuple[sklar.Model, pd.DataFrame]) -> None:
    model, frame = fitted
    known = linear_measurements(stored_of(model).fitted)
    rng = generator(3)
    apart = frame.sample(20_000, replace=True, random_state=1).reset_index(drop=True)
    apart["g"] = rng.permutation(apart["g"].to_numpy())  # right margins, no dependence
    codes = codes_of(apart)
    psi = (codes.columns["x"] * (codes.columns["g"] == 2))[None].astype(float)
    step = compute_one_step(known, codes, psi, ("x", "g"), ROWS, False)
    assert step is not None and 0.9 < step.explained[0] <= 1
    truth = (frame["x"] * (frame["g"] == "c")).mean()
    assert abs(psi.mean() - truth) > 1.0
    assert psi.mean() + step.shift[0] == pytest.approx(truth, abs=0.2)


def test_interactions_tell_all_together_with_margins_far_from_even(fitted: tuple[sklar.Model, pd.DataFrame]) -> None:
    """Their margins are taken out cell by cell, not row by row: alone they told less than half of this."""
    model, frame = fitted
    known = linear_measurements(stored_of(model).fitted)
    known.linear = tuple(
        one for one in known.linear if set(one.columns) == {"z", "g"} and isinstance(one.measurement.query, Interaction)
    )
    codes = codes_of(frame[(frame["z"] < 2) | (np.arange(ROWS) % 8 == 0)].sample(20_000, replace=True, random_state=2))
    psi = ((codes.columns["z"] == 3) * (codes.columns["g"] == 2))[None] * 1.0
    step = compute_one_step(known, codes, psi, ("z", "g"), ROWS, False)
    assert known.linear and step is not None and step.explained[0] > 0.95
    truth = ((frame["z"] == 3) & (frame["g"] == "c")).mean()
    assert abs(psi.mean() - truth) > 0.01
    assert psi.mean() + step.shift[0] == pytest.approx(truth, abs=0.002)


def test_smoothed_rows_have_the_same_columns_and_rank_correlations_and_no_lump_of_both() -> None:
    rng = generator(4)
    first = rng.normal(size=20_000)
    second = 0.8 * first + 0.6 * rng.normal(size=20_000)
    first[:200], second[:200] = 3.0, -3.0  # rows that only noise can have made
    rows = {"a": np.digitize(first, np.linspace(-3, 3, 60)), "b": np.digitize(second, np.linspace(-3, 3, 60))}
    found = with_gaussian_copula(CodeTable(columns=rows)).columns
    for name in rows:
        assert np.array_equal(np.sort(found[name]), np.sort(rows[name]))
    both = [pd.DataFrame(one).corr("spearman").iloc[0, 1] for one in (rows, found)]
    assert both[1] == pytest.approx(both[0], abs=0.03)
    assert np.sum((found["a"] >= rows["a"][0]) & (found["b"] <= rows["b"][0])) < 20


def test_a_smooth_law_that_releases_speak_against_is_not_believed(fitted: tuple[sklar.Model, pd.DataFrame]) -> None:
    model, frame = fitted
    known = linear_measurements(stored_of(model).fitted)
    mine = codes_of(frame.sample(20_000, replace=True, random_state=3))
    apart = CodeTable(columns={name: generator(6).permutation(codes) for name, codes in mine.columns.items()})
    both = mine.append_rows(apart)
    psi = ((both.columns["x"] - 26.0) * (both.columns["g"] == 2))[None].astype(float)
    alone, found = (
        compute_one_step(known, codes, values, ("x", "g"), ROWS, False, 20_000)
        for codes, values in ((mine, psi[:, :20_000]), (both, psi))
    )
    assert alone is not None and found is not None
    assert found.shift[0] == pytest.approx(alone.shift[0], rel=1e-6)


def test_with_releases_about_other_columns_alone_there_is_no_step(fitted: tuple[sklar.Model, pd.DataFrame]) -> None:
    model, frame = fitted
    known = linear_measurements(stored_of(model).fitted)
    codes = codes_of(frame)
    known.linear = tuple(one for one in known.linear if not {"x", "z"} <= set(one.columns))
    assert {name for one in known.linear for name in one.columns} == {"x", "g", "z"}
    assert compute_one_step(known, codes, codes.columns["x"][None].astype(float), ("x", "z"), ROWS, False) is None
    assert compute_one_step(known, codes, codes.columns["x"][None].astype(float), ("x",), ROWS, False) is not None


def test_a_column_that_no_release_has_with_others_may_depend_on_them(fitted: tuple[sklar.Model, pd.DataFrame]) -> None:
    model, frame = fitted
    known = linear_measurements(stored_of(model).fitted)
    codes = codes_of(frame.assign(g=generator(7).permutation(frame["g"].to_numpy())))  # as a model without dependence
    group = codes.columns["g"] == 2
    psi = np.where(group, codes.columns["x"] - codes.columns["x"].mean(), 0.0)[None] / group.mean()
    known.linear = ()
    found = compute_one_step(known, codes, psi, ("x", "g"), ROWS, False)
    assert found is not None and found.explained[0] == 0
    # Within the group, x may be as far from its mean as a typical correlation with the group makes it.
    shift = np.sqrt(TYPICAL_SQUARED_CORRELATION * (1 / group.mean() - 1)) * codes.columns["x"].std()
    assert np.sqrt(found.noise[0]) > 0.9 * shift


@pytest.mark.parametrize(
    ("text", "within"), [("mean(x)", 0.02), ("share(x=10..19)", 0.002), ("difference(x) by g", 0.2), ("median(x)", 0.5)]
)
def test_with_little_noise_estimates_of_the_table_are_those_of_its_rows(
    fitted: tuple[sklar.Model, pd.DataFrame], text: str, within: float
) -> None:
    model, frame = fitted
    between = {"between": ("c", "a")} if "difference" in text else {}
    found = (
        model.estimate("difference", "x", by="g", of="table", **between)
        if between
        else model.estimate(text, of="table")
    )
    by = frame.groupby("g")["x"].mean()
    truths = {
        "mean(x)": frame["x"].mean(), "share(x=10..19)": frame["x"].between(10, 19).mean(),
        "difference(x) by g": by["c"] - by["a"], "median(x)": frame["x"].median(),
    }  # fmt: skip
    assert isinstance(found, sklar.results.Estimated)
    assert found.value == pytest.approx(truths[text], abs=within)
