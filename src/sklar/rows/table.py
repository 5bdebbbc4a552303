"""Rows as base codes: opened once, passed over many times, kept compactly in memory when they fit, else read again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.errors import SourceError
from sklar.rows.encode import encoder_of
from sklar.rows.sources import Progress, Source, open_source
from sklar.schema import Schema

FILE_CACHE_BYTES = 384 << 20
"""Codes of a file are kept up to this size, so that a fit from a file stays well below 1 GB."""
MEMORY_CACHE_BYTES = 2 << 30
"""Codes of rows that are in memory anyway, or can be read once only, are kept up to this size."""

Codes = npt.NDArray[Any]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBatch:
    """Base codes of some rows: one array a column, in the order the columns were asked for."""

    rows: int
    codes: tuple[Codes, ...]


class EncodedRows:
    """Private rows as base codes. Made by `open_rows`."""

    def __init__(self, source: Source, schema: Schema, *, null_values: tuple[str, ...], cache_bytes: int, threads: int):
        self.schema, self.threads = schema, threads
        self._source, self._cache_bytes = source, cache_bytes
        self._null_values = null_values
        self._encoders: dict[str, Callable[[Any], Codes]] = {}
        self._cache: list[CodeBatch] | None = None
        self._rescan = False
        self._exact_rows: int | None = source.known_rows

    @property
    def passes(self) -> int:
        """Number of times the source itself was read."""
        return self._source.passes

    @property
    def exact_rows(self) -> int:
        """Number of rows: private under add-remove. Costs a pass if it is not known yet."""
        if self._exact_rows is None:
            self._exact_rows = sum(batch.rows for batch in self.batches(self.schema.modelled[:1]))
        return self._exact_rows

    def batches(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        """One pass over the codes of the given columns."""
        self._fill_cache()
        if self._cache is None:
            yield from self._encoded(columns)
            return
        place = {name: at for at, name in enumerate(self.schema.modelled)}
        places = [place[name] for name in columns]
        for batch in self._cache:
            yield CodeBatch(rows=batch.rows, codes=tuple(batch.codes[at] for at in places))

    def code_matrix_batches(self, columns: Sequence[str], rows: int = 1 << 16) -> Iterator[npt.NDArray[np.int32]]:
        """One pass over the codes of the given columns as matrices, one row of codes per row, at most `rows` high."""
        for batch in self.batches(columns):
            for start in range(0, batch.rows, rows):
                matrix = np.empty((min(rows, batch.rows - start), len(columns)), dtype=np.int32)
                for place, codes in enumerate(batch.codes):
                    matrix[:, place] = codes[start : start + rows]
                yield matrix

    def _fill_cache(self) -> None:
        """Encode all columns in one pass: kept columns must come from the same order of rows."""
        if self._cache is not None or self._rescan:
            return
        kept: list[CodeBatch] = []
        used = 0
        for batch in self._encoded(self.schema.modelled):
            used += sum(codes.nbytes for codes in batch.codes)
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
        encoders = [self._encoder(name) for name in columns]
        with ThreadPoolExecutor(self.threads) as pool:
            for batch in self._source.batches(columns):
                codes = pool.map(lambda work: work[0](work[1]), zip(encoders, batch.columns, strict=True))
                yield CodeBatch(rows=batch.num_rows, codes=tuple(codes))

    def _encoder(self, name: str) -> Callable[[Any], Codes]:
        if name not in self._encoders:
            self._encoders[name] = encoder_of(self.schema[name], self._null_values)
        return self._encoders[name]
