"""Where the rows of a cluster come from: a data frame, which Spark hands over, or files, which the tasks read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from sklar.errors import SourceError
from sklar.rows.sources.source import Source, SourceOptions, require_columns
from sklar.rows.spark import tasks
from sklar.rows.spark.connection import read_store
from sklar.rows.spark.parts import open_path, shared_out
from sklar.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Rows that a cluster can read.

    Attributes:
        session: The Spark session.
        codes: Makes the Spark frame of the codes of all rows, which are not worked out yet.
        source: The files as the driver sees them; None for a data frame.
    """

    session: Any
    codes: Callable[[], Any]
    source: Source | None = None

    def require_unchanged(self) -> None:
        """Refuse files that changed, came or went since they were opened."""
        if self.source is not None:
            self.source.require_unchanged()

    def require_rows(self, rows: int) -> None:
        """Refuse a number of rows that is not the one of the footers, where there are any."""
        if self.source is not None and self.source.known_rows not in (None, rows):
            raise SourceError("the Parquet files do not hold the rows that their footers say")


def frame_origin(frame: Any, schema: Schema, options: SourceOptions) -> Origin:
    """The rows of a Spark data frame, whatever it was made of."""
    for name in ("delimiter", "encoding"):
        if getattr(options, name) is not None:
            raise SourceError(f"'{name}' is not for a Spark data frame: read the text with Spark as it should be read")
    require_columns(schema, tuple(frame.columns), "the Spark frame")
    task = tasks.encoding_task(schema, tuple(options.null_values))
    return Origin(
        session=frame.sparkSession,
        codes=lambda: _chosen(frame, schema.modelled).mapInArrow(task, tasks.CODES_TYPE),
    )


def path_origin(session: Any, path: str, schema: Schema, options: SourceOptions) -> Origin:
    """The rows of files that every machine finds under the same path; those of other stores are a data frame."""
    place = _local_path(path)
    if place is None:
        return frame_origin(read_store(session, path), schema, options)
    source = open_path(place, options)
    parts = shared_out(source, session.sparkContext.defaultParallelism)

    def codes() -> Any:
        numbers = session.range(0, len(parts), 1, max(len(parts), 1))
        return numbers.mapInArrow(tasks.reading_task(parts, schema, options), tasks.CODES_TYPE)

    return Origin(session=session, codes=codes, source=source)


def _chosen(frame: Any, names: Sequence[str]) -> Any:
    """The columns of these names, by their places: Spark's own names may be ambiguous where only the case differs.

    Moments with a zone become what the clock of the session shows.
    """
    kinds, there = [kind for _, kind in frame.dtypes], list(frame.columns)
    plain = frame.toDF(*(f"c{at}" for at in range(len(kinds))))
    columns = [(plain[f"c{at}"], kinds[at] == "timestamp") for at in map(there.index, names)]
    return plain.select([column.cast("timestamp_ntz") if zoned else column for column, zoned in columns])


def _local_path(path: str) -> str | None:
    """A path of the file system; None for the address of another store."""
    if "://" not in path:
        return path
    parts = urlsplit(path)
    return unquote(parts.path) if parts.scheme == "file" else None
