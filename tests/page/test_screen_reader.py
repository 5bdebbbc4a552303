"""What a screen reader gets of each page: names of controls, headings in order, headers of tables, announced progress.

The tree is that of Chromium, which it hands to screen readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.page.conftest import PATIENCE, RunningStudio
from tests.page.test_whole_path import export

pytestmark = pytest.mark.slow

CONTROLS = {
    "button", "link", "textbox", "searchbox", "checkbox", "radio", "combobox", "spinbutton", "tab", "tabpanel",
    "DisclosureTriangle", "image", "img", "Iframe", "navigation", "region", "progressbar", "radiogroup",
}  # fmt: skip
"""Roles that a screen reader names to its user; without a name it can only say "button"."""
Node = dict[str, Any]


class Tree:
    """The accessibility tree of a page, without what is hidden from screen readers."""

    def __init__(self, page: Page):
        session = page.context.new_cdp_session(page)
        session.send("Accessibility.enable")
        self.nodes: dict[str, Node] = {
            one["nodeId"]: one for one in session.send("Accessibility.getFullAXTree")["nodes"]
        }
        session.detach()

    def of(self, *roles: str) -> list[Node]:
        """Nodes of these roles, in the order of the page."""
        root = next(iter(self.nodes))
        return [one for one in self._walk(root) if not one.get("ignored") and role(one) in roles]

    def inside(self, node: Node) -> list[Node]:
        return [one for one in self._walk(node["nodeId"]) if not one.get("ignored")]

    def _walk(self, at: str) -> Iterator[Node]:
        node = self.nodes.get(at)
        if node is not None:
            yield node
            for child in node.get("childIds", ()):
                yield from self._walk(child)


def role(node: Node) -> str:
    return str(node.get("role", {}).get("value", ""))


def name(node: Node) -> str:
    return str(node.get("name", {}).get("value", "")).strip()


def level(node: Node) -> int:
    return next(int(one["value"]["value"]) for one in node["properties"] if one["name"] == "level")


def faults(page: Page) -> list[str]:
    """All that a person who hears the page would miss."""
    tree = Tree(page)
    found = [f"a {role(one)} has no name" for one in tree.of(*CONTROLS) if not name(one)]
    levels = [level(one) for one in tree.of("heading")]
    found += [] if levels[:1] == [1] and levels.count(1) == 1 else [f"the page has headings {levels}"]
    found += [
        f"a heading of level {after} follows one of {before}"
        for before, after in pairwise(levels)
        if after > before + 1
    ]
    for table in tree.of("table"):
        headers = [one for one in tree.inside(table) if role(one) in ("columnheader", "rowheader")]
        found += [] if any(role(one) == "columnheader" for one in headers) else ["a table has no headers of columns"]
        found += [f"a {role(one)} is empty" for one in headers if not name(one) and not tree.inside(one)[1:]]
    found += [] if len(tree.of("main")) == 1 else ["the page has not one main part"]
    return found + ([] if tree.of("status") else ["nothing announces what happens"])


def test_every_page_can_be_heard(
    tmp_path: Path, open_studio: Callable[[Path], RunningStudio], context: BrowserContext
) -> None:
    export(tmp_path)
    page = context.new_page()
    root = open_studio(tmp_path)
    page.goto(root.address)
    by = page.get_by_role
    assert faults(page) == []
    by("button", name="Start with klinik.csv").click()
    expect(page.locator("#columns-body tr")).to_have_count(6, timeout=PATIENCE)
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        assert faults(page) == [], width
        tables = [one for one in Tree(page).of("table") if len(Tree(page).inside(one)) > 20]
        assert tables, f"at {width} pixels the columns are no table"
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator("#column-Wert summary").click()  # the fields of an edit are named, too
    for summary in page.locator("main > details > summary").all():
        summary.click()
    assert faults(page) == []
    planted(page)
    page.get_by_label("Your name").fill("A. Custodian")
    by("button", name="Yes to all 2, and confirm").click()
    expect(page.get_by_label("epsilon 1")).to_be_visible(timeout=PATIENCE)
    assert faults(page) == []
    page.get_by_label("epsilon 1").check()
    by("button", name="Fit a model with epsilon 1").click()
    expect(page.locator("#announce")).to_have_text("Running: Fit the model", timeout=PATIENCE)
    assert faults(page) == [] and [name(one) for one in Tree(page).of("progressbar")] != []
    later = re.compile("Running: (Write the public report|Draw synthetic rows)")
    expect(page.locator("#announce")).to_have_text(later, timeout=PATIENCE)
    by("link", name="Next: look at the results").click()
    for tab in by("tab").all():
        tab.click()
        assert faults(page) == [], tab.inner_text()
    by("link", name="Next: release it").click()
    by("button", name="Bundle and verify").click()
    expect(page.locator("#checks ~ .good")).to_contain_text("Verified", timeout=PATIENCE)
    assert faults(page) == []
    by("link", name="History").click()
    assert faults(page) == []
    page.goto(f"{root.root}/")
    assert faults(page) == []


def planted(page: Page) -> None:
    """Each kind of fault is found where it is put in, and gone when it is taken out."""
    for change, words in (
        ("for (const e of document.querySelectorAll('label[for=by]')) e.remove()", "a textbox has no name"),
        ("document.querySelector('h2').outerHTML = '<h4>Rules</h4>'", "a heading of level 4 follows one of 1"),
        ("document.querySelector('table.columns thead').remove()", "a table has no headers of columns"),
        ("document.querySelector('#announce').remove();"
         "for (const e of document.querySelectorAll('[role=status]')) e.remove()", "nothing announces what happens"),
    ):  # fmt: skip
        page.evaluate(change)
        assert words in faults(page), words
        page.reload()
