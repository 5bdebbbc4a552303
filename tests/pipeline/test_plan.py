"""Plans: what is expected falls with epsilon and rows, agrees with fits, and needs no rows."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sklar
from benchmarks.plans import measured, mixed
from sklar.accounting.unit import Unit
from sklar.cli.main import app
from sklar.errors import BudgetError, UsageError
from sklar.pipeline.plan import MAX_EPSILON, PlanRequest

SCHEMA = mixed(50).schema
WIDE = sklar.Schema({**{f"x{i}": sklar.Real(-5, 5) for i in range(9)}, "y": sklar.Boolean()})
TOLD = ("shares", "correlations", "means", "nulls", "auc_loss")


def expected(
    schema: sklar.Schema, epsilon: float, rows: int, method: str = "vine", delta: float = 1e-9, **more: Any
) -> dict[str, Any]:
    """At one epsilon, without the curve around it."""
    unit = Unit(neighbours="add-remove", rows_per_person=1)
    one = PlanRequest(schema, method, {}, more.get("target"), unit, rows).expected(epsilon, delta)
    assert one is not None
    return one.to_dict()


@pytest.mark.parametrize("schema", [SCHEMA, WIDE])
@pytest.mark.parametrize("more", [{}, {"method": "independent"}, {"target": "y"}, {"delta": 0.0}])
def test_what_is_expected_falls_with_epsilon_and_rows(schema: sklar.Schema, more: dict[str, Any]) -> None:
    if "target" in more and schema is SCHEMA:
        more = {"target": "grade"}
    curve = sklar.plan(schema, epsilon=[0.1, 0.7, 2, 5], rows=2_000, **more).curve
    by_rows = [expected(schema, 1.0, rows, **more) for rows in (50, 800, 2_000, 5_000, 10**7)]
    for told in ([one.to_dict() for _, one in curve], by_rows):
        for worse, better in itertools.pairwise(told):
            for name in TOLD:
                assert (worse[name] is None) == (better[name] is None)
                assert worse[name] is None or worse[name] >= better[name] > 0
        assert told[0]["shares"] > 2 * told[-1]["shares"]
        assert [one["few_rows"] for one in told] == sorted((one["few_rows"] for one in told), reverse=True)


def test_it_says_when_the_method_for_few_rows_takes_over() -> None:
    plan = sklar.plan(WIDE, epsilon=[20, 0.1], rows=1_000, target="y")
    first, second = str(plan).splitlines()
    assert [fit.epsilon for fit in plan.fits] == [0.1, 20]
    assert "few rows is used" in first and "few rows" not in second and "AUC" in first
    assert "independent" not in first


@pytest.mark.slow
def test_fits_give_what_was_expected() -> None:
    """At a large epsilon, so that noise moves little."""
    table = mixed(3_000)
    told = expected(table.schema, 8.0, 3_000)
    found = measured(table.frame, sklar.fit(table.frame, table.schema, epsilon=8.0).sample(seed=1).to_pandas(), SCHEMA)
    for name in ("shares", "correlations"):  # 40 fits had ratios of 0.68 to 1.51, and of 0.55 to 1.55
        assert 1 / 10 < told[name] / found[name] < 10


def test_independent_keeps_no_correlations_and_has_better_shares() -> None:
    alone, vine = expected(SCHEMA, 1.0, 5_000, method="independent"), expected(SCHEMA, 1.0, 5_000)
    assert alone["correlations"] is None and alone["shares"] < vine["shares"]


def test_methods_without_expectations_tell_their_noise() -> None:
    plan = sklar.plan(SCHEMA, method="dpc-gauss", epsilon=1.0)
    assert plan.fits[0].expected is None and plan.lines and "no accuracy forecast" in str(plan)
    with pytest.raises(UsageError, match="no accuracy forecast over epsilon"):
        plan.write("x.svg")


@pytest.mark.parametrize("what", ["shares", "correlations", "means", "nulls"])
def test_a_wish_is_answered_with_the_smallest_epsilon(what: str) -> None:
    limit = expected(SCHEMA, 2.0, 4_000)[what]
    answer = sklar.plan(SCHEMA, rows=4_000, want=f"{what} within {limit:.6f}").answer
    assert answer is not None and answer.epsilon is not None and 1.9 <= answer.epsilon <= 2.2
    assert expected(SCHEMA, answer.epsilon, 4_000)[what] <= limit * 1.0001
    assert expected(SCHEMA, answer.epsilon / 1.2, 4_000)[what] > limit


def test_a_wish_that_cannot_be_had_says_so() -> None:
    answer = sklar.plan(SCHEMA, epsilon=1.0, rows=400, want="correlations within 0.001").answer
    assert answer is not None and answer.epsilon is None
    assert "cannot be reached" in answer.text and "at any epsilon" in answer.text and f"{MAX_EPSILON:g}" in answer.text


def test_points_and_percents_are_hundredths() -> None:
    texts = ["shares within 1 point", "shares within 1%", "Shares within 0.01"]
    answers = [sklar.plan(SCHEMA, rows=4_000, want=text).answer for text in texts]
    assert len({one.epsilon for one in answers if one is not None}) == 1


@pytest.mark.parametrize("want", ["", "good rows", "shares within", "shares within x", "shares within 1.2.3"])
def test_wishes_that_are_none(want: str) -> None:
    with pytest.raises(UsageError, match="shares within"):
        sklar.plan(SCHEMA, want=want)


def test_a_budget_must_be_said() -> None:
    for epsilon in (None, []):
        with pytest.raises(BudgetError, match="epsilon"):
            sklar.plan(SCHEMA, epsilon=epsilon)
    with pytest.raises(UsageError, match="has no forecast for means"):
        sklar.plan(sklar.Schema({"a": sklar.Boolean()}), want="means within 0.1 sd")


@pytest.mark.slow
def test_the_command_needs_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    SCHEMA.write("s.toml")
    run = ["plan", "s.toml", "-e", "0.5,1,3", "--rows", "6000", "--want", "shares within 0.005"]
    told = CliRunner().invoke(app, [*run, "-o", "plan.html"])
    assert told.exit_code == 0, told.output
    assert told.stdout.count("With about 6,000 rows at epsilon") == 3 and "needs epsilon" in told.stdout
    assert "####" in told.stdout and "epsilon 0.5" in told.stdout
    assert "<svg" in Path("plan.html").read_text() and sorted(p.name for p in tmp_path.iterdir()) == [
        "plan.html",
        "s.toml",
    ]
    found = json.loads(CliRunner().invoke(app, [*run, "--json"]).stdout)
    assert [fit["epsilon"] for fit in found["fits"]] == [0.5, 1, 3] and found["answer"]["epsilon"] > 0
    assert len(found["curve"]) >= 9
    assert "std (rows)" in CliRunner().invoke(app, [*run, "--noise"]).stdout
    assert CliRunner().invoke(app, ["plan", "s.toml", "-e", "a,b"]).exit_code == 2
    assert CliRunner().invoke(app, ["plan", "s.toml"]).exit_code == 1


def panel(rows: int = 8) -> sklar.Schema:
    columns = {"year": sklar.Integer(0, 7), "job": sklar.Category(list("abcdef")), "pay": sklar.Integer(0, 50)}
    return sklar.Schema(columns, person=sklar.Person(key="id", rows=rows, order="year"))


def test_persons_are_what_counts_where_rows_share_a_vote() -> None:
    by_persons, by_rows = sklar.plan(panel(), epsilon=2, persons=545), sklar.plan(panel(), epsilon=2, rows=4_360)
    assert by_persons.fits[0].expected == by_rows.fits[0].expected
    assert (by_persons.rows, by_persons.persons) == (by_rows.rows, by_rows.persons) == (4_360, 545)
    assert "545 persons (4,360 rows)" in str(by_rows) and by_rows.to_dict()["persons"] == 545
    assert by_rows.lines[0].share_of_rows == pytest.approx(by_rows.lines[0].std / 545)
    alone = sklar.plan(SCHEMA, epsilon=2, rows=4_360)
    assert alone.persons is None and "4,360 rows at" in str(alone)
    with pytest.raises(UsageError, match="share one vote"):
        sklar.plan(SCHEMA, epsilon=2, persons=545)


def test_it_says_when_transitions_are_below_the_noise_level() -> None:
    few, many = sklar.plan(panel(), epsilon=[2], persons=545), sklar.plan(panel(), epsilon=[2], persons=100_000)
    assert "below the noise level" in str(few) and "below the noise level" not in str(many)
    assert "share of unchanged values" in str(few) and ["transitions hidden by noise", "yes"] in few.table()[1]
    kept = [line for line in few.lines if line.label == "next row: values kept"]
    expected = few.fits[0].expected
    assert expected is not None and expected.kept == pytest.approx(0.8 * kept[0].std / 545, rel=0.01)
    assert "kept" not in str(sklar.plan(SCHEMA, epsilon=[2], rows=545))


def test_facts_that_are_measured_first_leave_less_for_the_model() -> None:
    """A tenth of the budget for marked facts; kinds, bounds and labels of unknown columns cost more."""
    bounds = {"lower": "pay", "upper": "pay"}
    known = {f"x{i}": sklar.Real(0, 1) for i in range(4)}
    marked = known | {"x0": sklar.Real(0, 1, source=bounds)}
    unknown = known | {"x0": sklar.Unknown()}
    noise = [
        sklar.plan(sklar.Schema(columns), epsilon=1.0, rows=5_000).lines[-1].std for columns in (known, marked, unknown)
    ]
    assert noise[1] / noise[0] == pytest.approx(0.9**-0.5, rel=0.01)
    assert noise[2] / noise[0] == pytest.approx((1 - 0.04 - 0.03) ** -0.5, rel=0.02)
