"""From a CSV file to a verified bundle in a real browser: each step looked at, reloaded, and checked by axe."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

import sklar
from tests.page.conftest import Received, RunningStudio, finished, serious

pytestmark = pytest.mark.slow

CANARY = "CANARY7f3aQ"
ROWS = 419
DARK = ("columns", "budget", "look", "release")
"""Pages whose colours are checked in the dark, too; between them they have everything."""
SHOTS = os.environ.get("SKLAR_SHOTS")
"""A folder for pictures of every page, to be looked at by people."""


def planted(folder: Path) -> None:
    """A small table with a marker in cells that no schema lists: in texts, keys, and among numbers."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, ROWS)
    frame = pd.DataFrame(
        {
            "name": [f"{CANARY}-{i}" for i in range(ROWS)],
            "age": age,
            "sex": rng.choice(["F", "M"], ROWS),
            "income": (200 * age + rng.normal(0, 2000, ROWS)).round().astype(int),
            "note": [f"{CANARY} said {rng.integers(10**9)}" for _ in range(ROWS)],
        }
    ).astype(object)
    frame.loc[rng.integers(0, ROWS, 5), "age"] = f"{CANARY}-age"
    frame.to_csv(folder / "people.csv", index=False)


def shoot(page: Page, name: str) -> None:
    if SHOTS is None:
        return
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in (400, 800, 1600):
            page.set_viewport_size({"width": width, "height": 900})
            page.screenshot(path=f"{SHOTS}/{name}-{width}-{scheme}.png", full_page=True)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})


def looked_at(page: Page, name: str) -> None:
    """A step holds after a reload, fits a narrow screen, and axe finds nothing serious."""
    page.reload()
    shoot(page, name)
    assert serious(page) == []
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= 400"), f"{name} is wider than a narrow screen"
    if name in DARK:
        page.emulate_media(color_scheme="dark")
        assert serious(page) == []
        page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})
    text = page.inner_text("body")
    assert "The same at a terminal" in text or name == "tables"


def test_from_a_file_to_a_verified_release(
    tmp_path: Path, open_studio: Callable[[Path], RunningStudio], context: BrowserContext, received: Received
) -> None:
    planted(tmp_path)
    studio = open_studio(tmp_path)
    page = context.new_page()
    page.goto(studio.address)
    expect(page).to_have_url(f"{studio.root}/")  # without the token
    page.keyboard.press("Tab")  # the keyboard comes to the content at once
    expect(page.get_by_role("link", name="To the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    looked_at(page, "tables")
    page.get_by_label("A file of the folder").select_option("people.csv")
    page.get_by_role("button", name="Take up").click()

    page.get_by_role("button", name="Draft a schema").click()
    finished(page, "drafting a schema")
    looked_at(page, "columns")
    assert "taken from real rows" in page.inner_text(".notice")
    answer_all(page)
    looked_at(page, "settled")

    page.get_by_role("link", name="Next: the budget").click()
    page.get_by_label("Cap: epsilon of all fits together").fill("8")
    page.get_by_role("button", name="Make the ledger").click()
    page.get_by_label("A guess at the number of rows").fill("400")
    page.get_by_role("button", name="Tell what to expect").click()
    finished(page, "planning")
    looked_at(page, "budget")
    assert page.locator("article.card").count() == 4 and "Accuracy" in page.inner_text("#plan")

    page.get_by_role("link", name="Fit with epsilon 3").click()
    expect(page.get_by_label("Epsilon of this fit")).to_have_value("3")
    page.get_by_role("button", name="Fit", exact=True).click()
    expect(page.locator("#job-head")).to_contain_text("Running")
    other = context.new_page()  # a second tab sees the same, and cannot start another
    other.goto(f"{studio.root}/t/people/fit")
    other.get_by_label("Epsilon of this fit").fill("1")
    other.get_by_role("button", name="Fit", exact=True).click()
    expect(other.locator(".warn").first).to_contain_text("is running")
    other.close()
    finished(page, "fitting people-1")
    looked_at(page, "fit")
    spent = sklar.read_ledger(tmp_path / "people.csv.ledger").fits
    assert [fit.closed for fit in spent] == [True, True]  # facts that were paid for, and the model

    page.get_by_role("link", name="people-1").click()
    page.get_by_role("button", name="Draw the vine").click()
    finished(page, "drawing people-1")
    page.get_by_label("Rows", exact=True).fill("30")
    page.get_by_label("Conditions, one a line").fill("sex=F\nage=30..40")
    page.get_by_role("button", name="Draw rows").click()
    finished(page, "sampling from people-1")
    drawn = pd.read_csv(tmp_path / "people-1.sample-2.csv")
    assert len(drawn) == 30 and set(drawn["sex"]) == {"F"} and drawn["age"].between(30, 40).all()
    page.get_by_role("button", name="Compare with the real rows").click()
    finished(page, "comparing people-1 with the real rows")
    assert page.frame_locator("iframe").last.locator(".notice").inner_text().startswith("For the custodian")
    looked_at(page, "look")
    assert page.evaluate("document.querySelector('img.picture').naturalWidth > 100")

    page.get_by_role("link", name="Next: release it").click()
    page.get_by_role("button", name="Make a key").click()
    finished(page, "making a key")
    page.get_by_label("Rows").fill("100")
    page.get_by_role("button", name="Bundle and verify").click()
    finished(page, "releasing people-1")
    looked_at(page, "release")
    expect(page.locator("#checks ~ .good")).to_contain_text("Verified")
    with page.expect_download() as kept:
        page.get_by_role("link", name="people-1.release.zip").click()
    bundle = tmp_path / "kept.zip"
    kept.value.save_as(bundle)
    assert sklar.verify(bundle, key=tmp_path / "custodian.key.pub").ok

    page.get_by_role("link", name="History").click()
    looked_at(page, "history")
    assert "sklar fit people.csv" in page.inner_text("main") and "unbroken chain" in page.inner_text("main")
    with zipfile.ZipFile(bundle) as archive:
        received.bodies["bundle"] = b"".join(archive.read(name) for name in archive.namelist())
    assert received.holds(CANARY) == []
    kept = (path for path in tmp_path.rglob("*") if path.is_file() and path.name != "people.csv")
    assert [path.name for path in kept if CANARY.encode() in path.read_bytes()] == []
    assert len(received.holds("synthetic")) > 3  # it does keep what comes
    refused = [said for said in received.complaints if "400" not in said]
    assert refused == []


def answer_all(page: Page) -> None:
    """Answer every question: edit one column, pay for one, leave the texts out, confirm the rest."""
    page.get_by_label("Who answers").first.fill("A. Custodian")
    for column in ("name", "note"):
        if page.get_by_role("button", name=f"Leave out {column}").count():
            press(page, page.get_by_role("button", name=f"Leave out {column}"))
    card = page.locator("#column-age")
    card.locator("summary").click()
    card.get_by_label("Lower").fill("0")
    card.get_by_label("Upper").fill("120")
    press(page, card.get_by_role("button", name="Right is what stands here"))
    press(page, page.get_by_role("button", name="Pay for income"))
    while (left := page.get_by_role("button", name="Confirm ")).count():
        press(page, left.first)


def press(page: Page, button: Locator) -> None:
    """Press a button and wait for the page it leads to, so that what is counted next is on that page."""
    with page.expect_navigation():
        button.click()
