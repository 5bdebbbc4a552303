"""The tests of rows on the oldest and the newest pandas, polars and pyarrow that the project allows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TESTED = ("pandas", "polars", "pyarrow")
"""Libraries whose containers are read."""
NEEDED = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "duckdb", "openpyxl", "pyreadstat")
PLACES = ("test_containers.py", "test_value_alone.py", "encode", "counting", "persons", "sources/test_sources.py")


def requirements(age: str) -> list[str]:
    """What is installed: all that the core needs, and the tested libraries as old, or as new, as they may be."""
    stated = {
        re.split(r"[<>=\[]", line)[0]: line
        for line in [*PROJECT["optional-dependencies"]["dev"], *PROJECT["dependencies"]]
    }
    pinned = {name: stated[name].replace(">=", "==") if age == "oldest" else stated[name] for name in TESTED}
    core = [line for line in PROJECT["dependencies"] if re.split(r"[<>=\[]", line)[0] not in TESTED]
    return [*core, *pinned.values(), *(stated[name] for name in NEEDED)]


@pytest.mark.slow
@pytest.mark.parametrize("age", ["oldest", "newest"])
def test_rows_are_read_alike_by_old_and_new_libraries(age: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--upgrade", *requirements(age)]
    subprocess.run(install, check=True, capture_output=True)
    words = [python, "-m", "pytest", "-p", "no:cacheprovider", *(str(ROOT / "tests" / "rows" / at) for at in PLACES)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ended = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-4000:]
