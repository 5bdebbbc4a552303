"""Keeps the order that makes a crash harmless: charge (synced), read, record the release (synced), then show it.

A fit that was cut short resumes from its recorded releases. A step that was charged but whose release was not recorded
is measured with fresh noise and charged again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sklar.accounting.events import Event
from sklar.accounting.ledger import FitAccount
from sklar.accounting.ledger.file import write_synced
from sklar.errors import LedgerError
from sklar.release.values import Recorded, Release, line_digest, read_line, record_line


class Recorder:
    """Charges, records and recalls the steps of one fit.

    Args:
        path: The side file of releases (0600), or None to keep them in memory only.
        recorded: Steps of the same fit that were recorded before it was cut short.
    """

    def __init__(self, account: FitAccount, path: Path | None, recorded: Sequence[Recorded] = ()):
        self._account = account
        self._path = path
        self._old = list(recorded)
        self.steps: list[Recorded] = []

    def recall(self, label: str, request: str) -> tuple[Release, ...] | None:
        """The recorded releases of the next step, if it was measured before; None if it must be measured now."""
        place = len(self.steps)
        if place >= len(self._old):
            return None
        step = self._old[place]
        if (step.label, step.request) != (label, request):
            raise LedgerError(
                "the unfinished fit recorded in the ledger asked other questions than this one; "
                "it was made by another version and cannot be resumed (start again with resume=False)"
            )
        self.steps.append(step)
        return step.releases

    def charge(self, events: Sequence[Event], label: str) -> int:
        """Charge the ledger; returns the number of the step. Nothing has been read yet."""
        return self._account.charge(events, label)

    def record(self, step: int, label: str, request: str, releases: tuple[Release, ...]) -> None:
        """Store the releases durably, then note their hash in the ledger."""
        recorded = Recorded(step=step, label=label, request=request, releases=releases)
        line = record_line(recorded)
        if self._path is not None:
            append_synced(self._path, line)
        self._account.record_release(step, line_digest(line))
        self.steps.append(recorded)


def append_synced(path: Path, line: str) -> None:
    """Append one line to a 0600 file and sync it to disk."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            write_synced(handle, (line + "\n").encode())
        finally:
            os.close(handle)
    except OSError as error:
        raise LedgerError(f"cannot record a release in {path}: {error.strerror}; the fit can be resumed") from None


def read_recorded(path: Path, digests: dict[int, str]) -> list[Recorded]:
    """The steps whose recorded line is whole and matches its hash in the ledger, in order."""
    if not path.exists():
        return []
    lines = {line_digest(line): line for line in path.read_text(encoding="utf-8", errors="replace").split("\n")}
    return [read_line(lines[digests[step]]) for step in sorted(digests) if digests[step] in lines]
