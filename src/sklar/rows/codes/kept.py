"""Codes kept for later passes: in memory while they fit, then in a private file if a folder is given."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sklar.counting.batches import CodeBatch, decode_column, encode_batch, find_column_starts
from sklar.errors import SourceError
from sklar.portable import HAS_PERMISSIONS, nameless_file, read_at, write_at


class KeptCodes:
    """Batches of codes of all modelled columns; when they outgrow their memory, in a file of `folder` or not kept."""

    def __init__(self, sizes: Sequence[int], most_bytes: int, folder: str | os.PathLike[str] | None):
        self._sizes, self._most_bytes, self._folder = tuple(sizes), most_bytes, folder
        self._batches: list[CodeBatch] = []
        self._bytes = 0
        self._file: SpillFile | None = None

    def add(self, batch: CodeBatch) -> bool:
        """Keep one more batch; False if it does not fit, and then no batch is kept any longer."""
        if self._file is None and self._bytes + batch.nbytes > self._most_bytes and not self._spill():
            return False
        if self._file is not None:
            self._file.add(batch)
        else:
            self._batches.append(batch)
            self._bytes += batch.nbytes
        return True

    def batches(self, places: Sequence[int]) -> Iterator[CodeBatch]:
        """Yield all batches in order, the chosen columns only."""
        if self._file is not None:
            yield from self._file.batches(places)
        for batch in self._batches:
            yield replace(batch, columns=tuple(batch.columns[at] for at in places))

    def close(self) -> None:
        """Drop all batches, so that keeping can start again."""
        self._batches, self._bytes = [], 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def _spill(self) -> bool:
        """Move the batches in memory to a file; False without a folder."""
        kept, self._batches = self._batches, []
        if self._folder is None:
            return False
        self._file = SpillFile(self._folder, self._sizes)
        for batch in kept:
            self._file.add(batch)
        return True


class SpillFile:
    """Batches of codes in a file without a name.

    The file is removed from its folder before any byte is written to it, so the system deletes it when the process ends
    in any way: no file is left behind by an error, Ctrl-C, kill -9 or a power cut.
    """

    def __init__(self, folder: str | os.PathLike[str], sizes: Sequence[int]):
        self._sizes, self._folder = tuple(sizes), os.fspath(folder)
        self._handle = open_cache_file(self._folder)
        self._sorts: list[tuple[int, int]] = []  # rows and weight of each batch
        self._offsets = [0]

    def add(self, batch: CodeBatch) -> None:
        """Append a batch of all columns."""
        rest, at = memoryview(encode_batch(batch)), self._offsets[-1]
        self._sorts.append((batch.rows, batch.weight))
        self._offsets.append(at + len(rest))
        try:
            while rest:
                written = write_at(self._handle, rest, at)
                rest, at = rest[written:], at + written
        except OSError as error:
            reason = (error.strerror or "it failed").lower()
        else:
            return
        raise SourceError(f"the cache of codes in {self._folder} cannot be written: {reason}; fit without it")

    def batches(self, places: Sequence[int]) -> Iterator[CodeBatch]:
        """Yield all batches in order, the chosen columns only."""
        for (rows, weight), offset in zip(self._sorts, self._offsets, strict=False):
            starts = find_column_starts(rows, self._sizes)
            parts = [(offset + starts[at], starts[at + 1] - starts[at], self._sizes[at]) for at in places]
            columns = tuple(decode_column(self._read(at, n), rows, size) for at, n, size in parts)
            yield CodeBatch(rows=rows, columns=columns, weight=weight)

    def close(self) -> None:
        """Close the file, which lets the system delete it."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        self.close()

    def _read(self, at: int, count: int) -> bytes:
        data = read_at(self._handle, count, at)
        while len(data) < count:
            more = read_at(self._handle, count - len(data), at + len(data))
            if not more:
                raise SourceError(f"the cache of codes in {self._folder} was cut short; fit again")
            data += more
        return data


def private_folder(folder: str | os.PathLike[str]) -> str:
    """Return the folder, created with permissions 0700 if missing, and refused if others may read it."""
    place = os.path.abspath(folder)
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        mode = os.stat(place).st_mode
    except OSError as error:
        raise SourceError(f"the cache folder {place} cannot be used: {(error.strerror or '').lower()}") from None
    if HAS_PERMISSIONS and mode & 0o077:
        raise SourceError(f"the cache folder {place} is open to others; run: chmod 700 {place}, or name a new folder")
    return place


def open_cache_file(folder: str) -> int:
    """Return a file open for reading and writing, 0600, already without a name.

    A stated folder is refused if others may read it; the system's temporary folder is open to all, but no one can open
    a file there that has no name.
    """
    folder = folder if folder == tempfile.gettempdir() else private_folder(folder)
    try:
        return nameless_file(folder)
    except OSError as error:
        raise SourceError(f"the cache folder {folder} cannot be used: {(error.strerror or '').lower()}") from None
