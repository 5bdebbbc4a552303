"""From a CSV file to a verified bundle in a real browser: each step looked at, reloaded, and checked by axe."""

from __future__ import annotations

import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

import sklar
from tests.page.conftest import PATIENCE, Received, RunningStudio, finished, serious

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
    page.get_by_role("button", name="Start with people.csv").click()
    finished(page, "drafting a schema")
    looked_at(page, "columns")
    assert "taken from real rows" in page.locator(".notice").first.inner_text()
    answer_all(page)
    finished(page, "checking and planning")
    looked_at(page, "budget")
    assert page.locator(".choice").count() == 4 and "Accuracy" in page.inner_text("#plan")
    assert "All columns can be read" in page.locator(".framed").inner_text()
    page.goto(f"{studio.root}/t/people/columns")
    looked_at(page, "settled")

    page.get_by_role("link", name="Next: the budget").click()
    page.get_by_label("epsilon 3").check()
    page.get_by_label("Epsilon of all fits together").first.fill("8")
    page.get_by_role("button", name="Fit a model with epsilon 3").click()
    expect(page.locator("#job-head")).to_contain_text("Running")
    other = context.new_page()  # a second tab sees the same, and cannot start another
    other.goto(f"{studio.root}/t/people/fit")
    expect(other.locator("#job-head")).to_contain_text("Running")
    other.goto(f"{studio.root}/t/people/look")
    other.close()
    finished(page, "fitting people-1")
    looked_at(page, "fit")
    spent = sklar.read_ledger(tmp_path / "people.csv.ledger").fits
    assert [fit.closed for fit in spent] == [True, True]  # facts that were paid for, and the model

    page.get_by_role("link", name="Next: look at the results").click()
    page.get_by_role("tab", name="Claim and model").click()
    page.get_by_role("button", name="Draw the vine").click()
    finished(page, "drawing people-1")
    expect(page.get_by_role("tab", name="Claim and model")).to_have_attribute("aria-selected", "true")
    assert page.evaluate("document.querySelector('img.picture').naturalWidth > 100")
    page.get_by_role("tab", name="Interactive page").click()
    page.get_by_role("button", name="Make the page").click()
    finished(page, "writing the page of people-1")
    expect(page.get_by_role("link", name="Download people-1.page.html")).to_be_visible()
    assert (tmp_path / "people-1.page.html").stat().st_size > 100_000
    page.get_by_role("tab", name="Synthetic rows").click()
    page.get_by_label("Rows", exact=True).fill("30")
    page.get_by_label("Conditions, one a line").fill("sex=F\nage=30..40")
    page.get_by_role("button", name="Draw rows").click()
    finished(page, "sampling from people-1")
    drawn = pd.read_csv(tmp_path / "people-1.sample-2.csv")
    assert len(drawn) == 30 and set(drawn["sex"]) == {"F"} and drawn["age"].between(30, 40).all()
    page.get_by_role("tab", name="Comparison with the real rows").click()
    page.get_by_role("button", name="Compare with the real rows").click()
    finished(page, "comparing people-1 with the real rows")
    assert page.frame_locator("iframe").last.locator(".notice").inner_text().startswith("For the custodian")
    looked_at(page, "look")
    page.keyboard.press("Tab")
    page.get_by_role("tab", name="Comparison with the real rows").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Claim and model")).to_be_focused()
    expect(page.get_by_role("tabpanel", name="Claim and model")).to_be_visible()

    page.get_by_role("link", name="Next: release it").click()
    page.get_by_text("Sign it with a key of your own").click()
    page.get_by_role("button", name="Make a key").click()
    finished(page, "making a key")
    page.get_by_text("Number of rows and seed").click()
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
    """Answer every question on one page: edit one column, pay for one, leave the texts out, confirm the rest."""
    page.get_by_label("Your name").fill("A. Custodian")
    row = page.locator("#column-age")
    row.locator("summary").click()
    row.get_by_label("Lower").fill("0")
    row.get_by_label("Upper").fill("120")
    for column, answer in (("name", "leave out"), ("note", "leave out"), ("income", "measure and pay")):
        page.locator(f"#column-{column} .way select").select_option(label=answer)
    page.get_by_role("button", name="Confirm the 5 ticked").click()


