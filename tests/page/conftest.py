"""A studio in a process of its own, and a real browser in front of it that keeps all it receives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Response, expect, sync_playwright

from tests.conftest import chromium

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
PATIENCE = 300_000
"""Milliseconds for a job of several commands on a busy machine."""


@dataclass
class RunningStudio:
    """A studio that was started as anyone would start it."""

    folder: Path
    process: subprocess.Popen[str]
    address: str

    @property
    def root(self) -> str:
        return self.address.split("/?")[0]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(120)


def start_studio(folder: Path) -> RunningStudio:
    words = [sys.executable, "-m", "sklar", "studio", str(folder), "--port", "0", "--no-browser", "--json"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    with process.stdout:  # it says no more
        told = "".join(process.stdout.readline() for _ in range(3))
    return RunningStudio(folder, process, json.loads(told)["address"])


@pytest.fixture
def open_studio() -> Generator[Callable[[Path], RunningStudio]]:
    """Starts studios, and ends those that still run."""
    running: list[RunningStudio] = []

    def start(folder: Path) -> RunningStudio:
        running.append(start_studio(folder))
        return running[-1]

    yield start
    for one in running:
        one.end()


@pytest.fixture(scope="session")
def browser() -> Generator[Browser]:
    place = chromium()
    assert place is not None, "the page tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=place, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield found
        found.close()


@dataclass
class Received:
    """All that the browser was sent, and what it complained about."""

    bodies: dict[str, bytes] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    def take(self, response: Response) -> None:
        try:
            body = b"" if response.status in (204, 303) else response.body()
        except Exception:  # a page that was left before its body came, or a download: the test fetches those itself
            body = b""
        self.bodies[f"{len(self.bodies)} {response.url}"] = body + repr(response.headers).encode()

    def watch(self, page: Page) -> None:
        page.on("response", self.take)
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def holds(self, text: str) -> list[str]:
        return [url for url, body in self.bodies.items() if text.encode() in body]


@pytest.fixture
def context(browser: Browser) -> Generator[BrowserContext]:
    found = browser.new_context(accept_downloads=True)
    found.set_default_timeout(PATIENCE)
    yield found
    found.close()


@pytest.fixture
def received(context: BrowserContext) -> Received:
    kept = Received()
    context.on("page", kept.watch)
    return kept


def serious(page: Page) -> list[str]:
    """What axe finds serious or worse on a page."""
    page.evaluate(AXE)
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations'], iframes: false})")
    bad = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {node['html'][:160]}" for one in bad for node in one["nodes"]]


def finished(page: Page, what: str) -> None:
    """Wait until the job of the page has ended, and see that it ended well."""
    expect(page.locator("#job-head")).to_have_text(f"Latest job: {what}", timeout=PATIENCE)
    expect(page.locator("#job .good")).to_have_text("Done.")
