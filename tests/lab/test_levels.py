"""Truncation levels weighed by utility and privacy: one fit, the scores by hand, the files, and what is refused."""

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
from sklar.errors import UsageError
from sklar.lab.attacks import classifiers
from sklar.lab.attacks.result import five_numbers
from sklar.lab.attacks.shadow import SHADOW_PROFILES, ShadowProfile
from sklar.lab.learning.features import select_examples
from sklar.lab.levels import MODEL, PICTURE, REPORT, score_learner
from sklar.lab.tables.reading import read_table

SCHEMA = sklar.Schema({**{name: sklar.Real(-8, 8, bins=400) for name in "abcd"}, "y": sklar.Boolean()})
QUICK: dict[str, Any] = {
    "profile": "quick", "sets": 2, "learner": "tree", "workers": 1, "families": "gaussian", "candidates": [1, 2, 3],
}  # fmt: skip


def people(rows: int = 330) -> pd.DataFrame:
    """b tells about a; c and d about each other and about y."""
    rng = np.random.default_rng(5)
    a, c = rng.normal(size=(2, rows))
    b, d = a + 0.3 * rng.normal(size=rows), c + 0.5 * rng.normal(size=rows)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "y": rng.random(rows) < 1 / (1 + np.exp(-2 * c))})


@pytest.fixture(scope="module")
def found() -> sklar.results.LevelChoice:
    return sklar.lab.compare_levels(people(), SCHEMA, "y", ["a"], attacks=["attribute"], **QUICK)


def test_every_level_has_utility_and_all_measures_of_privacy(found: sklar.results.LevelChoice) -> None:
    assert found.levels == (1, 2, 3) and found.main == "auc_01" and found.sets == 2
    assert list(found.risks) == ["a.mab", "a.wcab", "a.mr2", "a.mse"]
    told = found.to_dict()
    assert told["levels"][0].keys() >= {"level", "auc_01", "auc", "a.mab", "a.wcab", "a.mr2", "a.mse", "PU (a)"}
    games = found.attacks[0].details["a"]["levels"]
    assert found.risks["a.mab"][2] == pytest.approx(np.median(games["2"]["mab_by_game"]))
    # a is tied to b in the last tree alone (Algorithm 1): truncation frees it.
    assert found.risks["a.mr2"][1] < 0.2


def test_pu_is_that_of_appendix_e(found: sklar.results.LevelChoice) -> None:
    """P_t and U_t scaled to [0, 1] over the levels, higher being better, and weighed."""
    u = np.array([np.median(found.utility["auc_01"][t]) for t in found.levels])
    p = -np.array([found.risks["a.mab"][t] for t in found.levels])
    scaled = [(x - x.min()) / np.ptp(x) for x in (p, u)]
    wanted = 0.5 * scaled[0] + 0.5 * scaled[1]
    assert [found.scores["a"][t] for t in found.levels] == pytest.approx(wanted)
    assert found.chosen == found.by_column["a"] == found.levels[int(np.argmax(wanted))]
    levels = dict(zip(found.levels, p, strict=True)), dict(zip(found.levels, u, strict=True))
    assert sklar.lab.privacy_utility(*levels, weight=1.0)[found.levels[int(np.argmax(p))]] == 1.0


def test_the_fit_is_one_and_never_sees_the_rows_it_is_tested_on(found: sklar.results.LevelChoice) -> None:
    assert found.model.rows_estimate == 264  # four fifths
    assert sklar.lab.truncation_levels(found.model) == (1, 2, 3, 4)
    assert sklar.lab.truncation_levels(found.released) == tuple(range(1, found.chosen + 1))
    assert sklar.lab.candidate_levels(found.model) == (1, 4)


def test_the_folder_has_report_plot_and_a_model_without_further_trees(
    found: sklar.results.LevelChoice, tmp_path: Path
) -> None:
    report, picture, model = found.save(tmp_path / "out")
    assert (report.name, picture.name, model.name) == (REPORT, PICTURE, MODEL)
    page = report.read_text()
    assert f"Level {found.chosen} is chosen" in page and "MAB of" in page and "Privacy and utility" in page
    assert page.count('class="boxes"') == 5 + 1 + 3  # utility by measure; MAB; coefficients by level
    assert report.stat().st_mode & 0o77 == picture.stat().st_mode & 0o77 == 0
    assert sklar.load(model).inspect()["structure"]["fitted_levels"] == found.chosen


def test_auc_from_predictions_is_the_mean_of_both_rates() -> None:
    """AUC of 0/1 predictions is (sensitivity + specificity) / 2."""
    table = read_table(people(), SCHEMA, np.random.default_rng(0), role="real")
    rows = select_examples(table, "y")
    train, test = rows.take(np.arange(200)), rows.take(np.arange(200, 330))
    told = score_learner("linear", train, test, np.random.default_rng(0))
    from sklar.lab.learning.learners import train_and_predict

    guess = train_and_predict("linear", train, test, np.random.default_rng(0)).guess
    rates = [(guess[test.truth == label] == label).mean() for label in (0, 1)]
    assert told["auc_01"] == pytest.approx(np.mean(rates)) and told["auc"] > told["auc_01"]