class Counted:
    """A page on which clicks are counted, and decisions: what a person has to write or choose."""

    def __init__(self, page: Page):
        self.page, self.clicks, self.decisions = page, 0, 0

    def click(self, what: Locator, *, decides: bool = False) -> None:
        what.click()
        self.clicks, self.decisions = self.clicks + 1, self.decisions + decides

    def write(self, label: str, text: str) -> None:
        self.page.get_by_label(label).fill(text)
        self.decisions += 1


def export(folder: Path) -> None:
    """A German export: semicolons, decimal commas, dates with dots, a word for missing values, Windows-1252."""
    rng = np.random.default_rng(6)
    day, dead = pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 900, 600), "D"), rng.random(600) < 0.3
    level = np.char.replace(rng.lognormal(0, 0.4, 600).round(2).astype(str), ".", ",")
    frame = pd.DataFrame(
        {
            "Nr": np.arange(1, 601),
            "Geschlecht": rng.choice(["männlich", "weiblich"], 600),
            "Aufnahme": day.strftime("%d.%m.%Y"),
            "Wert": np.where(rng.random(600) < 0.1, "k.A.", level),
            "verstorben": np.where(dead, "ja", "nein"),
            "Ursache": np.where(dead, rng.choice(["Herz", "Krebs"], 600), ""),
        }
    )
    frame.to_csv(folder / "klinik.csv", sep=";", index=False, encoding="cp1252")


def test_eight_clicks_lead_from_a_messy_file_to_a_verified_release(
    tmp_path: Path, open_studio: Callable[[Path], RunningStudio], context: BrowserContext
) -> None:
    export(tmp_path)
    page = Counted(context.new_page())
    page.page.goto(open_studio(tmp_path).address)
    by = page.page.get_by_role
    page.click(by("button", name="Start with klinik.csv"))
    expect(page.page.locator("#answers")).to_contain_text(
        "Ursache is filled only if verstorben is ja", timeout=PATIENCE
    )
    page.write("Your name", "A. Custodian")
    assert page.page.locator("#rules input:checked").count() == 0  # what rows show is no rule until someone says so
    page.click(by("button", name="Yes to all 2, and confirm"), decides=True)  # that the draft and its rules are right
    page.click(page.page.get_by_label("epsilon 1"), decides=True)
    page.decisions += 1  # the cap, which is suggested
    page.click(by("button", name="Fit a model with epsilon 1"))
    page.click(by("link", name="Next: look at the results"))
    page.click(by("link", name="Next: release it"))
    page.click(by("button", name="Bundle and verify"), decides=True)
    expect(page.page.locator("#checks ~ .good")).to_contain_text("Verified", timeout=PATIENCE)
    assert page.clicks <= 8 and page.decisions <= 5, (page.clicks, page.decisions)
    made = sklar.load(tmp_path / "klinik-1.sklar").sample(500, seed=3, to="pandas")
    assert made["Ursache"].isna().equals(made["verstorben"] == "nein")
    kept = sklar.Schema.read(tmp_path / "klinik.toml").rules
    assert [rule.source for rule in kept] == ["assumed", "assumed"]
    assert made["Wert"].notna().mean() > 0.8 and sklar.verify(tmp_path / "klinik-1.release.zip").ok


