"""Detects that two tables in memory are the same, by their addresses, never by values or numbers of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

import numpy as np
import pyarrow as pa

Range = tuple[int, int]
"""First address of a buffer, and the first one behind it."""


def same_memory(one: Any, other: Any) -> bool:
    """Return whether two tables share memory, or are pandas frames one of which is a copy of the other.

    Disjoint slices of one table share none. A copy of a pandas frame keeps the identity of its index, also if its
    columns have changed. Copies by other ways (another file, another library) cannot be recognized without comparing
    values, and whether values are equal may not leave the rows.
    """
    if _is_same_index(getattr(one, "index", None), getattr(other, "index", None)):
        return True
    # Buffers stay referenced until they are compared: an address that was freed could be that of another buffer.
    sides = [list(_buffers(data)) for data in (one, other)]
    return _overlap([span for span, _ in sides[0]], [span for span, _ in sides[1]])


def _is_same_index(one: Any, other: Any) -> bool:
    return hasattr(one, "is_") and hasattr(other, "is_") and bool(one.is_(other))


def _overlap(one: list[Range], other: list[Range]) -> bool:
    """Return whether an address lies in a range of both sides."""
    ends = [0, 0]
    for start, end, side in sorted((*((a, b, 0) for a, b in one), *((a, b, 1) for a, b in other))):
        if start < ends[1 - side]:
            return True
        ends[side] = max(ends[side], end)
    return False


def _buffers(data: Any) -> Iterator[tuple[Range, object]]:
    """Yield the memory of each column that can be reached without a copy, with the object that keeps it alive."""
    for column in _list_columns(data):
        with suppress(Exception):  # a column of an unusual type is left out; a library's error text may quote cells
            yield from _list_buffers(column)


def _list_columns(data: Any) -> list[Any]:
    if isinstance(data, Mapping):
        return list(cast("Mapping[str, Any]", data).values())
    if hasattr(data, "iloc") and hasattr(data, "columns"):  # pandas
        return [data.iloc[:, at].array for at in range(data.shape[1])]
    if hasattr(data, "get_columns"):  # polars
        with suppress(Exception):  # an old version, or a type that Arrow has not
            return [pa.chunked_array(column) for column in data.get_columns()]
    return list(data.columns) if isinstance(data, pa.Table | pa.RecordBatch) else []


def _list_buffers(column: Any) -> Iterator[tuple[Range, object]]:
    column = getattr(column, "array", column)  # of a series
    for name in ("_pa_array", "_data", "codes"):  # pandas: Arrow, numbers with a mask, categories
        column = getattr(column, name, column)
    if isinstance(column, pa.Array | pa.ChunkedArray):
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            buffer = chunk.buffers()[1]
            if buffer is not None and len(chunk):
                bits = _slot_bits(chunk.type)
                start, end = (chunk.offset * bits // 8, (chunk.offset + len(chunk)) * bits // 8)
                yield (buffer.address + start, buffer.address + end), buffer
        return
    values = np.asarray(column)
    if values.size:
        reach = (len(values) - 1) * values.strides[0]
        start = values.__array_interface__["data"][0]
        yield (start + min(reach, 0), start + max(reach, 0) + values.itemsize), values


def _slot_bits(kind: Any) -> int:
    """Return the bits of one value in the second buffer of an Arrow array: a value, an index, an offset or a view."""
    if pa.types.is_dictionary(kind):
        kind = kind.index_type
    with suppress(ValueError):
        return kind.bit_width
    text = str(kind)
    return 128 if "view" in text else 64 if "large" in text else 32
