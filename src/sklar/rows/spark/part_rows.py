"""Row groups of Parquet files, read by the task that needs them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from sklar.errors import SourceError
from sklar.rows.shield import shielded
from sklar.rows.sources.parquet import BUFFER_BYTES
from sklar.rows.sources.source import BATCH_ROWS, Source
from sklar.rows.spark.footers import Part, Piece


class PartRows(Source):
    """The rows of one part, file after file."""

    what = "a part of the Parquet files"

    def __init__(self, part: Part, names: Sequence[str]):
        super().__init__()
        self._pieces, self._names = [PieceRows(piece, names) for piece in part], tuple(names)

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._names

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        for piece in self._pieces:
            yield from piece.column_batches(columns)


class PieceRows(Source):
    """Some row groups of a file, which must still be the file whose footer was seen."""

    def __init__(self, piece: Piece, names: Sequence[str]):
        super().__init__(None, [piece.stamp])
        self._piece, self._names = piece, tuple(names)
        self.what = f"the Parquet file {os.path.basename(piece.stamp.path)}"

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._names

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow.parquet as pq

        path, rows = self._piece.stamp.path, 0
        settings: dict[str, Any] = {"pre_buffer": False, "buffer_size": BUFFER_BYTES, "memory_map": False}
        chosen: dict[str, Any] = {"row_groups": list(self._piece.groups), "columns": list(columns)}
        with shielded(f"{self.what} cannot be read", lambda: pq.ParquetFile(path, **settings)) as file:
            # One thread: the cores of an executor belong to its tasks.
            for batch in file.iter_batches(batch_size=BATCH_ROWS, use_threads=False, **chosen):
                rows += batch.num_rows
                yield batch.select(list(columns))
        if rows != self._piece.rows:
            raise SourceError(f"{self.what} does not hold the rows that its footer says")
