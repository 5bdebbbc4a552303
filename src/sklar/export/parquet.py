"""Parquet as samples are best written: dictionaries where values repeat, plain numbers elsewhere, light compression."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa

from sklar.schema.columns import Boolean, Column, Id
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.table import Schema

MOST_DISTINCT = 1 << 12
"""A dictionary of more values costs more time than it saves."""


@contextmanager
def parquet_writer(
    file: BinaryIO, types: pa.Schema, schema: Schema | None = None, *, statistics: bool = True
) -> Generator[Callable[[pa.Table], None]]:
    """Writes tables to a file, one row group each (more if they are huge).

    Args:
        file: Where to.
        types: Names and types of the columns.
        schema: Tells which values repeat.
        statistics: The smallest and largest value of each row group; of no use where rows come in random order.
    """
    import pyarrow.parquet as pq

    repeated: Any = dictionary_columns(types, schema)
    with pq.ParquetWriter(file, types, use_dictionary=repeated, write_statistics=statistics) as writer:
        yield writer.write_table


def dictionary_columns(types: pa.Schema, schema: Schema | None) -> list[str] | bool:
    """Columns whose values repeat, by the public facts; all where there are none."""
    if schema is None:
        return True
    return [name for name in types.names if name not in schema or _repeats(schema[name])]


def _repeats(column: Column) -> bool:
    """Reals are all different; numbers, moments and labels repeat if few of them are possible."""
    if isinstance(column, Real | Id | Boolean):
        return False
    if isinstance(column, Integer):
        return column.upper - column.lower < MOST_DISTINCT
    if isinstance(column, Datetime):
        return column.tick(column.upper) - column.tick(column.lower) < MOST_DISTINCT
    return True
