"""Arrow in memory or as a stream: tables, readers, datasets, and anything with the Arrow C stream interface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from sklar.rows.sources.query import require_typed_relation
from sklar.rows.sources.source import BATCH_ROWS, Source, SourceOptions, call_shielded


class ArrowTable(Source):
    """A pyarrow Table or RecordBatch."""

    in_memory = True
    what = "the Arrow table"

    def __init__(self, table: Any, options: SourceOptions):
        super().__init__(table.schema.names, options.progress, known_rows=table.num_rows)
        self._table = table

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        rows = self._table.num_rows
        for start in range(0, rows, BATCH_ROWS):
            part = self._table.select(list(columns)).slice(start, BATCH_ROWS)
            yield _one_batch(part)
            if self._progress:
                self._progress(min(start + BATCH_ROWS, rows) / rows)


class ArrowStream(Source):
    """A RecordBatchReader, or an object that gives one and may not give another: it is read once and its codes kept."""

    one_shot = True
    in_memory = True
    what = "the Arrow stream"

    def __init__(self, stream: Any, options: SourceOptions):
        self._reader = _open_reader(stream)
        super().__init__(self._reader.schema.names, options.progress)

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        yield from _select(self._reader, columns)


class RepeatableStream(Source):
    """An object with a new Arrow C stream for every pass, such as a DuckDB relation."""

    what = "the relation"

    def __init__(self, stream: Any, options: SourceOptions):
        require_typed_relation(stream)
        super().__init__(_open_reader(stream).schema.names, options.progress)
        self._stream = stream

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        yield from _select(_open_reader(self._stream), columns)


class ArrowDataset(Source):
    """A pyarrow Dataset, scanned out of core."""

    what = "the Arrow dataset"

    def __init__(self, dataset: Any, options: SourceOptions):
        super().__init__(dataset.schema.names, options.progress)
        self._dataset = dataset

    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        frugal = {"batch_readahead": 2, "fragment_readahead": 1, "batch_size": BATCH_ROWS}
        options = _parquet_scan_options(self._dataset)
        yield from self._dataset.to_batches(columns=list(columns), **frugal, **options)


def _parquet_scan_options(dataset: Any) -> dict[str, Any]:
    """Return read options without which a whole Parquet row group is in memory."""
    import pyarrow.dataset as ds

    if getattr(getattr(dataset, "format", None), "default_extname", "") != "parquet":
        return {}
    frugal = ds.ParquetFragmentScanOptions(use_buffered_stream=True, buffer_size=1 << 16, pre_buffer=False)
    return {"fragment_scan_options": frugal}


def _open_reader(stream: Any) -> Any:
    if isinstance(stream, pa.RecordBatchReader):
        return stream
    return call_shielded(
        "the data offers an Arrow stream that cannot be opened", pa.RecordBatchReader.from_stream, stream
    )


def _select(reader: Any, columns: Sequence[str]) -> Iterator[Any]:
    places = [reader.schema.get_field_index(name) for name in columns]
    for batch in reader:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.select(places).slice(start, BATCH_ROWS)


def _one_batch(table: Any) -> Any:
    """Return a table of a few rows as one record batch."""
    if isinstance(table, pa.RecordBatch):
        return table
    columns = [column.combine_chunks() for column in table.columns]
    if any(isinstance(column, pa.ChunkedArray) for column in columns):
        columns = [pa.concat_arrays(c.chunks) if isinstance(c, pa.ChunkedArray) else c for c in columns]
    return pa.RecordBatch.from_arrays(columns, names=table.schema.names)
