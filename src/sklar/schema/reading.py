"""Options for reading a source, all stated by the custodian, never inferred from values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from typing import Any

from sklar.errors import UsageError

Progress = Callable[[float], None]
"""A callback with the fraction of the present pass that is done, 0.0 when one begins; never a count of rows. If it has
a
method `doing`, that is called with a description of the passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Options for reading a source, stated by the caller or taken from the header, never from values.

    Attributes:
        delimiter: Delimiter of text files; found in the header line by default.
        encoding: Encoding of text files; by default UTF-8, or that of a byte-order mark.
        null_values: Texts that stand for null, in addition to the empty one; a listed label is never null.
        sql: A DuckDB SELECT whose result is the table; a given file or frame is the table `data` in it.
        table: Name of the table in a database.
        counts: Where a table of a database is counted: "database" has the counts made there, so that no row leaves it;
            "here" streams the rows, which is the default, for it is faster.
        rows_are_rows: The custodian vouches that each row of the query's result, or of a view, comes from one row of
            a table alone.
        progress: Called with the fraction of a pass that is done, 0.0 when one begins.
        cache: A private folder: codes that outgrow the memory are kept there, in a file without a name that vanishes
            with the process, instead of reading the source again.
        cache_bytes: Codes are kept in memory up to this size, else the source is read again for each pass.
        threads: Number of threads, by default one for each usable core.
        spark: Master of a Spark cluster that shall read a path, as "local[2]" or "spark://host:7077". A Spark data
            frame needs none.
    """

    delimiter: str | None = None
    encoding: str | None = None
    null_values: Sequence[str] = ()
    sql: str | None = None
    table: str | None = None
    counts: str | None = None
    rows_are_rows: bool = False
    progress: Progress | None = field(default=None, compare=False)
    cache: str | PathLike[str] | None = None
    cache_bytes: int | None = None
    threads: int | None = None
    spark: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.null_values, str) or not all(isinstance(text, str) for text in self.null_values or ()):
            raise UsageError("null_values must be a list of texts")
        object.__setattr__(self, "null_values", tuple(self.null_values or ()))
        if self.counts not in (None, "here", "database"):
            raise UsageError("counts must be 'here' or 'database': where a table of a database is counted")

    @property
    def assumptions(self) -> tuple[tuple[str, str], ...]:
        """Options that determine the rows, as pairs of a name and a text.

        A claim, a model file, a price and the ledger's hash of a fit all state these pairs.
        """
        return (
            *([("sql", self.sql)] if self.sql else []),
            *([("rows_are_rows", "true")] if self.rows_are_rows else []),
            *([("delimiter", self.delimiter)] if self.delimiter else []),
            *([("encoding", self.encoding)] if self.encoding else []),
            *(("null_value", text) for text in self.null_values),
        )

    @property
    def stated_names(self) -> tuple[str, ...]:
        """Names of the options that differ from their defaults."""
        return tuple(f.name for f in fields(ReadOptions) if getattr(self, f.name) != f.default)


def read_options(read: ReadOptions | Mapping[str, Any] | None, null_values: Sequence[str] = ()) -> ReadOptions:
    """Return options given as such or as a mapping, with the null values of a schema; unknown names are refused."""
    options = _make_read_options(read)
    more = [text for text in null_values if text not in options.null_values]
    return replace(options, null_values=(*options.null_values, *more)) if more else options


def _make_read_options(read: ReadOptions | Mapping[str, Any] | None) -> ReadOptions:
    if read is None or isinstance(read, ReadOptions):
        return read or ReadOptions()
    if not isinstance(read, Mapping):
        raise UsageError("read must be a ReadOptions, such as sklar.ReadOptions(delimiter=';')")
    known = [f.name for f in fields(ReadOptions)]
    unknown = [name for name in read if name not in known]
    if unknown:
        raise UsageError(f"ReadOptions has no '{unknown[0]}'; it has: {', '.join(known)}")
    return ReadOptions(**read)