def test_a_folder_of_linked_tables_leads_to_a_verified_release(
    tmp_path: Path, open_studio: Callable[[Path], RunningStudio], context: BrowserContext
) -> None:
    rng = np.random.default_rng(9)
    of, persons = rng.integers(1, 301, 700), np.arange(1, 301)
    clinic = tmp_path / "clinic"
    clinic.mkdir()
    pd.DataFrame({"id": persons, "sex": rng.choice(["F", "M"], 300)}).to_csv(clinic / "patients.csv", index=False)
    stays = pd.DataFrame({"patient": of, "day": rng.integers(0, 900, 700), "ward": rng.choice(["a", "b"], 700)})
    stays.to_csv(clinic / "stays.csv", index=False)
    pd.DataFrame({"item": ["x", "y"], "euro": [1.5, 2.5]}).to_csv(clinic / "prices.csv", index=False)
    page = context.new_page()
    page.goto(open_studio(tmp_path).address)
    by = page.get_by_role
    expect(page.get_by_text("a folder of 3 tables")).to_be_visible()
    by("button", name="Start with clinic").click()
    expect(page.locator("#answers")).to_contain_text("prices is left out: no key joins it", timeout=PATIENCE)
    page.get_by_label("Your name").fill("A. Custodian")
    by("button", name="Yes to it, and confirm").click()
    finished(page, "checking and planning")
    expect(page.locator("#plan")).to_contain_text("With about 300 persons")
    page.get_by_label("epsilon 3").check()
    by("button", name="Fit a model with epsilon 3").click()
    by("link", name="Next: look at the results").click()
    page.get_by_role("tab", name="Synthetic rows").click()
    expect(by("link", name="clinic-1.sample-1.sqlite")).to_be_visible()
    by("link", name="Next: release it").click()
    by("button", name="Bundle and verify").click()
    expect(page.locator("#checks ~ .good")).to_contain_text("Verified", timeout=PATIENCE)
    assert set(sklar.load(tmp_path / "clinic-1.sklar").sample_persons(20, seed=1)) == {"patients", "stays"}


def test_enter_in_the_field_of_the_name_confirms_no_rule(
    tmp_path: Path, open_studio: Callable[[Path], RunningStudio], context: BrowserContext
) -> None:
    export(tmp_path)
    page = context.new_page()
    page.goto(open_studio(tmp_path).address)
    page.get_by_role("button", name="Start with klinik.csv").click()
    page.get_by_label("Your name").fill("A. Custodian")
    page.get_by_label("Your name").press("Enter")
    expect(page.locator("#open")).to_contain_text("2 questions about rules are open", timeout=PATIENCE)
    assert {rule.source for rule in sklar.Schema.read(tmp_path / "klinik.toml").rules} == {"from-rows"}


def test_a_table_of_198_columns_is_confirmed_at_once(
    tmp_path: Path, open_studio: Callable[[Path], RunningStudio], context: BrowserContext
) -> None:
    rng = np.random.default_rng(7)
    wide = {f"item{at:03}": rng.integers(0, 3 + at % 9, 300) for at in range(198)}
    pd.DataFrame(wide).to_csv(tmp_path / "wide.csv", index=False)
    page = context.new_page()
    page.goto(open_studio(tmp_path).address)
    page.get_by_role("button", name="Start with wide.csv").click()
    expect(page.locator("#columns-body tr")).to_have_count(198, timeout=PATIENCE)
    page.get_by_label("Find a column").fill("item17")
    assert page.locator("#columns-body tr:visible").count() == 10
    page.locator("#tick-170").uncheck()
    page.get_by_label("Find a column").fill("")
    assert serious(page) == []
    page.get_by_label("Your name").fill("A. Custodian")
    page.get_by_role("button", name="Confirm the 197 ticked").click()
    expect(page.locator("#open")).to_contain_text("1 question", timeout=PATIENCE)
    page.get_by_label("open questions").check()
    assert page.locator("#columns-body tr:visible").count() == 1


def test_a_page_that_loads_slowly_is_loaded_once_when_its_job_has_ended(
    tmp_path: Path, open_studio: Callable[[Path], RunningStudio], context: BrowserContext
) -> None:
    export(tmp_path)
    page = context.new_page()
    page.goto(open_studio(tmp_path).address)
    asked: list[float] = []

    def delay(route: Route) -> None:
        asked.append(time.monotonic())
        time.sleep(3)
        route.continue_()

    page.route("**/t/klinik/columns", delay)
    page.get_by_role("button", name="Start with klinik.csv").click()
    expect(page.get_by_label("Your name")).to_be_visible(timeout=60_000)
    assert len(asked) == 1  # the first time it comes by a redirection
