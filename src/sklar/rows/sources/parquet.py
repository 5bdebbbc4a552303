"""Parquet files, read a few pages at a time so that even one huge row group is never held whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sklar.rows.shield import shielded
from sklar.rows.sources.files import FileStamp
from sklar.rows.sources.source import BATCH_ROWS, Source, SourceOptions

BUFFER_BYTES = 1 << 18


class ParquetFile(Source):
    """One Parquet file."""

    reads_ahead = True
    what = "the Parquet file"

    def __init__(self, path: str, options: SourceOptions):
        self._stamp = FileStamp(path)
        super().__init__(options.progress, [self._stamp])
        with self._open() as file:
            self._names, self._rows = tuple(file.schema_arrow.names), file.metadata.num_rows

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._names

    @property
    def known_rows(self) -> int | None:
        return self._rows

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        with self._open() as file:
            done = 0
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns), use_threads=True):
                yield batch.select(list(columns))
                done += batch.num_rows
                if self._progress and self._rows:
                    self._progress(done / self._rows)

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        # pre_buffer would fetch whole row groups; a memory map would count the file's pages as ours.
        settings: dict[str, Any] = {"pre_buffer": False, "buffer_size": BUFFER_BYTES, "memory_map": False}
        return shielded("the file is not a readable Parquet file", lambda: pq.ParquetFile(self._stamp.path, **settings))
