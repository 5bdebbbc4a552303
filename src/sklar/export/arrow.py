"""Convert sampled values to Arrow tables with the types and column order of the schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from sklar.sample.decode import SampledTable, Values, row_count
from sklar.schema.columns import Boolean, Column, Id, Ignore, Labels
from sklar.schema.numbers import Datetime, Real
from sklar.schema.table import Schema
from sklar.schema.zones import zone_clock

pc: Any = pyarrow.compute
"""Typed as Any: its functions are created at run time, so type checkers do not find them."""

CHUNK_ROWS = 262_144
"""Rows of one chunk: text of one chunk must stay below the 2 GB that Arrow strings can address."""
TIME_UNITS = {"hour": ("s", 3600), "minute": ("s", 60), "second": ("s", 1), "millisecond": ("ms", 1)}
"""Arrow unit and number of units in a tick; microseconds are the rest."""
TICK_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow names and types of a sample."""
    kept = [(name, column) for name, column in schema.items() if not isinstance(column, Ignore)]
    return pa.schema([pa.field(name, arrow_type(c), nullable=getattr(c, "nullable", False)) for name, c in kept])


def arrow_type(column: Column) -> pa.DataType:
    """Return the Arrow type of one column."""
    if isinstance(column, Labels):
        return pa.int64() if column.integer_labels else pa.string()
    if isinstance(column, Boolean):
        return pa.array(column.spelling or [False, True]).type
    if isinstance(column, Id):
        return pa.string() if column.prefix else pa.int64()
    if isinstance(column, Datetime):
        return pa.date32() if column.resolution == "day" else pa.timestamp(_get_time_unit(column)[0], column.zone)
    return pa.float64() if isinstance(column, Real) else pa.int64()


def to_arrow(schema: Schema, table: SampledTable) -> pa.Table:
    """Convert a sampled table to an Arrow table."""
    types, rows = arrow_schema(schema), row_count(table)
    batches = [
        pa.record_batch(
            [_make_array(schema[name], table[name], slice(start, start + CHUNK_ROWS)) for name in types.names],
            schema=types,
        )
        for start in range(0, rows, CHUNK_ROWS)
    ]
    return pa.Table.from_batches(batches, schema=types)


def bits_to_arrow(names: Sequence[str], bits: np.ndarray) -> pa.Table:
    """Return a table of zeros and ones, one column per name."""
    return pa.table([pa.array(bits[:, at]) for at in range(len(names))], names=list(names))


def _make_array(column: Column, values: Values, part: slice) -> pa.Array:
    data, null = values.data[part], values.null[part]
    mask = null if null.any() else None
    if isinstance(column, Id):
        keys = pa.array(data)
        return pc.binary_join_element_wise(column.prefix, keys.cast(pa.string()), "") if column.prefix else keys
    if values.labels is not None:
        return pa.array(values.labels, pa.string()).take(pa.array(data, mask=mask))
    if isinstance(column, Boolean) and column.spelling:
        return pa.array(column.spelling).take(pa.array(data.astype(np.int32), mask=mask))
    if isinstance(column, Datetime):
        return _make_times(column, data, mask)
    return pa.array(data, arrow_type(column), mask=mask)


def _make_times(column: Datetime, ticks: np.ndarray, mask: np.ndarray | None) -> pa.Array:
    if column.resolution == "day":
        return pa.array(ticks.astype(np.int32), mask=mask).cast(pa.date32())
    unit, units_in_tick = _get_time_unit(column)
    units = ticks * units_in_tick
    if column.zone is not None:
        micros = TICK_MICROS[unit]
        units = zone_clock(column.zone, column.lower, column.upper).to_utc(units * micros) // micros
    return pa.array(units, mask=mask).cast(pa.timestamp(unit, column.zone))


def _get_time_unit(column: Datetime) -> tuple[str, int]:
    return TIME_UNITS.get(column.resolution, ("us", 1))
