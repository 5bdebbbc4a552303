"""The page of a release in a real browser, offline: views, rows, answers and checks."""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

import sklar
from sklar.inference.estimates import Estimated
from sklar.lab.people import people_schema, people_table
from sklar.page.document import build_page
from sklar.page.embedded import read_block, read_facts
from sklar.pipeline.bundle.keys import make_key
from sklar.pipeline.model import Model
from tests.page.conftest import serious
from tests.page.releases import CANARY, draw_by_python, fit_odd
from tests.pipeline import test_tables as two_tables

pytestmark = pytest.mark.slow
expect.set_options(timeout=120_000)  # of a machine that does other work; times are measured where they matter

VIEWS = ("overview", "columns", "columns/income", "pairs", "pairs/age/income", "pairs/sex/diagnosis", "pairs/age/sex",
         "sample", "ask", "verify")  # fmt: skip
WIDTHS = (400, 1000, 1600)
SHOTS = os.environ.get("SKLAR_SHOTS")
"""A folder for pictures of every view, to be looked at by people."""
MAX_BYTES = 3_000_000
SLACK = 3.0
"""Times are stated for a free machine: tests may share theirs with two other processes."""
QUESTION = "mean(income) by sex where age=30..45"


@dataclass
class Release:
    """A signed page with a ledger, its model, and the folder with both."""

    folder: Path
    model: Model
    page: Path


def limit_answers(patch: pytest.MonkeyPatch, *, columns: int = 60, pairs: int) -> None:
    """Limit the questions that a page answers, which take most of the time to write it."""
    patch.setattr("sklar.pipeline.release_page.answers.MAX_COLUMNS", columns)
    patch.setattr("sklar.pipeline.release_page.answers.MAX_PAIRS", pairs)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("release")
    ledger = sklar.Ledger.create(folder / "people.ledger", name="people", epsilon=3, delta=1e-8)
    model = sklar.fit(people_table(6_000), people_schema(), epsilon=3.0, delta=1e-9, ledger=ledger)
    make_key(folder / "custodian.key")
    model.save(folder / "people.sklar")
    page = folder / "people.page.html"
    model.page(page, ledger=folder / "people.ledger", sign=folder / "custodian.key", questions=[QUESTION])
    return Release(folder, model, page)


@dataclass
class Visit:
    """A page that was opened, what it complained about, and what it requested."""

    page: Page
    complaints: list[str]
    requests: list[str]

    def open(self, file: Path, view: str = "overview") -> None:
        self.page.goto(f"file://{file}#{view}")

    def go(self, view: str) -> None:
        self.page.evaluate("view => { location.hash = view }", view)


@pytest.fixture
def visit(browser: Browser) -> Generator[Visit]:
    context: BrowserContext = browser.new_context(offline=True, accept_downloads=True)
    context.set_default_timeout(120_000)
    found = Visit(context.new_page(), [], [])
    found.page.on("console", lambda said: found.complaints.append(said.text) if said.type == "error" else None)
    found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
    found.page.on("request", lambda request: found.requests.append(request.url))
    yield found
    context.close()


def test_every_view_fits_every_width_and_axe_finds_nothing_serious(release: Release, visit: Visit) -> None:
    visit.open(release.page)
    expect(visit.page.locator(".badge.good")).to_have_text("6 checks hold")
    for view in VIEWS:
        visit.go(view)
        for scheme in ("light", "dark"):
            visit.page.emulate_media(color_scheme=scheme)
            for width in WIDTHS:
                visit.page.set_viewport_size({"width": width, "height": 900})
                if view.count("/") == 2:
                    visit.page.wait_for_selector(".joint svg")
                inside = visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
                assert inside, f"{view} is wider than {width} pixels"
                if SHOTS:
                    visit.page.screenshot(path=f"{SHOTS}/{view.replace('/', '-')}-{width}-{scheme}.png", full_page=True)
                if width != 1000:
                    assert serious(visit.page) == [], f"{view}, {width} pixels, {scheme}"
    assert visit.complaints == []
    assert [url for url in visit.requests if not url.startswith(("file:", "blob:"))] == []


