"""Parquet and Arrow files, read a few pages or one record batch at a time: no huge row group is ever held whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from sklar.rows.sources.source import BATCH_ROWS, FileStamp, Source, SourceOptions, call_shielded
from sklar.schema.address import find_scheme

BUFFER_BYTES = 1 << 18
"""Buffer of a Parquet column: larger buffers read faster from slow disks, and each column has one."""
MAGIC = b"ARROW1"


class ParquetFile(Source):
    """One Parquet file."""

    reads_ahead = True
    what = "the Parquet file"

    def __init__(self, path: str, options: SourceOptions):
        self._stamp = FileStamp(path)
        with self._open() as file:
            super().__init__(file.schema_arrow.names, options.progress, [self._stamp], file.metadata.num_rows)

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        with self._open() as file:
            done = 0
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns), use_threads=True):
                yield batch.select(list(columns))
                done += batch.num_rows
                if self._progress and self.known_rows:
                    self._progress(done / self.known_rows)

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        # pre_buffer would fetch whole row groups; a memory map would count the file's pages as ours.
        settings: dict[str, Any] = {"pre_buffer": False, "buffer_size": BUFFER_BYTES, "memory_map": False}
        path = self._stamp.path
        file = self._stamp.open() if find_scheme(path) else path
        return call_shielded("the file is not a readable Parquet file", lambda: pq.ParquetFile(file, **settings))


class IpcFile(Source):
    """One Arrow IPC file, record batch by record batch."""

    reads_ahead = True
    what = "the Arrow file"

    def __init__(self, path: str, options: SourceOptions):
        self._stamp = FileStamp(path)
        reader = call_shielded("the file is not a readable Arrow or Feather file", self._open, None)
        super().__init__(reader.schema.names, options.progress, [self._stamp])

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        place = {name: at for at, name in enumerate(self.column_names)}
        reader = self._open(sorted(place[name] for name in columns))
        total = getattr(reader, "num_record_batches", 0)
        for number, batch in enumerate(_iterate_batches(reader), 1):
            batch.validate(full=True)  # offsets of a damaged file may point anywhere in memory
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS).select(list(columns))
            if self._progress and total:
                self._progress(number / total)

    def _open(self, places: Sequence[int] | None) -> Any:
        path = self._stamp.path
        file = self._stamp.open() if find_scheme(path) else pa.memory_map(path)
        chosen = pa.ipc.IpcReadOptions(included_fields=list(places) if places is not None else None)
        if file.read(len(MAGIC)) == MAGIC:
            return pa.ipc.open_file(file, options=chosen)
        file.seek(0)
        return pa.ipc.open_stream(file, options=chosen)


def _iterate_batches(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "get_batch"):
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)
    else:
        yield from reader
