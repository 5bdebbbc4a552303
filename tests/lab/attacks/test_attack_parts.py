"""Parts of attacks by hand, by brute force and against other implementations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm

import sklar
from sklar.errors import MissingExtraError, UsageError
from sklar.lab.attacks.attribute import validate_sensitive_columns
from sklar.lab.attacks.classifiers import require_classifier
from sklar.lab.attacks.games import FunctionGenerator, Game, Subject, choose_targets, describe_level, open_game
from sklar.lab.attacks.method import MethodGenerator, default_state, make_generator
from sklar.lab.attacks.regression import (
    attack_by_regression,
    design_layout,
    guess_errors,
    impute_mean,
    make_predictors,
    regress_on_table,
)
from sklar.lab.attacks.release import attack_tables, require_attacks, rows_by_role
from sklar.lab.attacks.result import Attacked, AttackResult, Number, shuffle_columns
from sklar.lab.attacks.shadow import (
    ShadowProfile,
    draw_samples,
    features_of,
    game_parts,
    judge_parts,
    play_part,
)
from sklar.lab.attacks.singling_out import Term, link_records, match_rule, single_out
from sklar.lab.intervals import Estimate, exact_estimate
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import ExactTable, ordered_values
from tests.lab.attacks.people import SCHEMA, copies, people

TINY = ShadowProfile(iterations=2, reference=60, shadows=2, tables=3, size=40, synthetic=30, test_tables=4)


def read(frame: pd.DataFrame, schema: sklar.Schema = SCHEMA) -> ExactTable:
    return read_table(frame, schema, np.random.default_rng(0), role="real")


def tables(real: ExactTable, synthetic: ExactTable, holdout: ExactTable | None = None, seed: int = 0) -> Attacked:
    return Attacked(real=real, synthetic=synthetic, holdout=holdout, rng=np.random.default_rng(seed))


def deaf(table: pa.Table, rows: int, seed: int) -> pd.DataFrame:
    return people(rows, 10_000 + seed)


def game(frame: pd.DataFrame, profile: Any = TINY, **options: Any) -> Game:
    subject = Subject(real=read(frame), raw=pa.Table.from_pandas(frame), generator=FunctionGenerator(deaf), seed=4)
    given = {"sensitive": ("weight",), "targets": None, "random_targets": 3, **options}
    return open_game(subject, profile, **given)


# What an attack finds


@pytest.mark.parametrize(
    ("beside", "alarming"),
    [
        ({}, False),
        ({"baseline": exact_estimate(0.6)}, True),
        ({"baseline": exact_estimate(0.6), "ideal": 0.8}, False),
        ({"baseline": exact_estimate(0.9), "ideal": 0.65}, True),
        ({"baseline": exact_estimate(0.6), "ideal": 0.5, "control": Estimate(value=0.65, low=0.5, high=0.75)}, False),
        ({"baseline": exact_estimate(0.9), "ideal": 0.9, "control": Estimate(value=0.5, low=0.4, high=0.65)}, True),
    ],
)
def test_the_control_counts_before_the_ideal_and_that_before_the_baseline(beside: Any, alarming: bool) -> None:
    number = Number(name="n", title="n", says="", attack=Estimate(value=0.75, low=0.7, high=0.8), **beside)
    assert number.alarming is alarming
    mirrored = {
        key: -value if key == "ideal" else Estimate(value=-value.value, low=-value.high, high=-value.low)
        for key, value in beside.items()
    }
    turned = Estimate(value=-0.75, low=-0.8, high=-0.7)
    assert Number(name="n", title="n", says="", attack=turned, worse="lower", **mirrored).alarming is alarming


def test_a_verdict_names_what_works_and_beside_whom() -> None:
    caught = Number(name="a", title="share", says="", attack=exact_estimate(0.9), baseline=exact_estimate(0.2))
    quiet = Number(name="b", title="other", says="", attack=exact_estimate(0.1), baseline=exact_estimate(0.2))
    ideal = Number(name="c", title="gain", says="", attack=exact_estimate(0.9), ideal=0.5)
    found = AttackResult(kind="k", title="Attack", numbers=(caught, quiet, ideal))
    assert len(found.verdict) == 2 and found["b"] is quiet
    assert "share is 0.900" in found.verdict[0] and "0.200 for an attacker without the release" in found.verdict[0]
    assert "where 0.5 would reveal nothing" in found.verdict[1]
    assert "found nothing beyond chance" in AttackResult(kind="k", title="Attack", numbers=(quiet,)).verdict[0]
    assert AttackResult(kind="k", title="Attack", numbers=()).verdict == ("Attack: nothing could be measured.",)
    with pytest.raises(KeyError):
        found["nobody"]


def test_shuffled_columns_keep_their_margins_and_lose_what_ties_them() -> None:
    real = read(people(300, 0))
    mixed = shuffle_columns(real, ["weight", "sex"], np.random.default_rng(0))
    for name in real.names:
        assert np.array_equal(np.sort(mixed.codes[name]), np.sort(real.codes[name]))
        assert np.array_equal(mixed.codes[name], real.codes[name]) == (name not in ("weight", "sex"))
    # The numbers of a column move with its codes.
    order = np.argsort(mixed.numbers["weight"], kind="stable")
    assert np.array_equal(mixed.codes["weight"][order], np.sort(real.codes["weight"]))
    assert abs(np.corrcoef(mixed.numbers["weight"], mixed.numbers["height"])[0, 1]) < 0.2


def test_what_needs_a_holdout_is_none_or_told_without_one() -> None:
    real = read(people(30, 0))
    assert tables(real, real).control(lambda table: table.rows) is None
    assert tables(real, real, real).control(lambda table: table.rows) == 30
    assert tables(real, real).missing("a", "b") == ("a", "b") and tables(real, real, real).missing("a") == ()
    assert rows_by_role(real, real, None) == {"real": 30, "synthetic": 30}


def test_several_attacks_on_tables_at_hand_equal_the_public_verb() -> None:
    real, fake, held = people(120, 0), people(150, 1), people(120, 2)
    require_attacks(["copies", "attribute"], ["weight"], holdout=False)
    for kinds, sensitive, words in (
        (["membership"], (), "hold-out"),
        (["attribute"], (), "sensitive"),
        (["x"], (), "x"),
    ):
        with pytest.raises(UsageError, match=words):
            require_attacks(kinds, sensitive, holdout=False)
    found = attack_tables(read(real), read(fake), read(held), ["copies", "linkability"], (), seed=0)
    alone = sklar.attack("copies", real, fake, SCHEMA, held)
    assert [one.kind for one in found] == ["copies", "linkability"]
    assert found[0]["exact_copies"] == alone["exact_copies"]


# The linear attacker


def test_predictors_are_numbers_and_indicators_of_all_but_the_commonest_label() -> None:
    frame = people(200, 0)
    real = read(frame)
    layout = design_layout(real)
    commonest = frame["region"].value_counts().idxmax()
    shown = {f"r{code}" for code in layout.shown["region"]}
    assert shown == set(frame["region"]) - {commonest}
    x = make_predictors(real, layout, "weight")
    names = layout.features("weight")
    assert x.shape == (200, len(names)) and "weight" not in names
    assert np.allclose(x[:, names.index("height")], frame["height"])
    first = int(layout.shown["region"][0])
    assert np.array_equal(x[:, names.index(f"region={first}")], frame["region"] == f"r{first}")
    income = x[:, names.index("income")]
    assert np.allclose(income[frame["income"].isna()], np.nanmean(frame["income"]))


def test_unknown_values_become_the_mean() -> None:
    assert impute_mean(np.array([1.0, np.nan, 3.0])).tolist() == [1.0, 2.0, 3.0]
    assert impute_mean(np.array([np.nan, np.nan])).tolist() == [0.0, 0.0]


def test_the_regression_agrees_with_statsmodels() -> None:
    real = read(people(400, 0))
    layout = design_layout(real)
    x, y = make_predictors(real, layout, "weight"), ordered_values(real, "weight")
    fit = regress_on_table(real, layout, "weight")
    scaled = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    other = sm.OLS((y - y.mean()) / y.std(ddof=1), sm.add_constant(scaled)).fit()
    assert fit.coefficients == pytest.approx(other.params[1:]) and fit.r2 == pytest.approx(other.rsquared)
    assert fit.adjusted == pytest.approx(other.rsquared_adj)
    numbers, details = attack_by_regression(tables(real, real, real), "weight", 5)
    found = {number.name: number for number in numbers}
    assert found["weight.mab"].attack.value == pytest.approx(np.abs(other.params[1:]).mean())
    assert found["weight.wcab"].attack.value == pytest.approx(np.abs(other.params[1:]).max())
    assert details["coefficients"] == details["coefficients_real"]
    assert found["weight.mr2"].baseline.value < 0.1 < found["weight.mr2"].attack.value  # type: ignore[union-attr]


def test_guesses_of_a_known_line_have_no_error_and_blind_ones_have_the_variance() -> None:
    frame = people(300, 0).assign(weight=lambda f: 0.5 * f["height"])
    real = read(frame)
    layout = design_layout(real)
    errors = guess_errors([real], real, real, layout, "weight")
    assert errors.shape == (1, 300) and errors.max() < 1e-9
    other, rng = read(people(5000, 1)), np.random.default_rng(0)
    blind = [shuffle_columns(other, ["weight"], rng) for _ in range(20)]
    # The mean error of one shuffled table has a standard deviation of 0.035, so this is six of those of their mean.
    assert guess_errors(blind, real, real, layout, "weight").mean() == pytest.approx(1.0, abs=0.05)


def test_sensitive_columns_are_told_once() -> None:
    real = read(people(50, 0))
    assert validate_sensitive_columns(real, "age") == ("age",)
    assert validate_sensitive_columns(real, ["age", "sex", "age"]) == ("age", "sex")
    alone = sklar.Schema({"age": SCHEMA["age"]})
    with pytest.raises(UsageError, match="another column"):
        validate_sensitive_columns(read(people(50, 0)[["age"]], alone), "age")


# Singling out and linkability


def test_rules_fit_what_pandas_selects() -> None:
    frame = people(400, 0)
    real = read(frame)
    at_least = Term(column="age", sign=1, value=60.0)
    at_most = Term(column="height", sign=-1, value=170.0)
    woman = Term(column="sex", sign=0, value=0.0)
    unknown = Term(column="income", sign=1, value=float("nan"))
    for rule, wanted in (
        ((at_least, at_most), (frame["age"] >= 60) & (frame["height"] <= 170)),
        ((woman,), frame["sex"] == "F"),
        ((unknown, at_least), frame["income"].isna() & (frame["age"] >= 60)),
        ((), frame["age"] > 0),
    ):
        assert np.array_equal(match_rule(real, rule), wanted)


def test_rules_from_the_table_itself_single_out_one_of_its_people() -> None:
    real = read(people(300, 0))
    found = single_out(tables(real, real, read(people(300, 1))), guesses=50, columns=4)
    assert found["several_columns"].attack.value == 1.0 > found["several_columns"].control.value  # type: ignore[union-attr]
    assert found["several_columns"].trials == 50 and found.settings["columns"] == 4


def test_rules_that_cannot_be_made_are_told() -> None:
    schema = sklar.Schema({"sex": SCHEMA["sex"], "smoker": SCHEMA["smoker"]})
    same = read(pd.DataFrame({"sex": ["F"] * 30, "smoker": [True] * 30}), schema)
    found = single_out(tables(same, same, same))
    assert not found.numbers and "no rule fits exactly one synthetic row" in found.missing[0]


def test_every_record_of_a_copied_table_is_linked_and_none_of_constant_halves() -> None:
    real = read(people(200, 0))
    sides = [["age", "height", "sex"], ["income", "weight", "region"]]
    found = link_records(tables(real, real), targets=150, columns=sides)["linked"]
    assert found.attack.value > 0.97 and found.baseline == exact_estimate(1 / 200) and found.trials == 150
    release = read(people(200, 5).assign(age=40, height=170.0, sex="F", income=1.0, weight=70.0, region="r1"))
    # All synthetic rows are equally close to everybody: the one that is named is random.
    assert link_records(tables(real, release), targets=150, columns=sides)["linked"].attack.value < 0.05


# Games


def test_targets_are_outlying_random_or_given_and_twins_are_counted() -> None:
    frame = pd.concat([people(100, 0), people(100, 0).iloc[[7]]], ignore_index=True)
    frame["person"] = range(101)
    real, rng = read(frame), np.random.default_rng(0)
    given = choose_targets(real, rng, sensitive=(), rows=[7, 3, 7], random=5)
    assert [(t.row, t.group, t.twins) for t in given] == [(7, "chosen", 1), (3, "chosen", 0)]
    drawn = choose_targets(real, rng, sensitive=("weight", "sex"), rows=None, random=5)
    assert [t.group for t in drawn] == ["outlying"] * 4 + ["random"] * 5 and len({t.row for t in drawn}) == 9
    least = choose_targets(real, rng, sensitive=("sex",), rows=None, random=0)
    assert {t.about for t in least} == {"among the least likely rows"} and len(least) == 4
    everybody = choose_targets(real, rng, sensitive=(), rows=None, random=10_000)
    assert sorted(t.row for t in everybody) == list(range(101))


def test_samples_have_no_target_and_tested_rows_are_new_to_the_attacker() -> None:
    played = game(people(150, 0))
    targets = {target.row for target in played.targets}
    for iteration in range(2):
        samples, tested = draw_samples(played, iteration)
        assert [len(rows) for rows in samples] == [40, 40] and len(tested) == 40
        assert all(len(set(rows)) == 40 for rows in (*samples, tested))
        assert not targets & set(np.concatenate([*samples, tested]).tolist())
        assert not set(tested.tolist()) & set(np.concatenate(samples).tolist())
    assert not np.array_equal(draw_samples(played, 0)[1], draw_samples(played, 1)[1])
    assert np.array_equal(draw_samples(played, 1)[1], draw_samples(game(people(150, 0)), 1)[1])


def test_a_part_has_features_of_every_table_and_the_same_ones_each_time() -> None:
    played = game(people(150, 0))
    assert game_parts(played)[:2] == ["000-out", "000-t0"] and len(game_parts(played)) == 2 * (1 + len(played.targets))
    assert judge_parts(played)[-1] == f"001-j{len(played.targets) - 1}"
    part = play_part(played, "001-t1")
    assert part["train||naive"].shape[0] == TINY.shadows * TINY.tables and part["test||naive"].shape[0] == 4
    assert part["test||closest"].shape == (4, len(played.targets))
    again = play_part(played, "001-t1")
    assert all(np.array_equal(values, again[key]) for key, values in part.items())
    widths = [part[f"train||{name}"].shape[1] for name in ("naive", "histogram", "correlation")]
    assert features_of(part, "train", "", "ensemble", 0).shape[1] == sum(widths)
    assert np.array_equal(features_of(part, "test", "", "closest", 2), part["test||closest"][:, 2])


def test_another_attack_has_another_fingerprint() -> None:
    frame = people(120, 0)
    own = game(frame).fingerprint("forest")
    assert own == game(frame).fingerprint("forest")
    others = [
        game(frame).fingerprint("svc"),
        game(people(120, 1)).fingerprint("forest"),
        game(frame, sensitive=("height",), targets=[1]).fingerprint("forest"),
        game(frame, sensitive=("weight",), targets=[1]).fingerprint("forest"),
        game(frame, ShadowProfile()).fingerprint("forest"),
    ]
    assert len({own, *others}) == 6


def test_judgements_of_one_classifier_are_not_taken_for_those_of_another(tmp_path: Path) -> None:
    calls: list[int] = []

    def stops(table: pa.Table, rows: int, seed: int) -> pd.DataFrame:
        calls.append(seed)
        if len(calls) > 6:
            raise KeyboardInterrupt
        return deaf(table, rows, seed)

    def run(classifier: str) -> None:
        changes = {"iterations": 2, "reference": 60, "shadows": 2, "tables": 2, "size": 40, "synthetic": 40}
        options: dict[str, Any] = {"profile": "quick", "changes": {**changes, "test_tables": 2}, "targets": [3]}
        folder = tmp_path / "state"
        sklar.lab.attack_method("shadow", stops, people(90, 0), SCHEMA, classifier=classifier, state=folder, **options)

    with pytest.raises(KeyboardInterrupt):
        run("forest")
    with pytest.raises(UsageError, match="parts of another attack"):
        run("logistic")


# Generators


def test_methods_functions_and_generators_become_generators() -> None:
    by_name = make_generator(SCHEMA, "vine", {"epsilon": 1.0}, [2, 1, 2])
    assert isinstance(by_name, MethodGenerator) and by_name.levels == ("2", "1")
    baseline = make_generator(SCHEMA, "plain-gaussian", {})
    assert isinstance(baseline, MethodGenerator) and baseline.settings["no_guarantee"] and baseline.levels == ("",)
    function = make_generator(SCHEMA, deaf, {})
    made = function.fit(pa.table({"x": [1]}), 0).generate("", 5, 7)
    assert made.equals(deaf(pa.table({}), 5, 7))
    assert make_generator(SCHEMA, function, {}) is function
    with pytest.raises(UsageError, match="has its own"):
        make_generator(SCHEMA, deaf, {"epsilon": 1.0})


def test_a_baseline_is_seeded_and_draws_independent_rows() -> None:
    generator = make_generator(SCHEMA, "plain-gaussian", {})
    raw = pa.Table.from_pandas(people(120, 0))
    one, two = (generator.fit(raw, 3).generate("", 40, 5) for _ in range(2))
    assert read(one).rows == 40
    assert all(np.array_equal(read(one).codes[name], read(two).codes[name]) for name in SCHEMA.modelled)


def test_small_words(monkeypatch: pytest.MonkeyPatch) -> None:
    assert describe_level("") == ("", "") and describe_level("3") == ("[3]", ", level 3")
    assert default_state("a/people.csv") == "a/people.csv.attack"
    require_classifier("forest")
    monkeypatch.setitem(__import__("sys").modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match="eval"):
        require_classifier("forest")


def test_near_copies_are_closer_than_fresh_rows() -> None:
    real, held = people(200, 0), people(200, 1)
    found = sklar.attack("copies", real, copies(real, 800, 0.02, 3), SCHEMA, held, targets=150)
    assert found["closest_record"].attack.value > 0.9 and found["closest_record"].trials == 300
    assert found["exact_copies"].attack.value < 0.05
