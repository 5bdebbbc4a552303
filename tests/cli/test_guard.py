from __future__ import annotations

import pytest
import typer

from sklar.cli.terminal import show
from sklar.cli.terminal.guard import guarded
from sklar.errors import SchemaError, UsageError

SECRET = "cell-of-a-person"


def ending(error: BaseException) -> int:
    @guarded
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
    @guarded
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
    show.table(["a", "number"], [("x" * 300, 1.0), ("[bold]y", None)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and "x" * 300 in lines[1] and "[bold]y" in lines[2]
