"""Peers, one by one: limits of time and memory, messages, and what is left behind, which is nothing."""

from __future__ import annotations

import os
import stat
import sys
import time
from pathlib import Path

import pytest

from sklar.errors import PeerError, UsageError
from sklar.lab.compare.peers import MAX_LOG_BYTES, Limits, fill_command, list_members, run_peer
from sklar.lab.compare.systems import read_peer

TOLD = {"train": "T", "schema": "S", "epsilon": "1", "delta": "0", "rows": "5"}


def run(script: str, folder: Path, limits: Limits | None = None) -> object:
    command = f"{sys.executable} -S -c '{script}'"
    return run_peer(command, TOLD, folder, folder / "log", limits or Limits(seconds=20))


def test_places_are_filled_or_appended() -> None:
    told = {**TOLD, "output": "/a b/o"}
    assert fill_command("run 'x y'", told) == ["run", "x y", "T", "S", "1", "0", "5", "/a b/o"]
    assert fill_command("run --out={output} {train} {other}", told) == ["run", "--out=/a b/o", "T", "{other}"]


def test_a_command_without_a_place_for_epsilon_is_run_once() -> None:
    assert read_peer("a", "run").budgeted
    assert read_peer("a", "run {epsilon} {output}").budgeted
    assert not read_peer("a", "run {train} {output}").budgeted


@pytest.mark.parametrize(
    ("name", "command"), [("a", "run 'x"), ("a", " "), ("a/b", "run"), ("", "x"), ("a", "run {train}")]
)
def test_commands_that_cannot_be_are_refused(name: str, command: str) -> None:
    with pytest.raises(UsageError):
        read_peer(name, command)


def test_time_limit_ends_the_whole_group(tmp_path: Path) -> None:
    clock = time.monotonic()
    script = 'import subprocess, time; subprocess.Popen(["sleep", "77"]); time.sleep(77)'
    groups: list[int] = []
    with pytest.raises(PeerError, match=r"did not end within 0\.5 seconds") as caught:
        run_peer(
            f"{sys.executable} -S -c '{script}'", TOLD, tmp_path, tmp_path / "log", Limits(seconds=0.5), groups.append
        )
    assert caught.value.stopped == "time"
    assert time.monotonic() - clock < 10
    assert list_members(groups[0], -1) == {}


def test_memory_limit(tmp_path: Path) -> None:
    script = 'import time; x = b"x" * 300_000_000; time.sleep(77)'
    with pytest.raises(PeerError, match=r"more than 0\.1 GB") as caught:
        run(script, tmp_path, Limits(seconds=60, memory=100_000_000))
    assert caught.value.stopped == "memory"


def test_messages_are_kept_for_the_owner_up_to_a_limit(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="exit code 3; its messages are in logs/log"):
        run('import sys; sys.stdout.write("x" * 3_000_000); sys.exit(3)', tmp_path)
    assert (tmp_path / "log").stat().st_size == MAX_LOG_BYTES
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_a_link_is_not_a_table(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="not a regular file"):
        run('import os, sys; os.symlink("/etc/hostname", sys.argv[-1])', tmp_path)


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="could not be started: no such file"):
        run_peer("/nonexistent/tool", TOLD, tmp_path, tmp_path / "log", Limits())


def test_our_libraries_do_not_shadow_those_of_the_peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/ours")
    script = (
        'import os, sys; open(sys.argv[-1], "w").write(os.environ.get("PYTHONPATH", "none") + os.environ["TMPDIR"])'
    )
    ended = run(script, tmp_path)
    assert (tmp_path / "synthetic.parquet").read_text() == f"none{tmp_path}"
    assert os.fspath(ended.output) == str(tmp_path / "synthetic.parquet")  # type: ignore[attr-defined]
