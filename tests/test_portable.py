"""The same code without what only POSIX systems have: locks, ledger, demo and studio jobs on a simulated Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sklar import portable

ROOT = Path(__file__).resolve().parents[1]
SIMULATED = ROOT / "tests" / "simulated_windows"


def on_windows(*words: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python, and all that it starts, without what Windows lacks."""
    path = os.pathsep.join([str(SIMULATED), str(ROOT / "src"), str(ROOT)])
    return subprocess.run(
        [sys.executable, *words], env={**os.environ, "PYTHONPATH": path, **environment}, cwd=cwd, capture_output=True,
        text=True, check=False, encoding="utf-8", errors="replace",
    )  # fmt: skip


def test_the_simulation_takes_away_what_windows_lacks() -> None:
    code = "import os, signal, msvcrt; print(hasattr(os, 'pread'), hasattr(signal, 'SIGHUP')); import fcntl"
    ended = on_windows("-c", code)
    assert ended.stdout.split() == ["False", "False"] and "ModuleNotFoundError" in ended.stderr


LOCKS = """
import os, subprocess, sys
from sklar import portable
path = sys.argv[1]
def opened(flags=os.O_RDWR | os.O_CREAT): return portable.open_file(path, flags, 0o600)
if len(sys.argv) > 2:
    print(portable.is_locked(opened(os.O_RDONLY)), portable.try_lock(opened()))
    sys.exit()
def others(): return subprocess.run([sys.executable, "-c", CODE, path, "child"], capture_output=True, text=True).stdout
CODE = os.environ["LOCKS"]
first, second = opened(), opened()
print(portable.try_lock(first), portable.try_lock(second), others().split())
portable.unlock(first)
print(others().split(), portable.lock_within(0.1, second), portable.lock_within(0.05, first))
os.write(second, b"text\\n"); print(portable.read_at(first, 9, 1))
portable.write_at(first, b"T", 0); print(portable.read_at(second, 9, 0), portable.is_file_at(first, path))
portable.remove_locked(path, second); print(os.path.exists(path), portable.is_file_at(first, path))
hidden = portable.nameless_file(os.path.dirname(path)); portable.write_at(hidden, b"x", 3)
print(portable.read_at(hidden, 9, 0)); portable.sync_folder(os.path.dirname(path))
"""
FOUND = """True False ['True', 'False']
['False', 'True'] True False
b'ext\\n'
b'Text\\n' True
False False
b'\\x00\\x00\\x00x'
"""


@pytest.mark.parametrize("system", ["posix", "windows"])
def test_locks_and_files_behave_alike(tmp_path: Path, system: str) -> None:
    """A lock belongs to an open file: another one of this process, or of another process, does not get it."""
    words = ["-c", LOCKS, str(tmp_path / "a.lock")]
    if system == "windows":
        ended = on_windows(*words, LOCKS=LOCKS)
    else:
        environment = {**os.environ, "LOCKS": LOCKS, "PYTHONPATH": str(ROOT / "src")}
        ended = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)
    assert ended.stdout == FOUND, ended.stderr


def test_a_lock_goes_with_its_process(tmp_path: Path) -> None:
    hold = (
        "import os, sys; from sklar import portable; h = portable.open_file(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
        "assert portable.try_lock(h); print('held', flush=True); sys.stdin.read()"
    )
    path = tmp_path / "a.lock"
    process = subprocess.Popen([sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"held\n"
    handle = portable.open_file(path, os.O_RDWR)
    assert portable.is_locked(handle) and not portable.try_lock(handle)
    process.kill()
    process.communicate()
    assert portable.try_lock(handle)
    os.close(handle)


def test_a_system_without_any_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sklar
    from sklar.errors import LedgerError

    monkeypatch.setattr(portable, "fcntl", None)
    sklar.Ledger.create(tmp_path / "a.ledger", name="a", epsilon=1, delta=1e-6)
    with pytest.raises(LedgerError, match="locks"):
        sklar.fit(
            {"x": [1, 2] * 50}, sklar.Schema({"x": sklar.Integer(0, 9)}), method="independent", epsilon=0.5,
            ledger=tmp_path / "a.ledger",
        )  # fmt: skip


@pytest.mark.slow
def test_the_ledger_passes_its_tests_on_windows() -> None:
    """All but two: Windows has no named pipe in a folder, and syncs no folder."""
    ignore_column = ["test_places_that_cannot_hold_a_ledger", "test_every_entry_is_synced_before_the_call_returns"]
    words = [f"--deselect=tests/accounting/ledger/test_file.py::{name}" for name in ignore_column]
    ended = on_windows("-m", "pytest", "-p", "no:cacheprovider", "-q", "tests/accounting/ledger", *words, cwd=ROOT)
    assert ended.returncode == 0, ended.stdout[-3000:]


@pytest.mark.slow
def test_the_demo_runs_and_is_verified_on_windows(tmp_path: Path) -> None:
    """Also into a console of code page 1252, which lacks the lines of the tree that `inspect` draws."""
    cp1252 = {"PYTHONIOENCODING": "cp1252"}
    ended = on_windows("-m", "sklar", "demo", "demo", "--rows", "500", cwd=tmp_path, **cp1252)
    assert ended.returncode == 0, ended.stderr
    for words in (
        ["verify", "demo/people.release.zip"],
        ["inspect", "demo/people.sklar"],
        ["ledger", "show", "demo/people.ledger"],
        ["sample", "demo/people.sklar", "-n", "40000", "--part-rows", "20000", "--workers", "2", "-o", "parts/"],
    ):
        ended = on_windows("-m", "sklar", *words, cwd=tmp_path, **cp1252)
        assert ended.returncode == 0, (words, ended.stderr)
    ended = on_windows("-m", "sklar", "compare", "demo/people.csv", "-s", "demo/people.toml", "-o", "c", cwd=tmp_path)
    assert ended.returncode == 1 and "WSL" in ended.stderr


JOB = """
import sys, time
from sklar.studio.commands import Work
from sklar.studio.folder import StudioFolder
from sklar.studio.jobs import Jobs
jobs = Jobs(StudioFolder(sys.argv[1]))
job = jobs.start("t", Work(kind="fit", label="listing", commands=(("methods",), ("methods",)), outputs=()))
print(job.state)
while (job := jobs.latest("t")).running: time.sleep(0.05)
print(job.state, job.codes)
"""


@pytest.mark.slow
def test_a_job_of_the_studio_runs_on_windows(tmp_path: Path) -> None:
    ended = on_windows("-c", JOB, str(tmp_path))
    assert ended.stdout.splitlines() == ["running", "done (0, 0)"], ended.stderr


def test_json_on_a_console_of_windows_loses_no_character() -> None:
    code = (
        "import sys; sys.argv = ['sklar', 'methods', '--json']\n"
        "from sklar.cli.terminal import show; show.as_json({'name': 'Zażółć'})"
    )
    ended = on_windows("-c", code, PYTHONIOENCODING="cp1252")
    assert "Za\\u017c" in ended.stdout, ended.stderr


def test_a_schema_with_windows_line_ends_is_read(tmp_path: Path) -> None:
    import sklar

    schema = sklar.Schema({"a": sklar.Category(["x", "y"]), "b": sklar.Integer(0, 9)})
    schema.write(tmp_path / "a.toml")
    text = (tmp_path / "a.toml").read_bytes().replace(b"\n", b"\r\n")
    (tmp_path / "crlf.toml").write_bytes(text)
    assert sklar.Schema.read(tmp_path / "crlf.toml") == schema
