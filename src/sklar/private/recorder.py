"""The order that makes a crash harmless: charge (synced), read, record the hash, store the release, then return it.

An interrupted fit resumes from its stored releases. The release of a step that was charged and has no hash in the
ledger never left its process, so the same request is answered under the same charge. Only in the few milliseconds
between the hash and the end of the stored line may a kill lose a release: such a step is charged again.
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
    AnyQuery,
    Recorded,
    RecordedLine,
    Release,
    decode_step,
    encode_step,
    hash_line,
)


class Recorder:
    """Charges, records and recalls the steps of one fit.

    Args:
        path: The side file of releases (0600), or None to keep them in memory only.
        recorded: Steps of the same fit that were recorded before it was interrupted.
    """

    def __init__(self, account: FitAccount, path: Path | None, recorded: Sequence[RecordedLine] = ()):
        self._account = account
        self._path = path
        self._earlier = list(recorded)
        self.steps: list[Recorded] = []

    def recall(self, label: str, request: str, queries: Sequence[AnyQuery]) -> tuple[Release, ...] | None:
        """Return the recorded releases of the next step, or None if it must be measured now.

        Args:
            label: Name of the step.
            request: Digest of the request.
            queries: The query behind each of the releases.
        """
        place = len(self.steps)
        if place >= len(self._earlier):
            return None
        step = self._earlier[place]
        if (step.label, step.request) != (label, request):
            raise LedgerError(
                "the unfinished fit recorded in the ledger made other requests than this one; "
                "it was made by another version and cannot be resumed (start again with resume=False)"
            )
        recorded = step.join(queries)
        self.steps.append(recorded)
        return recorded.releases

    def charge(self, events: Sequence[Event], label: str, request: str) -> int:
        """Charge the ledger, before any row is read, and return the number of the step."""
        return self._account.charge(events, label, request)

    def record(self, step: int, label: str, request: str, releases: tuple[Release, ...]) -> None:
        """Record the hash of the releases in the ledger, then store them durably; Ctrl-C waits until both are done."""
        recorded = Recorded(step=step, label=label, request=request, releases=releases)
        line = encode_step(recorded)
        with defer_signals():
            # In this order: a charge without a hash proves that not one byte of a release was written.
            self._account.record_release(step, hash_line(line))
            if self._path is not None:
                append_synced(self._path, line)
            self.steps.append(recorded)


@contextmanager
def defer_signals() -> Generator[None]:
    """Defer Ctrl-C and other termination signals until the block is done."""
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


def read_steps(path: Path, digests: dict[int, str]) -> list[RecordedLine]:
    """Return the steps whose recorded line is complete and matches its hash in the ledger, in order."""
    if not path.exists():
        return []
    lines = {hash_line(line): line for line in path.read_text(encoding="utf-8", errors="replace").split("\n")}
    return [decode_step(lines[digests[step]]) for step in sorted(digests) if digests[step] in lines]
