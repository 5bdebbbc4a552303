"""sklar evaluate: tables and JSON for people and machines, refusals before any work, and files for the owner only."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.evaluate import table_names
from sklar.cli.main import app


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    schema = sklar.Schema({"age": sklar.Integer(16, 100), "sex": sklar.Category(["F", "M"])})
    schema.write("s.toml")
    for name, seed in (("real", 0), ("one", 1), ("two", 2)):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({"age": rng.integers(18, 90, 60), "sex": rng.choice(["F", "M"], 60)})
        frame.to_csv(f"{name}.csv", index=False)
    return tmp_path


def run(*words: str) -> tuple[int, str, str]:
    ended = CliRunner().invoke(app, ["evaluate", *words])
    return ended.exit_code, ended.stdout, ended.stderr


def test_a_table_for_people_and_files_for_the_owner(work: Path) -> None:
    code, out, err = run("real.csv", "one.csv", "-s", "s.toml", "--report", "r.custodian.html")
    assert code == 0, err
    assert "not private" in out
    assert "tvd2" in out
    assert stat.S_IMODE((work / "r.custodian.html").stat().st_mode) == 0o600


def test_the_name_of_a_report_says_whom_it_is_for(work: Path) -> None:
    code, out, err = run("real.csv", "one.csv", "-s", "s.toml", "--report", "r.html")
    assert code == 0, err
    assert "r.custodian.html" in out and (work / "r.custodian.html").exists() and not (work / "r.html").exists()


def test_json_stands_alone_on_standard_output(work: Path) -> None:
    budget = ("--query-budget", "0.5,1e-6")
    code, out, err = run("real.csv", "one.csv", "-s", "s.toml", "--report", "r.custodian.html", "--json", *budget)
    assert code == 0, err
    assert json.loads(out)["metrics"]["tvd1"]["value"] >= 0
    queries = json.loads(out)["queries"]
    assert (queries["epsilon"], queries["delta"]) == (0.5, 1e-6)
    assert [line["share"] for line in queries["sets"][0]["answered"][0]["lines"]] == [0.95, 0.99, 1.0]
    assert "Q2: share of queries by error" in (work / "r.custodian.html").read_text()


def test_published_range_queries_and_measures_are_options(work: Path) -> None:
    words = ["--range-queries", "50", "--range-sanity", "5%", "--range-cells", "4", "--measures", "mcc"]
    code, out, err = run(
        "real.csv", "one.csv", "-s", "s.toml", "--learners", "tree", "--targets", "sex", *words, "--json"
    )
    assert code == 0, err
    found = json.loads(out)
    assert found["ranges"]["queries"] == 50 and found["ranges"]["sanity"] == 3.0 and found["ranges"]["cells"] == 4
    assert found["metrics"]["range_absolute_error"]["value"] == found["ranges"]["absolute"]
    g = found["g_epsilon"]
    assert g["learners"] == ["tree"] and g["measures"] == ["mcc", "r2"] and g["targets"] == ["sex"]


def test_keys_and_subgroups_are_options(work: Path) -> None:
    words = ["--target", "sex", "--keys", "age", "--by", "sex", "--by", "age", "--learners", "tree"]
    code, out, err = run("real.csv", "one.csv", "-s", "s.toml", *words, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["disclosure"]["keys"] == ["age"] and list(found["subgroups"]) == ["sex", "age"]
    code, out, _ = run("real.csv", "one.csv", "-s", "s.toml", *words)
    assert code == 0 and "tvd1 (floor)" in out and "What to do next" in out
    assert run("real.csv", "one.csv", "-s", "s.toml", "--by", "name")[0] == 1


def test_json_of_several_tables_on_standard_output(work: Path) -> None:
    code, out, err = run("real.csv", "one.csv", "two.csv", "-s", "s.toml", "--json")
    assert code == 0, err
    assert [found["name"] for found in json.loads(out)] == ["one", "two"]


def test_a_copy_is_told_on_standard_error(work: Path) -> None:
    code, _, err = run("real.csv", "real.csv", "-s", "s.toml", "--learners", "tree")
    assert code == 0
    assert "copy of the real one" in err


@pytest.mark.parametrize(
    ("words", "found", "code"),
    [
        (["real.csv", "one.csv", "-s", "s.toml", "--report", "r.txt"], ".custodian.html", 1),
        (["real.csv", "gone.csv", "-s", "s.toml"], "the synthetic table", 1),
        (["real.csv", "one.csv", "-s", "s.toml", "--target", "x"], "'x'", 1),
        (["real.csv", "one.csv", "-s", "s.toml", "--weights", "a"], "1,1,1", 2),
        (["real.csv", "one.csv", "-s", "s.toml", "--range-sanity", "x"], "0.05%", 1),
        (["real.csv", "one.csv", "-s", "s.toml", "--measures", "rmse"], "bounded ones", 1),
        (["real.csv", "one.csv", "-s", "s.toml", "--query-budget", "1"], "(epsilon, delta)", 1),
        (["real.csv", "-s", "s.toml"], "SYNTHETIC", 2),
        (["real.csv", "one.csv", "-s", "s.toml", "--scatter", "s.svg"], "custodian", 1),
        (["real.csv", "one.csv", "two.csv", "-s", "s.toml", "--scatter", "s.custodian.svg"], "one synthetic table", 1),
        (["real.csv", "one.csv", "-s", "s.toml", "--scatter", "s.custodian.svg"], "2 to 8 columns", 1),
        (["real.csv", "one.csv", "-s", "s.toml", "--columns", "age"], "--scatter", 1),
    ],
)
def test_refusals(work: Path, words: list[str], found: str, code: int) -> None:
    ended, _, err = run(*words)
    assert (ended, found in err) == (code, True), err
    assert "Traceback" not in err


def test_names_stay_apart() -> None:
    assert table_names(["a/x.csv", "b/y.csv"]) == ["x", "y"]
    assert table_names(["a/x.csv", "b/x.csv"]) == ["a/x.csv", "b/x.csv"]
    assert len(set(table_names(["x.csv", "x.csv"]))) == 2