def test_it_opens_and_draws_quickly(release: Release, visit: Visit) -> None:
    assert release.page.stat().st_size < MAX_BYTES
    visit.open(release.page, "sample")
    visit.page.wait_for_selector("#rows")
    shown = visit.page.evaluate("performance.now()")
    assert shown < 1_000 * SLACK
    for rows, seconds in ((1_000, 1.0), (10_000, 3.0)):
        visit.page.fill("#rows", str(rows))
        visit.page.click("text=Draw rows")
        visit.page.wait_for_selector("text=Save as CSV")
        said = visit.page.text_content("form [role=status]") or ""
        assert said.startswith(f"{rows:,} rows in ") and float(said.split()[-2]) < seconds * SLACK


def test_rows_are_those_of_python_and_obey_conditions(release: Release, visit: Visit) -> None:
    visit.open(release.page, "sample")
    visit.page.fill("#rows", "70000")
    visit.page.fill("#seed", "5")
    assert download(visit.page, release.folder / "rows.csv") == draw_by_python(release.model, 70_000, 5)
    visit.page.fill("#rows", "300")
    visit.page.click("text=+ Add a condition")
    visit.page.select_option("[aria-label='Column of the condition']", "diagnosis")
    visit.page.select_option("[aria-label='Values of diagnosis']", ["heart", "lung"])
    rows = list(csv.DictReader(download(visit.page, release.folder / "some.csv").splitlines()))
    assert len(rows) == 300 and {row["diagnosis"] for row in rows} == {"heart", "lung"}
    visit.page.fill("#rows", "1000000")
    visit.page.click("text=Draw rows")
    visit.page.click("text=Cancel")
    expect(visit.page.locator("form [role=status]")).to_have_text("Cancelled.")
    visit.page.fill("#rows", "10")
    visit.page.click("text=Draw rows")  # also after a cancel
    visit.page.wait_for_selector("text=Save as CSV")
    assert visit.complaints == []


def download(page: Page, place: Path) -> str:
    page.click("text=Draw rows")
    with page.expect_download() as found:
        page.click("text=Save as CSV")
    found.value.save_as(place)
    return place.read_text()


def test_answers_are_those_of_estimate(release: Release, visit: Visit) -> None:
    """Stored answers, computed ones, and questions that need replicas; the numbers are compared in test_estimates."""
    (stored,) = read_facts(release.page.read_bytes())["answers"]
    found = release.model.estimate(QUESTION)
    assert isinstance(found, tuple) and stored["text"].startswith("mean(income)")
    for one, number in zip(found, stored["numbers"], strict=True):
        assert (one.value, one.low, one.high) == (number["value"], number["low"], number["high"])
    visit.open(release.page, "ask")
    visit.page.select_option("#of", "sex")
    share = release.model.estimate("share(sex=F)")
    assert isinstance(share, Estimated)
    expect(answer(visit)).to_contain_text(f"{share.value:.4g}".rstrip("0"))
    visit.page.select_option("#statistic", "mean")
    visit.page.select_option("#of", "income")
    visit.page.select_option("#by", "region")
    began = time.monotonic()
    expect(answer(visit).first).to_be_visible()
    assert time.monotonic() - began < 2 * SLACK
    visit.page.click("text=+ Add a condition")
    visit.page.select_option("[aria-label='Column of the condition']", "admitted")
    visit.page.click("form button.main")
    expect(visit.page.locator("pre").first).to_contain_text('sklar estimate people.sklar "mean(income) by region where')
    expect(visit.page.locator(".panel.fair")).to_contain_text("without an interval")
    assert visit.complaints == []


