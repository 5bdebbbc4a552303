"""Rows as base codes: opened once, passed over many times, kept compactly in memory when they fit, else read again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from sklar.arrays import Ints, usable_cores
from sklar.counting.batches import CodeBatch, Codes, PackedBits, count_column_bytes
from sklar.counting.jobs import CodedPart, GroupJob, Job, add_parts
from sklar.errors import DoorError, SourceError
from sklar.rows.codes.kept import KeptCodes
from sklar.rows.encode.coordinates import coordinate_encoder
from sklar.rows.encode.labels import packed_flags
from sklar.rows.sources import Source
from sklar.schema import Boolean, Column, Schema
from sklar.schema.coordinates import Coordinate, Coordinates, Same, views_of

T = TypeVar("T")
READ_AHEAD_BATCHES = 2
"""Batches that are read in advance: memory stays that of a few batches."""
_END = object()


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield items that another thread takes in advance; its errors are raised here, and it ends with this generator."""
    reader = ThreadPoolExecutor(1)
    try:
        waiting = deque(reader.submit(next, items, _END) for _ in range(READ_AHEAD_BATCHES))
        while (item := waiting.popleft().result()) is not _END:
            waiting.append(reader.submit(next, items, _END))
            yield cast("T", item)
    finally:
        reader.shutdown(cancel_futures=True)
        if isinstance(items, Generator):
            items.close()


def stored_tables(schema: Schema) -> tuple[tuple[str, ...], ...]:
    """Return the columns of each table of codes: one, or those of persons whose rows are linked."""
    views = views_of(schema)
    return tuple(tuple(map(view.full, view.by.schema.modelled)) for view in views) if views else (schema.modelled,)


def stored_places(schema: Schema, columns: Sequence[str]) -> tuple[int, list[int]]:
    """Return the table in which columns are kept, and their places in it."""
    for number, names in enumerate(stored_tables(schema)):
        places = {name: at for at, name in enumerate(names)}
        if all(name in places for name in columns):
            return number, [places[name] for name in columns]
    raise DoorError("first rows and steps of persons are separate tables: no table of counts can combine both")


class RowEncoder(NamedTuple):
    """A function that computes one code per row, and the columns of the source that it reads."""

    encode: Callable[..., Any]
    sources: tuple[str, ...]


