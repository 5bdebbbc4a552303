"""Examples run as they stand, what users are shown imports public names only, and the guides name paths that exist."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GUIDES = ["CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
INSIDE = re.compile(r"\b(?:from|import) sklar\.(?!(?:adapters|errors|lab|results|rules) )")
"""An import of something that is free to change: of a module that is not public."""
PATH = re.compile(r"[\w.-]+/[\w./-]*|[\w-]+\.(?:md|py|toml|cff)")
"""A word that speaks of a file or folder of the repository."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported(text: str) -> set[str]:
    """Modules that a script imports, by their full names."""
    nodes = list(ast.walk(ast.parse(text)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "." for node in nodes if isinstance(node, ast.ImportFrom)}


def named_paths(text: str) -> set[str]:
    """Paths in backticks and in links; what is in the virtual environment or elsewhere on the web is not ours."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    quoted = {word for span in re.findall(r"`([^`]+)`", prose) for word in span.split()}
    linked = {link for link in re.findall(r"\]\(([^)#]+)", prose) if "://" not in link}
    return linked | {word for word in quoted if PATH.fullmatch(word) and not word.startswith(".venv/")}


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_runs_and_writes_into_its_folder_only(example: Path, tmp_path: Path) -> None:
    before = sorted((ROOT / "examples").iterdir())
    done = subprocess.run(
        [sys.executable, str(example), "out"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert list((tmp_path / "out").iterdir())
    assert sorted((ROOT / "examples").iterdir()) == before


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_needs_sklar_and_tables_only(example: Path) -> None:
    foreign = imported(example.read_text()) - set(sys.stdlib_module_names)
    assert foreign <= {"sklar", "numpy", "pandas"}


@pytest.mark.parametrize("page", [*EXAMPLES, *PAGES], ids=name_of)
def test_users_are_shown_public_names_only(page: Path) -> None:
    lines = page.read_text().splitlines()
    assert [f"{name_of(page)}:{at}: {line}" for at, line in enumerate(lines, 1) if INSIDE.search(line)] == []


@pytest.mark.parametrize("guide", GUIDES)
def test_paths_in_guides_exist(guide: str) -> None:
    paths = named_paths((ROOT / guide).read_text())
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


def test_a_path_that_does_not_exist_would_be_seen() -> None:
    text = "See `src/sklar/nowhere`, `python -m pytest tests/none`, [a page](docs/none.md) and [one](https://x.org/y)."
    assert named_paths(text) == {"src/sklar/nowhere", "tests/none", "docs/none.md"}
    assert len(named_paths((ROOT / "CONTRIBUTING.md").read_text())) > 30


def test_the_citation_has_the_version_of_the_package() -> None:
    version = re.search(r'^__version__ = "(.+)"$', (ROOT / "src/sklar/__init__.py").read_text(), re.MULTILINE)
    assert version and f"version: {version[1]}\n" in (ROOT / "CITATION.cff").read_text()
