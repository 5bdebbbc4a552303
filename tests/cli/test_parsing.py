from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from sklar import __version__
from sklar.cli.main import app
from sklar.cli.terminal.options import make_reading, read_options, text_reading
from sklar.schema.reading import ReadOptions

COMMANDS = [
    ["demo"], ["schema", "check"], ["schema", "draft"], ["schema", "pay"],
    ["plan"], ["synth"], ["fit"], ["sample"], ["inspect"], ["page"], ["methods"],
    ["ledger", "create"], ["ledger", "show"], ["ledger", "verify"], ["evaluate"], ["attack"], ["attack-method"],
    ["compare"], ["audit"], ["bench", "verify"],
]  # fmt: skip


def run(*words: str):
    return CliRunner().invoke(app, list(words), prog_name="sklar")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example_and_json(command: list[str]):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert f"sklar {' '.join(command)}" in result.output.split("Example:")[1]
    assert "--json" in result.output


def test_the_help_lists_every_command():
    result = run("--help")
    assert result.exit_code == 0
    assert all(command[0] in result.output for command in COMMANDS)
    assert "..." not in result.output.split("Commands:")[1]  # no summary is cut off


def test_version():
    assert run("--version").output == f"sklar {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        ["nope"],
        ["fit"],
        ["fit", "x.csv", "-s", "s.toml", "-e", "much", "-o", "m.sklar"],
        ["fit", "x.csv", "-s", "s.toml", "-e", "1", "-o", "m.sklar", "--nope"],
        ["sample", "m.sklar"],
        ["sample", "m.sklar", "-o", "out.csv", "-n", "many"],
        ["sample", "m.sklar", "-o", "-", "--json"],
        ["synth", "x.csv", "-s", "s.toml", "-e", "1", "-o", "-", "--json"],
        ["ledger"],
        ["ledger", "create", "x.ledger"],
    ],
    ids=" ".join,
)
def test_usage_errors_exit_with_2(words: list[str]):
    result = run(*words)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_options_of_methods_are_read_as_plain_values():
    texts = ["depth=3", "share=0.5", "on=true", "off=null", "name=geometric", "a-b=x=y", "list=[1, 2]"]
    assert read_options(texts) == {
        "depth": 3, "share": 0.5, "on": True, "off": None, "name": "geometric", "a_b": "x=y", "list": [1, 2],
    }  # fmt: skip
    assert read_options(None) == {}


@pytest.mark.parametrize("text", ["depth", "=3", "epsilon=3", "seed=1", "rows-per-person=2"])
def test_what_is_no_option_of_a_method_is_refused(text: str):
    with pytest.raises(typer.BadParameter):
        read_options([text])


def test_only_what_was_asked_goes_to_the_reader():
    assert make_reading(null_value=[]) == text_reading() == ReadOptions()
    asked = text_reading("\\t", "latin-1", ["NA"])
    assert asked == ReadOptions(delimiter="\t", encoding="latin-1", null_values=("NA",))
    assert asked.stated_names == ("delimiter", "encoding", "null_values")


def test_methods_as_json_have_names_and_options():
    from sklar.lab.baselines.registry import BASELINES
    from sklar.methods.registry import METHODS

    result = run("methods", "--json")
    facts = json.loads(result.output)
    assert [fact["name"] for fact in facts] == [*METHODS, *BASELINES]
    assert {fact["name"] for fact in facts if fact["guarantee"]} == set(METHODS)
    assert sum(fact["default"] for fact in facts) == 1


def test_each_option_of_each_method_is_explained():
    for fact in json.loads(run("methods", "--json").output):
        options = json.loads(run("methods", fact["name"], "--json").output)
        assert {one["option"]: one["default"] for one in options} == fact["options"]
        assert [one["option"] for one in options if not one["meaning"]] == [], fact["name"]
    assert "workload" in run("methods", "vine").output
    assert run("methods", "nothing").exit_code == 1
