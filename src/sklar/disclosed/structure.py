"""The structure of a file: whether it can be opened and has the columns of a schema. No value is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklar.rows.sources import open_source
from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """What a check of a file found.

    Attributes:
        columns: Number of columns of the file.
        used: Columns of the schema that a fit would read.
        ignored: Number of further columns, which no fit reads; not named, since without a header names would be cells.
    """

    columns: int
    used: tuple[str, ...]
    ignored: int


def file_structure(data: Any, schema: Schema, read: ReadOptions | None = None) -> Structure:
    """Open a source and compare its columns with the schema; SourceError if it cannot be read or lacks one."""
    names = open_source(data, schema=schema, read=read).column_names
    return Structure(columns=len(names), used=schema.modelled, ignored=len(names) - len(schema.modelled))
