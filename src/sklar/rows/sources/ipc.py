"""Arrow IPC files and streams, and Feather files of version 2, which are the same thing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sklar.rows.shield import shielded
from sklar.rows.sources.files import FileStamp
from sklar.rows.sources.source import BATCH_ROWS, Source, SourceOptions

MAGIC = b"ARROW1"


class IpcFile(Source):
    """One Arrow IPC file, record batch by record batch."""

    reads_ahead = True
    what = "the Arrow file"

    def __init__(self, path: str, options: SourceOptions):
        self._stamp = FileStamp(path)
        super().__init__(options.progress, [self._stamp])
        reader = shielded("the file is not a readable Arrow or Feather file", self._open, None)
        self._names = tuple(reader.schema.names)

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._names

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        place = {name: at for at, name in enumerate(self._names)}
        places = [place[name] for name in columns]
        reader = self._open(sorted(places))
        total = getattr(reader, "num_record_batches", 0)
        for number, batch in enumerate(_each_batch(reader), 1):
            batch.validate(full=True)  # offsets of a damaged file may point anywhere in memory
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS).select(list(columns))
            if self._progress and total:
                self._progress(number / total)

    def _open(self, places: Sequence[int] | None) -> Any:
        import pyarrow as pa

        file = pa.memory_map(self._stamp.path)
        chosen = pa.ipc.IpcReadOptions(included_fields=list(places) if places is not None else None)
        if file.read(len(MAGIC)) == MAGIC:
            return pa.ipc.open_file(file, options=chosen)
        file.seek(0)
        return pa.ipc.open_stream(file, options=chosen)


def _each_batch(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "get_batch"):
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)
    else:
        yield from reader
