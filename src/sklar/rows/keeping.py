"""Codes that are kept for later passes: in memory as long as they fit, then in a private file if one was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from sklar.rows.batch import CodeBatch
from sklar.rows.spill import SpillFile


class KeptCodes:
    """Batches of codes of all modelled columns.

    Args:
        sizes: Number of codes of each column.
        most_bytes: Memory they may take.
        folder: Where to put them when they outgrow it; None to give up then.
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
            yield CodeBatch(rows=batch.rows, columns=tuple(batch.columns[at] for at in places))

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
