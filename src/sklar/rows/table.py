"""Rows as base codes: opened once, passed over many times, kept compactly in memory when they fit, else read again."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.errors import SourceError
from sklar.rows.batch import CodeBatch, Codes, PackedBits, packed
from sklar.rows.encode import encoder_of
from sklar.rows.sources import Progress, Source, open_source
from sklar.schema import Column, Schema

FILE_CACHE_BYTES = 384 << 20
"""Codes of a file are kept up to this size, so that a fit from a file stays well below 1 GB."""
MEMORY_CACHE_BYTES = 2 << 30
"""Codes of rows that are in memory anyway, or can be read once only, are kept up to this size."""


def open_rows(
    data: Any,
    schema: Schema,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    null_values: Sequence[str] | None = None,
    sql: str | None = None,
    progress: Progress | None = None,
    cache_bytes: int | None = None,
    threads: int | None = None,
) -> EncodedRows:
    """Open private rows as base codes.

    Args:
        data: As in `open_source`.
        schema: The public facts.
        delimiter: As in `open_source`, like `encoding`, `null_values`, `sql` and `progress`.
        cache_bytes: Codes are kept in memory up to this size, else the source is read again for each pass.
        threads: Number of threads, by default one for each usable core.
    """
    source = open_source(
        data, schema=schema, delimiter=delimiter, encoding=encoding, null_values=null_values, sql=sql, progress=progress
    )
    if cache_bytes is None:
        cache_bytes = MEMORY_CACHE_BYTES if source.in_memory else FILE_CACHE_BYTES
    return EncodedRows(
        source, schema, null_values=tuple(null_values or ()), cache_bytes=cache_bytes, threads=threads or usable_cores()
    )


def usable_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class EncodedRows:
    """Private rows as base codes. Made by `open_rows`."""

    def __init__(self, source: Source, schema: Schema, *, null_values: tuple[str, ...], cache_bytes: int, threads: int):
        self.schema, self.threads = schema, threads
        self._source, self._cache_bytes = source, cache_bytes
        self._null_values = null_values
        self._encoders: dict[Column, Callable[[Any], Codes | PackedBits]] = {}
        self._cache: list[CodeBatch] | None = None
        self._rescan = False
        self._exact_rows: int | None = source.known_rows

    @property
    def passes(self) -> int:
        """Number of times the source itself was read."""
        return self._source.passes

    @property
    def null_values(self) -> tuple[str, ...]:
        """Texts that stand for null, besides the empty one."""
        return self._null_values

    def require_repeatable(self) -> None:
        """Refuse a source that can be read once only."""
        if self._source.one_shot:
            raise SourceError(
                "facts are measured in passes of their own, and this stream can be read once only; write it to a "
                "Parquet file first"
            )

    def raw_batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """One pass over the given columns as Arrow arrays, before any schema is applied: to find labels."""
        for batch in self._source.batches(columns):
            yield tuple(batch.columns)

    @property
    def exact_rows(self) -> int:
        """Number of rows: private under add-remove. Costs a pass if it is not known yet."""
        if self._exact_rows is None:
            self._exact_rows = sum(batch.rows for batch in self.batches(self.schema.modelled[:1]))
        return self._exact_rows

    def batches(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        """One pass over the codes of the given columns."""
        self.keep_codes()
        if self._cache is None:
            yield from self._encoded(columns)
            return
        place = {name: at for at, name in enumerate(self.schema.modelled)}
        places = [place[name] for name in columns]
        for batch in self._cache:
            yield CodeBatch(rows=batch.rows, columns=tuple(batch.columns[at] for at in places))

    def code_matrix_batches(self, columns: Sequence[str], rows: int = 1 << 16) -> Iterator[npt.NDArray[np.int32]]:
        """One pass over the codes of the given columns as matrices, one row of codes per row, at most `rows` high."""
        for batch in self.batches(columns):
            for start in range(0, batch.rows, rows):
                matrix = np.empty((min(rows, batch.rows - start), len(columns)), dtype=np.int32)
                for place in range(len(columns)):
                    matrix[:, place] = batch.part(place, slice(start, min(start + rows, batch.rows)))
                yield matrix

    def keep_codes(self) -> None:
        """Encode all columns in one pass and keep their codes, if they fit; a source that is no table is refused here.

        All columns at once, since kept columns must come from the same order of rows.
        """
        if self._cache is not None or self._rescan:
            return
        kept: list[CodeBatch] = []
        used = 0
        for batch in self._encoded(self.schema.modelled):
            used += batch.nbytes
            if used > self._cache_bytes:
                self._give_up_cache()
                return
            kept.append(batch)
        self._cache = kept
        self._exact_rows = sum(batch.rows for batch in kept)

    def _give_up_cache(self) -> None:
        if self._source.one_shot:
            raise SourceError(
                "the codes of this stream do not fit the memory set aside for them, and it can be read once only; "
                "write it to a Parquet file first, or raise cache_bytes"
            )
        self._rescan = True

    def _encoded(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        """One pass over the source. While a batch is being encoded, the next one is already being read."""
        encoders = [self._encoder(name) for name in columns]
        with ThreadPoolExecutor(self.threads) as pool:
            waiting: deque[tuple[int, list[Future[Any]]]] = deque()
            for batch in self._source.column_batches(columns):
                waiting.append((batch.num_rows, _encode(batch.columns, encoders, pool, self.threads)))
                if len(waiting) > 1:
                    yield _finished(*waiting.popleft())
            while waiting:
                yield _finished(*waiting.popleft())

    def _encoder(self, name: str) -> Callable[[Any], Codes | PackedBits]:
        """Prepared once for all columns that are described alike."""
        column = self.schema[name]
        if column not in self._encoders:
            self._encoders[column] = _compact(column.size, encoder_of(column, self._null_values))
        return self._encoders[column]


def _encode(
    arrays: Sequence[Any], encoders: Sequence[Callable[[Any], Any]], pool: ThreadPoolExecutor, threads: int
) -> list[Future[Any]]:
    """Share the columns of a batch out to the threads, in runs of neighbours."""

    def work(low: int, high: int) -> list[Any]:
        return [encode(array) for encode, array in zip(encoders[low:high], arrays[low:high], strict=True)]

    runs = min(len(encoders), 4 * threads)
    cuts = [len(encoders) * k // runs for k in range(runs + 1)]
    return [pool.submit(work, low, high) for low, high in pairwise(cuts)]


def _finished(rows: int, parts: list[Future[Any]]) -> CodeBatch:
    return CodeBatch(rows=rows, columns=tuple(codes for part in parts for codes in part.result()))


def _compact(size: int, encode: Callable[[Any], Codes]) -> Callable[[Any], Codes | PackedBits]:
    """Columns of two codes are kept as bits."""
    return encode if size != 2 else lambda array: packed(encode(array))
