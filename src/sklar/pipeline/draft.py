"""Draft a schema from real rows (disclosed), on its own or along SDV metadata."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklar.schema.reading import ReadOptions
from sklar.schema.sdv import kinds_from_sdv, read_sdv

if TYPE_CHECKING:
    from sklar.disclosed.drafting.drafted import Draft

DRAFT_ROWS = 100_000


def draft_schema(
    data: Any,
    *,
    sdv: str | PathLike[str] | Mapping[str, Any] | None = None,
    rows: int = DRAFT_ROWS,
    read: ReadOptions | None = None,
) -> Draft:
    """Guess a schema from the first rows of a table. No noise is added: the result is private.

    Every fact, the kinds included, is marked from-rows, and a private fit refuses it until the custodian has confirmed
    it or, for bounds and lists of values, pays for it.

    Args:
        data: A file, a data frame, or anything that speaks Arrow, as for `fit`.
        sdv: SDV metadata (a file, or the parsed JSON) whose kinds to keep to; only domains are then read off the rows.
        rows: Look at this many rows from the beginning.
        read: How to read a file: `delimiter`, `encoding`, `null_values`, `sql`.

    Returns:
        A Schema with `todo`, the list of what to check; writing it puts the notes beside the columns.
    """
    from sklar.disclosed.drafting.draft import draft

    stated = None
    if sdv is not None:
        stated = kinds_from_sdv(sdv) if isinstance(sdv, Mapping) else read_sdv(sdv)
    return draft(data, stated=stated, rows=rows, read=read)
