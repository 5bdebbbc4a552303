"""File locks: that of the ledger, held while one entry is written, and that of a fit, held while its process lives.

The system drops both when the process ends in any way, kill -9 included. On Linux and macOS a process forked from a fit
shares its lock and keeps it until it ends too.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sklar.errors import LedgerError
from sklar.portable import is_file_at, is_locked, lock_within, open_file, remove_locked, unlock

LEDGER_TIMEOUT = 60.0
"""Seconds to wait for another process to finish its entry."""
FIT_TIMEOUT = 0.25
"""Seconds to wait for a fit's lock: other processes hold it briefly to see whether the fit is alive."""


@contextmanager
def hold_ledger_lock(handle: int, path: Path) -> Generator[None]:
    """Hold the exclusive lock of an open ledger file; waits at most `LEDGER_TIMEOUT` seconds."""
    if not _lock_within(LEDGER_TIMEOUT, handle, path):
        raise LedgerError(f"the ledger {path} has been locked by another process for {LEDGER_TIMEOUT:.0f} seconds.")
    try:
        yield
    finally:
        unlock(handle)


class FitLock:
    """Shows other processes that a fit is alive by a lock on a side file; no lock if the ledger is in memory."""

    def __init__(self, ledger: Path | None, fit: str):
        """Take the lock, or raise LedgerError if a living process holds it."""
        self._path = lock_path(ledger or Path(fit), fit)
        self._handle: int | None = None if ledger is None else self._take(fit)

    def release(self) -> None:
        """Release the lock and delete the side file (after a kill it stays, unlocked)."""
        if self._handle is None:
            return
        remove_locked(self._path, self._handle)
        self._handle = None

    def _take(self, fit: str) -> int:
        while True:
            try:
                handle = open_file(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                where = self._path.parent
                raise LedgerError(f"cannot write beside the ledger, in {where}: {error.strerror}.") from None
            if not _lock_within(FIT_TIMEOUT, handle, self._path):
                os.close(handle)
                raise LedgerError(f"fit {fit} is still running in another process.")
            if is_file_at(handle, self._path):
                return handle
            os.close(handle)  # its last owner removed the file between our open and our lock


def is_alive(ledger: Path, fit: str) -> bool:
    """Return whether a living process holds the lock of this fit."""
    try:
        handle = open_file(lock_path(ledger, fit), os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # uncertain: better not to resume
    try:
        return is_locked(handle)
    except OSError:
        return True
    finally:
        os.close(handle)


def lock_path(ledger: Path, fit: str) -> Path:
    """Return the path of the side file whose lock shows that a fit is alive."""
    return ledger.with_name(f"{ledger.name}.{fit}.lock")


def _lock_within(seconds: float, handle: int, path: Path) -> bool:
    try:
        return lock_within(seconds, handle)
    except OSError as error:
        raise LedgerError(f"{path} cannot be locked: {error.strerror}. Keep the ledger on a local disk.") from None
