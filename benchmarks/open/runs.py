"""Synthetic rows of every tool, kept: a run that is there is not made again, so a grid can be interrupted and resumed.

A run is a folder named by a checksum of everything that decides its rows: table, tool, version, settings, epsilon,
delta and the number of the repetition. It holds run.json, rows.parquet and, for Sklar, run.release.zip. A run that
fails or exceeds the time limit is kept, too, with its reason; a longer limit makes it run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.open.tables import OpenTable
from benchmarks.open.tools import TOOLS, settings_text
from benchmarks.results import HERE

DELTA = 1e-9
POLL_SECONDS = 0.1
MAX_ERROR_CHARACTERS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a tool.

    Attributes:
        status: "ok", "failed" or "timeout".
        seconds, cpu, memory: Wall seconds, CPU seconds and peak memory in MB, start of the process included.
        limit: The time limit in seconds.
        says: The last words of a run that failed.
    """

    table: str
    table_sha256: str
    tool: str
    version: str
    settings: str
    epsilon: float | None
    delta: float
    repetition: int
    rows: int
    status: str = "ok"
    seconds: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0
    limit: float = 0.0
    says: str = ""

    @property
    def key(self) -> str:
        """Checksum of what decides the rows."""
        parts = (self.table_sha256, self.tool, self.version, self.settings, self.epsilon, self.delta, self.repetition)
        return hashlib.sha256(json.dumps([*parts, self.rows]).encode()).hexdigest()[:20]


def store() -> Path:
    """Where runs are kept: SKLAR_RUNS, or a folder that git ignores."""
    return Path(os.environ.get("SKLAR_RUNS") or HERE.parent / "build" / "open-runs")


def planned(table: OpenTable, tool: str, epsilon: float, repetition: int) -> Run | None:
    """Return the run that is wanted, or None if the tool is not installed."""
    version = TOOLS[tool].version()
    if version is None:
        return None
    return Run(
        table=table.name, table_sha256=table.sha256, tool=tool, version=version, settings=settings_text(TOOLS[tool]),
        epsilon=epsilon if TOOLS[tool].private else None, delta=DELTA if TOOLS[tool].private else 0.0,
        repetition=repetition, rows=len(table.frame),
    )  # fmt: skip


def kept(run: Run, limit: float) -> Run | None:
    """Return the run as it was made, if it was; not one that a longer limit may finish."""
    path = store() / run.key / "run.json"
    if not path.exists():
        return None
    found = Run(**json.loads(path.read_text()))
    return None if found.status == "timeout" and found.limit < limit else found


def make(run: Run, table: OpenTable, limit: float) -> Run:
    """Run the tool in a folder of its own and move the result to its place, whole or not at all."""
    store().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store()) as name:
        folder = Path(name)
        pq.write_table(pa.Table.from_pandas(table.frame, preserve_index=False), folder / "train.parquet")
        table.schema.write(folder / "schema.toml")
        words = [str(folder / "train.parquet"), str(folder / "schema.toml"), str(run.epsilon), str(run.delta),
                 str(run.rows), str(folder / "rows.parquet")]  # fmt: skip
        measured = _measure(TOOLS[run.tool].command(words), folder, limit)
        if measured["status"] == "ok" and not (folder / "rows.parquet").exists():
            measured |= {"status": "failed", "says": "it wrote no rows"}
        done = Run(**{**asdict(run), **measured, "limit": limit})
        place = folder / "kept"
        place.mkdir()
        (place / "run.json").write_text(json.dumps(asdict(done), indent=1))
        for file in ("rows.parquet", "run.release.zip"):
            if done.status == "ok" and (folder / file).exists():
                (folder / file).rename(place / file)
        shutil.rmtree(store() / run.key, ignore_errors=True)
        place.rename(store() / run.key)
    return done


def _measure(command: list[str], folder: Path, limit: float) -> dict[str, Any]:
    """Run a command; its status, wall and CPU seconds and peak memory, those of its children included."""
    began = time.monotonic()
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(command, cwd=HERE.parent, stdout=said, stderr=said, start_new_session=True)
    while True:
        done, code, usage = os.wait4(process.pid, os.WNOHANG)
        late = time.monotonic() - began > limit
        if done or late:
            break
        time.sleep(POLL_SECONDS)
    if not done:
        os.killpg(process.pid, signal.SIGKILL)
        _, code, usage = os.wait4(process.pid, 0)
    process.returncode = code
    status = "timeout" if not done else "ok" if code == 0 else "failed"
    last = (folder / "said").read_text(errors="replace").strip()[-MAX_ERROR_CHARACTERS:] if status == "failed" else ""
    return {
        "status": status, "seconds": round(time.monotonic() - began, 2), "says": last,
        "cpu": round(usage.ru_utime + usage.ru_stime, 2), "memory": round(usage.ru_maxrss / 1024, 1),
    }  # fmt: skip


def all_kept() -> Iterator[tuple[Run, Path]]:
    """Yield every run that was made, with its folder."""
    for path in sorted(store().glob("*/run.json")):
        yield Run(**json.loads(path.read_text())), path.parent
