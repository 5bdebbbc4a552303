"""The command in a process of its own, and one demo that the tests share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "SKLAR_DEBUG"} | {"OMP_NUM_THREADS": "1", "COLUMNS": "80"}
SKLAR = [sys.executable, "-W", "error", "-m", "sklar"]


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def run_sklar(*words: object, cwd: Path | None = None, **extra: object) -> Ended:
    done = subprocess.run(
        [*SKLAR, *map(str, words)], cwd=cwd, env=ENVIRONMENT, capture_output=True, timeout=600, **extra
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="session")
def sklar():
    return run_sklar


@pytest.fixture(scope="session")
def sklar_command() -> list[str]:
    return SKLAR


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    return ENVIRONMENT


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo of independent margins, which every test may read and none may change."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    ended = run_sklar("demo", folder, "--rows", 3000, "--method", "independent", "-e", 2)
    assert ended.code == 0, ended.err
    (folder.parent / "told").write_text(ended.out)
    return folder


@pytest.fixture
def work(made: Path, tmp_path: Path) -> Path:
    """A copy of the demo to work in."""
    return Path(shutil.copytree(made, tmp_path / "work"))