def test_five_numbers() -> None:
    assert five_numbers([[1, 2], [3, 5], [4, 4]]) == [1, 2.25, 3.5, 4, 5]


def test_the_command_does_the_same_and_sample_takes_a_level(found: sklar.results.LevelChoice, tmp_path: Path) -> None:
    people().to_csv(tmp_path / "t.csv", index=False)
    SCHEMA.write(tmp_path / "t.toml")
    words = ["levels", str(tmp_path / "t.csv"), "-s", str(tmp_path / "t.toml"), "--target", "y", "--sensitive", "a"]
    words += ["--attacks", "attribute", "--profile", "quick", "--sets", "2", "--learner", "tree", "--workers", "1"]
    words += ["-O", "families=gaussian", "--levels", "1,2,3", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["chosen"] == found.chosen and told["levels"][0]["a.mab"] == pytest.approx(found.risks["a.mab"][1])
    found.model.save(tmp_path / "m.sklar")
    sample = ["sample", str(tmp_path / "m.sklar"), "-n", "20", "--seed", "3", "-o"]
    assert CliRunner().invoke(app, [*sample, str(tmp_path / "a.csv"), "--level", "2"]).exit_code == 0
    sklar.lab.at_level(found.model, 2).write_rows(tmp_path / "b.csv", 20, seed=3)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert CliRunner().invoke(app, [*sample, str(tmp_path / "c.csv"), "--level", "9"]).exit_code == 1


@pytest.mark.parametrize(("words", "state"), [([], "t.csv.levels"), (["--state", "kept"], "kept")])
def test_the_command_keeps_finished_parts(words: list[str], state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --state they are kept beside the table, so that the same command resumes."""
    given: dict[str, Any] = {}

    def stopped(*_: Any, **options: Any) -> None:
        given.update(options)
        raise UsageError("stopped")

    monkeypatch.setattr("sklar.lab.levels.compare_levels", stopped)
    asked = ["levels", "t.csv", "-s", "t.toml", "--target", "y", "--sensitive", "a", *words]
    assert CliRunner().invoke(app, asked).exit_code == 1 and given["state"] == state


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"attacks": ["copies"]}, "attacks are any of shadow, attribute"),
        ({"privacy": "luck"}, "privacy must be one of"),
        ({"privacy": "pg"}, "needs the attack 'shadow'"),
        ({"weight": 2}, "between 0 and 1"),
        ({"sets": 0}, "at least 1"),
        ({"candidates": [9]}, "levels 1 to 4"),
        ({"published": True, "margins": "smoothed"}, "'margins' as set is an extension"),
    ],
)
def test_bad_requests_are_told(options: dict[str, Any], words: str) -> None:
    with pytest.raises(sklar.errors.UsageError, match=words):
        sklar.lab.compare_levels(people(), SCHEMA, "y", "a", **{**QUICK, "attacks": ["attribute"], **options})


@pytest.mark.slow
def test_an_interrupted_attack_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sklar.lab.attacks import attribute_fits

    real, played = attribute_fits.play_attribute, list[str]()

    def play(game: Any, part: str) -> Any:
        played.append(part)
        if played.count("002-fit") == 1 and part == "002-fit":
            raise KeyboardInterrupt
        return real(game, part)

    monkeypatch.setattr(attribute_fits, "play_attribute", play)
    asked: dict[str, Any] = {**QUICK, "attacks": ["attribute"], "state": tmp_path / "kept"}
    with pytest.raises(KeyboardInterrupt):
        sklar.lab.compare_levels(people(), SCHEMA, "y", ["a"], **asked)
    assert (tmp_path / "kept.attribute").is_dir()
    again = sklar.lab.compare_levels(people(), SCHEMA, "y", ["a"], **asked)
    assert played == ["000-fit", "001-fit", "002-fit", "002-fit", "003-fit"]
    assert not (tmp_path / "kept.attribute").exists()
    whole = sklar.lab.compare_levels(people(), SCHEMA, "y", ["a"], **{**asked, "state": None})
    assert again.risks == whole.risks


@pytest.mark.slow
def test_membership_gives_a_privacy_gain_for_every_level(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = ShadowProfile(iterations=2, reference=60, shadows=2, tables=3, size=50, synthetic=50, test_tables=4)
    monkeypatch.setitem(SHADOW_PROFILES, "quick", tiny)
    made = classifiers.make_classifier
    monkeypatch.setattr(classifiers, "make_classifier", lambda name, *rest: made("neighbors", *rest))  # quick
    given: dict[str, Any] = {**QUICK, "candidates": [1, 4], "attacks": ["shadow"], "privacy": "pg", "published": True}
    found = sklar.lab.compare_levels(people(), SCHEMA, "y", "a", **given)
    assert list(found.risks) == ["pg"] and 0 <= found.risks["pg"][1] <= 2
    assert found.attacks[0].settings["features"] == ["naive", "histogram", "correlation", "ensemble"]
    assert found.attacks[0].settings["classifier"] == "plain-forest"
    boxes = found.attacks[0].details["boxes"][0]["boxes"]
    assert [name for name, _ in boxes] == [
        f"{who} targets, level {t}" for t in (1, 4) for who in ("outlying", "random")
    ]
    assert found.plot.better_risk == "higher"
