"""Real rows as they are, for generators that are fitted on samples of them."""

from __future__ import annotations

from typing import Any

from sklar.errors import SourceError
from sklar.rows.encode.unions import one_type
from sklar.rows.sources import open_source
from sklar.schema import Schema
from sklar.schema.reading import ReadOptions


def read_raw(data: Any, schema: Schema, read: ReadOptions | None = None) -> Any:
    """The modelled columns of all rows as one Arrow table."""
    import pyarrow as pa

    try:
        source = open_source(data, schema=schema, read=read)
        names = schema.modelled
        batches = [
            pa.table({name: one_type(column) for name, column in zip(names, batch.columns, strict=True)})
            for batch in source.batches(names)
        ]
    except SourceError as error:
        raise SourceError(f"the real table: {error}") from None
    if not batches:
        raise SourceError("the real table: it has no rows; there is nothing to attack.")
    return pa.concat_tables(batches, promote_options="permissive").combine_chunks()
