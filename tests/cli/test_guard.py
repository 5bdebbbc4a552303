from __future__ import annotations

import json
import subprocess
import sys
import warnings

import pytest
import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guard_command
from sklar.errors import SchemaError, SklarWarning, UsageError

SECRET = "cell-of-a-person"


def ending(error: BaseException) -> int:
    @guard_command
    def command() -> None:
        secret = SECRET  # noqa: F841
        raise error

    with pytest.raises(typer.Exit) as caught:
        command()
    return caught.value.exit_code


def test_deliberate_errors_are_told_and_exit_with_1(capsys):
    assert ending(UsageError("the rule, what was found, what to do.")) == 1
    assert capsys.readouterr().err == "Error: the rule, what was found, what to do.\n"


def test_faults_of_a_schema_are_listed(capsys):
    assert ending(SchemaError(["one: bad", "two"])) == 1
    assert capsys.readouterr().err == "Error: the schema has 2 faults:\n  - one: bad\n  - two\n"


def test_only_the_type_of_other_errors_is_told(capsys, monkeypatch):
    monkeypatch.delenv("SKLAR_DEBUG", raising=False)
    assert ending(ValueError(f"could not convert {SECRET}")) == 1
    told = capsys.readouterr().err
    assert "ValueError" in told and SECRET not in told and "Traceback" not in told


def test_a_traceback_on_request_shows_no_local_variables(capsys, monkeypatch):
    monkeypatch.setenv("SKLAR_DEBUG", "1")
    assert ending(ValueError("plain")) == 1
    told = capsys.readouterr().err
    assert "Traceback" in told and SECRET not in told


def test_an_interrupt_exits_with_130(capsys):
    assert ending(KeyboardInterrupt()) == 130
    assert "interrupted" in capsys.readouterr().err


def test_usage_errors_pass_through():
    @guard_command
    def command() -> None:
        raise typer.BadParameter("x")

    with pytest.raises(typer.BadParameter):
        command()


def test_json_has_no_infinities_and_no_numpy(capsys):
    import json

    import numpy as np

    show.as_json({"a": float("inf"), "b": np.float64(1.5), "c": (1, None), 3: np.bool_(True), "d": {"x"}})
    assert json.loads(capsys.readouterr().out) == {"a": "inf", "b": 1.5, "c": [1, None], "3": True, "d": ["x"]}


def test_tables_are_one_line_a_row_when_piped(capsys):
    show.print_table(["a", "number"], [("x" * 300, 1.0), ("[bold]y", None)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and "x" * 300 in lines[1] and "[bold]y" in lines[2]


def test_errors_and_warnings_of_a_command_with_json_are_json(capsys):
    @guard_command
    def command(*, json: bool = False) -> None:
        warnings.warn("mind this", SklarWarning, stacklevel=1)
        show.note("by the way")
        raise SchemaError(["one: bad", "two"])

    for wanted in (True, False):
        with pytest.raises(typer.Exit):
            command(json=wanted)
        out, err = capsys.readouterr()
        assert out == ""
        if wanted:
            said = [json.loads(line) for line in err.splitlines()]
            faults = "the schema has 2 faults:\n  - one: bad\n  - two"
            assert said == [{"warning": "mind this"}, {"note": "by the way"}, {"error": faults, "exit_code": 1}]
        else:
            assert err.startswith("Warning: mind this\nby the way\nError: the schema has 2 faults")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["inspect", "absent.sklar", "--json"], 1, "absent.sklar"),
        (["inspect", "--json"], 2, "MODEL"),
        (["methods", "--jsom", "--json"], 2, "--jsom"),
    ],
)
def test_the_command_says_all_that_is_wrong_in_json(words: list[str], code: int, says: str) -> None:
    ended = subprocess.run([sys.executable, "-m", "sklar", *words], capture_output=True, text=True, check=False)
    said = json.loads(ended.stderr)
    assert (ended.returncode, ended.stdout, said["exit_code"]) == (code, "", code) and says in said["error"]


def test_a_command_that_ends_well_with_json_exits_with_0() -> None:
    ended = subprocess.run([sys.executable, "-m", "sklar", "methods", "--json"], capture_output=True, text=True)
    assert ended.returncode == 0 and ended.stderr == "" and json.loads(ended.stdout)