class EncodedRows(CodedPart):
    """Private rows as base codes. Made by `open_rows`; without `kept` codes the source is read for every pass.

    Attributes:
        known_ones: Number of rows with code 1 of columns of two codes that were counted: private, like the codes.
    """

    def __init__(
        self,
        source: Source,
        by: Coordinates,
        *,
        null_values: tuple[str, ...] = (),
        kept: KeptCodes | None = None,
        threads: int | None = None,
    ):
        self.schema, self.threads = by.schema, threads or usable_cores()
        self._by, self._parts = by, by.by_name
        self._source, self._kept, self.null_values = source, kept, null_values
        self._encoders: dict[Column | Coordinate, Callable[..., Codes | PackedBits]] = {}
        self._whole = False
        self._exact_rows: int | None = source.known_rows
        self.known_ones: dict[str, int] = {}

    def close(self) -> None:
        """Drop the codes, also those on disk, and close the source."""
        self.known_ones = {}
        self._source.close()
        if self._kept is not None:
            self._kept.close()
            self._whole = False

    @property
    def passes(self) -> int:
        return self._source.passes

    def require_repeatable(self) -> None:
        if self._source.one_shot:
            raise SourceError(
                "facts are measured in separate passes, and this stream can be read only once; write it to a "
                "Parquet file first"
            )

    def require_labels(self) -> None:
        self.require_repeatable()

    def raw_batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for batch in self._source.batches(columns):
            yield tuple(batch.columns)

    @property
    def votes(self) -> bool:
        """Whether the rows of a person share one vote; here each row is a person of its own."""
        return False

    @property
    def exact_persons(self) -> int:
        return self.exact_rows

    @property
    def exact_rows(self) -> int:
        """Number of rows; counted in a pass if it is not known yet."""
        if self._exact_rows is None:
            self._exact_rows = sum(batch.rows for batch in self.batches(self.schema.modelled[:1]))
        return self._exact_rows

    def read_codes(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        self.keep_codes()
        if self._kept is None:
            yield from self._encoded(columns)
            return
        yield from self._kept.batches(stored_places(self.schema, columns)[1])

    def run_job(self, job: Job) -> tuple[Ints, ...]:
        return job(self)

    def run_group_job(self, job: GroupJob) -> tuple[Ints, ...]:
        """Run a job in a pass for each part that fits into memory."""
        from sklar.counting.plans import count_groups, read_code_groups

        groups = count_groups(self.exact_rows, len(job.columns))
        return add_parts(job.shapes, (job(codes) for codes in read_code_groups(self, job.columns, groups)))

    def keep_codes(self) -> None:
        """Encode all columns in one pass and keep their codes, if they fit; a source that is not a table is refused
        here.

        All columns are encoded at once, since kept columns must have the same order of rows.
        """
        if self._kept is None or self._whole:
            return
        self._kept.close()  # batches of a failed pass would be counted twice
        rows = 0
        for batch in self._encoded(self.schema.modelled):
            if not self._kept.add(batch):
                self._kept = None
                if not self._source.one_shot:
                    return
                raise SourceError(
                    "the codes of this stream do not fit into their memory, and it can be read only once; "
                    "write it to a Parquet file first, name a cache folder, or raise cache_bytes"
                )
            rows += batch.rows
        self._whole, self._exact_rows = True, rows

    def skip_cache_beyond(self, cache_bytes: int) -> None:
        """Do not keep codes that are known not to fit."""
        rows = self._exact_rows
        sizes = [self.schema[name].size for name in self.schema.modelled]
        if rows and sum(count_column_bytes(rows, size) for size in sizes) > cache_bytes:
            self._kept = None

    def _encoded(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        """Encode the source in one pass."""
        rows = 0
        for batch in self.read_by([self._make_row_encoder(self._parts[name]) for name in columns]):
            rows += batch.rows
            yield batch
        self._require_same_rows(rows)

    def _make_row_encoder(self, part: Coordinate) -> RowEncoder:
        return RowEncoder(encode=self._encoder(part), sources=part.sources)

    def read_by(self, by: Sequence[RowEncoder]) -> Iterator[CodeBatch]:
        """Encode the source in one pass. While a batch is encoded, the next ones are read."""
        sources = tuple(dict.fromkeys(name for one in by for name in one.sources))
        encoders = [_PlacedEncoder(one.encode, [sources.index(name) for name in one.sources]) for one in by]
        batches = self._source.column_batches(sources)
        with ThreadPoolExecutor(self.threads) as pool:
            waiting: deque[tuple[int, list[Future[Any]]]] = deque()
            for batch in read_ahead(batches) if self._source.reads_ahead else batches:
                waiting.append((batch.num_rows, _encode(batch.columns, encoders, pool, self.threads)))
                if len(waiting) > 1:
                    yield _collect_batch(*waiting.popleft())
            while waiting:
                yield _collect_batch(*waiting.popleft())

    def _require_same_rows(self, rows: int) -> None:
        """Refuse a pass with another number of rows than the one before: the table has changed."""
        if self._exact_rows not in (None, rows):
            raise SourceError(
                f"{self._source.what} gave other rows than before; run again on rows that stay the same between passes"
            )
        self._exact_rows = rows

    def _encoder(self, part: Coordinate) -> Callable[..., Codes | PackedBits]:
        """Return the encoder of a coordinate, prepared once for all columns with the same facts."""
        column = self.schema[part.name]
        key = column if isinstance(part, Same) else part
        if key not in self._encoders:
            self._encoders[key] = _pack_two_codes(column, coordinate_encoder(self._by, part, self.null_values))
        return self._encoders[key]


class _PlacedEncoder(NamedTuple):
    """An encoder, and the places of its sources among the arrays of a batch."""

    encode: Callable[..., Any]
    places: Sequence[int]


def _encode(
    arrays: Sequence[Any], encoders: Sequence[_PlacedEncoder], pool: ThreadPoolExecutor, threads: int
) -> list[Future[Any]]:
    """Divide the columns of a batch among the threads, in runs of neighbours."""

    def work(low: int, high: int) -> list[Any]:
        return [encode(*(arrays[at] for at in places)) for encode, places in encoders[low:high]]

    runs = min(len(encoders), 4 * threads)
    cuts = [len(encoders) * k // runs for k in range(runs + 1)]
    return [pool.submit(work, low, high) for low, high in pairwise(cuts)]


def _collect_batch(rows: int, parts: list[Future[Any]]) -> CodeBatch:
    return CodeBatch(rows=rows, columns=tuple(codes for part in parts for codes in part.result()))


def _pack_two_codes(column: Column, encode: Callable[..., Codes]) -> Callable[..., Codes | PackedBits]:
    """Return an encoder that packs columns of two codes as bits; those of Arrow's booleans are reused."""
    if column.size != 2:
        return encode

    def compact(*arrays: Any) -> PackedBits:
        bits = packed_flags(arrays[0]) if isinstance(column, Boolean) else None
        data = np.packbits(encode(*arrays), bitorder="little") if bits is None else bits
        return PackedBits(rows=len(arrays[0]), data=data)

    return compact
