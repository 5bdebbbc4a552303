"""Nothing is skipped without being noticed: a skipped test, or a file of them, fails the run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
