"""Jobs: commands that run in processes of their own, told from files alone, so that a studio may end at any time."""

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
from sklar.studio.work import CODES

State = Literal["running", "done", "failed", "cancelled", "cut short"]
KILLED = "It was ended from outside (a shutdown, too little memory, or kill)."
CANCELLED = "It was cancelled."


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioJob(Work):
    """A job as its files tell of it."""

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
        """How it stands."""
        if self.running:
            return "running"
        if self.done == len(self.commands):
            return "done"
        if any(self.codes):
            return "failed"
        return "cancelled" if self.cancelled else "cut short"

    @property
    def done(self) -> int:
        """How many of its commands ended well; also of a job that was killed before it could write that down.

        A command gives its result last. A model that is there is never fitted again, which would cost again.
        """
        ended = sum(code == 0 for code in self.codes)
        unsure = ended == len(self.codes)
        ended += ended == 0 and self.commands[0][0] == "fit" and self.wrote(self.outputs[0])
        while unsure and ended < len(self.commands) and self._gave(ended):
            ended += 1
        return ended

    def _gave(self, number: int) -> bool:
        """Whether a command gave a result that is a good end; a check that found something wrong is none."""
        found = self.result(number)
        return found is not None and (self.commands[number][0] != "verify" or bool(found["ok"]))

    def wrote(self, name: str) -> bool:
        """Whether a file is there and was written while the job ran: others may have made one of this name since.

        Of a job that was killed before it could write down how a command ended, nobody knows when it ended.
        """
        with suppress(OSError):
            begun, written = (self.place / "job.json").stat().st_mtime_ns, (self.folder / name).stat().st_mtime_ns
            closed = any(self.codes) or len(self.codes) == len(self.commands)
            return begun <= written and (not closed or written <= (self.place / CODES).stat().st_mtime_ns)
        return False

    @property
    def resumable(self) -> bool:
        """Whether the same commands can be given again."""
        return self.state in ("failed", "cancelled", "cut short")

    @property
    def interrupted(self) -> bool:
        """Whether it was ended, rather than refused."""
        return self.state in ("cancelled", "cut short") or bool(self.codes and self.codes[-1] < 0)

    @property
    def progress(self) -> dict[str, Any]:
        """What is being done, and the fraction that is."""
        try:
            return json.loads((self.place / "progress").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {"what": "starting", "fraction": 0.0}

    @property
    def at(self) -> int:
        """The command that runs, or ran last, from 0."""
        return min(self.done, len(self.commands) - 1)

    @property
    def says(self) -> str:
        """What a job that did not end well says about it."""
        if self.state == "cancelled":
            return CANCELLED
        if self.interrupted:
            return KILLED
        found = self.result(self.at) or {}
        return found.get("verdict") or self.error(self.at).removeprefix("Error: ")

    @property
    def notes(self) -> list[str]:
        """What its commands said beside their results."""
        lines = [line for n in range(len(self.codes)) for line in self.error(n).splitlines()]
        return [] if self.state == "failed" else list(dict.fromkeys(line for line in lines if line.strip()))

    def error(self, number: int) -> str:
        """What a command wrote to standard error."""
        with suppress(OSError):
            text = (self.place / f"err-{number}").read_text(encoding="utf-8", errors="replace")
            return "\n".join(_in_words(line) for line in text.splitlines()).strip()
        return ""

    def result(self, number: int = -1) -> Any:
        """What a command gave as JSON; None if it did not come to that."""
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
        """Jobs of a table, the latest first."""
        return [job for job in self._all() if job.table == table and kind in (None, job.kind)]

    def latest(self, table: str, kind: str | None = None) -> StudioJob | None:
        """The latest of them."""
        return next((job for job in self._all() if job.table == table and kind in (None, job.kind)), None)

    def running(self, table: str) -> StudioJob | None:
        """The job that runs for a table, if any."""
        return next((job for job in self.of(table) if job.running), None)

    def has_made(self, name: str) -> bool:
        """Whether the latest job that was to make a file ended well: what an earlier one made may be overwritten."""
        return next((job.state == "done" for job in self._all() if name in job.outputs), False)

    def start(self, table: str, work: Work) -> StudioJob:
        """Begin a job; one at a time for a table, and never over a file that is there."""
        with only_one(self._folder.state / "starting"):  # two tabs, or two clicks
            if (other := self.running(table)) is not None:
                raise UsageError(f"wait or cancel: for this table {other.label} is running")
            self._refuse_overwriting(work)
            place = self._new_place(work.kind)
            record = {"table": table, "folder": str(self._folder.root), "started": _now(), **asdict(work)}
            write_bytes(place / "job.json", json.dumps(record, indent=1).encode(), mode=0o600)
            self._launch(place)
        return _read(place)

    def again(self, job: StudioJob) -> StudioJob:
        """Go on with a job at the command that did not end well: a fit takes up what it has paid for."""
        work = Work(kind=job.kind, label=job.label, commands=job.commands[job.done :], outputs=job.outputs)
        return self.start(job.table, work)

    def forget(self, table: str) -> None:
        """Know the jobs of a table no more."""
        with only_one(self._folder.state / "starting"):
            if (job := self.running(table)) is not None:
                raise UsageError(f"wait or cancel: for this table {job.label} is running")
            for job in self.of(table):
                shutil.rmtree(job.place)

    def cancel(self, job: StudioJob) -> None:
        """End a running job, with all it started."""
        if not job.running:
            return
        (job.place / "cancelled").touch()
        with suppress(OSError, ValueError):  # its group lives as long as its lock is held
            end_group(int((job.place / "pid").read_text()))

    def _refuse_overwriting(self, work: Work) -> None:
        """What is there was made before, or belongs to the custodian; only what a job made is made again.

        A model never is: it was paid for.
        """
        made = {name for job in self._all() for name in job.outputs if job.wrote(name)}
        made -= {work.outputs[0]} if work.commands[0][0] == "fit" else set()
        taken = [name for name in work.outputs if name not in made and os.path.lexists(self._folder.root / name)]
        if taken:
            raise UsageError(f"there is a file {taken[0]} already: move it away")

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
        threading.Thread(target=process.wait, daemon=True).start()  # so that it leaves no zombie

    def _new_place(self, kind: str) -> Path:
        numbers = (path.name.partition("-")[0] for path in self._root.iterdir())
        number = 1 + max((int(one) for one in numbers if one.isdecimal()), default=0)
        place = self._root / f"{number:06d}-{kind}"
        place.mkdir(mode=0o700)
        return place

    def _all(self) -> Iterator[StudioJob]:
        places = sorted((p for p in self._root.iterdir() if (p / "job.json").is_file()), reverse=True)
        for place in places:
            with suppress(OSError, ValueError, KeyError, TypeError):  # a damaged one must not hide the others
                yield _read(place)


def _in_words(line: str) -> str:
    """A line of JSON on standard error as people read it."""
    with suppress(ValueError, AttributeError):
        said = json.loads(line)
        found = next(((kind, said[kind]) for kind in ("error", "warning", "note") if kind in said), None)
        if found is not None:
            return found[1] if found[0] == "note" else f"{found[0].capitalize()}: {found[1]}"
    return line


def _read(place: Path) -> StudioJob:
    told = json.loads((place / "job.json").read_text(encoding="utf-8"))
    running = _held(place / "lock")  # before the codes: what ends in between has written them
    codes = (place / CODES).read_text().split() if (place / CODES).exists() else []
    return StudioJob(
        place=place, folder=Path(told["folder"]), id=place.name, table=told["table"], kind=told["kind"],
        label=told["label"], started=told["started"], commands=tuple(tuple(words) for words in told["commands"]),
        outputs=tuple(told["outputs"]), codes=tuple(int(code) for code in codes), running=running,
        cancelled=(place / "cancelled").exists(),
    )  # fmt: skip


def _held(path: Path) -> bool:
    """Whether a process of the job lives: the lock goes with the last of them, however they end."""
    try:
        with path.open("rb") as file:
            return is_locked(file.fileno())
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
