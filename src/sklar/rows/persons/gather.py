"""Gathers the rows of each person in bounded memory: parts by bits of the key, on disk when they outgrow it.

What goes to disk is codes and keyed hashes, never a key or a cell, in a file without a name (see `codes.kept`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from sklar.arrays import Ints, Mask
from sklar.errors import SourceError
from sklar.portable import read_at, write_at
from sklar.rows.codes.kept import open_cache_file
from sklar.rows.persons.choice import Column

PART_BITS = 6
"""Bits of the number of parts: rows are divided into 64 parts, each small enough to be sorted in memory."""
MEMORY_BYTES = 256 << 20
"""Memory for rows that wait for the others of their person; beyond it they go to disk."""
MIN_PART_ROWS = 1 << 17
"""Parts with fewer rows are processed together."""
READ_ROWS = 1 << 18
"""Rows that are read from disk at once."""

Block = Sequence[Column]
Inside = Callable[[Block], Mask]
"""Selects rows of a block."""


class Gathering:
    """Rows as columns of equal length, the first two of which identify the person; rows without a key are left out."""

    def __init__(self, folder: str, memory_bytes: int = MEMORY_BYTES):
        self._folder, self._most_bytes = folder, memory_bytes
        self._waiting: list[list[list[Column]]] = [[] for _ in range(1 << PART_BITS)]
        self._spilled: list[list[tuple[int, int]]] = [[] for _ in range(1 << PART_BITS)]
        self._rows = np.zeros(1 << PART_BITS, dtype=np.int64)
        self._types: list[np.dtype[Any]] = []
        self._bytes, self._end, self._handle = 0, 0, -1

    def add(self, columns: Sequence[Column]) -> None:
        """Add some rows, without those that have no key (see `keys`), which depends on the row alone."""
        self._types = self._types or [column.dtype for column in columns]
        keyed = (columns[0] | columns[1]) != 0
        if not keyed.all():
            columns = [column[keyed] for column in columns]
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

    def rows_of(self, parts: Sequence[int]) -> int:
        """Return the number of rows of some parts."""
        return int(self._rows[list(parts)].sum())

    def parts(self) -> Iterator[list[int]]:
        """Yield parts that are processed together: small ones are combined."""
        together: list[int] = []
        for at in np.flatnonzero(self._rows).tolist():
            if together and self.rows_of([*together, at]) > MIN_PART_ROWS:
                yield together
                together = []
            together.append(at)
        if together:
            yield together

    @property
    def most_rows(self) -> int:
        """Rows that are processed at once: sorting takes about four times their memory."""
        return max(1, self._most_bytes // 4 // sum(kind.itemsize for kind in self._types))

    def slices(self, rows: int) -> int:
        """Return the number of slices into which rows must be divided to fit into memory."""
        return max(1, -(-rows // self.most_rows))

    def rows_of_slices(self, parts: Sequence[int], slices: int) -> Ints:
        """Return the number of rows of some parts in each slice of persons."""
        counts = np.zeros(slices, dtype=np.int64)
        for block in self.blocks(parts):
            counts += np.bincount(assign_slices(block, slices), minlength=slices)
        return counts

    def columns(self, parts: Sequence[int], inside: Inside | None = None) -> list[Column]:
        """Return all rows of some parts, or those of them that are inside."""
        blocks = list(self.blocks(parts, inside))
        return [np.concatenate([block[at] for block in blocks]) for at in range(len(self._types))]

    def blocks(self, parts: Sequence[int], inside: Inside | None = None) -> Iterator[Block]:
        """Yield all rows of some parts, or those of them that are inside, block by block."""
        for part in parts:
            held = (block for rows, offset in self._spilled[part] for block in self._read(rows, offset))
            for block in chain(held, self._waiting[part]):
                if inside is None:
                    yield block
                else:
                    chosen = inside(block)
                    yield [column[chosen] for column in block]

    def close(self) -> None:
        """Drop all rows, also those on disk."""
        self._waiting, self._spilled = [[] for _ in self._waiting], [[] for _ in self._spilled]
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        self.close()

    def _spill(self) -> None:
        if self._handle < 0:
            self._handle = open_cache_file(self._folder)
        for part, waiting in enumerate(self._waiting):
            if waiting:
                self._spilled[part].append((sum(len(block[0]) for block in waiting), self._end))
                for at in range(len(self._types)):
                    self._write(np.concatenate([block[at] for block in waiting]).view(np.uint8).data)
        self._waiting, self._bytes = [[] for _ in self._waiting], 0

    def _write(self, rest: memoryview) -> None:
        try:
            while rest:
                written = write_at(self._handle, rest, self._end)
                rest, self._end = rest[written:], self._end + written
        except OSError as error:
            reason = (error.strerror or "it failed").lower()
        else:
            return
        raise SourceError(
            f"the rows of persons outgrow their memory and cannot be kept in {self._folder}: {reason}; name a cache "
            "folder with room (cache=, --cache)"
        )

    def _read(self, rows: int, offset: int) -> Iterator[Block]:
        """Yield some rows that were written together, one column after the other."""
        starts = np.cumsum([0, *(rows * kind.itemsize for kind in self._types)]) + offset
        for first in range(0, rows, READ_ROWS):
            count = min(READ_ROWS, rows - first)
            yield [
                np.frombuffer(self._read_bytes(int(start) + first * kind.itemsize, count * kind.itemsize), dtype=kind)
                for start, kind in zip(starts, self._types, strict=False)
            ]

    def _read_bytes(self, at: int, count: int) -> bytearray:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            got = read_at(self._handle, len(view), at)
            if not got:
                raise SourceError(f"rows that were kept in {self._folder} were cut short; fit again")
            view[: len(got)] = got
            view, at = view[len(got) :], at + len(got)
        return data


def assign_slices(block: Block, slices: int) -> Ints:
    """Return the slice of the person of each row, by other bits of the key than those of parts."""
    return (block[1] % np.uint64(slices)).astype(np.int64)
