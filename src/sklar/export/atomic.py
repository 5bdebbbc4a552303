"""Atomic files: written to a temporary file beside the target, synced, then renamed."""

from __future__ import annotations

import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from sklar.errors import OutputError
from sklar.portable import open_file, set_mode, sync_folder

PathLike = str | os.PathLike[str]


@contextmanager
def atomic_file(path: PathLike, *, mode: int | None = None) -> Generator[BinaryIO]:
    """Open a binary file that replaces the target when the block ends, and is removed when the block fails.

    Devices and pipes are written directly, since a rename would replace them. Symbolic links are followed. Permissions
    are those of any new file unless a `mode` is given.
    """
    place = os.path.realpath(os.fspath(path))
    try:
        special = _is_special(place)
        with os.fdopen(open_file(place, os.O_WRONLY), "wb") if special else _open_beside(place, mode) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write {os.fspath(path)}: {describe_reason(error)}.") from None


def write_bytes(path: PathLike, data: bytes, *, mode: int | None = None) -> None:
    """Write a whole file atomically."""
    with atomic_file(path, mode=mode) as file:
        file.write(data)


@contextmanager
def standard_output() -> Generator[BinaryIO]:
    """Open standard output as a binary file; errors of a full disk or closed pipe occur inside the block."""
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {describe_reason(error)}.") from None


def make_folder(path: PathLike, mode: int = 0o777) -> Path:
    """Create a folder if it does not exist, and return it."""
    place = Path(path)
    try:
        place.mkdir(mode, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot create the folder {place}: {describe_reason(error)}.") from None
    return place


def require_folder(path: PathLike) -> None:
    """Refuse a folder that cannot be created or written to, without creating it."""
    place = Path(path)
    there = next(one for one in (place, *place.parents) if one.exists())
    try:
        require_writable(there / "_")
    except OutputError:
        raise OutputError(f"cannot write to the folder {place}: {there} is not writable.") from None


def require_writable(path: PathLike) -> None:
    """Refuse a path that cannot be written, before any work is done or budget is spent."""
    place = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(place)
    if os.path.isdir(place):
        raise OutputError(f"cannot write {os.fspath(path)}: it is a directory.")
    if not os.path.isdir(folder):
        raise OutputError(f"cannot write {os.fspath(path)}: the folder {folder} does not exist.")
    if _is_special(place):
        return
    try:
        with suppress(FileNotFoundError):
            os.stat(place)  # refuses names that are too long
        handle, probe = tempfile.mkstemp(dir=folder, prefix=".sklar-", suffix=".tmp")
        os.close(handle)
        os.unlink(probe)
    except OSError as error:
        raise OutputError(f"cannot write {os.fspath(path)}: {describe_reason(error)}.") from None


def refuse_overwriting(path: PathLike, *, force: bool) -> None:
    """Refuse to replace a file, before any work is done or budget is spent, unless `force` is given."""
    if not force and os.path.isfile(os.fspath(path)):  # pipes and devices are written to, not replaced
        raise OutputError(f"{os.fspath(path)} already exists; force=True (--force) overwrites it.")


def refuse_replacing(outputs: Sequence[PathLike | None], inputs: Sequence[Any]) -> None:
    """Refuse outputs that are the same file, or that are read or charged: not even `force` overwrites those.

    Inputs that are not files, as data frames and addresses of databases, are ignored.
    """
    read = {place for one in inputs if isinstance(one, str | os.PathLike) and (place := _regular_file(one))}
    for output in outputs:
        place = None if output is None else os.path.realpath(os.fspath(output))
        if place in read:
            raise OutputError(
                f"{output} is read or charged by this command and is never overwritten: use another output."
            )
        if place is not None and not _is_special(place):
            read.add(place)


def _regular_file(path: PathLike) -> str | None:
    """Return the resolved path of an existing file; None if there is none."""
    name = os.fspath(path)
    return os.path.realpath(name) if "\0" not in name and os.path.isfile(name) else None


def describe_reason(error: OSError) -> str:
    """Return the message of the system, without a path."""
    return (error.strerror or type(error).__name__).lower()


@contextmanager
def _open_beside(place: str, mode: int | None) -> Generator[BinaryIO]:
    if os.path.isdir(place):
        raise IsADirectoryError(0, "it is a directory")
    folder, name = os.path.split(place)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    # The system applies the umask. Reading it in Python would set it for all threads, if only briefly.
    handle = open_file(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666 if mode is None else 0o600)
    file = os.fdopen(handle, "wb")
    try:
        yield file
        file.flush()
        if mode is not None:
            set_mode(handle, temporary, mode)
        os.fsync(handle)
        file.close()
        os.replace(temporary, place)
    except BaseException:
        with suppress(OSError):
            file.close()
        with suppress(OSError):
            os.unlink(temporary)
        raise
    with suppress(OSError):  # lets the rename itself survive a power cut, where the file system can
        sync_folder(folder)


def _is_special(place: str) -> bool:
    try:
        kind = os.stat(place).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)
