"""sklar schema confirm: answers from a terminal or a pipe, whole or not at all."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sklar.cli.main import app
from sklar.schema import Integer, Schema


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"age": rng.integers(20, 60, 500), "city": rng.choice(["rome", "oslo"], 500), "fee": rng.random(500).round(2)}
    )
    frame.to_csv(tmp_path / "p.csv", index=False)
    draft = CliRunner().invoke(app, ["schema", "draft", str(tmp_path / "p.csv"), "-o", str(tmp_path / "s.toml")])
    assert draft.exit_code == 0
    return tmp_path / "s.toml"


def confirm(file: Path, answers: str, *words: str) -> str:
    ended = CliRunner().invoke(app, ["schema", "confirm", str(file), *words], input=answers)
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def test_answers_from_a_pipe_make_a_schema_that_is_fitted(file: Path) -> None:
    shown = confirm(file, "edit lower=0 upper=99\ny\np\n", "--by", "Ada")
    assert "Is this the whole scale?" in shown and "All columns" in shown and "pay for them" in shown
    schema = Schema.read(file)
    assert schema["age"] == Integer(0, 99) and schema["fee"].provenance("upper") == "pay"
    fit = ["fit", str(file.with_name("p.csv")), "-s", str(file), "-e", "5", "-o", str(file.with_name("m.sklar"))]
    told = CliRunner().invoke(app, [*fit, "--method", "independent"])
    assert told.exit_code == 0 and "confirmed by Ada" in told.stdout


def test_an_edit_can_be_asked_field_by_field(file: Path) -> None:
    shown = confirm(file, "e\n\n5\n\nyes\nq\n")
    assert "lower [0]" in shown
    column = Schema.read(file)["age"]
    assert (column.lower, column.upper, column.nullable) == (5, 120, True)  # type: ignore[attr-defined]


def test_what_cannot_be_used_is_asked_again(file: Path) -> None:
    shown = confirm(file, "what\ne lower=9 upper=1\ne lower=x\ne lower\ne height=3\ny\nskip\ni\n")
    assert "leave the column out" in shown and shown.count("Not accepted") == 4 and "has no 'height'" in shown
    assert [q.column for q in Schema.read(file).questions()] == ["city"]
    assert Schema.read(file)["fee"].kind == "ignore"


def test_the_end_of_the_input_keeps_whole_answers_and_the_rest_can_follow(file: Path) -> None:
    assert "1 columns are confirmed, 2 are left" in confirm(file, "y\ne\n\n")
    assert [q.column for q in Schema.read(file).questions()] == ["city", "fee"]
    assert "[1/2] city" in confirm(file, "y\ny\n")
    assert "All columns" in confirm(file, "")


def test_without_an_answer_the_file_is_as_it_was(file: Path) -> None:
    before = file.read_bytes()
    confirm(file, "s\nq\n")
    assert file.read_bytes() == before


def test_json_stands_alone(file: Path) -> None:
    told = json.loads(confirm(file, "y\ni\nq\n", "--json", "--by", "Ada"))
    assert told["answers"] == {"age": "yes", "city": "ignore"} and told["left"] == ["fee"] and told["by"] == "Ada"


def test_ctrl_c_at_a_terminal_leaves_complete_answers(file: Path) -> None:
    mine, theirs = pty.openpty()
    words = [sys.executable, "-m", "sklar", "schema", "confirm", str(file)]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as process:
        os.close(theirs)
        seen = _read_until(mine, b"skip/quit? ")
        os.write(mine, b"y\n")
        seen += _read_until(mine, b"skip/quit? ")
        os.write(mine, b"e\n")
        seen += _read_until(mine, b"]: ")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=300) == 130
    os.close(mine)
    assert b"Is that its range?" in seen
    assert [q.column for q in Schema.read(file).questions()] == ["city", "fee"]
    assert not list(file.parent.glob("*.tmp"))


def _read_until(end: int, text: bytes) -> bytes:
    seen, until = b"", time.monotonic() + 60
    while text not in seen and time.monotonic() < until:
        seen += os.read(end, 4096)
    return seen


def test_rules_that_were_read_off_rows_are_asked_about_after_the_columns(file: Path) -> None:
    rules = ['text = "age < 90"', 'text = "fee <= 1"', 'text = "age > 1"']
    with file.open("a") as text:
        text.writelines(f'\n[[rules]]\nkind = "expression"\n{rule}\nsource = "from-rows"\n' for rule in rules)
    shown = confirm(file, "y\ny\ny\nno\ne\ny\nskip\n", "--by", "Ada")  # the last rule comes first; no edit of a rule
    assert (
        "rule 3: age > 1." in shown
        and "yes/no/skip/quit? " in shown
        and "y: it holds in every row" in shown
        and "1 are left" in shown
    )
    kept = Schema.read(file).rules
    assert [(rule.describe(), rule.source) for rule in kept] == [("age < 90", "from-rows"), ("fee <= 1", "assumed")]


@pytest.fixture
def panel(tmp_path: Path) -> Path:
    """A drafted panel in which the year and the age of 150 persons rise by 1 with every row."""
    of, place = np.repeat(np.arange(150), 4), np.tile(np.arange(4), 150)
    frame = pd.DataFrame({"patient_id": [f"p{k:03}" for k in of], "year": 2000 + place, "age": 20 + of % 50 + place})
    frame.to_csv(tmp_path / "p.csv", index=False)
    draft = CliRunner().invoke(app, ["schema", "draft", str(tmp_path / "p.csv"), "-o", str(tmp_path / "s.toml")])
    assert draft.exit_code == 0 and "step 2: age rises by 1" in draft.stdout
    return tmp_path / "s.toml"


def test_steps_are_asked_after_columns_and_the_person(panel: Path) -> None:
    shown = confirm(panel, "y\ny\ny\ny\nn\ny\n", "--by", "Ada")
    assert (
        shown.index("[4/6] person") < shown.index("[5/6] step 2: age rises") < shown.index("[6/6] step 1: year rises")
    )
    person = Schema.read(panel).person
    assert person is not None and [rule.columns for rule in person.steps] == [("previous year", "year")]
    assert not Schema.read(panel).questions()


def test_steps_that_an_answer_drops_are_not_asked_about(panel: Path) -> None:
    shown = confirm(panel, "y\ny\ni\ny\ny\n", "--by", "Ada")
    assert "step 1: year" in shown and "age rises" not in shown and "All columns" in shown


def test_steps_go_with_the_person(panel: Path) -> None:
    shown = confirm(panel, "y\ny\ny\ni\n", "--by", "Ada")
    assert "step 1" not in shown and "All columns" in shown and Schema.read(panel).person is None