def answer(visit: Visit) -> Locator:
    visit.page.click("form button.main")
    return visit.page.locator(".panel.good tbody tr")


def test_columns_and_pairs_show_their_estimates(release: Release, visit: Visit) -> None:
    visit.open(release.page, "columns/age")
    expect(visit.page.get_by_role("img", name="Estimates of age")).to_be_visible()
    visit.go("pairs/age/sex")
    expect(visit.page.get_by_role("img", name="difference(age) by sex")).to_be_visible()
    assert visit.complaints == []


def test_conditions_that_hardly_any_row_meets_are_refused_before_drawing(release: Release, visit: Visit) -> None:
    visit.open(release.page, "sample")
    for column, field, value in (("age", "from", "99"), ("income", "from", "290000"), ("nights", "from", "110")):
        visit.page.click("text=+ Add a condition")
        visit.page.locator("[aria-label='Column of the condition']").last.select_option(column)
        visit.page.locator(f"[aria-label='{column} {field}']").last.fill(value)
    visit.page.click("text=Draw rows")
    expect(visit.page.locator("form [role=status]")).to_contain_text(
        "of 40,000 rows of the model meet these conditions"
    )
    expect(visit.page.locator("pre")).to_contain_text('--given "age=99..100" --given "income=290000..')


def test_a_page_is_verified(release: Release) -> None:
    found = sklar.verify(release.page, key=release.folder / "custodian.key.pub")
    assert found.ok and {"page", "signature", "model", "ledger", "shown"} <= {
        one.part for one in found.checks if one.ok
    }


@pytest.mark.parametrize(
    ("old", "new", "part", "says"),
    [
        (b"// Starts the page", b"// starts the page", "page", "not the reader"),
        (b"worker-src blob:", b"worker-src *:   ", "page", "policy"),
        (b"<title>people", b"<title>People", "page", "hashes"),
    ],
)
def test_a_page_with_another_reader_is_found(release: Release, old: bytes, new: bytes, part: str, says: str) -> None:
    whole = release.page.read_bytes()
    assert whole.count(old) == 1
    place = release.folder / "other.html"
    place.write_bytes(whole.replace(old, new))
    found = sklar.verify(place)
    assert not found.ok and found.checks[0].part == part and says in found.checks[0].says


def test_a_page_that_shows_other_numbers_is_found(release: Release) -> None:
    whole = release.page.read_bytes()
    facts = read_facts(whole)
    facts["answers"][0]["numbers"][0]["value"] += 1
    place = release.folder / "numbers.html"
    place.write_bytes(build_page("people", facts, read_block(whole, "model")))
    wrong = [one for one in sklar.verify(place).checks if one.ok is False]
    assert [one.part for one in wrong] == ["shown"] and "answers" in wrong[0].says


def test_a_changed_page_is_found(release: Release, visit: Visit) -> None:
    """A byte of each part: hashes differ, or, if it is the program or its policy, the page does not start."""
    whole = release.page.read_bytes()
    for part in ("model", "facts", "ledger", "signature", "manifest"):
        start = whole.index(f'id="{part}">'.encode()) + len(f'id="{part}">') + 40
        wrong = show_changed(release, visit, whole, start)
        assert visit.page.locator(".badge.wrong, [role=alert]").count() and wrong, part
        assert part != "facts" or "packed data is damaged" in visit.page.inner_text("#app")
    for mark in (b"--paper: #fcfcfa", b"<title>people", b'name="viewport" content="width=device'):
        show_changed(release, visit, whole, whole.index(mark) + len(mark) - 1)
        assert visit.page.locator(".badge.wrong").count() or not visit.page.locator("nav").count(), mark
    show_changed(release, visit, whole, whole.index(b"Starts the page") + 3)
    expect(visit.page.locator("#app")).to_contain_text("This page did not start")


