"""How a source is to be read: all that a custodian may say about it. Nothing of it is ever found out from values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from typing import Any

from sklar.errors import UsageError

Progress = Callable[[float], None]
"""Told the fraction of the present pass that is done, 0.0 when one begins; never a count of rows. One that has a method
`doing` is also told, in words, what the passes are for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How to read a source; everything is stated by the caller or taken from the header, never from values.

    Attributes:
        delimiter: Of text files; found in the header line by default.
        encoding: Of text files; UTF-8, or what a byte-order mark says, by default.
        null_values: Texts that stand for null, besides the empty one; a listed label is never null.
        sql: A DuckDB SELECT whose result is the table; a file or frame that is handed over is the table `data` in it.
        table: Name of the table, where a database is handed over.
        counts: Where a table of a database is counted: "database" has the counts made there, so that no row leaves it;
            "here" streams the rows, which is the default, for it is faster.
        rows_are_rows: The custodian vouches that each row of the query's result, or of a view, comes from one row of
            a table alone.
        progress: Told how much of a pass is done, 0.0 when one begins.
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
            raise UsageError("counts is 'here' or 'database': where a table of a database is counted")

    @property
    def assumptions(self) -> tuple[tuple[str, str], ...]:
        """What was stated about reading the source that decides what the rows are, as pairs of a name and a text.

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
    def said(self) -> tuple[str, ...]:
        """Names of what was stated rather than left as it is."""
        return tuple(f.name for f in fields(ReadOptions) if getattr(self, f.name) != f.default)


def read_options(read: ReadOptions | Mapping[str, Any] | None, null_values: Sequence[str] = ()) -> ReadOptions:
    """Options given as such or as a mapping of their names, with the null values that a schema states besides.

    What nobody knows is refused by name.
    """
    options = _given_options(read)
    more = [text for text in null_values if text not in options.null_values]
    return replace(options, null_values=(*options.null_values, *more)) if more else options


def _given_options(read: ReadOptions | Mapping[str, Any] | None) -> ReadOptions:
    if read is None or isinstance(read, ReadOptions):
        return read or ReadOptions()
    if not isinstance(read, Mapping):
        raise UsageError("read is a ReadOptions, as sklar.ReadOptions(delimiter=';')")
    known = [f.name for f in fields(ReadOptions)]
    unknown = [name for name in read if name not in known]
    if unknown:
        raise UsageError(f"ReadOptions has no '{unknown[0]}'; it has: {', '.join(known)}")
    return ReadOptions(**read)
