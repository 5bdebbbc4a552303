from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sklar.cli.main import app
from sklar.export.write import write_table
from sklar.lab.people import people_schema, people_table
from sklar.schema import Schema

FILES = {
    "README.txt",
    "people.csv",
    "people.toml",
    "people.ledger",
    "people.sklar",
    "synthetic.csv",
    "claim.txt",
    "people.public.html",
    "people.release.zip",
}
REPORT = "people.custodian.html"


def test_the_demo_leaves_its_files_and_ends_with_what_to_look_at(made: Path):
    assert {path.name for path in made.iterdir()} == FILES
    first, *rest = (made.parent / "told").read_text().splitlines()
    assert (made / "claim.txt").read_text().startswith(first + " ") and "epsilon = 2" in first and len(first) < 300
    named = {"synthetic.csv", "people.public.html", "people.release.zip", "claim.txt", "README.txt"}
    assert all(any(line.endswith(str(made / name)) for line in rest) for name in named)
    assert f"sklar verify {made / 'people.release.zip'}" in "\n".join(rest)


@pytest.mark.slow
def test_the_demo_evaluates_its_table_for_the_custodian(tmp_path: Path):
    ended = CliRunner().invoke(app, ["demo", str(tmp_path), "--rows", "500", "--method", "independent", "--report"])
    assert ended.exit_code == 0, ended.stderr
    assert {path.name for path in tmp_path.iterdir()} == FILES | {REPORT}
    assert (tmp_path / REPORT).stat().st_mode & 0o777 == 0o600


def test_the_synthetic_table_has_the_columns_and_the_rules_of_the_schema(made: Path):
    with (made / "synthetic.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    schema = Schema.read(made / "people.toml")
    assert schema == people_schema()
    assert list(rows[0]) == list(schema.names)
    assert 2500 < len(rows) < 3500
    assert not any(row["sex"] == "M" and row["diagnosis"] == "pregnancy and birth" for row in rows)
    assert all(18 <= int(row["age"]) <= 100 for row in rows)
    assert {row["smoker"] for row in rows} == {"true", "false", ""}
    assert rows[0]["person"] == "P1" and rows[-1]["person"] == f"P{len(rows)}"


def test_the_table_that_plays_the_private_one_is_a_function_of_its_seed(made: Path, tmp_path: Path):
    write_table(people_table(3000), tmp_path / "again.csv", people_schema())
    assert (tmp_path / "again.csv").read_bytes() == (made / "people.csv").read_bytes()
    assert not people_table(100, seed=2).equals(people_table(100, seed=1))


@pytest.mark.slow
def test_a_folder_with_other_files_is_refused_and_a_demo_is_overwritten(work: Path, tmp_path: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "people.csv").write_text("mine")
    refused = CliRunner().invoke(app, ["demo", str(tmp_path / "mine")])
    assert refused.exit_code == 1 and "not empty" in refused.stderr
    assert (tmp_path / "mine" / "people.csv").read_text() == "mine"
    again = CliRunner().invoke(app, ["demo", str(work), "--rows", "500", "--method", "independent", "--json"])
    assert again.exit_code == 0, again.stderr
    assert {path.name for path in work.iterdir()} == FILES


@pytest.mark.parametrize("words", [["-e", "0"], ["--rows", "0"], ["--method", "nope"]])
def test_bad_arguments_of_the_demo_leave_no_folder(tmp_path: Path, words: list[str]):
    ended = CliRunner().invoke(app, ["demo", str(tmp_path / "new"), *words])
    assert ended.exit_code == 1 and ended.stderr.startswith("Error: ") and not (tmp_path / "new").exists()


@pytest.mark.slow
def test_the_whole_way_in_processes_of_their_own(sklar, made: Path, tmp_path: Path):
    first = sklar("sample", made / "people.sklar", "-n", 30, "--seed", 5, "-o", "-")
    second = sklar("sample", made / "people.sklar", "-n", 30, "--seed", 5, "-o", tmp_path / "out.csv")
    assert first.code == second.code == 0, first.err + second.err
    assert first.out == (tmp_path / "out.csv").read_text() and first.out.count("\n") == 31
