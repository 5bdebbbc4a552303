"""The site of the documentation: every page is in its map, and every public name has its place in the reference."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sklar

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def test_the_reference_lists_every_public_name_once() -> None:
    listed = re.findall(r"^::: sklar\.(\w+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(set(sklar.__all__) - {"rules"})


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
