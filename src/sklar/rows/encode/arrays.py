"""Arrow arrays of any layout, unions of several types too, reduced to plain ones; numbers as int64 or float64.

The code of a value depends on the value and its type alone: nothing here or in the encoders looks at a whole array to
decide about one of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sklar.arrays import Floats, Ints, Mask
from sklar.rows.encode.spelling import is_text, plain_decimal, single_text, spell_values, valid_of
from sklar.rows.encode.text import MAX_TEXT_BYTES, Text

Codes = npt.NDArray[Any]
Encoder = Callable[[Any], Codes]
"""From flat text, or a plain Arrow array (no dictionary, union, view or extension), to base codes."""


def plain_codes(array: Any, encode: Encoder) -> Codes:
    """Encode an array after removing layouts that wrap other arrays; a dictionary is encoded once, not once per row."""
    if isinstance(array, Text):
        return encode(array)
    if isinstance(array, pa.ChunkedArray):
        return np.concatenate([encode(pa.nulls(0)), *(plain_codes(chunk, encode) for chunk in array.chunks)])
    array = unwrap_array(array)
    if pa.types.is_dictionary(array.type):
        return _encode_dictionary(array, encode)
    if pa.types.is_union(array.type):
        return _union_codes(array, encode)
    if pa.types.is_uint64(array.type):
        return _uint64_codes(array, encode)
    if is_too_long(array):
        half = len(array) // 2
        return np.concatenate([plain_codes(array[:half], encode), plain_codes(array[half:], encode)])
    return encode(array)


def unwrap_array(array: Any) -> Any:
    """Return an array without the layouts that say nothing about its values: extensions, runs, views."""
    if isinstance(array, pa.ExtensionArray):
        convert = EXTENSIONS.get(array.type.extension_name)
        return unwrap_array(array.storage if convert is None else convert(array))
    if pa.types.is_run_end_encoded(array.type):
        return unwrap_array(pc.call_function("run_end_decode", [array]))
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array.cast(pa.large_binary()) if pa.types.is_binary_view(array.type) else array


def _uuid_texts(array: Any) -> Any:
    """Return UUIDs as Python writes them: the storage contains their sixteen bytes."""
    return pa.array([None if raw is None else str(UUID(bytes=raw)) for raw in array.storage.to_pylist()], pa.string())


EXTENSIONS: dict[str, Callable[[Any], Any]] = {
    "arrow.bool8": lambda array: array.storage.cast(pa.bool_()),
    "arrow.uuid": _uuid_texts,
}
"""Extensions whose values are not those of their storage."""


def is_too_long(array: Any) -> bool:
    """Return whether an array holds more text than is encoded at once, and can be halved."""
    return len(array) > 1 and is_text(array.type) and array.nbytes > MAX_TEXT_BYTES


def _union_codes(array: Any, encode: Encoder) -> Codes:
    """Return each value by the rules of its own type."""
    codes = np.empty(len(array), dtype=encode(pa.nulls(0)).dtype)
    for places, values in union_parts(array):
        codes[places] = plain_codes(values, encode)
    return codes


def _uint64_codes(array: Any, encode: Encoder) -> Codes:
    """Encode unsigned integers as int64 where they fit, else by their digits, as larger integers always are."""
    values = array.fill_null(0).to_numpy(zero_copy_only=False)
    wide = values >= 2**63
    codes = encode(pa.array(np.where(wide, 0, values).astype(np.int64), mask=~valid_of(array)))
    if wide.any():
        codes[wide] = encode(spell_values(array.filter(pa.array(wide))))
    return codes


def _encode_dictionary(array: Any, encode: Encoder) -> Codes:
    from sklar.counting.tallies import recode

    missing = encode(pa.nulls(1))
    codes = np.concatenate([plain_codes(array.dictionary, encode), missing])
    indices = array.indices
    if indices.null_count:
        indices = indices.cast(pa.int64(), safe=False).fill_null(len(codes) - 1)
    out = np.empty(len(indices), dtype=codes.dtype)
    recode(indices.to_numpy(zero_copy_only=False), codes, out)
    return out


def union_parts(array: Any) -> Iterator[tuple[Ints, Any]]:
    """Yield (places, values) of each type that occurs."""
    if array.offset:  # type codes and offsets of a slice are those of the whole it was cut from
        array = pa.concat_arrays([array])
    codes = array.type_codes.to_numpy(zero_copy_only=False)
    dense = array.type.mode == "dense"
    offsets = array.offsets.to_numpy(zero_copy_only=False) if dense else np.arange(len(array))
    for at, code in enumerate(array.type.type_codes):
        places = np.flatnonzero(codes == code)
        if len(places):
            yield places, _take(array.field(at), pa.array(offsets[places]))


def _take(values: Any, rows: Any) -> Any:
    whole = len(rows) == len(values) and np.array_equal(rows.to_numpy(), np.arange(len(values)))
    return values if whole else values.take(rows)


def one_type(array: Any) -> Any:
    """Return a union as an array of its only type other than null, or as text if it has several; others unchanged.

    The result depends on all values together, so it is for showing and drafting, never for codes.
    """
    if not pa.types.is_union(array.type):
        return array
    parts = [part for part in union_parts(array) if not pa.types.is_null(part[1].type)]
    several = len({str(values.type) for _, values in parts}) > 1
    return texts_of(array) if several else _assemble(parts, len(array))


def texts_of(array: Any) -> Any:
    """Return any Arrow array as strings: each value as it is spelled, for any type and layout of the array."""
    array = unwrap_array(array)
    if pa.types.is_dictionary(array.type):
        return texts_of(array.dictionary).take(array.indices)
    if pa.types.is_union(array.type):
        return _assemble([(places, texts_of(values)) for places, values in union_parts(array)], len(array))
    return _utf8(spell_values(array))


def _assemble(parts: list[tuple[Ints, Any]], rows: int) -> Any:
    """Return an array with parts of one type in their places, null elsewhere."""
    if not parts:
        return pa.nulls(rows, pa.large_string())
    rank = np.full(rows, -1, dtype=np.int64)
    rank[np.concatenate([places for places, _ in parts])] = np.arange(sum(len(places) for places, _ in parts))
    return pa.concat_arrays([values for _, values in parts]).take(pa.array(rank, mask=rank < 0))


def _utf8(texts: Any) -> Any:
    """Return strings, or bytes read as UTF-8, with replacement characters for what is not."""
    if pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type) or pa.types.is_string_view(texts.type):
        return texts.cast(pa.large_string())
    read = [None if raw is None else raw.decode("utf-8", "replace") for raw in texts.to_pylist()]
    return pa.array(read, type=pa.large_string())


def integers_of(array: Any) -> tuple[Ints, Mask] | None:
    """Return (int64 values, valid) of integers of at most 64 bits, or booleans; None for other arrays."""
    if isinstance(array, Text):
        return None
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if not pa.types.is_integer(array.type):
        return None
    valid = valid_of(array)
    values = array.fill_null(0).to_numpy(zero_copy_only=False) if array.null_count else array.to_numpy()
    return values.astype(np.int64, copy=False), valid


def floats_of(array: Any) -> tuple[Floats, Mask] | None:
    """Return (float64 values, valid) of floating-point numbers, NaN not being valid; None for other arrays."""
    if isinstance(array, Text) or not pa.types.is_floating(array.type):
        return None
    values = array.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)  # a null becomes NaN
    return values, ~np.isnan(values)


def listed_numbers(null_values: tuple[str, ...]) -> tuple[Decimal, ...]:
    """Return the numbers among the texts that stand for null, for values that come as numbers rather than text."""
    numbers: list[Decimal] = []
    for text in null_values:
        try:
            number = Decimal(text.strip() if text.isascii() and "_" not in text else "nan")
        except InvalidOperation:
            continue
        if not number.is_nan():
            numbers.append(number)
    return tuple(numbers)


def number_texts(null_values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts that stand for null, and the plain digits of the numbers among them: -9 as well as -9.0."""
    plain = (plain_decimal(number) for number in listed_numbers(null_values))
    return tuple(dict.fromkeys((*null_values, *(text for text in plain if text is not None))))


def is_listed(array: Any, values: npt.NDArray[Any], numbers: tuple[Decimal, ...]) -> Mask:
    """Return which values of an Arrow array of numbers are among the listed ones."""
    return np.isin(values, np.array(listed_in(array.type, numbers), dtype=values.dtype))


def listed_in(kind: Any, numbers: tuple[Decimal, ...]) -> list[Any]:
    """Return the numbers as values of an Arrow type of integers or floats; those it cannot hold are left out.

    A float of 32 bits is the number that its shortest text at 32 bits states, for any width of its column.
    """
    if pa.types.is_floating(kind):
        doubles = [(float(number), number) for number in numbers]
        singles = [(x, number) for x, number in doubles if Decimal(single_text(x)) == number]
        listed = [x for x, number in doubles if np.isfinite(x) == number.is_finite()]
        return list(dict.fromkeys([*listed, *(float(np.float32(x)) for x, _ in singles)]))
    whole = [int(n) for n in numbers if n.is_finite() and abs(n) <= 2**63 and n == int(n)]
    return [n for n in whole if -(2**63) <= n < 2**63]
