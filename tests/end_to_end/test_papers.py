"""docs/papers.md says of every item of the papers where it is and which test holds it; all that it names must exist."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
import typing
import warnings
from functools import cache
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import sklar
from benchmarks.papers.__main__ import QUICK
from sklar.cli.main import app
from sklar.lab.attacks.attribute_fits import ATTRIBUTE_PROFILES, AttributeProfile
from sklar.lab.attacks.shadow import SHADOW_PROFILES, ShadowProfile
from sklar.lab.baselines.registry import BASELINES
from sklar.methods.registry import METHODS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text()
STATUSES = ("done", "partial", "missing", "wrong")
COMMANDS = typer.main.get_command(app).commands
ALL_METHODS = {**METHODS, **BASELINES}
CODE = re.compile(r"`([^`]+)`")


def items():
    lines = [line for line in PAGE.split("## Not built")[0].splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[1] != "status"]


def named(start):
    """Every piece of code on the page that begins so."""
    return sorted({code for code in CODE.findall(PAGE) if code.startswith(start)})


def method_options():
    codes = {code for code in CODE.findall(PAGE) if code.split()[0] in ALL_METHODS and " -O " in code}
    return sorted(codes)


def test_every_item_of_the_papers_is_there_and_counted():
    rows = items()
    assert len(rows) == 186
    assert all(len(row) == 5 and row[1] in STATUSES for row in rows)
    text = " ".join(PAGE.split())
    stated = re.search(r"Of (\d+) items (\d+) are done, (\d+) partial, (\d+) missing and (\d+) wrong", text)
    kinds = [row[1] for row in rows]
    assert [int(number) for number in stated.groups()] == [len(rows), *(kinds.count(status) for status in STATUSES)]


def test_what_is_done_has_a_test_and_what_is_not_says_why():
    for what, status, where, test, note in items():
        assert test or status == "missing", what
        assert where or status != "partial", what
        assert note or status == "done", f"no reason why {what} is {status}"


def test_everything_named_on_the_page_exists():
    for code in named("sklar."):
        name = code.removeprefix("sklar.").split("(")[0]
        assert name.split(".")[0] in sklar.__all__ and attrgetter(name)(sklar) is not None, code
    for code in named("benchmarks."):
        place = ROOT.joinpath(*code.split("."))
        assert place.with_suffix(".py").exists() or place.is_dir(), code
    for code in named("sklar "):
        assert_command(code)
    for code in method_options():
        assert_options(code)
    for test in {row[3].strip("`") for row in items() if row[3]}:
        assert_test(test)


def assert_command(code):
    words = shlex.split(code)
    command = COMMANDS[words[1]]
    known = {option for parameter in command.params for option in parameter.opts}
    for at, word in enumerate(words):
        if word.startswith("-"):
            assert word in known, f"{word} is no option of `sklar {words[1]}`"
        if word in ("-m", "--method"):
            assert words[at + 1] in ALL_METHODS


def assert_options(code):
    method, *pairs = code.split(" -O ")
    hints = typing.get_type_hints(ALL_METHODS[method].options)
    for pair in pairs:
        name, value = pair.split("=", 1)
        assert name in hints, f"{method} has no option {name}"
        words = _words(hints[name])
        assert not words or value in words or value.isdigit() or not value, f"{name} of {method} is one of {words}"


def _words(hint):
    """The words that a type of literals allows."""
    if typing.get_origin(hint) is typing.Literal:
        return {word for word in typing.get_args(hint) if isinstance(word, str)}
    return {word for part in typing.get_args(hint) for word in _words(part)}


@cache
def functions_in(file):
    tree = ast.parse((ROOT / "tests" / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def assert_test(test):
    file, _, name = test.partition("::")
    names = functions_in(file)
    assert name in names if name else any(one.startswith("test_") for one in names)


@pytest.mark.parametrize(
    ("check", "code"),
    [
        (assert_command, "sklar fit --no-such-option"),
        (assert_command, "sklar fit -m no-such-method"),
        (assert_options, "tvine -O no_such_option=1"),
        (assert_options, "dpcopula-kendall -O margins=no-such-margin"),
        (assert_test, "end_to_end/test_papers.py::test_no_such_test"),
    ],
)
def test_a_name_that_is_not_there_is_noticed(check, code):
    with pytest.raises(AssertionError):
        check(code)


def test_every_script_is_run_by_the_command_that_runs_all():
    scripts = {path.stem for path in (ROOT / "benchmarks" / "papers").glob("*.py") if path.stem != "__main__"}
    runnable = {name for name in scripts if "__main__" in (ROOT / f"benchmarks/papers/{name}.py").read_text()}
    assert runnable == set(QUICK)


def runnable_fits():
    """Every way to fit that the page names, with what the table of the test needs filled in."""
    codes = {code for code in named("sklar fit -m") if "--spark" not in code}
    fits = {f"{code} " for code in codes} | {f"sklar fit -m {code} " for code in method_options()}
    return sorted(fits)


FILLED = {
    "COLUMN": "ill", "order=a,b,c": "order=age,income,bmi", "sensitive=a,b": "sensitive=age,income",
    "level=5": "level=1",
}  # fmt: skip
"""Words of the page that stand for a user's own, or need more columns than the test's table has."""
NEEDS = (
    ("tvine", "sensitive=", "-O sensitive=income"), ("tvine", "target", "--target ill"),
    ("rvine-star1", "target", "--target ill"), ("encoder=woe", "reference=", "-O reference=ill"),
    ("encoder=glmm", "reference=", "-O reference=ill"), ("shirley -O margins", " -e ", "-e 20"),
    ("sample=true", "--delta", "--delta 0"), ("published=true", "--delta", "--delta 0"),
    ("accounting=basic", "--delta", "--delta 0"), ("noise=laplace", "--delta", "--delta 0"),
    ("accounting=classic", " -e ", "-e 0.9"),
)  # fmt: skip
"""What a command that contains the first text and not the second needs besides."""


def complete(code):
    """The words of a command that can be run on the test's table."""
    for word, own in FILLED.items():
        code = code.replace(word, own)
    baseline = code.split("-m ")[1].split()[0] in BASELINES
    for part, has, needed in NEEDS:
        if part in code and has not in code and not (baseline and needed.startswith("--delta")):
            code += f" {needed}"
    if baseline:
        return shlex.split(code if "--no-guarantee" in code else f"{code} --no-guarantee")[1:]
    return shlex.split(code if " -e " in code else f"{code} -e 20")[1:]


