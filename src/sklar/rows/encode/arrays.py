"""Arrow arrays of any layout reduced to plain ones: flat UTF-8 text, int64, float64, and which entries are valid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[Any]
Encoder = Callable[[Any], Codes]
"""From a plain Arrow array (no dictionary, no extension, no view) to base codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Flat texts: entry i is data[offsets[i]:offsets[i + 1]], in UTF-8, if valid[i]."""

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    valid: npt.NDArray[np.bool_]


def plain_codes(array: Any, encode: Encoder) -> Codes:
    """Undo the layouts that wrap other arrays, then encode; a dictionary is encoded once, not once a row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        return plain_codes(array.storage, encode)
    if pa.types.is_dictionary(array.type):
        return _dictionary_codes(array, encode)
    if pa.types.is_run_end_encoded(array.type):
        return plain_codes(pc.call_function("run_end_decode", [array]), encode)
    return encode(array)


def _dictionary_codes(array: Any, encode: Encoder) -> Codes:
    import pyarrow as pa

    missing = encode(pa.nulls(1))
    codes = np.concatenate([plain_codes(array.dictionary, encode), missing])
    indices = array.indices.cast(pa.int64(), safe=False).fill_null(len(codes) - 1)
    return codes[indices.to_numpy(zero_copy_only=False)]


def valid_of(array: Any) -> npt.NDArray[np.bool_]:
    """Which entries of an Arrow array are not null."""
    if array.null_count == 0:
        return np.ones(len(array), dtype=bool)
    return array.is_valid().to_numpy(zero_copy_only=False)


def is_text(kind: Any) -> bool:
    """Whether an Arrow type holds text or raw bytes, which are read as text."""
    import pyarrow as pa

    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary,
              pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)  # fmt: skip
    return any(check(kind) for check in checks)


def text_of(array: Any, null_values: tuple[str, ...] = ()) -> Text:
    """The flat text of an Arrow array of strings or bytes; texts listed in `null_values` count as null."""
    import pyarrow as pa

    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        array = _as_large_string(array)
    wide = pa.types.is_large_string(array.type)
    _, places, content = array.buffers()
    count = len(array)
    offsets = np.zeros(1, dtype=np.int64)
    if places is not None and places.size:
        offsets = np.frombuffer(places, dtype=np.int64 if wide else np.int32)[array.offset : array.offset + count + 1]
    data = np.frombuffer(content, dtype=np.uint8) if content is not None and content.size else _NO_TEXT
    valid = valid_of(array)
    if null_values:
        valid = valid & ~_is_listed(array, null_values)
    return Text(data=data, offsets=offsets.astype(np.int64), valid=valid)


_NO_TEXT = np.frombuffer(b"\0", dtype=np.uint8)


def _as_large_string(array: Any) -> Any:
    """Strings of another layout, or bytes taken as they are: whether they are UTF-8 does not matter for matching."""
    import pyarrow as pa

    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    flat = array.cast(pa.large_binary())
    return pa.Array.from_buffers(pa.large_string(), len(flat), flat.buffers(), flat.null_count, flat.offset)


def _is_listed(array: Any, texts: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    import pyarrow as pa
    import pyarrow.compute as pc

    listed = pc.SetLookupOptions(value_set=pa.array(texts, type=array.type))
    return pc.call_function("is_in", [array], listed).to_numpy(zero_copy_only=False)


def spelled(array: Any) -> Any:
    """Any array as strings where Arrow can spell it, else all null: nested values have no text."""
    import pyarrow as pa

    if is_text(array.type):
        return array
    try:
        return array.cast(pa.large_string())
    except pa.ArrowException:
        return pa.nulls(len(array), pa.large_string())


def integers_of(array: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]] | None:
    """(int64 values, valid) of integers or booleans, unsigned values beyond int64 clipped; None for other arrays."""
    import pyarrow as pa

    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if not pa.types.is_integer(array.type):
        return None
    valid = valid_of(array)
    values = array.fill_null(0).to_numpy(zero_copy_only=False) if array.null_count else array.to_numpy()
    if values.dtype == np.uint64:
        values = np.minimum(values, np.uint64(2**63 - 1))
    return values.astype(np.int64, copy=False), valid


def floats_of(array: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None:
    """(float64 values, valid) of floating-point numbers, NaN not being valid; None for other arrays."""
    import pyarrow as pa

    if not pa.types.is_floating(array.type):
        return None
    valid = valid_of(array)
    if array.null_count:
        array = array.fill_null(pa.scalar(0.0, type=pa.float64()).cast(array.type))
    values = array.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return values, valid & ~np.isnan(values)


def listed_numbers(null_values: tuple[str, ...]) -> npt.NDArray[np.float64]:
    """The numbers among the texts that stand for null, for columns that come as numbers rather than text."""
    numbers: list[float] = []
    for text in null_values:
        try:
            numbers.append(float(text))
        except ValueError:
            continue
    return np.array(numbers, dtype=np.float64)
