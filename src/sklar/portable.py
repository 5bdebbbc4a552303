"""Differences between operating systems: file locks, positioned reads, unnamed files, ending processes.

Everything else uses these functions, so that Linux, macOS and Windows run the same code. Nothing outside this module
imports `fcntl` or `msvcrt`, or names a function of `os` that Windows lacks (`tests/architecture/test_portable.py`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
try:
    import msvcrt
except ImportError:  # Linux, macOS
    msvcrt = None

LOCKED_BYTE = 1 << 30
"""The byte that is locked in place of a whole file on Windows, where a locked part cannot be read by others.

It is beyond the end of every locked file, and below 2 GB, the limit of `msvcrt.locking`.
"""
LOCK_CHECK_SECONDS = 0.1
"""Seconds for which a lock may be held by a process that only checks whether it is held."""
LOCKS_ARE_INHERITED = fcntl is not None
"""Whether a process shares the locks of the files that it inherits; on Windows a lock belongs to one process."""
OPEN_FLAGS = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
"""Flags that keep Windows from translating line ends and from sharing open files with other processes."""
HAS_PERMISSIONS = fcntl is not None
"""Whether the mode of a file controls access; Windows has access control lists, inherited from the folder."""
HAS_PROCESS_GROUPS = hasattr(os, "killpg")
"""Whether a process can be ended with all its children, as comparisons with other tools need."""
TERMINATION_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that ask a process to end."""
_moving = threading.Lock()


def open_file(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """Open a binary file, as `os.open` does."""
    return os.open(path, flags | OPEN_FLAGS, mode)


def try_lock(handle: int) -> bool:
    """Take the exclusive lock of an open file, or return False if another open file holds it.

    The system releases the lock when the file is closed or the process ends. OSError means that the file system has no
    locks.
    """
    if fcntl is None:
        return _try_lock_byte(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_within(seconds: float, handle: int) -> bool:
    """Wait for the lock for at most `seconds`; return whether it was acquired."""
    deadline = time.monotonic() + seconds
    while not try_lock(handle):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def is_locked(handle: int) -> bool:
    """Return whether another open file holds the lock; concurrent checks do not affect each other."""
    if fcntl is None:  # Windows has no shared locks in Python: wait for a lock that is held by a check
        free = lock_within(LOCK_CHECK_SECONDS, handle)
    else:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
    if free:
        unlock(handle)
    return not free


def unlock(handle: int) -> None:
    """Release the lock before the file is closed."""
    with suppress(OSError):
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_UN)
        else:
            _lock_byte(handle, _require_windows_locks().LK_UNLCK)


def remove_locked(path: str | os.PathLike[str], handle: int) -> None:
    """Remove and close a locked file, so that no other process can lock a file that is then removed.

    POSIX systems remove an open file at once. Windows removes only closed files: it is closed here first, and stays if
    another process has opened it since.
    """
    if fcntl is not None:
        with suppress(OSError):
            os.unlink(path)
    os.close(handle)
    if fcntl is None:
        with suppress(OSError):
            os.unlink(path)


def is_file_at(handle: int, path: str | os.PathLike[str]) -> bool:
    """Return whether the open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except OSError:
        return False


def read_at(handle: int, count: int, at: int) -> bytes:
    """Read up to `count` bytes from a position in a file."""
    if hasattr(os, "pread"):
        return os.pread(handle, count, at)
    with _moving:
        os.lseek(handle, at, os.SEEK_SET)
        return os.read(handle, count)


def write_at(handle: int, data: bytes | memoryview, at: int) -> int:
    """Write bytes at a position in a file; return the number written."""
    if hasattr(os, "pwrite"):
        return os.pwrite(handle, data, at)
    with _moving:
        os.lseek(handle, at, os.SEEK_SET)
        return os.write(handle, data)


def set_mode(handle: int, path: str | os.PathLike[str], mode: int) -> None:
    """Set the permissions of an open file."""
    if hasattr(os, "fchmod"):
        os.fchmod(handle, mode)
    else:
        os.chmod(path, mode)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Flush a folder's list of files to disk; not needed, and not possible, on Windows."""
    if fcntl is None:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def nameless_file(folder: str) -> int:
    """Open a new file for reading and writing, mode 0600, that is removed when it is closed or its process ends.

    It has no name, so that no other process can open it. (On Windows it has a random name.)
    """
    if fcntl is None:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_TEMPORARY", 0)
        return open_file(os.path.join(folder, f".sklar-codes-{os.urandom(8).hex()}"), flags, 0o600)
    flag = getattr(os, "O_TMPFILE", None)
    if flag is not None:
        with suppress(OSError):  # not every file system supports unnamed files
            return os.open(folder, os.O_RDWR | flag, 0o600)
    handle, name = tempfile.mkstemp(dir=folder, prefix=".sklar-codes-")
    os.unlink(name)
    return handle


def own_group(*inherited: int) -> dict[str, Any]:
    """Return arguments of `subprocess.Popen` for a process that outlives this one and inherits files if possible."""
    if fcntl is None:
        return {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    return {"start_new_session": True, **inherit_locks(*inherited)}


def inherit_locks(*handles: int) -> dict[str, Any]:
    """Return arguments of `subprocess.Popen` for a process that shares the locks of open files, where possible."""
    return {"pass_fds": handles} if LOCKS_ARE_INHERITED else {}


def end_group(process: int) -> None:
    """Terminate a process that was started with `own_group`, and its children; Windows kills them."""
    if HAS_PROCESS_GROUPS:
        os.killpg(process, signal.SIGTERM)
    else:
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process)], capture_output=True, check=False)


def _try_lock_byte(handle: int) -> bool:
    try:
        _lock_byte(handle, _require_windows_locks().LK_NBLCK)
    except PermissionError:  # EACCES: another open file holds it
        return False
    return True


def _lock_byte(handle: int, mode: int) -> None:
    place = os.lseek(handle, 0, os.SEEK_CUR)
    os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
    try:
        _require_windows_locks().locking(handle, mode, 1)
    finally:
        os.lseek(handle, place, os.SEEK_SET)


def _require_windows_locks() -> Any:
    if msvcrt is None:
        raise OSError(0, "this system has neither POSIX nor Windows file locks")
    return msvcrt
