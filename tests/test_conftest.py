"""The settings of the test run hold: no silent skips, two tiers, and one process for each file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = {
    "in_a_test": "def test_it(): pytest.skip('no reason')",
    "by_a_mark": "@pytest.mark.skipif(True, reason='no reason')\ndef test_it(): pass",
    "in_a_fixture": "@pytest.fixture\ndef it(): pytest.skip('no reason')\ndef test_it(it): pass",
    "for_a_library": "def test_it(): pytest.importorskip('no_reason', reason='no reason')",
    "whole_file": "pytest.skip('no reason', allow_module_level=True)",
}
FINE = "def test_it(): pass\n@pytest.mark.xfail(strict=True)\ndef test_known(): assert False"


def test_skips_fail_the_run(tmp_path: Path) -> None:
    """Pytest on one file a way to skip, beside a copy of what stands beside all tests."""
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name, test in (FAULTS | {"fine": FINE}).items():
        (tmp_path / f"test_{name}.py").write_text(f"import pytest\n{test}\n")
    words = ["-q", "-rN", "-p", "no:cacheprovider", "--continue-on-collection-errors", str(tmp_path)]
    said = subprocess.run([sys.executable, "-m", "pytest", *words], capture_output=True, text=True, check=False).stdout
    assert said.count("nothing may be skipped here: Skipped: no reason") == len(FAULTS), said
    assert "2 failed, 1 passed, 1 xfailed, 3 errors" in said  # in a fixture or a mark, the test never began


def test_page_tests_are_left_out_aloud_and_never_in_continuous_integration(tmp_path: Path) -> None:
    """On a machine without a browser the summary says that they were not run; with CI=true they are, and fail."""
    (tmp_path / "page").mkdir()
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "page" / "test_it.py").write_text("def test_it(): assert False\n")
    (tmp_path / "test_other.py").write_text("def test_it(): pass\n")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--slow", str(tmp_path)]
    for ci, told, code in (("", "PAGE TESTS LEFT OUT", 0), ("true", "1 failed, 1 passed", 1)):
        environment = {**os.environ, "PATH": "/nowhere", "CI": ci}
        ended = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
        assert told in ended.stdout and ended.returncode == code, ended.stdout


@pytest.mark.slow
def test_a_process_takes_whole_files_and_one_takes_all_of_spark(tmp_path: Path) -> None:
    """Three processes for three groups: each test notes the process that it is run in."""
    (tmp_path / "rows" / "spark").mkdir(parents=True)
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    test = "import os, pathlib, pytest\n@pytest.mark.parametrize('k', range(6))\ndef test_it(k):\n"
    test += f"    pathlib.Path({str(tmp_path)!r}, f'{{pathlib.Path(__file__).stem}}-{{os.getpid()}}').touch()\n"
    for place in ("rows/spark/test_one.py", "rows/spark/test_two.py", "test_three.py", "test_four.py"):
        (tmp_path / place).write_text(test)
    words = ["-n", "3", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ended = subprocess.run([sys.executable, "-m", "pytest", *words], capture_output=True, text=True, check=False)
    assert "24 passed" in ended.stdout, ended.stdout
    ran = sorted(found.name.split("-") for found in tmp_path.glob("test_*-*"))
    assert [name for name, _ in ran] == ["test_four", "test_one", "test_three", "test_two"]
    assert len({process for _, process in ran}) == 3 and ran[1][1] == ran[3][1]


def test_slow_tests_wait_for_their_option_and_expensive_fast_ones_are_listed(tmp_path: Path) -> None:
    rules = (Path(__file__).parent / "conftest.py").read_text()
    (tmp_path / "conftest.py").write_text(rules.replace("MAX_FAST_SECONDS = 2.0", "MAX_FAST_SECONDS = 0.05"))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    busy = "    end = time.process_time() + 0.1\n    while time.process_time() < end: pass\n"
    tests = f"@pytest.mark.slow\ndef test_slow():\n{busy}def test_busy():\n{busy}def test_quick(): pass\n"
    (tmp_path / "test_it.py").write_text(f"import time, pytest\n{tests}")
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tmp_path)]
    for extra, said in (([], "2 passed, 1 deselected"), (["--slow", "-n", "1"], "3 passed")):
        ended = subprocess.run([*words, *extra], capture_output=True, text=True, check=False)
        assert said in ended.stdout and "test_it.py::test_busy" in ended.stdout, ended.stdout
        assert "::test_slow" not in ended.stdout and "::test_quick" not in ended.stdout, ended.stdout
