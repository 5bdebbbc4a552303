"""TVineSynth and the vines beside it: one fit, all levels, labels, saved and loaded, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sklar
from sklar.errors import UnsupportedConditionError, UsageError
from sklar.lab.baselines.levels import at_level, candidate_levels, choose_level, sweep, truncation_levels
from sklar.lab.pictures import draw_model

QUICK: dict[str, Any] = {"families": "one-parameter", "threads": 1, "margins": "smoothed"}
TVINE: dict[str, Any] = {"method": "tvine", "target": "ill", "sensitive": ["income"], "threshold": 0.4, **QUICK}


@pytest.fixture(scope="module")
def model(table: pa.Table, schema: sklar.Schema) -> sklar.Model:
    return sklar.fit(table, schema, no_guarantee=True, **TVINE)


def test_the_order_is_that_of_algorithm_1(model: sklar.Model) -> None:
    told = model.inspect()["structure"]
    assert told["target"] == "ill" and told["sensitive"] == ["income"]
    # The response first, then the covariates from the last position to the first: the sensitive one is the last root.
    assert told["roots"][0] == "ill" and told["roots"][-1] == "income"
    assert told["roots"][-2] == "children"
    assert told["fitted_levels"] == told["level"] == 5
    assert [len(tree["edges"]) + tree["independent"] for tree in told["trees"]] == [5, 4, 3, 2, 1]


def test_an_order_of_ones_own(table: pa.Table, schema: sklar.Schema, tmp_path: Path) -> None:
    order = [name for name in schema.modelled if name != "ill"]
    own = sklar.fit(table, schema, no_guarantee=True, **{**TVINE, "order": order, "level": 1})
    assert own.inspect()["structure"]["roots"] == ["ill", *reversed(order)]
    with pytest.raises(UsageError, match="each once"):
        sklar.fit(table, schema, no_guarantee=True, **{**TVINE, "order": order[1:]})
    draw_model(own, tmp_path / "trees.svg")
    assert "NO DP GUARANTEE" in (tmp_path / "trees.svg").read_text()
    with pytest.raises(UsageError, match="the pictures are: trees, levels, pairs"):
        draw_model(own, tmp_path / "x.svg", "moon")


def test_levels_come_from_the_one_fit(model: sklar.Model) -> None:
    assert truncation_levels(model) == (1, 2, 3, 4, 5)
    assert candidate_levels(model) == (1, 5)
    full = model.inspect()["structure"]["trees"]
    for level in truncation_levels(model):
        assert at_level(model, level).inspect()["structure"]["trees"] == full[:level]
    shallow = at_level(model, 2, drop=True)
    assert truncation_levels(shallow) == (1, 2)
    assert shallow.sample(40, seed=3).equals(at_level(model, 2).sample(40, seed=3))
    assert [level for level, _ in sweep(model, rows=5, seed=1)] == [1, 5]
    for level in (6, 0, "two"):
        with pytest.raises(UsageError, match="levels 1 to 5"):
            at_level(model, level)  # pyright: ignore[reportArgumentType]


def test_truncation_frees_the_sensitive_column(model: sklar.Model, table: pa.Table) -> None:
    def tie(rows: pa.Table) -> float:
        frame = rows.to_pandas()
        return float(frame["income"].corr(frame["children"], method="spearman"))

    low = at_level(model, 1).sample(6_000, seed=5)
    high = model.sample(6_000, seed=5)
    assert tie(high) == pytest.approx(tie(table), abs=0.1)
    assert tie(low) < tie(high) - 0.2


def test_saved_and_loaded(model: sklar.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    assert again.sample(50, seed=1).equals(model.sample(50, seed=1))
    assert str(again.claim).startswith("NO DP GUARANTEE")
    assert any("attribute inference" in caveat for caveat in again.claim.caveats)
    assert at_level(again, 2).sample(20, seed=2).equals(at_level(model, 2).sample(20, seed=2))


def test_margins_hold_and_values_are_not_copied(model: sklar.Model, table: pa.Table) -> None:
    drawn = model.sample(4_000, seed=7).to_pandas()
    real = table.to_pandas()
    for name in ("town", "children", "ill"):
        gap = drawn[name].value_counts(normalize=True).sub(real[name].value_counts(normalize=True), fill_value=0)
        assert gap.abs().max() < 0.01
    assert drawn["weight"].isna().mean() == pytest.approx(real["weight"].isna().mean(), abs=0.01)
    for name in ("score", "income"):
        assert np.allclose(drawn[name].quantile([0.1, 0.5, 0.9]), real[name].quantile([0.1, 0.5, 0.9]), rtol=0.05)
    # Incomes are whole; a copied one would be, too.
    assert np.mean(drawn["income"] == drawn["income"].round()) < 0.05
    assert drawn["income"].max() < 2 * real["income"].max()


def test_conditions_are_kept_and_move_the_rest(model: sklar.Model) -> None:
    drawn = model.sample(1_500, seed=3, given={"ill": True, "score": (55, 60)}).to_pandas()
    assert drawn["ill"].all() and drawn["score"].between(55, 60).all()
    free = model.sample(20_000, seed=4, iid=True).to_pandas()
    inside = free[free["ill"] & free["score"].between(55, 60)]
    assert drawn["weight"].mean() == pytest.approx(inside["weight"].mean(), abs=1.5)
    assert drawn["income"].median() == pytest.approx(inside["income"].median(), rel=0.1)
    with pytest.raises(UnsupportedConditionError):
        model.sample(10, seed=1, given={"score": (0, 1)})


@pytest.mark.parametrize("method", ["rvine", "rvine-star1", "plain-vine"])
def test_the_vines_beside_it(table: pa.Table, schema: sklar.Schema, method: str) -> None:
    star = {"target": "ill"} if method == "rvine-star1" else {}
    model = sklar.fit(table, schema, method=method, no_guarantee=True, level=3, **star, **QUICK)
    assert truncation_levels(model) == (1, 2, 3)
    assert str(model.claim).startswith("NO DP GUARANTEE")
    told = model.inspect()["structure"]["trees"]
    if star:
        assert all("ill" in (edge["first"], edge["second"]) for edge in told[0]["edges"])
    drawn = model.sample(3_000, seed=1).to_pandas()
    real = table.to_pandas()
    assert drawn["score"].corr(drawn["weight"]) == pytest.approx(real["score"].corr(real["weight"]), abs=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": None}, "name the response"),
        ({"target": "nothing"}, "'nothing' is not among"),
        ({"sensitive": ()}, "at least one sensitive"),
        ({"sensitive": "income,nothing"}, "'nothing' is not among"),
        ({"sensitive": 3}, "'3' is not among"),
        ({"sensitive": None}, "at least one sensitive"),
        ({"families": ["gaussian"]}, "families must be"),
        ({"sensitive": ["ill"]}, "both the response and sensitive"),
        ({"sensitive": ["income", "income"]}, "named twice"),
        ({"sensitive": ["income", "children", "town", "weight", "score"]}, "leave at least one"),
        ({"threshold": 0.0}, "raise the threshold"),
        ({"threshold": 1.5}, "between 0 and 1"),
        ({"threshold": "0.1,0.2"}, "a threshold must be one number"),
        ({"threshold": {"weight": 0.5}}, "no value for the sensitive column 'income'"),
        ({"association": "nice"}, "association must be"),
        ({"level": 0}, "from 1 to 5"),
        ({"level": 6}, "from 1 to 5"),
        ({"level": 2.5}, "from 1 to 5"),
        ({"families": "nice"}, "families must be"),
        ({"selection": "nice"}, "selection must be one of"),
        ({"threads": "x"}, "threads must be a whole number of at least 1; found 'x'"),
        ({"threads": 0}, "threads must be a whole number"),
        ({"margins": "nice"}, "margins must be one of quantiles, smoothed"),
        ({"conditional_root": "no"}, "True, False or None; found 'no'"),
    ],
)
def test_bad_options_are_refused(table: pa.Table, schema: sklar.Schema, options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sklar.fit(table, schema, no_guarantee=True, **{**TVINE, **options})


@pytest.mark.parametrize("threads", ["x", 0, 1.5, True, None])
def test_threads_of_the_vines_beside_it(table: pa.Table, schema: sklar.Schema, threads: Any) -> None:
    with pytest.raises(UsageError, match="threads must be a whole number of at least 1"):
        sklar.fit(table, schema, method="rvine", no_guarantee=True, threads=threads)


def test_constant_columns_are_refused(table: pa.Table, schema: sklar.Schema) -> None:
    flat = table.set_column(0, "income", pa.array(np.full(table.num_rows, 5.0)))
    with pytest.raises(UsageError, match="sensitive column 'income' has the same value"):
        sklar.fit(flat, schema, no_guarantee=True, **TVINE)
    flat = table.set_column(5, "ill", pa.array(np.full(table.num_rows, True)))
    with pytest.raises(UsageError, match="response column 'ill' has the same value"):
        sklar.fit(flat, schema, no_guarantee=True, **TVINE)


def test_very_many_columns_say_what_they_cost() -> None:
    schema = sklar.Schema({f"x{i}": sklar.Real(0, 1) for i in range(500)})
    rows = pa.table({name: [0.1, 0.2, 0.3] for name in schema.names})
    with pytest.raises(UsageError, match=r"500 columns and 50 trees need 23,725 pair copulas.*level=20"):
        sklar.fit(rows, schema, method="tvine", no_guarantee=True, target="x0", sensitive=["x1"])


def test_the_choice_of_a_level() -> None:
    privacy = {1: 0.9, 5: 0.8, 10: 0.1}
    utility = {1: 0.70, 5: 0.78, 10: 0.80}
    assert choose_level(privacy, utility) == 5
    assert choose_level(privacy, utility, weight=1.0) == 1
    assert choose_level(privacy, utility, weight=0.0) == 10
    with pytest.raises(UsageError):
        choose_level(privacy, {1: 0.5})
    with pytest.raises(UsageError, match="finite"):
        choose_level({**privacy, 1: float("nan")}, utility)
