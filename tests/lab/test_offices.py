"""Measures of statistical offices against values by hand, against other programs' formulas, and on odd tables."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import UsageError
from sklar.lab.learning.logistic import fit_logistic
from sklar.lab.metrics.bench import make_bench, read_settings
from sklar.lab.metrics.offices.coefficients import interval_overlap, overlap_share
from sklar.lab.metrics.offices.disclosure import measure_disclosure, measure_disco, replicated_uniques
from sklar.lab.metrics.offices.propensity import measure_propensity, pmse
from sklar.lab.metrics.offices.terms import add_products, independent_terms, make_terms
from sklar.lab.metrics.subgroups import measure_subgroups
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import ExactTable, coarse_grid
from sklar.sample.rng import named_streams, seed_entropy

SCHEMA = sklar.Schema({"age": sklar.Integer(0, 9), "sex": sklar.Category(["F", "M"]), "ill": sklar.Boolean()})
WIDE = sklar.Schema(
    {"x": sklar.Real(-9, 9), "y": sklar.Real(-9, 9, nullable=True), "g": sklar.Category(["a", "b", "c"])}
)


def table(rows: object, schema: sklar.Schema = SCHEMA) -> ExactTable:
    frame = pd.DataFrame(rows, columns=list(schema.names)) if isinstance(rows, list) else rows
    return read_table(frame, schema, np.random.default_rng(0), role="real")


REAL = table([(1, "F", True), (1, "F", True), (2, "M", False), (3, "F", True), (3, "F", False), (4, "M", True),
              (5, "M", False), (6, "F", True)])  # fmt: skip
SYNTHETIC = table([(1, "F", True), (2, "M", True), (3, "F", True), (3, "F", False), (4, "M", True), (4, "M", True),
                   (6, "F", True), (7, "F", False), (7, "F", False), (9, "M", True)])  # fmt: skip


def test_replicated_uniques_by_hand() -> None:
    """Unique in both: of all columns (3, F, T), (3, F, F), (6, F, T); of age and sex (2, M) and (6, F)."""
    assert replicated_uniques(REAL, SYNTHETIC, None).value == pytest.approx(3 / 8)
    found = replicated_uniques(REAL, SYNTHETIC, ("age", "sex"))
    assert found.value == pytest.approx(2 / 8) and "age, sex" in (found.reason or "")
    assert replicated_uniques(REAL, REAL, None).value == pytest.approx(6 / 8)
    told = found.behind  # unique in age and sex: 2M, 4M, 5M, 6F; synthetic 1F, 2M, 6F, 9M
    assert [told.in_original, told.in_synthetic, told.keys_in_synthetic] == pytest.approx([4 / 8, 4 / 10, 3 / 8])


def test_disclosure_by_hand() -> None:
    """Keys age and sex, target ill.

    Real groups: 1F TT, 2M F, 3F TF, 4M T, 5M F, 6F T. Synthetic: 1F T, 2M T, 3F TF, 4M TT, 6F T, 7F FF, 9M T.
    """
    found = measure_disclosure(REAL, SYNTHETIC, coarse_grid(SCHEMA), "ill", ("age", "sex"))
    assert found.in_original == pytest.approx(6 / 8)  # all but 3F
    assert found.in_synthetic == pytest.approx(8 / 10)  # all but 3F
    assert found.keys_in_synthetic == pytest.approx(7 / 8)  # all but 5M
    assert found.disclosive == pytest.approx(5 / 8)  # 1F, 1F, 2M, 4M, 6F
    assert found.correct == pytest.approx(4 / 8)  # 2M is told T and is F
    assert found.in_both == pytest.approx(4 / 8)
    assert found.attributed == pytest.approx((2 + 0 + 2 * 0.5 + 1 + 1) / 8)  # 1F, 2M, 3F, 4M, 6F
    score = measure_disco(REAL, SYNTHETIC, coarse_grid(SCHEMA), "ill", None)
    assert score.value == found.correct and "none were given" in (score.reason or "")
    assert measure_disclosure(REAL, REAL, coarse_grid(SCHEMA), "ill", ("age",)).correct == pytest.approx(6 / 8)


def test_pmse_by_hand() -> None:
    """One binary term: fitted chances are the shares of synthetic rows in each of its two cells."""
    x = np.repeat([0.0, 0.0, 1.0, 1.0], [60, 40, 40, 60])
    labels = np.repeat([0, 1, 0, 1], [60, 40, 40, 60])
    found = pmse(np.stack([np.ones(200), x], axis=1), labels)
    assert found.pmse == pytest.approx(0.01, rel=1e-4)  # chances .4 and .6 around .5
    assert found.expected == pytest.approx(1 * 0.25 * 0.5 / 200) and found.coefficients == 2
    assert found.ratio == pytest.approx(0.01 / 0.000625, rel=1e-4)


def people(rows: int, seed: int, slope: float = 1.0) -> ExactTable:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    group = rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
    y = slope * x + 2 * (group == "b") + rng.normal(size=rows)
    return table(pd.DataFrame({"x": x, "y": np.where(rng.random(rows) < 0.05, np.nan, y), "g": group}), WIDE)


def test_the_ratio_of_fresh_rows_is_two_and_that_of_a_lost_dependence_is_seen() -> None:
    ratios = [measure_propensity(people(2_000, 2 * seed), people(2_000, 2 * seed + 1)).value for seed in range(20)]
    assert np.mean(ratios) == pytest.approx(2.0, rel=0.25)
    assert (
        measure_propensity(people(2_000, 1), people(2_000, 2, slope=0.0)).value > 10
    )  # margins of x and g are the same
    few = measure_propensity(people(20, 1), people(20, 2))
    assert few.value is None and "50 rows" in (few.reason or "")


def test_overlap_of_intervals() -> None:
    assert overlap_share((0.0, 2.0), (0.0, 2.0)) == 1.0
    assert overlap_share((0.0, 2.0), (1.0, 2.0)) == pytest.approx((1 / 2 + 1 / 1) / 2)
    assert overlap_share((0.0, 1.0), (2.0, 4.0)) == pytest.approx((-1 / 1 - 1 / 2) / 2)
    assert overlap_share((1.0, 1.0), (1.0, 1.0)) == 1.0 and overlap_share((1.0, 1.0), (2.0, 2.0)) == 0.0


def test_coefficients_and_errors_are_those_of_least_squares() -> None:
    from scipy.stats import linregress

    rng = np.random.default_rng(3)
    schema = sklar.Schema({"x": sklar.Real(-9, 9), "y": sklar.Real(-9, 9)})
    frames = []
    for noise in (1.0, 2.0):
        x = rng.normal(size=400)
        frames.append(pd.DataFrame({"x": x, "y": 0.5 * x + noise * rng.normal(size=400)}))
    score = interval_overlap(*(table(frame, schema) for frame in frames), "y")
    (found,) = score.behind.terms
    scale = frames[0]["x"].std(ddof=0) / frames[0]["y"].std(ddof=0)
    for frame, value, error in zip(
        frames, (found.real, found.synthetic), (found.real_error, found.synthetic_error), strict=True
    ):
        wanted = linregress(frame["x"], frame["y"])
        assert value == pytest.approx(wanted.slope * scale, rel=1e-6)
        assert error == pytest.approx(wanted.stderr * scale, rel=1e-6)
    assert score.value == pytest.approx(min(max(found.overlap, 0), 1)) and score.behind.model == "linear"


def test_logistic_coefficients_of_a_fourfold_table() -> None:
    """The log odds ratio, with the error of Woolf (1955)."""
    x, y = np.repeat([0, 0, 1, 1], [30, 20, 15, 35]), np.repeat([0, 1, 0, 1], [30, 20, 15, 35])
    beta, curve = fit_logistic(np.stack([np.ones(100), x], axis=1), y, ridge=0.0)
    assert beta[1] == pytest.approx(math.log(30 * 35 / (20 * 15)))
    assert math.sqrt(np.linalg.inv(curve)[1, 1]) == pytest.approx(math.sqrt(1 / 30 + 1 / 20 + 1 / 15 + 1 / 35))


def test_fresh_rows_overlap_and_a_changed_slope_does_not() -> None:
    fresh = [interval_overlap(people(1_000, 2 * s), people(1_000, 2 * s + 1), "y").value for s in range(10)]
    assert np.mean(fresh) > 0.6
    score = interval_overlap(people(1_000, 1), people(1_000, 2, slope=0.0), "y")
    terms = {one.term: one for one in score.behind.terms}
    assert terms["x"].overlap < -1 and terms["g: b"].overlap > -0.5
    assert score.behind.mean_overlap < score.value and score.behind.to_dict()["mean_overlap"] < 0
    labels = interval_overlap(people(1_000, 1), people(1_000, 2), "g")
    assert labels.behind.outcome == "g = a" and labels.behind.model == "logistic"


def test_terms_that_follow_from_others_are_left_out() -> None:
    values = np.random.default_rng(0).normal(size=(50, 4))
    values = np.concatenate([np.ones((50, 1)), values, values[:, [1]] - values[:, [2]], np.zeros((50, 1))], axis=1)
    kept = independent_terms(values)
    assert kept[0] == 0 and len(kept) == 5 and np.linalg.matrix_rank(values[:, kept]) == 5
    terms, (one,) = make_terms(people(500, 1), (people(500, 1),), ("x", "y", "g"))
    assert terms == ["intercept", "x", "y", "y: null", "g: b", "g: c"]
    assert add_products(one, terms, ("x", "y"), 9).shape[1] == 9 and add_products(one, terms, ("x", "y"), 8) is one


@pytest.mark.parametrize("change", ["constant", "null"])
def test_odd_targets_say_why(change: str) -> None:
    one = people(200, 1)
    frame = pd.DataFrame({"x": [0.5] * 200, "y": [1.0 if change == "constant" else np.nan] * 200, "g": ["a"] * 200})
    flat = interval_overlap(one, table(frame, WIDE), "y")
    assert flat.value == (0.0 if change == "constant" else None) and flat.reason
    swapped = interval_overlap(table(frame, WIDE), one, "y")
    assert swapped.value is None and swapped.reason


def test_a_coefficient_that_the_synthetic_table_does_not_determine_has_no_overlap() -> None:
    frame = pd.DataFrame({"x": np.random.default_rng(1).normal(size=500), "y": 0.0, "g": "a"})
    frame["y"] = frame["x"]
    found = interval_overlap(people(500, 1), table(frame, WIDE), "y")
    assert {one.term: one.overlap for one in found.behind.terms}["g: b"] <= 0


def bench_of(real: ExactTable, synthetic: ExactTable, **options: object):  # type: ignore[no-untyped-def]
    settings = read_settings(real.schema, None, **options)  # type: ignore[arg-type]
    return make_bench(real, synthetic, None, settings, named_streams(seed_entropy(0)))


def test_subgroups_show_where_a_table_is_wrong() -> None:
    """Synthetic rows of group b have another mean of y, all others are fresh."""
    real, fresh = people(3_000, 1), people(3_000, 2)
    shifted = fresh.numbers["y"] + 1.5 * (fresh.codes["g"] == 1)
    found = measure_subgroups(bench_of(real, replace(fresh, numbers={**fresh.numbers, "y": shifted})), "g")
    assert [one.value for one in found.groups] == ["a", "b", "c"] and found.more == 0
    a, b, c = found.groups
    assert sum(one.rows[0] for one in found.groups) == 3_000 and sum(one.shares[1] for one in found.groups) == 1
    assert b.means > 5 * b.means_floor and max(a.means / a.means_floor, c.means / c.means_floor) < 4
    assert b.furthest.startswith("y ") and " against " in b.furthest
    assert a.tvd1 < 2 * a.tvd1_floor and a.tvd2 < 2 * a.tvd2_floor


def test_subgroups_of_numbers_are_quarters() -> None:
    found = measure_subgroups(bench_of(people(1_000, 1), people(900, 2)), "y")
    assert [one.value.split()[0] for one in found.groups] == ["below", "from", "from", "from", "null"]
    sizes = [one.rows[0] for one in found.groups]
    assert sum(sizes) == 1_000 and max(sizes[:4]) - min(sizes[:4]) <= 2
    rare = measure_subgroups(bench_of(REAL, SYNTHETIC), "sex")
    assert [one.tvd1 for one in rare.groups] == [None, None] and rare.groups[0].rows == (5, 6)


def test_evaluate_tells_them_all(tmp_path) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    frames = [
        pd.DataFrame(
            {"age": rng.integers(0, 10, 300), "sex": rng.choice(["F", "M"], 300), "ill": rng.random(300) < 0.3}
        )
        for _ in range(2)
    ]
    found = sklar.evaluate(*frames, SCHEMA, target="ill", keys=["age"], by="sex", learners="tree")
    told = found.to_dict()
    assert told["uniques"]["replicated"] == found["replicated_uniques"].value
    assert told["disclosure"]["keys"] == ("age",) and told["propensity"]["ratio"] == found["pmse_ratio"].value
    assert {one["term"].partition(":")[0] for one in told["regression"]["terms"]} == {"age", "sex"}
    assert len(told["subgroups"]["sex"]["groups"]) == 2
    found.html(tmp_path / "r.custodian.html")
    html = (tmp_path / "r.custodian.html").read_text()
    assert "Errors by sex" in html and "disclosive and correct (DiSCO)" in html and "Coefficients of a logistic" in html
    for wrong in ({"keys": ["name"]}, {"by": "name"}, {"keys": ["ill"], "target": "ill"}):
        with pytest.raises(UsageError):
            sklar.evaluate(*frames, SCHEMA, **wrong)
