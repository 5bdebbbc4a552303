"""Base class of sources: column names, passes in batches of bounded size, files that must not change between passes,
and errors without the text of a library, which may quote a cell.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from sklar.errors import SklarError, SourceError
from sklar.rows.encode.text import Text
from sklar.rows.sources.stores import open_stored_file, size_and_time
from sklar.schema import Schema
from sklar.schema.address import find_scheme, remove_secrets
from sklar.schema.reading import Progress, ReadOptions

T = TypeVar("T")
BATCH_ROWS = 1 << 17
"""Rows of a batch where the source lets us choose: more take memory, fewer are slower."""
COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions(ReadOptions):
    """How to read a source, and the public facts about it: None when a schema is yet to be drafted.

    Attributes:
        also: Columns that must exist in addition to the modelled ones.
    """

    schema: Schema | None
    also: tuple[str, ...] = ()


class FileStamp:
    """A path with the size and time it had when it was opened; a file that changes between passes is refused."""

    def __init__(self, path: str):
        self.path = path
        self._stamp = size_and_time(path)

    @property
    def size(self) -> int:
        """In bytes."""
        return self._stamp[0]

    def require_unchanged(self) -> None:
        """Refuse a file that is no longer the one that was opened."""
        try:
            same = size_and_time(self.path) == self._stamp
        except SourceError:
            same = False
        if not same:
            where = remove_secrets(self.path)
            raise SourceError(f"{where} changed while it was being read; run again on a file that stays the same")

    def open(self) -> Any:
        """Return the file, to be read from its start."""
        return open_stored_file(self.path)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnBatch:
    """Some rows, column by column: Arrow arrays, or flat text."""

    num_rows: int
    columns: tuple[Any, ...]


class Source(ABC):
    """An open table of rows.

    Attributes:
        one_shot: It can be passed over only once, so its codes must be kept.
        in_memory: The rows are in memory anyway, so that a larger cache of codes is reasonable.
        reads_ahead: It may be read in a separate thread while earlier rows are processed.
        stamps: The files behind it, none of which may change between passes or during one.
        known_rows: Number of rows if the source knows it without a pass; private.
        passes: Number of passes begun.
    """

    one_shot: ClassVar[bool] = False
    in_memory: bool = False
    reads_ahead: ClassVar[bool] = False
    what: str = "the data"

    def __init__(
        self,
        column_names: Sequence[str],
        progress: Progress | None = None,
        stamps: Sequence[FileStamp] = (),
        known_rows: int | None = None,
    ) -> None:
        self.column_names, self.known_rows = tuple(column_names), known_rows
        self.passes, self.stamps = 0, tuple(stamps)
        self._progress = progress

    @abstractmethod
    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read one pass as Arrow record batches, or column batches, with exactly these columns, in this order."""

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield one pass over the given columns as Arrow record batches; columns of Python objects are unions."""
        for batch in self.column_batches(columns):
            arrays = [column.to_arrow() if isinstance(column, Text) else column for column in batch.columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def column_batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read the given columns in one pass, without errors of libraries, which may quote cells."""
        if self.one_shot and self.passes:
            raise SourceError(
                "this stream of rows was already read and cannot be read again; pass a table, a frame or a file"
            )
        self.passes += 1
        return self._watched(columns)

    def close(self) -> None:  # noqa: B027 - most sources have nothing to close
        """Close what is open, such as a transaction."""

    def require_unchanged(self) -> None:
        """Refuse files that are no longer those that were opened."""
        for stamp in self.stamps:
            stamp.require_unchanged()

    def _watched(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read one pass; a changed file is reported first when it fails."""
        self.require_unchanged()
        if self._progress:
            self._progress(0.0)
        try:
            yield from iterate_shielded(f"{self.what} could not be read to its end", self.scan(columns))
        except SourceError:
            self.require_unchanged()
            raise
        self.require_unchanged()


def require_columns(schema: Schema | None, names: Sequence[str], what: str, also: Sequence[str] = ()) -> None:
    """Refuse a table without the schema's columns. Names found in the table are not shown: they may be cells."""
    if schema is None:
        return
    counts = dict.fromkeys((*schema.modelled, *also), 0)
    for name in names:
        if name in counts:
            counts[name] += 1
    missing = [name for name, count in counts.items() if not count]
    twice = [name for name, count in counts.items() if count > 1]
    if missing and len(missing) == len(counts):
        raise SourceError(
            f"{what} has none of the columns of the schema; check that it has a header with their names, "
            "and the delimiter"
        )
    if missing:
        raise SourceError(
            f"{what} lacks {list_columns(missing)} of the schema; add them, or take them out of the schema"
        )
    if twice:
        raise SourceError(f"{what} has {list_columns(twice)} more than once; rename or drop the copies")


def list_columns(names: Sequence[str], shown: int = 5) -> str:
    """Return names for a message, a few of them in full."""
    head = ", ".join(f"'{name}'" for name in names[:shown])
    rest = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f"column{'s' if len(names) > 1 else ''} {head}{rest}"


def suffix_of(path: str) -> str:
    """Return the file's ending in lower case, without that of a compression."""
    name = path.lower()
    if find_scheme(path) is not None:
        name = name.partition("?")[0]
    for compression in COMPRESSIONS:
        name = name.removesuffix(compression)
    return os.path.splitext(name)[1]


def call_shielded(message: str, call: Callable[..., T], *arguments: Any) -> T:
    """Call a function, and raise SourceError(message) for any failure, without a trace of the original one.

    The error is raised after the handler has ended, so that not even its context contains the library's message.
    """
    try:
        return call(*arguments)
    except (SklarError, MemoryError):
        raise
    except Exception:  # Any library error may quote a cell.
        pass
    raise SourceError(message)


def iterate_shielded(message: str, items: Iterator[T]) -> Iterator[T]:
    """Iterate, and raise SourceError(message) for any failure of a step, without a trace of the original one."""
    end = object()
    while (item := call_shielded(message, next, items, end)) is not end:
        yield item  # type: ignore[misc]
