"""What all kinds of sources share: column names known at once, and any number of passes in batches of bounded size."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sklar.errors import SourceError
from sklar.rows.encode.text import Text
from sklar.rows.shield import shielded_iterator
from sklar.rows.sources.files import FileStamp
from sklar.schema import Schema
from sklar.schema.reading import Progress, ReadOptions

BATCH_ROWS = 1 << 17
"""Rows of a batch where the source lets us choose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions(ReadOptions):
    """How to read a source, and the public facts about it.

    Attributes:
        schema: Only its modelled columns are ever asked for. None when a schema is yet to be drafted.
    """

    schema: Schema | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnBatch:
    """Some rows, column by column: Arrow arrays, or flat text."""

    num_rows: int
    columns: tuple[Any, ...]


class Source(ABC):
    """An open table of rows.

    Attributes:
        one_shot: It can be passed over once only, so its codes must be kept.
        in_memory: The rows are in memory anyway, so that a bigger cache of codes is in proportion.
        reads_ahead: It may be read in a thread of its own while earlier rows are worked on.
        stamps: The files behind it, none of which may change between passes or during one.
        passes: Number of passes begun.
    """

    one_shot: ClassVar[bool] = False
    in_memory: bool = False
    reads_ahead: ClassVar[bool] = False
    what: str = "the data"

    def __init__(self, progress: Progress | None = None, stamps: Sequence[FileStamp] = ()) -> None:
        self.passes = 0
        self.stamps = tuple(stamps)
        self._progress = progress

    @property
    @abstractmethod
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns the source has."""

    @property
    def known_rows(self) -> int | None:
        """Number of rows if the source tells it without a pass; private."""
        return None

    @abstractmethod
    def scan(self, columns: Sequence[str]) -> Iterator[Any]:
        """One pass: Arrow record batches, or column batches, with exactly these columns, in this order."""

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """One pass over the given columns as Arrow record batches; columns of Python objects are unions."""
        import pyarrow as pa

        for batch in self.column_batches(columns):
            arrays = [column.to_arrow() if isinstance(column, Text) else column for column in batch.columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def column_batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """One pass over the given columns, as fast as possible and with library errors kept from quoting cells."""
        if self.one_shot and self.passes:
            raise SourceError(
                "this stream of rows was already read and cannot be read again; pass a table, a frame or a file"
            )
        self.passes += 1
        return self._watched(columns)

    def require_unchanged(self) -> None:
        """Refuse files that are no longer those that were opened."""
        for stamp in self.stamps:
            stamp.require_unchanged()

    def _watched(self, columns: Sequence[str]) -> Iterator[Any]:
        """One pass; files that change before it ends are the first suspects when it fails."""
        self.require_unchanged()
        if self._progress:
            self._progress(0.0)
        try:
            yield from shielded_iterator(f"{self.what} could not be read to its end", self.scan(columns))
        except SourceError:
            self.require_unchanged()
            raise
        self.require_unchanged()


def require_columns(schema: Schema | None, names: Sequence[str], what: str) -> None:
    """Refuse a table without the schema's columns. Names found in the table are not shown: they may be cells."""
    if schema is None:
        return
    counts = dict.fromkeys(schema.modelled, 0)
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
        raise SourceError(f"{what} lacks {listed(missing)} of the schema; add them, or take them out of the schema")
    if twice:
        raise SourceError(f"{what} has {listed(twice)} more than once; rename or drop the copies")


def listed(names: Sequence[str], shown: int = 5) -> str:
    """Names for a message, a few of them in full."""
    head = ", ".join(f"'{name}'" for name in names[:shown])
    rest = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f"column{'s' if len(names) > 1 else ''} {head}{rest}"
