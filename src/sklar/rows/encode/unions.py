"""Arrow unions, in which each value has a type of its own, taken apart into arrays of one type and put together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from sklar.arrays import Ints
from sklar.rows.encode.spelling import spelled


def union_parts(array: Any) -> Iterator[tuple[Ints, Any]]:
    """(places, values) of each type that occurs."""
    codes = array.type_codes.to_numpy(zero_copy_only=False)
    dense = array.type.mode == "dense"
    offsets = array.offsets.to_numpy(zero_copy_only=False) if dense else np.arange(len(array))
    for at, code in enumerate(array.type.type_codes):
        places = np.flatnonzero(codes == code)
        if len(places):
            yield places, _taken(array.field(at), pa.array(offsets[places]))


def _taken(values: Any, rows: Any) -> Any:
    whole = len(rows) == len(values) and np.array_equal(rows.to_numpy(), np.arange(len(values)))
    return values if whole else values.take(rows)


def one_type(array: Any) -> Any:
    """A union as an array of its only type besides null, or as text if it has several; other arrays as they are.

    The result depends on all values together, so it is for showing and drafting, never for codes.
    """
    if not pa.types.is_union(array.type):
        return array
    parts = [part for part in union_parts(array) if not pa.types.is_null(part[1].type)]
    several = len({str(values.type) for _, values in parts}) > 1
    return union_texts(array) if several else _together(parts, len(array))


def union_texts(array: Any) -> Any:
    """A union as text: each value as it is spelled."""
    return _together([(places, _utf8(spelled(values))) for places, values in union_parts(array)], len(array))


def _together(parts: list[tuple[Ints, Any]], rows: int) -> Any:
    """Parts of one type in their places, null elsewhere."""
    if not parts:
        return pa.nulls(rows, pa.large_string())
    rank = np.full(rows, -1, dtype=np.int64)
    rank[np.concatenate([places for places, _ in parts])] = np.arange(sum(len(places) for places, _ in parts))
    return pa.concat_arrays([values for _, values in parts]).take(pa.array(rank, mask=rank < 0))


def _utf8(texts: Any) -> Any:
    """Strings, or bytes read as UTF-8, with a sign in the place of what is not."""
    if pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type) or pa.types.is_string_view(texts.type):
        return texts.cast(pa.large_string())
    read = [None if raw is None else raw.decode("utf-8", "replace") for raw in texts.to_pylist()]
    return pa.array(read, type=pa.large_string())
