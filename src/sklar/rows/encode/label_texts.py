"""Any Arrow array as the texts that a list of labels would match it with, for finding labels nobody listed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklar.rows.encode.arrays import is_too_long, unwrapped
from sklar.rows.encode.spelling import spelled
from sklar.rows.encode.unions import union_parts


def label_texts(array: Any) -> Iterator[Any]:
    """Plain Arrow arrays of strings or bytes, one text a row in no stated order; null where a value has no text."""
    import pyarrow as pa

    array = unwrapped(array)
    if pa.types.is_union(array.type):
        for _, values in union_parts(array):
            yield from label_texts(values)
    elif pa.types.is_dictionary(array.type):
        yield from label_texts(_decoded(array))
    elif is_too_long(array):
        half = len(array) // 2
        yield from label_texts(array[:half])
        yield from label_texts(array[half:])
    else:
        yield spelled(array)


def _decoded(array: Any) -> Any:
    """A dictionary's values row by row, in a type that holds any amount of text."""
    import pyarrow as pa

    values = unwrapped(array.dictionary)
    if pa.types.is_string(values.type):
        values = values.cast(pa.large_string())
    return values.take(array.indices)
