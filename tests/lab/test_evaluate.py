"""Evaluation end to end: what is told, what is refused, and that nothing vanishes."""

from __future__ import annotations

import json
import stat
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import SklarError, SourceError, UsageError
from sklar.lab.evaluation import write_report

SCHEMA = sklar.Schema(
    {
        "age": sklar.Integer(16, 100),
        "income": sklar.Real(0, 1_000, nullable=True),
        "sex": sklar.Category(["F", "M"]),
        "smoker": sklar.Boolean(nullable=True),
    }
)
METRICS = {
    "tvd1", "tvd2", "tvd3", "ks", "moments", "spearman", "kendall", "phik", "range_queries", "alpha_precision",
    "beta_recall", "authenticity",
    "detection_linear", "detection_boosting", "copies", "learning", "g_epsilon_plus", "g_epsilon", "ks_all",
    "correlation_delta", "rare_ranges", "range_relative_error", "range_absolute_error", "replicated_uniques", "disco",
    "pmse_ratio", "interval_overlap", "k_marginal", "real_rows_share",
}  # fmt: skip


def people(rows: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    income = np.clip(5 * age + rng.normal(0, 60, rows), 0, 1000)
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "sex": rng.choice(["F", "M"], rows),
            "smoker": income + rng.normal(0, 50, rows) > 280,
        }
    )


@pytest.fixture(scope="module")
def fresh() -> sklar.results.Evaluation:
    return sklar.evaluate(people(), people(seed=1), SCHEMA, target="smoker", claim="epsilon 1.")


def test_all_metrics_are_there_with_floors(fresh: sklar.results.Evaluation) -> None:
    assert set(fresh.scores) == METRICS
    for name, score in fresh.scores.items():
        assert score.value is not None, score.reason
        assert score.floor is not None or name == "real_rows_share"  # a fresh sample has a third, whatever the table
        assert score.about.lower <= score.value <= score.about.upper


def test_a_fresh_sample_is_as_good_as_its_floors(fresh: sklar.results.Evaluation) -> None:
    assert fresh.warnings == ()
    assert fresh["tvd2"].value == pytest.approx(fresh["tvd2"].floor, rel=0.25)
    assert not {score.grade for score in fresh.scores.values()} & {"poor"}


def test_results_are_plain_and_repeatable(fresh: sklar.results.Evaluation) -> None:
    again = sklar.evaluate(people(), people(seed=1), SCHEMA, target="smoker", claim="epsilon 1.")
    assert json.dumps(again.to_dict(), allow_nan=False) == json.dumps(fresh.to_dict(), allow_nan=False)
    assert "not private" in fresh.to_dict()["notice"]


@pytest.mark.slow
def test_a_copy_is_flagged_whatever_the_order_of_rows_and_columns() -> None:
    real = people()
    copy = real.sample(frac=1.0, random_state=1)[["smoker", "sex", "income", "age"]]
    found = sklar.evaluate(real, copy, SCHEMA)
    assert any("copy" in warning for warning in found.warnings)
    assert found["tvd3"].value == 0.0
    assert found["authenticity"].value < 0.1
    assert found.next_step.startswith("Resolve the warnings") and "copy" in found.next_step


def test_the_next_step_follows_from_the_verdict(fresh: sklar.results.Evaluation) -> None:
    assert fresh.next_step.startswith("Attack the table before you publish it")
    assert fresh.to_dict()["next_step"] == fresh.next_step
    far = {name: replace(fresh[name], value=0.9) for name in ("tvd1", "learning")}
    assert "narrow a range" in replace(fresh, scores={**fresh.scores, **far}).next_step
    unlearned = replace(fresh, scores={**fresh.scores, "learning": far["learning"]})
    assert "--target" in unlearned.next_step


def test_a_degenerate_table_looks_bad_in_every_relevant_metric() -> None:
    flat = pd.concat([people(1)] * 300, ignore_index=True)
    found = sklar.evaluate(people(), flat, SCHEMA, target="smoker")
    relevant = METRICS - {"authenticity", "copies", "replicated_uniques", "disco"}
    assert {name for name in relevant if found[name].grade not in ("fair", "poor")} == set()
    assert found["learning"].grade == "poor"


