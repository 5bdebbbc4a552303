"""The site of the documentation: every page is in its map, and every public name has its place in the reference."""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path

import pytest

import sklar

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def test_the_reference_lists_every_public_name_once() -> None:
    listed = re.findall(r"^::: sklar\.([\w.]+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    modules = {"lab": sklar.lab, "results": sklar.results, "adapters": sklar.adapters}
    behind = {f"{name}.{public}" for name, module in modules.items() for public in module.__all__}
    others = {name for name in listed if name.startswith(("errors.", "rules."))}
    assert sorted(set(listed) - others) == sorted((set(sklar.__all__) | behind) - {*modules, "errors", "rules"})
    assert len(listed) == len(set(listed)) and all(attrgetter(name)(sklar) for name in others)


def test_every_page_is_in_the_map() -> None:
    named = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    assert named - {"papers/README.md"} == {path.name for path in (ROOT / "docs").glob("*.md")}
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs" / "papers" / "README.md").read_text()))
    assert listed == {path.name for path in (ROOT / "docs" / "papers").glob("*.md")} - {"README.md"}


def test_no_page_fetches_anything() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "mkdocs.yml"]
    assert not [
        page.name for page in pages if re.search(r"<script|<img[^>]+https?:|!\[[^]]*\]\(https?:", page.read_text())
    ]
    assert "font: false" in (ROOT / "mkdocs.yml").read_text()
