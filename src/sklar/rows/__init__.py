"""*** The only code that reads private rows. *** Sources, encoding, exact counting, for `private` and `lab` alone.

No noise is added here, so no result may be shown: errors name columns and public facts, never a cell or a count. A code
is a function of its value alone. Start with `sources` (where rows come from), then `encode` (values to codes),
`codes` (rows as codes), `persons` (rows that share one vote); `kernels` are compiled loops, `spark` reads on a cluster,
`pushdown` counts in a database. What is counted on codes is in `sklar.counting`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklar.counting.jobs import CodedPart
from sklar.counting.plans import TableSpec
from sklar.counting.tables import exact_counts
from sklar.counting.two_valued import exact_ones
from sklar.errors import SourceError
from sklar.rows.codes.kept import KeptCodes, private_folder
from sklar.rows.codes.label_counts import exact_label_counts
from sklar.rows.codes.protocol import Rows
from sklar.rows.codes.table import EncodedRows
from sklar.rows.pushdown.rows import pushed_rows, warn_of_streaming
from sklar.rows.sources import hold_source, open_source
from sklar.schema import Schema
from sklar.schema.coordinates import coordinates
from sklar.schema.reading import ReadOptions

__all__ = [
    "CodedPart",
    "Rows",
    "TableSpec",
    "exact_counts",
    "exact_label_counts",
    "exact_ones",
    "hold_source",
    "open_rows",
]

FILE_CACHE_BYTES = 384 << 20
"""Maximum memory for the codes of a file, so that a fit from a file stays well below 1 GB."""
MEMORY_CACHE_BYTES = 2 << 30
"""Maximum memory for the codes of rows that are in memory anyway, or that can be read only once."""


def open_rows(data: Any, schema: Schema, read: ReadOptions | None = None, **more: Any) -> Rows:
    """Open private rows, as for `open_source`, as base codes where they are best read: here, or by a Spark cluster.

    Codes are those of the coordinates of the schema, which are its columns unless public rules say more.

    Options by name override those of `read`.
    """
    read = replace(read or ReadOptions(), **more)
    if read.spark is not None or is_spark_frame(data):
        from sklar.rows.spark import open_spark_rows

        _refuse_on_spark(read, schema)
        return open_spark_rows(data, coordinates(schema), read)
    if read.cache is not None:
        private_folder(read.cache)  # refused before any work is done
    if schema.person is not None and read.counts == "database":
        warn_of_streaming("the rows of a person share one vote")
    if schema.person is not None and schema.person.parents is not None:
        from sklar.rows.persons.family import open_family

        return open_family(data, coordinates(schema), read, MEMORY_CACHE_BYTES)
    also = () if schema.person is None else (schema.person.key,)
    source, cache_bytes = open_source(data, schema=schema, read=read, also=also), read.cache_bytes
    if cache_bytes is None:
        cache_bytes = MEMORY_CACHE_BYTES if source.in_memory else FILE_CACHE_BYTES
    by = coordinates(schema)
    if schema.person is not None:
        from sklar.rows.persons.linked import LinkedRows
        from sklar.rows.persons.rows import PersonRows

        return (LinkedRows if by.views else PersonRows)(
            source, by, schema.person, null_values=tuple(read.null_values), cache_bytes=cache_bytes, folder=read.cache,
            threads=read.threads,
        )  # fmt: skip
    kept = KeptCodes([by.schema.size(name) for name in by.schema.modelled], cache_bytes, read.cache)
    rows = EncodedRows(source, by, null_values=tuple(read.null_values), kept=kept, threads=read.threads)
    if read.cache is None and not source.one_shot:
        rows.skip_cache_beyond(cache_bytes)
    if read.counts == "database":
        return pushed_rows(source, by, rows, cache_bytes, read.progress)
    return rows


def is_spark_frame(data: Any) -> bool:
    """Return whether the data is a Spark data frame, without importing Spark."""
    kinds = ((base.__module__, base.__name__) for base in type(data).__mro__)
    return any(module.startswith("pyspark.") and name == "DataFrame" for module, name in kinds)


def _refuse_on_spark(read: ReadOptions, schema: Schema) -> None:
    if schema.person is not None and schema.person.parents is not None:
        raise SourceError("two tables with a key cannot be fitted on Spark; write both to Parquet files first")
    for name in ("sql", "table", "counts", "rows_are_rows", "threads"):
        if name in read.stated_names:
            raise SourceError(f"'{name}' is not for rows on Spark: prepare the frame with Spark itself")