def test_a_claim_other_than_that_of_the_model_is_found(release: Release, visit: Visit) -> None:
    whole = release.page.read_bytes()
    facts = read_facts(whole)
    place = release.folder / "doctored.html"
    for epsilon, shown in ((3.0, "good"), (0.3, "wrong")):
        facts["claim"]["epsilon"] = epsilon
        place.write_bytes(build_page("people", facts, read_block(whole, "model")))
        visit.page.goto("about:blank")
        visit.open(place)
        expect(visit.page.locator(f".badge.{shown}")).to_be_visible()


def show_changed(release: Release, visit: Visit, whole: bytes, at: int) -> str:
    """Open the page with another letter or digit at a position; return what it shows as wrong."""
    place = release.folder / "changed.html"
    place.write_bytes(whole[:at] + (b"B" if whole[at : at + 1] != b"B" else b"C") + whole[at + 1 :])
    visit.page.goto("about:blank")
    visit.open(place)
    visit.page.wait_for_timeout(300)
    wrong = visit.page.locator(".badge.wrong, [role=alert]")
    if visit.page.locator("nav").count():
        visit.page.wait_for_function("!document.querySelector('.badge').textContent.startsWith('Checking')")
    return " ".join(wrong.all_text_contents())


def test_nothing_private_is_in_it_and_it_is_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit_answers(monkeypatch, columns=3, pairs=2)
    model = fit_odd("independent")
    for name in ("one", "two"):
        model.page(tmp_path / f"{name}.page.html", name="odd")
    page = (tmp_path / "one.page.html").read_bytes()
    assert page == (tmp_path / "two.page.html").read_bytes()
    facts = json.dumps(read_facts(page), ensure_ascii=False)
    assert CANARY not in facts and CANARY.encode() not in read_block(page, "model") and CANARY.encode() not in page
    model.save(tmp_path / "odd.sklar")
    assert read_block(page, "model") == (tmp_path / "odd.sklar").read_bytes()


def test_models_that_browsers_cannot_draw_from_have_a_page_that_says_so(
    tmp_path: Path, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_answers(monkeypatch, columns=1, pairs=0)
    table = people_table(1_000).drop_columns(["admitted"])
    columns = {name: column for name, column in people_schema().items() if name != "admitted"}
    schema = sklar.Schema(columns, rules=people_schema().rules)
    model = sklar.fit(table, schema, method="dpcopula-kendall", epsilon=5.0)
    model.page(tmp_path / "kendall.page.html")
    visit.open(tmp_path / "kendall.page.html", "sample")
    expect(visit.page.locator("main")).to_contain_text("This page cannot draw rows")
    visit.go("pairs/age/income")
    visit.page.wait_for_selector(".joint svg")
    assert serious(visit.page) == [] and visit.complaints == []


def test_a_release_of_two_tables_has_a_page_with_the_command_for_both(tmp_path: Path, visit: Visit) -> None:
    model = sklar.fit(two_tables.made(), two_tables.tables(), epsilon=3.0)
    model.page(tmp_path / "two.page.html")
    visit.open(tmp_path / "two.page.html", "sample")
    expect(visit.page.locator("main")).to_contain_text("its rows come person by person")
    expect(visit.page.locator("pre")).to_contain_text("-o rows/")
    visit.go("columns")
    expect(visit.page.locator("main")).to_contain_text("parent: kind")
    assert serious(visit.page) == [] and visit.complaints == []
    assert sklar.verify(tmp_path / "two.page.html").ok


def test_a_page_without_a_guarantee_is_refused(tmp_path: Path) -> None:
    schema = sklar.Schema({"x": sklar.Integer(0, 9)})
    model = sklar.fit({"x": [1, 2] * 50}, schema, method="plain-gaussian", no_guarantee=True)
    with pytest.raises(sklar.errors.UsageError, match="no privacy guarantee"):
        model.page(tmp_path / "x.page.html")
    with pytest.raises(sklar.errors.UsageError, match="page"):
        model.page(tmp_path / "x.custodian.html")
