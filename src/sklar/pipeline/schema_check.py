"""Check a schema, and that a file has its columns. Structure only: no value is looked at, so nothing is spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

from sklar.schema.reading import ReadOptions
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaCheck:
    """What a check found; faults are errors and never get here.

    Attributes:
        columns: Number of columns of each kind.
        codes: Number of values or cells of each modelled column.
        constraints: Number of public rules.
        unconfirmed: Facts marked from-rows, as "column.fact"; a private fit refuses them.
        file_columns: Number of columns of the file, if one was checked.
        file_ignored: How many of them a fit would not read.
    """

    columns: Mapping[str, int]
    codes: Mapping[str, int]
    constraints: int
    unconfirmed: tuple[str, ...]
    file_columns: int | None = None
    file_ignored: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def check_schema(
    schema: Schema, data: str | PathLike[str] | None = None, read: ReadOptions | None = None
) -> SchemaCheck:
    """What the schema says and, if a file is given, whether the file has its columns."""
    found = None
    if data is not None:
        from sklar.disclosed.structure import file_structure

        found = file_structure(data, schema, read)
    return SchemaCheck(
        columns=dict(Counter(column.kind for column in schema.values())),
        codes={name: schema.size(name) for name in schema.modelled},
        constraints=len(schema.constraints),
        unconfirmed=tuple(f"{name}.{fact}" for name, fact in schema.facts_by_provenance("from-rows")),
        file_columns=None if found is None else found.columns,
        file_ignored=None if found is None else found.ignored,
    )
