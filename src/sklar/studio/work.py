"""The process of a job: it runs its commands one after another, and records their exit codes.

Started by `jobs` as `python -m sklar.studio.work FOLDER-OF-THE-JOB LOCK`. It holds the lock of the job, and so does the
command it runs: whichever of them is killed, the lock shows whether work continues. On Windows, where locks are not
inherited, this process alone holds it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from sklar.portable import LOCKS_ARE_INHERITED, inherit_locks, lock_within
from sklar.studio.timing import END, TIMES

CODES = "codes"
MAX_WAIT_SECONDS = 30.0
"""Seconds to wait for the lock of a job, which others take only to check whether it is held."""
PROGRESS_FILE = "SKLAR_PROGRESS"
"""Environment variable with the file to which commands write their progress."""


def main(job: str, lock: str) -> None:
    """Run the commands of a job until one fails."""
    place = Path(job)
    with (place / "lock").open("r+b") as own:  # kept open, so locked, until all is done
        if not LOCKS_ARE_INHERITED:
            lock_within(MAX_WAIT_SECONDS, own.fileno())
        _run_commands(place, int(lock))


def _run_commands(place: Path, lock: int) -> None:
    record = json.loads((place / "job.json").read_text(encoding="utf-8"))
    for number, words in enumerate(record["commands"]):
        _note_time(place, " ".join(words[:1]))
        code = _run(place, number, words, record["folder"], lock)
        with (place / CODES).open("a", encoding="utf-8") as file:
            file.write(f"{code}\n")
            file.flush()
            os.fsync(file.fileno())
        if code:
            return
    _note_time(place, END)


def _note_time(place: Path, what: str) -> None:
    """Record when a command began, or all ended, beside the beginnings of their stages."""
    with (place / TIMES).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"what": what, "at": time.time()}) + "\n")


def _run(place: Path, number: int, words: list[str], folder: str, lock: int) -> int:
    command = [sys.executable, "-m", "sklar", *words, "--json"]
    (place / "progress").unlink(missing_ok=True)  # that of the command before
    environment = {**os.environ, PROGRESS_FILE: str(place / "progress")}
    with (place / f"out-{number}").open("wb") as out, (place / f"err-{number}").open("wb") as err:
        ended = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, check=False,
            **inherit_locks(lock),
        )  # fmt: skip
    return ended.returncode


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
