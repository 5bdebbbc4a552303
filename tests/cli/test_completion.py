"""Completion: the scripts of three shells, and the words that may follow."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from sklar.cli.main import app


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell: str) -> None:
    ended = CliRunner().invoke(app, ["--completion", shell])
    assert ended.exit_code == 0 and "_SKLAR_COMPLETE" in ended.stdout


def test_another_shell_is_a_usage_error() -> None:
    assert CliRunner().invoke(app, ["--completion", "tcsh"]).exit_code == 2


def test_a_shell_is_told_the_commands_that_may_follow() -> None:
    asked = {**os.environ, "_SKLAR_COMPLETE": "complete_bash", "COMP_WORDS": "sklar schema c", "COMP_CWORD": "2"}
    ended = subprocess.run([sys.executable, "-m", "sklar"], env=asked, capture_output=True, text=True, check=False)
    assert {"confirm", "check"} == set(ended.stdout.split())
