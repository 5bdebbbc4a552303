"""sklar compare: tables for people, JSON for machines, refusals."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sklar.cli.main import app
from tests.lab.compare.test_compare import SCHEMA, table


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table().to_csv("t.csv", index=False)
    SCHEMA.write("t.toml")
    return tmp_path


def run(*words: str) -> tuple[int, str, str]:
    ended = CliRunner().invoke(app, ["compare", *words])
    return ended.exit_code, ended.stdout, ended.stderr


@pytest.mark.slow
def test_tables_for_people_and_json_for_machines(work: Path) -> None:
    words = [
        "t.csv",
        "-s",
        "t.toml",
        "-m",
        "independent,plain-gaussian",
        "-e",
        "1,3",
        "-k",
        "2",
        "--metrics",
        "tvd1,ks",
    ]
    words += ["--peer", f"liar={sys.executable} -c pass", "-j", "1", "-o", "out"]
    code, out, err = run(*words)
    assert code == 0, err
    assert "not covered by the claim" in out and "Epsilon 3" in out and "plain-gaussian" in out
    assert "NO DP GUARANTEE, and not ranked: plain-gaussian." in out
    assert "liar at epsilon 1, fold 0: it succeeded but wrote no table" in err
    code, out, err = run(*words, "--json")
    plain = json.loads(out)
    assert code == 0 and plain["systems"]["plain-gaussian"]["promise"] == "NO DP GUARANTEE"
    assert {(x["epsilon"], x["measure"]) for x in plain["standings"]} == {
        (e, m) for e in (1, 3) for m in ("tvd1", "ks")
    }
    assert not list(work.glob("*.ledger"))


@pytest.mark.parametrize(
    ("words", "found", "code"),
    [
        (["t.csv", "-s", "t.toml", "-o", "out", "-e", "x"], "0.5,1,3", 2),
        (["t.csv", "-s", "t.toml", "-o", "out", "--peer", "x"], "NAME='command'", 2),
        (["t.csv", "-s", "t.toml", "-o", "out", "-O", "depth=2"], "METHOD.KEY=VALUE", 2),
        (["t.csv", "-s", "t.toml", "-o", "out", "-O", "vine.nonsense=2"], "nonsense", 1),
        (["-s", "t.toml", "-o", "out"], "give the file", 2),
        (["t.csv", "-s", "t.toml"], "output", 2),
        (["t.csv", "-s", "t.toml", "-o", "out", "-m", "nonsense"], "nonsense", 1),
        (["gone.csv", "-s", "t.toml", "-o", "out", "-m", "independent"], "gone.csv", 1),
        (["t.csv", "-s", "t.toml", "-o", "t.csv", "-m", "independent"], "not a folder", 1),
    ],
)
def test_refusals(work: Path, words: list[str], found: str, code: int) -> None:
    ended, _, err = run(*words)
    assert (ended, found in err) == (code, True), err
    assert "Traceback" not in err and not (work / "out").exists()