@pytest.mark.slow
def test_a_holdout_serves_as_test_and_floor() -> None:
    found = sklar.evaluate(people(), people(seed=1), SCHEMA, target="income", holdout=people(seed=2), learners="linear")
    assert found.rows["holdout"] == 300
    assert found["learning"].behind.folds == 1
    assert {r.measure for r in found["learning"].behind.results} == {"rmse", "r2"}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda f: f.drop(columns="sex"), "the synthetic table.*'sex'"),
        (lambda f: f.iloc[:0], "the synthetic table.*no rows"),
        (lambda f: 7, "the synthetic table"),
    ],
)
def test_what_cannot_be_compared_is_named(change: object, match: str) -> None:
    with pytest.raises(SourceError, match=match):
        sklar.evaluate(people(), change(people()), SCHEMA)  # type: ignore[operator]


@pytest.mark.parametrize(
    "wrong",
    [
        {"target": "name"},
        {"folds": 1},
        {"learners": ["magic"]},
        {"weights": [1, 2]},
        {"targets": ["name"]},
        {"measures": ["rmse"]},
        {"seed": -1},
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        sklar.evaluate(people(), people(), SCHEMA, **wrong)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.assign(income=np.nan),
        lambda f: f.assign(sex="Q"),
        lambda f: f.assign(age="old", income="much"),
        lambda f: f.iloc[:1],
        lambda f: f.assign(smoker=None),
    ],
    ids=["all null", "disjoint labels", "wrong types", "one row", "null target"],
)
@pytest.mark.parametrize("side", ["real", "both"])
def test_odd_tables_give_numbers_or_reasons(change: object, side: str) -> None:
    real, synthetic = people(80), people(80, seed=1)
    real, synthetic = change(real), change(synthetic) if side == "both" else synthetic  # type: ignore[operator]
    if side == "real":
        swapped = sklar.evaluate(synthetic, real, SCHEMA, target="smoker", learners="tree")
        assert all(score.value is not None or score.reason for score in swapped.scores.values())
    found = sklar.evaluate(real, synthetic, SCHEMA, target="smoker", learners="tree")
    assert set(found.scores) == METRICS
    assert all(score.value is not None or score.reason for score in found.scores.values())
    json.dumps(found.to_dict(), allow_nan=False)


def test_labels_that_differ_are_told() -> None:
    found = sklar.evaluate(people(80), people(80).assign(sex="female"), SCHEMA)
    assert any("'sex' of the synthetic table" in warning for warning in found.warnings)


def test_one_column_is_enough() -> None:
    schema = sklar.Schema({"age": sklar.Integer(16, 100)})
    found = sklar.evaluate(people(80), people(80, 1), schema, target="age")
    assert found["tvd1"].value is not None
    assert "fewer than 2" in found["tvd2"].reason
    assert "no other column" in found["learning"].reason


def test_without_the_extra_the_core_still_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sklearn", "sklearn.ensemble", "phik", "phik.phik"):
        monkeypatch.setitem(sys.modules, name, None)
    found = sklar.evaluate(people(80), people(80, 1), SCHEMA, target="smoker")
    missing = {name for name, score in found.scores.items() if score.value is None}
    assert missing == {"phik", "detection_boosting", "learning", "g_epsilon_plus", "g_epsilon"}
    assert all(".[eval]" in found[name].reason for name in missing)


def test_the_report_is_the_custodians(tmp_path: Path, fresh: sklar.results.Evaluation) -> None:
    path = tmp_path / "r.custodian.html"
    fresh.html(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "computed from real rows, not private" in path.read_text()
    with pytest.raises(UsageError, match="custodian"):
        fresh.html(tmp_path / "r.html")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.custodian.html"]


@pytest.mark.slow
def test_several_tables_share_a_report(tmp_path: Path) -> None:
    tables = {"one": people(80, 1), "two": people(80, 2)}
    found = [sklar.evaluate(people(80), table, SCHEMA, name=name) for name, table in tables.items()]
    write_report(found, tmp_path / "r.custodian.html")
    text = (tmp_path / "r.custodian.html").read_text()
    assert "Side by side" in text
    assert all(f"{name}: Verdict" in text for name in tables)


def test_errors_are_of_the_family() -> None:
    with pytest.raises(SklarError):
        sklar.evaluate("nowhere.csv", people(), SCHEMA)
