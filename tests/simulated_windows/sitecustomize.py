"""Takes from a Python process on Linux what Windows does not have. Put this folder first on PYTHONPATH.

Modules and functions that only POSIX systems have are gone, folders cannot be opened, no file descriptor is passed to
another process, and `msvcrt` locks bytes for one open file, mandatory semantics aside.
"""

from __future__ import annotations

import asyncio  # noqa: F401  (the standard library is loaded before its parts are taken away)
import errno
import fcntl
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import types
from typing import Any

MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog")
FUNCTIONS = (
    "pread", "pwrite", "preadv", "pwritev", "fchmod", "fchown", "chown", "killpg", "getpgid", "setsid", "fork",
    "forkpty", "mkfifo", "sched_getaffinity", "getloadavg", "geteuid", "O_NOFOLLOW", "O_DIRECTORY",
    "O_TMPFILE",
)  # fmt: skip
SIGNALS = ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPIPE")
_open, _chmod, _fcntl, _set_lock = os.open, os.chmod, fcntl.fcntl, fcntl.F_OFD_SETLK


def _locking(handle: int, mode: int, count: int) -> None:
    """Lock bytes from the current place on, for this open file alone."""
    kind = fcntl.F_UNLCK if mode == 0 else fcntl.F_WRLCK
    request = struct.pack("hhqqi4x", kind, os.SEEK_SET, os.lseek(handle, 0, os.SEEK_CUR), count, 0)
    # Windows locks files open for reading, too. Here another open file is asked; nobody keeps such a lock.
    reading = _fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    locked = _open(f"/proc/self/fd/{handle}", os.O_RDWR) if reading else handle
    try:
        _fcntl(locked, _set_lock, request)
    except OSError:
        raise PermissionError(errno.EACCES, "Permission denied") from None
    finally:
        if reading:
            os.close(locked)


def _open_no_folder(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
    if dir_fd is None and os.path.isdir(path):
        raise PermissionError(errno.EACCES, "Permission denied")
    return _open(path, flags, mode, dir_fd=dir_fd)


def _chmod_paths(path: Any, mode: int, **settings: Any) -> None:
    if isinstance(path, int):
        raise TypeError("chmod: path should be string, bytes or os.PathLike, not int")
    _chmod(path, mode | stat.S_IRUSR, **settings)


class _Popen(subprocess.Popen):
    def __init__(self, *args: Any, **settings: Any):
        if settings.get("pass_fds") or settings.get("preexec_fn"):
            raise ValueError("pass_fds not supported on Windows.")
        super().__init__(*args, **settings)


_windows = types.ModuleType("msvcrt")
vars(_windows).update(locking=_locking, LK_UNLCK=0, LK_LOCK=1, LK_NBLCK=2)
sys.modules["msvcrt"] = _windows
sys.modules.update(dict.fromkeys(MODULES))  # None: an import fails
for _name in FUNCTIONS:
    delattr(os, _name)
for _name in SIGNALS:
    delattr(signal, _name)
vars(os).update(open=_open_no_folder, chmod=_chmod_paths)
vars(shutil).update(_use_fd_functions=False)
vars(tempfile).update(TemporaryFile=tempfile.NamedTemporaryFile)
vars(subprocess).update(Popen=_Popen)
