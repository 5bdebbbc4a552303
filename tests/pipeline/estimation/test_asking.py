"""Estimates of fitted models: near the truth, the same for the same seed, kept for later, and plain where undefined."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app
from sklar.errors import UnsupportedConditionError, UsageError
from sklar.pipeline.estimation import asking
from sklar.sample.rng import generator
from tests.golden.cases import scripted_fit
from tests.tiers import slow_unless

SCHEMA = sklar.Schema(
    {
        "x": sklar.Real(0, 100, decimals=1),
        "z": sklar.Integer(0, 20),
        "g": sklar.Category(["F", "M", "never"]),
    }
)
ROWS = 3000
FEW: dict[str, Any] = {"replicas": 5, "seed": 4}


def law(rows: int, seed: int) -> pd.DataFrame:
    rng = generator(seed)
    g, z = rng.random(rows) < 0.4, np.minimum(rng.poisson(3, rows), 20)
    return pd.DataFrame(
        {"x": np.clip(50 + 10 * rng.normal(size=rows) + 5 * g + z, 0, 100), "z": z, "g": np.where(g, "F", "M")}
    )


def fit(data: pd.DataFrame, schema: sklar.Schema, **case: Any) -> sklar.Model:
    """With scripted noise: error bars from five replicas have heavy tails, so bounds on them would fail at times."""
    with pytest.MonkeyPatch.context() as patch:
        return scripted_fit(data, schema, case, patch)


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    return fit(law(ROWS, 1), SCHEMA, epsilon=8.0, delta=1e-6)


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("share(g=F)", 0.4), ("share(z=0..3)", 0.6472), ("mean(x)", 55.0), ("mean(z)", 3.0), ("median(x)", 55.0),
        ("total(z)", 3.0 * ROWS), ("correlation(x, z)", 0.1627), ("share(z=0) where g=F", 0.0498),
    ],
)  # fmt: skip
def test_an_estimate_lies_within_eight_of_its_errors_of_the_truth(model: sklar.Model, text: str, truth: float) -> None:
    found = model.estimate(text, **FEW)
    assert found.value is not None and found.low < found.value < found.high
    assert abs(found.value - truth) < 8 * found.error + 0.01 * truth
    assert found.error < 0.1 * max(abs(truth), 0.3)
    assert 1 <= found.effective_rows <= ROWS + 200


def test_a_difference_that_the_model_has_smoothed_is_set_right_by_releases(model: sklar.Model) -> None:
    found = model.estimate("difference", "x", by="g", between=("F", "M"), **FEW)
    assert found.group == "F - M"
    assert abs(found.value - 5.0) < 8 * found.error < 8
    assert "released tables" in found.how


def test_the_table_itself_is_known_better_than_the_population(model: sklar.Model) -> None:
    for text in ("mean(x)", "share(g=F)", "correlation(x, z)"):
        table, population = (model.estimate(text, of=of, **FEW) for of in ("table", "population"))
        assert table.of == "table" and population.of == "population"
    # 3,000 rows at epsilon 8: chance outweighs noise in a share, whose widths are exact
    table, population = (model.estimate("share(g=F)", of=of) for of in ("table", "population"))
    assert table.high - table.low < 0.5 * (population.high - population.low)


def test_groups_and_terms_come_one_by_one_and_what_has_no_rows_says_so(model: sklar.Model) -> None:
    found = model.estimate("mean", "x", by="g", **FEW)
    assert [one.group for one in found] == ["F", "M", "never"]
    assert found[0].value > found[1].value
    terms = model.estimate("linear(x ~ z + g)", **FEW)
    assert [one.term for one in terms] == ["(intercept)", "z", "g=M", "g=never"]
    nobody = model.estimate("mean(x) where z=20 and g=never", **FEW)
    assert nobody.value is None or nobody.error > 0
    assert str(found[0]).startswith("mean(x) [F]: ")


def test_no_end_of_an_interval_is_where_the_schema_leaves_no_room() -> None:
    schema = sklar.Schema({"x": sklar.Integer(2, 9), "g": sklar.Category(["F", "M"])})
    few = fit(pd.DataFrame({"x": [2] * 40, "g": ["F", "M"] * 20}), schema, epsilon=0.5, delta=1e-3)
    for text, least, most in (("mean(x)", 2, 9), ("median(x)", 2, 9), ("difference(x) by g", -7, 7)):
        found = few.estimate(text, confidence=0.999999, **FEW)
        assert isinstance(found, sklar.results.Estimated)
        assert found.value is not None and found.low is not None and found.high is not None
        assert least <= found.low <= found.value <= found.high <= most


def test_a_quantile_among_equal_values_is_certain_only_where_noise_cannot_move_it_off_them() -> None:
    schema = sklar.Schema({"x": sklar.Integer(0, 9)})
    rows = pd.DataFrame({"x": [2] * 700 + [5] * 1_300})
    for epsilon, sure in ((0.1, False), (8.0, True)):
        found = fit(rows, schema, epsilon=epsilon, delta=1e-6).estimate("quantile(x, 0.25)", **FEW)
        assert isinstance(found, sklar.results.Estimated) and found.low is not None and found.high is not None
        assert (found.high - found.low < 1e-9) == sure


def test_a_wider_confidence_is_a_wider_interval(model: sklar.Model) -> None:
    narrow, wide = (model.estimate("mean(x)", confidence=c, **FEW) for c in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.value == wide.value < narrow.high < wide.high


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.5, float("nan"), True, "high"])
def test_a_confidence_that_is_none_is_refused(model: sklar.Model, confidence: Any) -> None:
    with pytest.raises(UsageError, match="confidence"):
        model.estimate("mean(x)", confidence=confidence)


def test_other_wrong_requests_are_refused(model: sklar.Model) -> None:
    for wrong in (
        {"of": "world"},
        {"replicas": 2},
        {"replicas": 10**6},
        {"seed": -1},
        {"by": "x"},
        {"given": {"q": 1}},
    ):
        with pytest.raises(UsageError):
            model.estimate("mean", "x", **wrong)
    with pytest.raises(UsageError, match="into the question"):
        model.estimate("mean(x)", "z")


@pytest.mark.slow
def test_replicas_are_kept_beside_the_model_and_answer_the_next_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fit(law(700, 3), SCHEMA, method="dpcopula-hybrid", epsilon=8.0, delta=1e-6)  # no histograms of numbers
    path = tmp_path / "m.sklar"
    model.save(path)
    first = sklar.load(path).estimate("mean(x)", **FEW)
    assert first == model.estimate("mean(x)", **FEW)  # the same seed, in memory or not
    kept = tmp_path / "m.sklar.replicas"
    assert kept.exists()

    def refuse(*arguments: Any) -> None:
        raise AssertionError("replicas were made again")

    with monkeypatch.context() as patch:
        patch.setattr(asking, "make_replicas", refuse)
        again = sklar.load(path)
        assert again.estimate("mean(x)", **FEW) == first
        assert again.estimate("correlation(x, z)", **FEW) == model.estimate("correlation(x, z)", **FEW)
        with pytest.raises(AssertionError, match="again"):
            again.estimate("mean(x)", replicas=6, seed=4)
    kept.write_bytes(kept.read_bytes()[:5000])
    assert sklar.load(path).estimate("mean(x)", **FEW) == first
    path.rename(tmp_path / "other.sklar")
    assert sklar.load(tmp_path / "other.sklar").estimate("mean(x)", **FEW) == first


def test_another_seed_gives_another_interval_of_the_same_model(model: sklar.Model) -> None:
    one, two = (model.estimate("mean(x)", replicas=5, seed=seed) for seed in (4, 5))
    assert one != two
    assert abs(one.value - two.value) < 8 * one.error


@pytest.mark.parametrize(
    ("method", "more"),
    slow_unless(lambda case: case[0] in ("independent", "dpcopula-hybrid", "vine"), [
        ("independent", {}), ("dpcopula-kendall", {}), ("dpcopula-mle", {"epsilon": 80.0}),
        ("dpcopula-hybrid", {}), ("dpc-gauss", {}),
        ("dpc-laplace", {"delta": 0.0}), ("vine", {"epsilon": 0.3}),
    ]),
)  # fmt: skip
def test_every_method_has_error_bars(method: str, more: dict[str, float]) -> None:
    fitted = fit(law(700, 3), SCHEMA, **{"method": method, "epsilon": 2.0, "delta": 1e-6, **more})
    found = fitted.estimate("mean(z)", **FEW)
    assert found.low < found.value < found.high
    assert abs(found.value - 3.0) < 12 * found.error + 1.5
    together = fitted.estimate("correlation(x, z)", **FEW)
    assert -1 <= together.low <= together.value <= together.high <= 1


def test_a_model_without_known_noise_says_that_it_has_none() -> None:
    plain = sklar.fit(law(200, 3), SCHEMA, method="plain-gaussian", no_guarantee=True)
    with pytest.raises(UsageError, match="no measurements with known noise"):
        plain.estimate("mean(x)")
    with pytest.raises(UsageError, match="no measurements with known noise"):
        plain.implicates(3)


@pytest.mark.slow
def test_implicates_are_tables_of_different_replicas_that_can_be_combined(model: sklar.Model) -> None:
    tables = [table.to_pandas() for table in model.implicates(5, 1000, seed=9)]
    assert [len(table) for table in tables] == [1000] * 5
    assert list(tables[0]) == ["x", "z", "g"]
    again = next(iter(model.implicates(5, 1000, seed=9))).to_pandas()
    assert again.equals(tables[0]) and not tables[1].equals(tables[0])
    found = sklar.combine([t["x"].mean() for t in tables], [t["x"].var() / 1000 for t in tables], rows_ratio=1 / 3)
    assert abs(found.value - 55.0) < 8 * found.error
    with pytest.raises(UsageError):
        model.implicates(0)


@pytest.mark.slow
def test_a_schema_with_rules_has_error_bars() -> None:
    rng = generator(2)
    low = rng.integers(0, 50, 800)
    frame = pd.DataFrame({"low": low, "high": low + rng.integers(0, 50, 800)})
    schema = sklar.Schema(
        {"low": sklar.Integer(0, 99), "high": sklar.Integer(0, 99)}, rules=[sklar.rules.AtMost(low="low", high="high")]
    )
    fitted = fit(frame, schema, epsilon=4.0, delta=1e-6)
    found = fitted.estimate("mean(high)", **FEW)
    assert abs(found.value - 49.0) < 12 * found.error
    assert fitted.estimate("correlation(low, high)", **FEW).value > 0.2


def test_the_cell_of_a_constant_column_is_certain_but_its_correlation_is_not_there() -> None:
    schema = sklar.Schema({"x": sklar.Integer(0, 9), "c": sklar.Integer(5, 5)})
    frame = pd.DataFrame({"x": generator(1).integers(0, 10, 500), "c": 5})
    fitted = fit(frame, schema, epsilon=4.0, delta=1e-6)
    mean = fitted.estimate("mean(c)", **FEW)
    assert (mean.value, mean.low, mean.high) == (5.0, 5.0, 5.0)
    nothing = fitted.estimate("correlation(x, c)", **FEW)
    assert nothing.value is None and "no such rows" in nothing.how


@pytest.mark.slow
def test_the_commands_answer_and_write_implicates(model: sklar.Model, tmp_path: Path) -> None:
    path = str(tmp_path / "m.sklar")
    model.save(path)

    def run(*words: str) -> str:
        ended = CliRunner().invoke(app, [*words])
        assert ended.exit_code == 0, ended.output
        return ended.stdout

    asked = ["estimate", path, "mean(x) by g", "--replicas", "5", "--seed", "4"]
    told = json.loads(run(*asked, "--json"))
    assert [one["group"] for one in told] == ["F", "M", "never"]
    assert told[0]["value"] == model.estimate("mean(x) by g", **FEW)[0].value
    shown = run(*asked)
    assert "0.95 intervals for the population" in shown and "effective rows" in shown
    made = json.loads(
        run("sample", path, "-n", "50", "-o", str(tmp_path / "i.csv"), "--implicates", "2", "--seed", "3", "--json")
    )
    assert [len(pd.read_csv(name)) for name in made["outputs"]] == [50, 50]
    for wrong, said in (("mean(q)", "q"), ("mean(x", "mean(x"), ("__import__('os')", "import")):
        ended = CliRunner().invoke(app, ["estimate", path, wrong])
        assert ended.exit_code == 1 and said in ended.stderr and "Traceback" not in ended.stderr


@pytest.fixture(scope="module")
def rounded() -> sklar.Model:
    """Returns a model of hours of which 30% are 37.5, of incomes in thousands, and of peaks at 0 and 500."""
    rng = generator(7)
    hours = np.clip(30 + 10 * rng.standard_normal(20_000), 0, 81)
    hours[rng.random(20_000) < 0.3] = 37.5
    incomes = 1_000 * np.clip(rng.poisson(30, 20_000), 0, 400)
    balances = np.clip(rng.laplace(0, 40, 20_000), -10_000, 15_000)
    weights = np.clip(rng.laplace(500, 3, 20_000), 0, 1_000)
    schema = sklar.Schema(
        {
            "hours": sklar.Real(0, 81), "income": sklar.Integer(0, 400_000), "balance": sklar.Real(-10_000, 15_000),
            "weight": sklar.Real(0, 1_000),
        }
    )  # fmt: skip
    table = pd.DataFrame({"hours": hours, "income": incomes, "balance": balances, "weight": weights})
    return fit(table, schema, epsilon=2.0, delta=1e-6)


@pytest.mark.parametrize(("text", "truth"), [("share(hours=37.5)", 0.3), ("share(income=30000)", 0.0726)])
def test_a_single_number_has_the_share_that_rows_have(rounded: sklar.Model, text: str, truth: float) -> None:
    name, number = text[6:-1].split("=")
    drawn = rounded.sample(20_000, seed=1).to_pandas()
    found, share = rounded.estimate(text), float(np.mean(drawn[name] == float(number)))
    assert share == pytest.approx(truth, abs=0.03)
    assert found.value == pytest.approx(share, abs=0.01)
    assert abs(found.value - truth) < 4 * found.error


def test_the_share_of_a_real_that_rows_never_have_is_refused(rounded: sklar.Model) -> None:
    with pytest.raises(UsageError, match=r"'hours' was counted in ranges .* atoms"):
        rounded.estimate("share(hours=37.51234)")
    assert rounded.estimate("share(hours=37..38)").value > 0.3


@pytest.mark.parametrize(("name", "top"), [("balance", 0), ("weight", 500)])
def test_a_peak_at_a_round_number_is_no_heap(rounded: sklar.Model, name: str, top: int) -> None:
    """Narrower than the cells of the first histogram, it is a heap to them, and all rows near it would be equal."""
    drawn = rounded.sample(20_000, seed=1).to_pandas()[name]
    assert np.mean(drawn == top) < 0.001 and np.mean(np.abs(drawn - top) < 10) > 0.1


def test_conditions_weigh_cells_by_the_numbers_that_rows_have(rounded: sklar.Model) -> None:
    """Half of the cell around 37.5 is below 37.5, but nearly all of its rows have 37.5."""
    drawn = rounded.sample(20_000, seed=2).to_pandas()["hours"]
    given = rounded.sample(20_000, seed=3, given={"hours": (37.5, 81)}).to_pandas()["hours"]
    assert np.mean(given == 37.5) == pytest.approx(np.mean(drawn[drawn >= 37.5] == 37.5), abs=0.02)


def test_a_condition_on_numbers_between_the_multiples_of_a_unit_is_refused(rounded: sklar.Model) -> None:
    with pytest.raises(UnsupportedConditionError, match="no row of the model has column 'income'"):
        rounded.sample(5, given={"income": (30_010, 30_020)})
