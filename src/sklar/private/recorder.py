"""Keeps the order that makes a crash harmless: charge (synced), read, note the hash, store the release, then show it.

A fit that was cut short resumes from its stored releases. A step that was charged and has no hash in the ledger never
left its process, so the same request is answered under the same charge. Only between the hash and the end of the
stored line, a few milliseconds, may a kill lose a release: such a step is charged again.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sklar.accounting.events import Event
from sklar.accounting.ledger import FitAccount
from sklar.accounting.ledger.file import write_synced
from sklar.errors import LedgerError
from sklar.portable import TERMINATION_SIGNALS, open_file
from sklar.release.measurements import (
    Asked,
    Recorded,
    RecordedLine,
    Release,
    line_digest,
    read_line,
    record_line,
)


class Recorder:
    """Charges, records and recalls the steps of one fit.

    Args:
        path: The side file of releases (0600), or None to keep them in memory only.
        recorded: Steps of the same fit that were recorded before it was cut short.
    """

    def __init__(self, account: FitAccount, path: Path | None, recorded: Sequence[RecordedLine] = ()):
        self._account = account
        self._path = path
        self._old = list(recorded)
        self.steps: list[Recorded] = []

    def recall(self, label: str, request: str, asked: Sequence[Asked]) -> tuple[Release, ...] | None:
        """Return the recorded releases of the next step, or None if it must be measured now.

        Args:
            label: Name of the step.
            request: Digest of what is asked.
            asked: What each of the releases answers.
        """
        place = len(self.steps)
        if place >= len(self._old):
            return None
        step = self._old[place]
        if (step.label, step.request) != (label, request):
            raise LedgerError(
                "the unfinished fit recorded in the ledger asked other questions than this one; "
                "it was made by another version and cannot be resumed (start again with resume=False)"
            )
        recorded = step.join(asked)
        self.steps.append(recorded)
        return recorded.releases

    def charge(self, events: Sequence[Event], label: str, request: str) -> int:
        """Charge the ledger; returns the number of the step. Nothing has been read yet."""
        return self._account.charge(events, label, request)

    def record(self, step: int, label: str, request: str, releases: tuple[Release, ...]) -> None:
        """Note the hash of the releases in the ledger, then store them durably; Ctrl-C waits until both are done."""
        recorded = Recorded(step=step, label=label, request=request, releases=releases)
        line = record_line(recorded)
        with uninterrupted():
            # In this order: a charge without a hash proves that not one byte of a release was written.
            self._account.record_release(step, line_digest(line))
            if self._path is not None:
                append_synced(self._path, line)
            self.steps.append(recorded)


@contextmanager
def uninterrupted() -> Generator[None]:
    """Hold back Ctrl-C and other requests to end until the block is done."""
    if threading.current_thread() is not threading.main_thread():  # signals are handled elsewhere
        yield
        return
    held: list[int] = []
    before = {number: handler for number in TERMINATION_SIGNALS if (handler := signal.getsignal(number)) is not None}
    for number in before:
        signal.signal(number, lambda got, _: held.append(got))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if held:
            signal.raise_signal(held[0])


def append_synced(path: Path, line: str) -> None:
    """Append one line to a 0600 file and sync it to disk."""
    try:
        handle = open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            write_synced(handle, (line + "\n").encode())
        finally:
            os.close(handle)
    except OSError as error:
        raise LedgerError(f"cannot record a release in {path}: {error.strerror}; the fit can be resumed") from None


def read_recorded(path: Path, digests: dict[int, str]) -> list[RecordedLine]:
    """The steps whose recorded line is whole and matches its hash in the ledger, in order."""
    if not path.exists():
        return []
    lines = {line_digest(line): line for line in path.read_text(encoding="utf-8", errors="replace").split("\n")}
    return [read_line(lines[digests[step]]) for step in sorted(digests) if digests[step] in lines]
