"""Jobs: commands in processes of their own, whose state is in files alone, so that a studio may end at any time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from sklar.errors import UsageError
from sklar.export.atomic import write_bytes
from sklar.portable import LOCKS_ARE_INHERITED, end_group, is_locked, own_group, try_lock
from sklar.studio.commands import Work
from sklar.studio.folder import StudioFolder, only_one
from sklar.studio.timing import describe_seconds, estimate_seconds_left, read_stages
from sklar.studio.work import CODES

State = Literal["running", "done", "failed", "cancelled", "cut short"]
KILLED = "It was killed (by a shutdown, for lack of memory, or by a user)."
CANCELLED = "It was cancelled."
STAGES = {
    "schema draft": "Read the table and draft its schema", "schema check": "Check that the schema reads the table",
    "plan": "Forecast accuracy", "fit": "Fit the model", "report": "Write the public report",
    "sample": "Draw synthetic rows", "evaluate": "Compare with the real rows", "inspect": "Draw the vine",
    "page": "Write the interactive page", "key": "Make a key", "bundle": "Write the bundle",
    "verify": "Verify the bundle",
}  # fmt: skip
"""Commands in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioJob(Work):
    """A job, read from its files."""

    place: Path
    folder: Path
    id: str
    table: str
    started: str
    codes: tuple[int, ...]
    running: bool
    cancelled: bool

    @property
    def state(self) -> State:
        """The state of the job."""
        if self.running:
            return "running"
        if self.done == len(self.commands):
            return "done"
        if any(self.codes):
            return "failed"
        return "cancelled" if self.cancelled else "cut short"

    @property
    def done(self) -> int:
        """The number of commands that succeeded, also for a job that was killed before it could record that.

        A command writes its result last. An existing model is never fitted again, which would be charged again.
        """
        ended = sum(code == 0 for code in self.codes)
        unsure = ended == len(self.codes)
        ended += ended == 0 and self.commands[0][0] == "fit" and self.wrote(self.outputs[0])
        while unsure and ended < len(self.commands) and self._succeeded(ended):
            ended += 1
        return ended

    def _succeeded(self, number: int) -> bool:
        """Return whether a command wrote a result, and a verification found nothing wrong."""
        found = self.result(number)
        return found is not None and (self.commands[number][0] != "verify" or bool(found["ok"]))

    def wrote(self, name: str) -> bool:
        """Return whether a file exists and was written while the job ran; another one may have replaced it since.

        The end of a job that was killed before it could record it is unknown.
        """
        with suppress(OSError):
            begun, written = (self.place / "job.json").stat().st_mtime_ns, (self.folder / name).stat().st_mtime_ns
            closed = any(self.codes) or len(self.codes) == len(self.commands)
            return begun <= written and (not closed or written <= (self.place / CODES).stat().st_mtime_ns)
        return False

    @property
    def resumable(self) -> bool:
        """Whether the job can be run again."""
        return self.state in ("failed", "cancelled", "cut short")

    @property
    def interrupted(self) -> bool:
        """Whether it was cancelled or killed, rather than refused."""
        return self.state in ("cancelled", "cut short") or bool(self.codes and self.codes[-1] < 0)

    @property
    def progress(self) -> dict[str, Any]:
        """The current activity, and the fraction done."""
        try:
            return json.loads((self.place / "progress").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {"what": "working", "fraction": 0.0}

    @property
    def stages(self) -> list[tuple[str, str]]:
        """Each command in words, and whether it is done, running or still to come."""
        names = [STAGES.get(words[0], words[0]) for words in self.commands]
        names = [STAGES.get(" ".join(words[:2]), name) for words, name in zip(self.commands, names, strict=True)]
        done = self.done
        return [(n, "done" if i < done else "running" if i == done else "to come") for i, n in enumerate(names)]

    @property
    def when(self) -> str:
        """The time at which it began, on the clock of this computer."""
        return datetime.fromisoformat(self.started).astimezone().strftime("%Y-%m-%d %H:%M")

    @property
    def elapsed(self) -> str:
        """The time since the job began, in words."""
        passed = max(0.0, (datetime.now(UTC) - datetime.fromisoformat(self.started)).total_seconds())
        return f"{passed / 60:.0f} min so far" if passed >= 90 else f"{passed:.0f} s so far"

    @property
    def at(self) -> int:
        """The index of the current or last command."""
        return min(self.done, len(self.commands) - 1)

    @property
    def says(self) -> str:
        """The message of a job that failed."""
        if self.state == "cancelled":
            return CANCELLED
        if self.interrupted:
            return KILLED
        found = self.result(self.at) or {}
        return found.get("verdict") or self.error(self.at).removeprefix("Error: ")

    @property
    def notes(self) -> list[str]:
        """The notes and warnings of its commands."""
        lines = [line for n in range(len(self.codes)) for line in self.error(n).splitlines()]
        return [] if self.state == "failed" else list(dict.fromkeys(line for line in lines if line.strip()))

    def error(self, number: int) -> str:
        """Return the standard error of a command."""
        with suppress(OSError):
            text = (self.place / f"err-{number}").read_text(encoding="utf-8", errors="replace")
            return "\n".join(_in_words(line) for line in text.splitlines()).strip()
        return ""

    def result(self, number: int = -1) -> Any:
        """Return the JSON result of a command; None if there is none."""
        with suppress(OSError, ValueError):
            at = number % len(self.commands)
            return json.loads((self.place / f"out-{at}").read_text(encoding="utf-8"))
        return None


class Jobs:
    """All jobs of a folder."""

    def __init__(self, folder: StudioFolder):
        self._folder = folder
        self._root = folder.state / "jobs"
        self._root.mkdir(mode=0o700, exist_ok=True)

    def of(self, table: str, kind: str | None = None) -> list[StudioJob]:
        """Return jobs of a table, the latest first."""
        return [job for job in self._all() if job.table == table and kind in (None, job.kind)]

    def latest(self, table: str, kind: str | None = None) -> StudioJob | None:
        """Return the latest job of a table."""
        return next((job for job in self._all() if job.table == table and kind in (None, job.kind)), None)

    def running(self, table: str) -> StudioJob | None:
        """Return the job that runs for a table, if any."""
        return next((job for job in self.of(table) if job.running), None)

    def describe_time_left(self, job: StudioJob) -> str:
        """Return the time that a running job still takes, by the latest one of the same commands; empty if unknown.

        One of the same table is preferred, since its rows are the same.
        """
        if not job.running:
            return ""
        commands = [words[0] for words in job.commands]
        ended = [one for one in self._all() if one.state == "done" and [w[0] for w in one.commands] == commands]
        earlier = next((one for one in ended if one.table == job.table), ended[0] if ended else None)
        if earlier is None:
            return ""
        left = estimate_seconds_left(read_stages(job.place), read_stages(earlier.place), time.time())
        return describe_seconds(left)

    def has_made(self, name: str) -> bool:
        """Return whether the latest job with this output succeeded; it may have overwritten an earlier one's."""
        return next((job.state == "done" for job in self._all() if name in job.outputs), False)

    def start(self, table: str, work: Work) -> StudioJob:
        """Start a job: one at a time per table, and never over an existing file."""
        with only_one(self._folder.state / "starting"):  # two tabs, or two clicks
            if (other := self.running(table)) is not None:
                raise UsageError(f"wait for this table or cancel its job: {other.label} is running")
            self._refuse_overwriting(work)
            place = self._new_place(work.kind)
            record = {"table": table, "folder": str(self._folder.root), "started": _now(), **asdict(work)}
            write_bytes(place / "job.json", json.dumps(record, indent=1).encode(), mode=0o600)
            self._launch(place)
        return _read(place)

    def again(self, job: StudioJob) -> StudioJob:
        """Continue a job at the command that failed; a fit is resumed with what it has paid for."""
        work = Work(kind=job.kind, label=job.label, commands=job.commands[job.done :], outputs=job.outputs)
        return self.start(job.table, work)

    def forget(self, table: str) -> None:
        """Delete the jobs of a table."""
        with only_one(self._folder.state / "starting"):
            if (job := self.running(table)) is not None:
                raise UsageError(f"wait for this table or cancel its job: {job.label} is running")
            for job in self.of(table):
                shutil.rmtree(job.place)

    def cancel(self, job: StudioJob) -> None:
        """End a running job and all its processes."""
        if not job.running:
            return
        (job.place / "cancelled").touch()
        with suppress(OSError, ValueError):  # its group lives as long as its lock is held
            end_group(int((job.place / "pid").read_text()))

    def _refuse_overwriting(self, work: Work) -> None:
        """Refuse to overwrite files that no job wrote, and models, which were paid for."""
        made = {name for job in self._all() for name in job.outputs if job.wrote(name)}
        made -= {work.outputs[0]} if work.commands[0][0] == "fit" else set()
        taken = [name for name in work.outputs if name not in made and os.path.lexists(self._folder.root / name)]
        if taken:
            raise UsageError(f"the file {taken[0]} already exists: move it away")

    def _launch(self, place: Path) -> None:
        with (place / "lock").open("wb") as lock:
            if LOCKS_ARE_INHERITED:
                try_lock(lock.fileno())
            with (place / "log").open("wb") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", "sklar.studio.work", str(place), str(lock.fileno())],
                    cwd=self._folder.root, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    **own_group(lock.fileno()),
                )  # fmt: skip
            (place / "pid").write_text(str(process.pid))
        while not LOCKS_ARE_INHERITED and not _held(place / "lock") and process.poll() is None:
            time.sleep(0.02)  # until the process has taken the lock itself
        threading.Thread(target=process.wait, daemon=True).start()  # avoids a zombie process

    def _new_place(self, kind: str) -> Path:
        numbers = (path.name.partition("-")[0] for path in self._root.iterdir())
        number = 1 + max((int(one) for one in numbers if one.isdecimal()), default=0)
        place = self._root / f"{number:06d}-{kind}"
        place.mkdir(mode=0o700)
        return place

    def _all(self) -> Iterator[StudioJob]:
        places = sorted((p for p in self._root.iterdir() if (p / "job.json").is_file()), reverse=True)
        for place in places:
            with suppress(OSError, ValueError, KeyError, TypeError):  # a damaged job must not hide the others
                yield _read(place)


def _in_words(line: str) -> str:
    """Return a line of JSON on standard error as text."""
    with suppress(ValueError, AttributeError):
        message = json.loads(line)
        found = next(((kind, message[kind]) for kind in ("error", "warning", "note") if kind in message), None)
        if found is not None:
            return found[1] if found[0] == "note" else f"{found[0].capitalize()}: {found[1]}"
    return line


def _read(place: Path) -> StudioJob:
    record = json.loads((place / "job.json").read_text(encoding="utf-8"))
    running = _held(place / "lock")  # before the codes, since a job that ends in between has written them
    codes = (place / CODES).read_text().split() if (place / CODES).exists() else []
    return StudioJob(
        place=place, folder=Path(record["folder"]), id=place.name, table=record["table"], kind=record["kind"],
        label=record["label"], started=record["started"],
        commands=tuple(tuple(words) for words in record["commands"]), outputs=tuple(record["outputs"]),
        codes=tuple(int(code) for code in codes), running=running, cancelled=(place / "cancelled").exists(),
    )  # fmt: skip


def _held(path: Path) -> bool:
    """Return whether a process of the job is alive: the lock is released with the last of them."""
    try:
        with path.open("rb") as file:
            return is_locked(file.fileno())
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
