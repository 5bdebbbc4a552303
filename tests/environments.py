"""Environments with packages that do not go together with ours, as SDV, which needs pandas 2. For slow tests.

Each is made once, in build/environments, with its own packages first and those of the tests behind them, so that Sklar
can be imported there, too. It needs the package index, and takes about half a minute.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from sklar.portable import lock_within

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 900.0
"""How long making an environment may take, and how long other processes of the tests wait for it."""


def python_with(*packages: str, alone: Sequence[str] = ()) -> Path:
    """Return the Python of an environment with these packages; `alone` are installed without what they depend on."""
    key = hashlib.sha256("\n".join([sys.version, *packages, "alone", *alone]).encode()).hexdigest()[:16]
    place = ROOT / "build" / "environments" / key
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("ab") as lock:
        assert lock_within(SECONDS, lock.fileno())
        if not (place / "made").exists():
            _make(place, packages, alone)
            (place / "made").touch()
    return place / "own" / "bin" / "python"


def _make(place: Path, packages: Sequence[str], alone: Sequence[str]) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--clear", place / "own"], check=True)
    python = place / "own" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-warn-conflicts"]
    if alone:
        subprocess.run([*install, "--no-deps", *alone], check=True, timeout=SECONDS)
    subprocess.run([*install, *packages], check=True, timeout=SECONDS)
    own = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    (Path(own) / "behind.pth").write_text(sysconfig.get_path("purelib") + "\n")


def run_there(python: Path, code: str, *words: str) -> str:
    """What a script prints that runs in an environment, with Sklar as it is in this folder."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    ended = subprocess.run(
        [python, "-W", "ignore", "-c", code, *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout
