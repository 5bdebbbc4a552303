"""Pictures of the studio and of a release page for the documentation: python -m tests.page.screenshots."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

import sklar
from tests.conftest import chromium
from tests.page.conftest import PATIENCE, start_studio

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDTH, HEIGHT = 1000, 720


def shoot(page: Page, name: str) -> None:
    """Keep what is seen of a page, with few colours: the pictures are part of the repository."""
    from PIL import Image

    file = IMAGES / f"{name}.png"
    page.screenshot(path=str(file))
    Image.open(file).convert("RGB").quantize(64).save(file, optimize=True)


def walk_through_studio(page: Page, address: str) -> None:
    """Go from the demo's table to a verified release, and keep a picture of each step."""
    page.goto(address)
    shoot(page, "studio-table")
    page.get_by_role("button", name="Start with people.csv").click()
    page.get_by_label("Your name").wait_for(timeout=PATIENCE)
    page.get_by_label("Your name").fill("A. Custodian")
    shoot(page, "studio-columns")
    page.get_by_role("button", name="Yes to all").or_(page.get_by_role("button", name="Confirm the")).first.click()
    page.get_by_label("epsilon 1").wait_for(timeout=PATIENCE)
    page.get_by_label("epsilon 1").check()
    shoot(page, "studio-budget")
    page.get_by_role("button", name="Fit a model with epsilon 1").click()
    page.get_by_role("link", name="Next: look at the results").click(timeout=PATIENCE)
    page.frame_locator("iframe").first.get_by_role("heading", level=1).wait_for(timeout=PATIENCE)
    shoot(page, "studio-results")
    page.get_by_role("link", name="Next: release it").click()
    page.get_by_role("button", name="Bundle and verify").click()
    expect(page.locator("#checks ~ .good")).to_contain_text("Verified", timeout=PATIENCE)
    shoot(page, "studio-release")


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp())
    sklar.demo(folder / "demo", rows=20_000)
    (folder / "clinic").mkdir()
    shutil.copy(folder / "demo" / "people.csv", folder / "clinic")
    sklar.load(folder / "demo" / "people.sklar").page(folder / "people.page.html")
    studio = start_studio(folder / "clinic")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium())
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            walk_through_studio(page, studio.address)
            page.goto((folder / "people.page.html").as_uri())
            page.wait_for_selector("h1")
            shoot(page, "page")
    finally:
        studio.end()


if __name__ == "__main__":
    main()