PEOPLE = sklar.Schema(
    {
        "age": sklar.Integer(16, 100), "income": sklar.Real(0, 1e5), "bmi": sklar.Real(10, 60),
        "ill": sklar.Category(["0", "1"]),
    }
)  # fmt: skip
FEW = ["--targets", "3", "--workers", "1"]


def people(rows):
    rng = np.random.default_rng(0)
    z = rng.normal(size=rows)
    return pd.DataFrame(
        {
            "age": np.clip(45 + 12 * z, 17, 90).round(),
            "income": np.clip(30_000 * np.exp(z / 3), 0, 1e5).round(),
            "bmi": np.clip(25 + z + rng.normal(size=rows), 15, 50).round(1),
            "ill": (z + rng.normal(size=rows) > 0).astype(int),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("code", runnable_fits())
def test_every_fit_that_the_page_names_runs(code, tmp_path):
    people(20_000 if "mle" in code else 1_500).to_csv(tmp_path / "people.csv", index=False)
    PEOPLE.write(tmp_path / "people.toml")
    files = [str(tmp_path / "people.csv"), "-s", str(tmp_path / "people.toml"), "-o", str(tmp_path / "m.sklar")]
    words = complete(code)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ended = CliRunner().invoke(app, [words[0], *files, *words[1:]])
    assert ended.exit_code == 0, f"{words}: {ended.stderr}"
    assert sklar.load(tmp_path / "m.sklar").claim.guarantee == (words[words.index("-m") + 1] not in BASELINES)


@pytest.mark.slow
def test_examples_of_attacks_on_a_method_run(tmp_path, monkeypatch):
    """As the help has them, but for fewer games; an external command has tests of its own."""
    table = people(400)
    table.to_csv(tmp_path / "people.csv", index=False)
    PEOPLE.write(tmp_path / "people.toml")
    small = {"iterations": 2, "reference": 120, "size": 100}
    shadow = ShadowProfile(**small, shadows=2, tables=2, synthetic=100, test_tables=4)
    monkeypatch.setitem(SHADOW_PROFILES, "quick", shadow)
    monkeypatch.setitem(ATTRIBUTE_PROFILES, "quick", AttributeProfile(**small, tables=4))
    monkeypatch.chdir(tmp_path)
    text = COMMANDS["attack-method"].help.replace("\\", " ")
    examples = [line.split() for line in text.splitlines() if line.strip().startswith("sklar attack-method")]
    assert len(examples) == 4
    for words in (words for words in examples if "--peer" not in words):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ended = CliRunner().invoke(app, [*words[1:], *(() if "quick" in words else ("--profile", "quick")), *FEW])
        assert ended.exit_code == 0, f"{words}: {ended.stderr}"


@pytest.mark.slow
def test_a_script_runs_draws_and_is_kept_without_any_file(tmp_path):
    command = [sys.executable, "-m", "benchmarks.papers", "galloni_figure1", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "SKLAR_DATA": str(tmp_path)}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    page = (tmp_path / "out" / "galloni_figure1.md").read_text()
    assert all(text in page for text in ("profile `quick`", "Why they differ", "(galloni_figure1.svg)", "ended well"))
    assert (tmp_path / "out" / "galloni_figure1.svg").read_text().startswith("<?xml")
    assert "[galloni_figure1](galloni_figure1.md)" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.slow
def test_a_script_that_takes_too_long_is_stopped_and_named(tmp_path):
    words = ["galloni_table1", "galloni_figure1", "--profile", "quick", "--limit", "1", "--out", str(tmp_path)]
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.papers", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1 and "did not finish: galloni_table1, galloni_figure1" in ended.stderr
    assert "stopped after 1 s" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("name", sorted(QUICK))
def test_every_script_says_what_it_repeats_and_why_it_differs(name):
    text = (ROOT / f"benchmarks/papers/{name}.py").read_text()
    folds = (ROOT / "benchmarks/papers/shirley_folds.py").read_text()
    whole = text + folds if "run_ablation" in text else text
    assert re.search(r"(et al\.) 20\d\d, .*(figure|table|section)", text.split('"""')[1].split("\n\n")[0])
    assert "Why they differ" in whole or "Ours differs" in whole or "so there is nothing to set beside" in whole
