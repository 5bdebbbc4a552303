"""sklar attack and sklar audit: what is printed, written and refused."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sklar.cli.main import app
from sklar.private.noise import SystemNoise
from tests.lab.attacks.people import SCHEMA, copies, people

LABEL = "a lower bound on risk: an attack that fails proves nothing"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("attack")
    real = people(300, 0)
    real.to_csv(place / "real.csv", index=False)
    people(300, 1).to_csv(place / "held.csv", index=False)
    copies(real, 1500, 0.01, 2).to_csv(place / "synthetic.csv", index=False)
    SCHEMA.write(place / "s.toml")
    return place


def run(folder: Path, *words: str) -> Any:
    return CliRunner().invoke(app, [str(folder / w) if (folder / w).exists() else w for w in words])


def test_membership(folder: Path) -> None:
    found = run(folder, "attack", "membership", "real.csv", "synthetic.csv", "-s", "s.toml", "--holdout", "held.csv",
                "--targets", "100", "--iterations", "5", "--distance", "hamming")  # fmt: skip
    assert found.exit_code == 0, found.output
    assert LABEL in found.output and "hamming_log" in found.output and "not private" in found.output


@pytest.mark.slow
def test_all_in_one_report(folder: Path) -> None:
    report = str(folder / "a.custodian.html")
    found = run(folder, "attack", "all", "real.csv", "synthetic.csv", "-s", "s.toml", "--holdout", "held.csv",
                "--sensitive", "weight", "--report", report, "--json")  # fmt: skip
    assert found.exit_code == 0, found.output
    page, results = Path(report).read_text(), json.loads(found.stdout)
    assert [r["kind"] for r in results] == ["membership", "copies", "singling-out", "linkability", "attribute"]
    assert all(number["label"] == LABEL for r in results for number in r["numbers"].values())
    assert page.count(LABEL.capitalize()) == sum(len(r["numbers"]) for r in results)
    assert "do not publish" in page and "<script" not in page and "http" not in page.replace("http://www.w3.org", "")
    assert stat.S_IMODE(Path(report).stat().st_mode) == 0o600


def test_a_method_is_attacked_by_fitting_it(folder: Path) -> None:
    found = run(folder, "attack-method", "attribute", "plain-gaussian", "real.csv", "-s", "s.toml", "--profile",
                "quick", "--iterations", "2", "--sensitive", "weight", "--workers", "1", "--json")  # fmt: skip
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["settings"]["iterations"] == 2
    assert not (folder / "real.csv.attack").exists()


def test_a_peer_is_attacked_by_its_command(folder: Path) -> None:
    script = "import shutil, sys; shutil.copyfile(sys.argv[1], sys.argv[2])"
    found = run(folder, "attack-method", "attribute", "copier", "real.csv", "-s", "s.toml", "--profile", "quick",
                "--iterations", "2", "--sensitive", "weight", "--workers", "1", "--json", "--peer",
                f"copier={sys.executable} -c '{script}' {{train}} {{output}}")  # fmt: skip
    assert found.exit_code == 1 and "rows instead" in found.output  # it copies its rows once, and more are asked for


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["membership"], "needs a hold-out table"),
        (["magic"], "there is no attack 'magic'"),
        (["shadow"], "on a method, see attack_method"),
        (["attribute"], "name the sensitive column"),
        (["attribute", "--sensitive", "person"], "identifier"),
        (["copies", "--report", "x.txt"], ".custodian.html"),
        (["copies", "--distance", "hamming"], "--distance is not an option of the attack"),
        (["linkability", "--sensitive", "age"], "--sensitive is not an option"),
        (["copies", "--targets", "0"], "targets must be a whole number of at least 1"),
    ],
)
def test_bad_input_is_told(folder: Path, words: list[str], message: str) -> None:
    found = run(folder, "attack", words[0], "real.csv", "synthetic.csv", *words[1:], "-s", "s.toml")
    assert found.exit_code == 1 and message in found.output and "Traceback" not in found.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["attribute", "rvine-star1", "-O", "target=moon", "--sensitive", "age", "--profile", "quick"],
            "'moon' is not",
        ),
        (["shadow", "magic"], "there is no method 'magic'"),
        (["shadow", "magic", "--peer", "other=run"], "one peer is attacked at a time"),
        (["copies", "vine"], "is not available for methods"),
        (["shadow", "vine", "--targets", "9999"], "9999 is not in the table"),
        (["shadow", "vine"], "real rows: samples of 500"),
        (["shadow", "vine", "--workers", "0"], "workers must be a whole number of at least 1"),
        (["shadow", "vine", "--report", "x.txt"], ".custodian.html"),
    ],
)
def test_bad_attacks_on_methods_are_told(folder: Path, words: list[str], message: str) -> None:
    workers = [] if "--workers" in words else ["--workers", "1"]
    found = run(folder, "attack-method", *words[:2], "real.csv", *words[2:], *workers, "-s", "s.toml")
    assert found.exit_code == 1 and message in found.output and "Traceback" not in found.output


@pytest.mark.parametrize(
    "words",
    [
        ["attack", "membership", "real.csv"],
        ["attack", "copies", "real.csv", "synthetic.csv", "--levels", "1,2"],
        ["attack", "copies", "real.csv", "synthetic.csv", "-e", "1"],
        ["attack", "copies", "real.csv", "synthetic.csv", "--targets", "3,17"],
        ["attack", "all", "real.csv", "synthetic.csv", "--profile", "quick"],
        ["attack-method", "shadow", "vine"],
        ["attack-method", "shadow", "vine", "real.csv", "synthetic.csv"],
        ["attack-method", "shadow", "vine", "real.csv", "--holdout", "held.csv"],
        ["attack-method", "shadow", "vine", "real.csv", "--distance", "both"],
    ],
)
def test_each_command_has_its_own_options(folder: Path, words: list[str]) -> None:
    assert run(folder, *words, "-s", "s.toml").exit_code == 2


@pytest.mark.slow
def test_audit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # 1e-6: the chance that a true claim is called contradicted here.
    words = ["audit", "independent", "-e", "1", "--runs", "10", "--pair", "lone label", "-O", "repair=clip"]
    found = run(folder, *words, "--confidence", "0.999999", "--json")
    assert found.exit_code == 0 and json.loads(found.output)["passed"] is True
    by_person = run(folder, *words, "--confidence", "0.999999", "--persons", "5")
    assert by_person.exit_code == 0 and "Nothing contradicts" in by_person.output
    assert run(folder, *words, "--persons", "0").exit_code == 1
    monkeypatch.setattr(SystemNoise, "add", lambda self, tables, noises, cells=None: list(tables))
    caught = run(folder, *words)
    assert caught.exit_code == 1 and "CONTRADICTED" in caught.output
    assert run(folder, "audit", "magic", "-e", "1").exit_code == 1
    assert run(folder, "audit", "vine").exit_code == 2


def test_all_skips_what_it_cannot_do_and_says_so(folder: Path) -> None:
    ended = run(folder, "attack", "all", "real.csv", "synthetic.csv", "-s", "s.toml", "--targets", "20")
    assert ended.exit_code == 0, ended.output
    assert "Skipped attribute" in ended.stderr and "Copies of real rows" in ended.stdout
