"""A studio that is opened twice or killed, a fit that is refused or cancelled, a browser that was never let in."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import BrowserContext, expect

import sklar
from sklar.studio.folder import StudioFolder
from sklar.studio.jobs import Jobs
from tests.page.conftest import PATIENCE, RunningStudio, finished

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table whose columns are settled and whose ledger admits a little."""
    rng = np.random.default_rng(3)
    pd.DataFrame({name: rng.integers(0, 30, 400) for name in "abc"}).to_csv(tmp_path / "t.csv", index=False)
    sklar.Schema({name: sklar.Integer(0, 30) for name in "abc"}).write(tmp_path / "t.toml")
    sklar.Ledger.create(tmp_path / "t.ledger", name="t", epsilon=2, delta=1e-8)
    StudioFolder(tmp_path).new_table("t.csv", "", {})
    return tmp_path


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """The job that runs stands still."""
    job = Jobs(StudioFolder(folder)).running("t")
    assert job is not None
    group = int((job.place / "pid").read_text())
    os.killpg(group, signal.SIGSTOP)
    yield
    os.killpg(group, signal.SIGCONT)


def test_a_second_studio_joins_the_first_and_a_killed_one_leaves_nothing_behind(
    folder: Path, open_studio: Callable[[Path], RunningStudio], context: BrowserContext
) -> None:
    first = open_studio(folder)
    assert open_studio(folder).address == first.address  # and ends at once
    page = context.new_page()
    stranger = page.goto(f"{first.root}/t/t/columns")
    assert stranger is not None and stranger.status == 403 and "sklar studio" in page.inner_text("body")
    page.goto(first.address)
    expect(page.get_by_role("link", name="t", exact=True)).to_be_visible()
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    again = open_studio(folder)
    assert again.address != first.address
    refused = page.goto(f"{again.root}/")
    assert refused is not None and refused.status == 403  # the old cookie lets nobody in
    page.goto(again.address)
    expect(page.get_by_role("link", name="t", exact=True)).to_be_visible()


def test_a_fit_is_refused_cancelled_and_resumed_in_the_browser(
    folder: Path, open_studio: Callable[[Path], RunningStudio], context: BrowserContext
) -> None:
    studio, page = open_studio(folder), context.new_page()
    page.goto(studio.address)
    page.get_by_role("link", name="t", exact=True).click()
    page.get_by_role("link", name="Fit").first.click()
    page.get_by_label("Epsilon of this fit").fill("9")
    page.keyboard.press("Enter")
    expect(page.locator("#job .warn")).to_contain_text("Failed.", timeout=PATIENCE)
    assert not sklar.read_ledger(folder / "t.ledger").fits
    page.get_by_label("Epsilon of this fit").fill("1")
    page.get_by_role("button", name="Fit", exact=True).click()
    with held(folder):  # it cannot end before it is cancelled
        page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#job .warn")).to_contain_text("It was cancelled.", timeout=PATIENCE)
    expect(page).to_have_url(f"{studio.root}/t/t/fit")
    page.close()
    studio.end()
    studio, page = open_studio(folder), context.new_page()  # another day
    page.goto(studio.address)
    page.goto(f"{studio.root}/t/t/fit")
    page.get_by_role("button", name="Resume").click()
    finished(page, "fitting t-1")
    fits = sklar.read_ledger(folder / "t.ledger").fits
    assert [fit.closed for fit in fits] == [True]
    assert sklar.verify(folder / "t-1.sklar", ledger=folder / "t.ledger").ok
