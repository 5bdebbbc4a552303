"""Outputs appear whole or not at all: write to a temporary file in the same folder, sync, then rename."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from sklar.errors import OutputError


@contextmanager
def atomic_path(path: str | PathLike[str], mode: int = 0o644) -> Iterator[Path]:
    """Give a temporary path to write to; on success it becomes `path`, on any error it is removed.

    Args:
        path: The final place. A folder there, or a missing parent folder, is refused before anything is written.
        mode: Permissions of the result, before the process's umask.
    """
    final = Path(path)
    if final.is_dir():
        raise OutputError(f"cannot write {final}: it is a folder")
    if not final.parent.is_dir():
        raise OutputError(f"cannot write {final}: the folder {final.parent} does not exist")
    temporary = final.with_name(f".{final.name[:80]}.{secrets.token_hex(6)}.tmp")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        yield temporary
        _sync(temporary)
        os.replace(temporary, final)
        _sync(final.parent)
    except OSError as error:
        raise OutputError(f"cannot write {final}: {error.strerror or 'the write failed'}") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
