"""Brings the rows of each person together in bounded memory: parts by bits of the key, on disk when they outgrow it.

What goes to disk is codes and keyed hashes, never a key or a cell, in a file without a name (see `codes.kept`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.errors import SourceError
from sklar.rows.codes.kept import nameless_file

PART_BITS = 6
"""Rows are kept apart in 64 parts, each small enough to be sorted in memory."""
MEMORY_BYTES = 256 << 20
"""Memory for rows that wait for the others of their person; beyond it they go to disk."""
FEWEST_ROWS = 1 << 17
"""Parts with fewer rows are worked on together."""

Column = npt.NDArray[Any]


class Gathering:
    """Rows as columns of equal length, the first two of which tell the person."""

    def __init__(self, folder: str, memory_bytes: int = MEMORY_BYTES):
        self._folder, self._most_bytes = folder, memory_bytes
        self._waiting: list[list[list[Column]]] = [[] for _ in range(1 << PART_BITS)]
        self._spilled: list[list[tuple[int, int]]] = [[] for _ in range(1 << PART_BITS)]
        self._rows = np.zeros(1 << PART_BITS, dtype=np.int64)
        self._types: list[np.dtype[Any]] = []
        self._bytes, self._end, self._handle = 0, 0, -1

    def add(self, columns: Sequence[Column]) -> None:
        """Add some rows."""
        self._types = self._types or [column.dtype for column in columns]
        part = (columns[0] >> np.uint64(64 - PART_BITS)).astype(np.uint8)
        place, counts = np.argsort(part, kind="stable"), np.bincount(part, minlength=1 << PART_BITS)
        ends = np.cumsum(counts)
        columns = [column[place] for column in columns]
        for at in np.flatnonzero(counts).tolist():
            self._waiting[at].append([column[ends[at] - counts[at] : ends[at]] for column in columns])
        self._rows += counts
        self._bytes += sum(column.nbytes for column in columns)
        if self._bytes > self._most_bytes:
            self._spill()

    def parts(self) -> Iterator[list[int]]:
        """Parts that are worked on together: small ones meet."""
        together: list[int] = []
        for at in np.flatnonzero(self._rows).tolist():
            if together and int(self._rows[[*together, at]].sum()) > FEWEST_ROWS:
                yield together
                together = []
            together.append(at)
        if together:
            yield together

    def slices(self, parts: Sequence[int]) -> int:
        """In how many slices some parts must be looked at to fit into memory: one, unless keys are very uneven."""
        width = sum(kind.itemsize for kind in self._types)
        return max(1, -(-int(self._rows[list(parts)].sum()) * width // self._most_bytes))

    def columns(self, parts: Sequence[int]) -> list[Column]:
        """All rows of some parts."""
        blocks = list(self.blocks(parts))
        return [np.concatenate([block[at] for block in blocks]) for at in range(len(self._types))]

    def blocks(self, parts: Sequence[int]) -> Iterator[list[Column]]:
        """The same, some rows at a time."""
        for part in parts:
            for rows, offset in self._spilled[part]:
                yield self._read(rows, offset)
            yield from self._waiting[part]

    def close(self) -> None:
        """Forget everything; what is on disk vanishes."""
        self._waiting, self._spilled = [[] for _ in self._waiting], [[] for _ in self._spilled]
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        self.close()

    def _spill(self) -> None:
        if self._handle < 0:
            self._handle = nameless_file(self._folder)
        for part, waiting in enumerate(self._waiting):
            if waiting:
                columns = [np.concatenate([block[at] for block in waiting]) for at in range(len(self._types))]
                self._spilled[part].append((len(columns[0]), self._end))
                for column in columns:
                    self._write(memoryview(column.tobytes()))
        self._waiting, self._bytes = [[] for _ in self._waiting], 0

    def _write(self, rest: memoryview) -> None:
        try:
            while rest:
                written = os.pwrite(self._handle, rest, self._end)
                rest, self._end = rest[written:], self._end + written
        except OSError as error:
            reason = (error.strerror or "it failed").lower()
        else:
            return
        raise SourceError(
            f"the rows of persons outgrow their memory and cannot be kept in {self._folder}: {reason}; name a cache "
            "folder with room (cache=, --cache)"
        )

    def _read(self, rows: int, offset: int) -> list[Column]:
        columns: list[Column] = []
        for kind in self._types:
            data = bytearray(rows * kind.itemsize)
            view, at = memoryview(data), offset
            while view:
                got = os.preadv(self._handle, [view], at)
                if not got:
                    raise SourceError(f"rows that were kept in {self._folder} were cut short; fit again")
                view, at = view[got:], at + got
            columns.append(np.frombuffer(data, dtype=kind))
            offset += rows * kind.itemsize
        return columns
