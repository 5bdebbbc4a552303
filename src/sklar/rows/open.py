"""Private rows opened where they are best read: in this process, or by a Spark cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from sklar.errors import SourceError
from sklar.rows.job import Rows
from sklar.rows.keeping import KeptCodes
from sklar.rows.sources import Progress, open_source
from sklar.rows.spill import private_folder
from sklar.rows.table import EncodedRows
from sklar.schema import Schema

FILE_CACHE_BYTES = 384 << 20
"""Codes of a file are kept up to this size, so that a fit from a file stays well below 1 GB."""
MEMORY_CACHE_BYTES = 2 << 30
"""Codes of rows that are in memory anyway, or can be read once only, are kept up to this size."""


def open_rows(
    data: Any,
    schema: Schema,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    null_values: Sequence[str] | None = None,
    sql: str | None = None,
    rows_are_rows: bool = False,
    progress: Progress | None = None,
    cache_bytes: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    spark: str | None = None,
) -> Rows:
    """Open private rows as base codes.

    Args:
        data: As in `open_source`.
        schema: The public facts.
        delimiter: As in `open_source`, like `encoding`, `null_values`, `sql`, `rows_are_rows` and `progress`.
        cache_bytes: Codes are kept in memory up to this size, else the source is read again for each pass.
        cache: A private folder: codes that outgrow the memory are kept there, in a file without a name that vanishes
            with the process, instead of reading the source again.
        threads: Number of threads, by default one for each usable core.
        spark: Master of a Spark cluster that shall read a path, as "local[2]" or "spark://host:7077". A Spark data
            frame needs none.
    """
    if spark is not None or is_spark_frame(data):
        from sklar.rows.spark import open_spark_rows

        _refuse_on_spark({"sql": sql, "threads": threads})
        return open_spark_rows(
            data, schema, spark, delimiter=delimiter, encoding=encoding, null_values=null_values, progress=progress,
            to_disk=cache is not None,
        )  # fmt: skip
    if cache is not None:
        private_folder(cache)  # refused before any work is done
    source = open_source(
        data, schema=schema, delimiter=delimiter, encoding=encoding, null_values=null_values, sql=sql,
        rows_are_rows=rows_are_rows, progress=progress,
    )  # fmt: skip
    if cache_bytes is None:
        cache_bytes = MEMORY_CACHE_BYTES if source.in_memory else FILE_CACHE_BYTES
    kept = KeptCodes([schema[name].size for name in schema.modelled], cache_bytes, cache)
    rows = EncodedRows(source, schema, null_values=tuple(null_values or ()), kept=kept, threads=threads)
    if cache is None and not source.one_shot:
        rows.keep_nothing_beyond(cache_bytes)
    return rows


def is_spark_frame(data: Any) -> bool:
    """Whether the data is a Spark data frame, told without importing Spark."""
    kinds = ((base.__module__, base.__name__) for base in type(data).__mro__)
    return any(module.startswith("pyspark.") and name == "DataFrame" for module, name in kinds)


def _refuse_on_spark(asked: Mapping[str, Any]) -> None:
    for name, value in asked.items():
        if value is not None:
            raise SourceError(f"'{name}' is not for rows on Spark: prepare the frame with Spark itself")
