"""Arrow arrays of any layout reduced to plain ones, and numbers as int64 or float64 with what is valid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.rows.encode.text import LONGEST, Text, is_text, valid_of

Codes = npt.NDArray[Any]
Encoder = Callable[[Any], Codes]
"""From flat text, or a plain Arrow array (no dictionary, no extension), to base codes."""


def plain_codes(array: Any, encode: Encoder) -> Codes:
    """Undo the layouts that wrap other arrays, then encode; a dictionary is encoded once, not once a row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, Text):
        return encode(array)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        return plain_codes(array.storage, encode)
    if pa.types.is_dictionary(array.type):
        return _dictionary_codes(array, encode)
    if pa.types.is_run_end_encoded(array.type):
        return plain_codes(pc.call_function("run_end_decode", [array]), encode)
    if len(array) > 1 and is_text(array.type) and array.nbytes > LONGEST:
        half = len(array) // 2
        return np.concatenate([plain_codes(array[:half], encode), plain_codes(array[half:], encode)])
    return encode(array)


def _dictionary_codes(array: Any, encode: Encoder) -> Codes:
    import pyarrow as pa

    from sklar.rows.kernels.tallies import recode

    missing = encode(pa.nulls(1))
    codes = np.concatenate([plain_codes(array.dictionary, encode), missing])
    indices = array.indices
    if indices.null_count:
        indices = indices.cast(pa.int64(), safe=False).fill_null(len(codes) - 1)
    out = np.empty(len(indices), dtype=codes.dtype)
    recode(indices.to_numpy(zero_copy_only=False), codes, out)
    return out


def integers_of(array: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]] | None:
    """(int64 values, valid) of integers or booleans, unsigned values beyond int64 clipped; None for other arrays."""
    import pyarrow as pa

    if isinstance(array, Text):
        return None
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

    if isinstance(array, Text) or not pa.types.is_floating(array.type):
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
