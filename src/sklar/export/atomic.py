"""Files that appear whole or not at all: written beside their place, synced, then renamed."""

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
    """A binary file to write; it takes its place when the block ends, and leaves no trace when the block fails.

    Devices and pipes are written directly: a rename would replace them. A symbolic link is followed. Permissions are
    those of any new file unless a `mode` is given.
    """
    place = os.path.realpath(os.fspath(path))
    try:
        special = _is_special(place)
        with os.fdopen(open_file(place, os.O_WRONLY), "wb") if special else _open_beside(place, mode) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write {os.fspath(path)}: {reason(error)}.") from None


def write_bytes(path: PathLike, data: bytes, *, mode: int | None = None) -> None:
    """All of a file at once, likewise."""
    with atomic_file(path, mode=mode) as file:
        file.write(data)


@contextmanager
def standard_output() -> Generator[BinaryIO]:
    """Standard output as a binary file; a full disk or closed pipe behind it is met inside the block."""
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {reason(error)}.") from None


def make_folder(path: PathLike, mode: int = 0o777) -> Path:
    """A folder, made if it is not there."""
    place = Path(path)
    try:
        place.mkdir(mode, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {place}: {reason(error)}.") from None
    return place


def require_folder(path: PathLike) -> None:
    """Refuse a folder that cannot be made, or written to; it is not made yet."""
    place = Path(path)
    there = next(one for one in (place, *place.parents) if one.exists())
    try:
        require_writable(there / "_")
    except OutputError:
        raise OutputError(f"cannot write to the folder {place}: nothing can be made in {there}.") from None


def require_writable(path: PathLike) -> None:
    """Refuse a place that cannot be written before any work, or privacy, is spent on what should go there."""
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
        raise OutputError(f"cannot write {os.fspath(path)}: {reason(error)}.") from None


def refuse_overwriting(path: PathLike, *, force: bool) -> None:
    """Refuse to replace a file, before any work or privacy is spent, unless `force` allows it."""
    if not force and os.path.isfile(os.fspath(path)):  # pipes and devices are written to, not replaced
        raise OutputError(f"{os.fspath(path)} is there already; force=True (--force) overwrites it.")


def refuse_replacing(outputs: Sequence[PathLike | None], inputs: Sequence[Any]) -> None:
    """Refuse outputs that are one file, or a file that is read or charged: not even `force` overwrites those.

    Inputs that are no paths of files, as data frames and addresses of databases, are passed over.
    """
    read = {place for one in inputs if isinstance(one, str | os.PathLike) and (place := _regular_file(one))}
    for output in outputs:
        place = None if output is None else os.path.realpath(os.fspath(output))
        if place in read:
            raise OutputError(
                f"{output} is a file that is read or charged here, and is never overwritten: name another output."
            )
        if place is not None and not _is_special(place):
            read.add(place)


def _regular_file(path: PathLike) -> str | None:
    """Where a file is, without links; None if there is none."""
    name = os.fspath(path)
    return os.path.realpath(name) if "\0" not in name and os.path.isfile(name) else None


def reason(error: OSError) -> str:
    """What the system said, without a path."""
    return (error.strerror or type(error).__name__).lower()


@contextmanager
def _open_beside(place: str, mode: int | None) -> Generator[BinaryIO]:
    if os.path.isdir(place):
        raise IsADirectoryError(0, "it is a directory")
    folder, name = os.path.split(place)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    # The system itself takes the umask off; to ask for it would set it, for all threads, if only for a moment.
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
