"""Codes that are kept for later passes: in memory as long as they fit, then in a private file if one was asked for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sklar.counting.batches import CodeBatch, blob_of, column_of, column_starts
from sklar.errors import SourceError
from sklar.portable import HAS_PERMISSIONS, nameless_file, read_at, write_at


class KeptCodes:
    """Batches of codes of all modelled columns, of so many codes each; in a file of `folder` when they outgrow their
    memory, or given up then if there is none.
    """

    def __init__(self, sizes: Sequence[int], most_bytes: int, folder: str | os.PathLike[str] | None):
        self._sizes, self._most_bytes, self._folder = tuple(sizes), most_bytes, folder
        self._batches: list[CodeBatch] = []
        self._bytes = 0
        self._file: SpillFile | None = None

    def add(self, batch: CodeBatch) -> bool:
        """Keep one more batch; False if there is no room, and then nothing is kept any longer."""
        if self._file is None and self._bytes + batch.nbytes > self._most_bytes and not self._spill():
            return False
        if self._file is not None:
            self._file.add(batch)
        else:
            self._batches.append(batch)
            self._bytes += batch.nbytes
        return True

    def batches(self, places: Sequence[int]) -> Iterator[CodeBatch]:
        """All batches in order, the chosen columns only."""
        if self._file is not None:
            yield from self._file.batches(places)
        for batch in self._batches:
            yield replace(batch, columns=tuple(batch.columns[at] for at in places))

    def close(self) -> None:
        """Forget everything, so that keeping can begin anew."""
        self._batches, self._bytes = [], 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def _spill(self) -> bool:
        """Move what is in memory to a file; False if none was asked for."""
        kept, self._batches = self._batches, []
        if self._folder is None:
            return False
        self._file = SpillFile(self._folder, self._sizes)
        for batch in kept:
            self._file.add(batch)
        return True


class SpillFile:
    """Batches of codes in a file without a name.

    The file is taken out of its folder before anything is written to it, so the system removes it when the process
    ends, however that happens: nothing is left behind by an error, Ctrl-C, kill -9 or a power cut.
    """

    def __init__(self, folder: str | os.PathLike[str], sizes: Sequence[int]):
        self._sizes, self._folder = tuple(sizes), os.fspath(folder)
        self._handle = open_cache_file(self._folder)
        self._sorts: list[tuple[int, int]] = []  # rows and weight of each batch
        self._offsets = [0]

    def add(self, batch: CodeBatch) -> None:
        """Append a batch of all columns."""
        rest, at = memoryview(blob_of(batch)), self._offsets[-1]
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
        """All batches in order, the chosen columns only."""
        for (rows, weight), offset in zip(self._sorts, self._offsets, strict=False):
            starts = column_starts(rows, self._sizes)
            parts = [(offset + starts[at], starts[at + 1] - starts[at], self._sizes[at]) for at in places]
            columns = tuple(column_of(self._read(at, n), rows, size) for at, n, size in parts)
            yield CodeBatch(rows=rows, columns=columns, weight=weight)

    def close(self) -> None:
        """Let the system take the file away."""
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
    """The folder, made with permissions 0700 if it is not there, and refused if others may look into it."""
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
    """A file open for reading and writing, 0600, already without a name.

    A folder that was named for it is refused if others may look into it; that of the system is open to all by its
    nature, and nobody can open a file there that has no name.
    """
    folder = folder if folder == tempfile.gettempdir() else private_folder(folder)
    try:
        return nameless_file(folder)
    except OSError as error:
        raise SourceError(f"the cache folder {folder} cannot be used: {(error.strerror or '').lower()}") from None
