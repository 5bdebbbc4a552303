"""Codes kept on disk, if the custodian asks for it: a private file without a name that vanishes with the process."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence

from sklar.errors import SourceError
from sklar.rows.batch import CodeBatch
from sklar.rows.blob import blob_of, column_of, column_starts


class SpillFile:
    """Batches of codes in a file without a name.

    The file is taken out of its folder before anything is written to it, so the system removes it when the process
    ends, however that happens: nothing is left behind by an error, Ctrl-C, kill -9 or a power cut.

    Args:
        folder: Where; made with permissions 0700 if it is not there, and refused if others may look into it.
        sizes: Number of codes of each column.
    """

    def __init__(self, folder: str | os.PathLike[str], sizes: Sequence[int]):
        self._sizes, self._folder = tuple(sizes), os.fspath(folder)
        self._handle = _nameless(private_folder(folder))
        self._rows: list[int] = []
        self._offsets = [0]

    def add(self, batch: CodeBatch) -> None:
        """Append a batch of all columns."""
        rest, at = memoryview(blob_of(batch)), self._offsets[-1]
        self._rows.append(batch.rows)
        self._offsets.append(at + len(rest))
        try:
            while rest:
                written = os.pwrite(self._handle, rest, at)
                rest, at = rest[written:], at + written
        except OSError as error:
            reason = (error.strerror or "it failed").lower()
        else:
            return
        raise SourceError(f"the cache of codes in {self._folder} cannot be written: {reason}; fit without it")

    def batches(self, places: Sequence[int]) -> Iterator[CodeBatch]:
        """All batches in order, the chosen columns only."""
        for rows, offset in zip(self._rows, self._offsets, strict=False):
            starts = column_starts(rows, self._sizes)
            parts = [(offset + starts[at], starts[at + 1] - starts[at], self._sizes[at]) for at in places]
            yield CodeBatch(rows=rows, columns=tuple(column_of(self._read(at, n), rows, size) for at, n, size in parts))

    def close(self) -> None:
        """Let the system take the file away."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        self.close()

    def _read(self, at: int, count: int) -> bytes:
        data = os.pread(self._handle, count, at)
        while len(data) < count:
            more = os.pread(self._handle, count - len(data), at + len(data))
            if not more:
                raise SourceError(f"the cache of codes in {self._folder} was cut short; fit again")
            data += more
        return data


def private_folder(folder: str | os.PathLike[str]) -> str:
    """The folder, made if need be, that nobody but its owner can look into."""
    place = os.path.abspath(folder)
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        mode = os.stat(place).st_mode
    except OSError as error:
        raise SourceError(f"the cache folder {place} cannot be used: {(error.strerror or '').lower()}") from None
    if mode & 0o077:
        raise SourceError(f"the cache folder {place} is open to others; run: chmod 700 {place}, or name a new folder")
    return place


def _nameless(folder: str) -> int:
    """A file open for reading and writing, 0600, already without a name."""
    flag = getattr(os, "O_TMPFILE", None)
    try:
        if flag is not None:
            try:
                return os.open(folder, os.O_RDWR | flag | getattr(os, "O_CLOEXEC", 0), 0o600)
            except OSError:  # not every file system has files that never had a name
                pass
        handle, name = tempfile.mkstemp(dir=folder, prefix=".sklar-codes-")
        os.unlink(name)
        return handle
    except OSError as error:
        raise SourceError(f"the cache folder {folder} cannot be used: {(error.strerror or '').lower()}") from None
