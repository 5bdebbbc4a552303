"""The method without dependence: options, plan, and the three ways to draw rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import UnsupportedConditionError, UsageError
from sklar.methods.independent import INDEPENDENT, IndependentOptions
from sklar.model.codec import ArrayPool, decode, encode
from sklar.model.conditioning import simulate_given
from sklar.model.independent import IndependentModel
from sklar.model.margins.margin import Margin
from sklar.schema.columns import Category
from sklar.schema.numbers import Integer, Real
from sklar.schema.table import Schema
from tests.methods.fits import make_setting, open_door

SCHEMA = Schema({"sex": Category(["F", "M"]), "age": Integer(0, 99), "dose": Real(0, 1)})
MODEL = IndependentModel(
    margins=(
        Margin(column="sex", starts=np.array([0, 1, 2]), mass=np.array([0.55, 0.45, 0.0]), size=3),
        Margin(column="age", starts=np.array([0, 40]), mass=np.array([0.8, 0.2]), size=100),
    ),
    rows_estimate=1_000,
)


def codes(rows: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    dose = SCHEMA["dose"]
    assert isinstance(dose, Real)
    return {
        "sex": rng.integers(0, 2, rows),
        "age": np.clip(rng.normal(50, 10, rows), 0, 99).astype(np.int64),
        "dose": dose.grid.code(rng.beta(2, 5, rows)),
    }


@pytest.mark.parametrize("repair", ["density", "simplex", "clip"])
@pytest.mark.parametrize("noise", [None, "gaussian", "laplace", "geometric"])
def test_a_fit_gives_margins_near_the_rows(repair: str, noise: str | None):
    table = codes(5_000)
    options = IndependentOptions(repair=repair, noise=noise)  # type: ignore[arg-type]
    model = INDEPENDENT.fit(make_setting(SCHEMA, options, 0.5), open_door(SCHEMA, table))
    assert abs(model.rows_estimate - 5_000) < 100
    ages = np.bincount(table["age"] // 10, minlength=10) / 5_000
    fitted = np.bincount(np.arange(100) // 10, model.margins[1].dense())
    assert np.abs(ages - fitted).sum() < 0.05
    assert model.simulate_rounded(100, np.random.default_rng(1)).shape == (100, 3)


@pytest.mark.parametrize("name", ["efpa", "privelet", "noisefirst", "structurefirst"])
def test_any_histogram_gives_margins_near_the_rows(name: str):
    table, options = pd.DataFrame(codes(5_000)), IndependentOptions(histogram=name)  # type: ignore[arg-type]
    table = table.assign(sex=np.array(["F", "M"])[table["sex"]], dose=table["dose"] / SCHEMA.size("dose"))
    model = sklar.fit(table, SCHEMA, method="independent", histogram=name, epsilon=20.0, delta=0.0)
    ages = np.bincount(table["age"] // 10, minlength=10) / 5_000
    fitted = model.table_model.margins[1].dense()
    # An even margin is 1.1 away. Of 100 fits of each the worst was at 0.09: one of StructureFirst, with its long tail.
    assert np.abs(ages - np.bincount(np.arange(100) // 10, fitted)).sum() < 0.3
    assert model.claim.epsilon <= 20.0
    assert INDEPENDENT.plan is not None and INDEPENDENT.plan(SCHEMA, options) == ()
    with pytest.raises(UsageError, match="own noise and repair"):
        IndependentOptions(histogram=name, noise="laplace")  # type: ignore[arg-type]


def test_the_plan_is_public_and_only_for_gaussian_noise():
    assert INDEPENDENT.plan is not None
    # One histogram of sex; a coarse and a finer one of age and of dose, and one of the round numbers of each.
    assert sum(line.tables for line in INDEPENDENT.plan(SCHEMA, IndependentOptions())) == 7
    assert INDEPENDENT.plan(SCHEMA, IndependentOptions(noise="geometric")) == ()


def test_unknown_choices_are_refused_by_name():
    with pytest.raises(UsageError, match="noise"):
        INDEPENDENT.read_options({"noise": "cauchy"})
    with pytest.raises(UsageError, match="repair"):
        INDEPENDENT.read_options({"repair": "pray"})
    with pytest.raises(UsageError, match="no option 'bins'"):
        INDEPENDENT.read_options({"bins": 3})


def test_iid_rows_follow_the_margins_and_no_dependence():
    rows = MODEL.simulate(40_000, np.random.default_rng(2))
    assert rows.dtype == np.int32 and rows.flags.f_contiguous
    assert np.abs(np.bincount(rows[:, 0], minlength=3) / 40_000 - [0.55, 0.45, 0]).max() < 6 * 0.5 / 200
    assert abs(np.mean(rows[:, 1] >= 40) - 0.2) < 6 * 0.4 / 200
    assert abs(np.corrcoef(rows.T)[0, 1]) < 6 / 200


def test_rounded_rows_match_every_margin_to_rounding():
    rows = MODEL.simulate_rounded(1_003, np.random.default_rng(3))
    for column, margin in enumerate(MODEL.margins):
        counts = np.bincount(rows[:, column], minlength=margin.size)
        assert np.abs(np.cumsum(counts) - 1_003 * np.cumsum(margin.dense())).max() <= 1 + 1e-9
    assert abs(np.corrcoef(rows.T)[0, 1]) < 6 / np.sqrt(1_003)


def test_conditions_hold_and_keep_the_other_columns():
    allowed = {1: np.arange(100) >= 90}
    rows, effective = simulate_given(MODEL, 20_000, allowed, np.random.default_rng(4))
    assert effective == 20_000
    assert rows[:, 1].min() >= 90
    assert np.abs(np.bincount(rows[:, 1] - 90) / 20_000 - 0.1).max() < 0.02
    assert abs(np.mean(rows[:, 0] == 0) - 0.55) < 6 * 0.5 / np.sqrt(20_000)


def test_a_condition_without_mass_is_a_plain_error():
    with pytest.raises(UnsupportedConditionError, match="'sex'"):
        simulate_given(MODEL, 10, {0: np.array([False, False, True])}, np.random.default_rng(5))


def test_no_rows_are_no_trouble():
    for rows in (MODEL.simulate(0, np.random.default_rng(6)), MODEL.simulate_rounded(0, np.random.default_rng(6))):
        assert rows.shape == (0, 2)


def test_the_model_survives_saving():
    pool = ArrayPool(distinct=False)
    again = decode(encode(MODEL, pool.keep), pool.arrays)
    assert again.rows_estimate == 1_000
    for one, other in zip(MODEL.margins, again.margins, strict=True):
        assert one.column == other.column and one.size == other.size
        np.testing.assert_array_equal(one.dense(), other.dense())
