"""Category and ordinal columns: each listed label is a code, everything else is `other`.

Text labels match text of exactly the same spelling. A number matches the label that spells it: integers as "1", floats
by their shortest text, and a float that is a whole number also as an integer, unless it is listed with its point.
Integer labels match integers, floats that are whole numbers, and their plain text ("1" or "1.0", but not "01").
Decimals, dates and times match the label that spells them as `spelling` does.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sklar.arrays import Mask
from sklar.rows.encode.arrays import Codes, Encoder, floats_of, integers_of
from sklar.rows.encode.text import Text, text_of
from sklar.schema import Labels

Numbers = tuple[npt.NDArray[Any], npt.NDArray[np.int32]]
FLOATS: dict[str, Any] = {"halffloat": np.float16, "float": np.float32, "double": np.float64}
"""Arrow's floating-point types."""
TRUE_LABELS, FALSE_LABELS = ("True", "true", "TRUE", "1"), ("False", "false", "FALSE", "0")


def labels_encoder(column: Labels, null_values: tuple[str, ...]) -> Encoder:
    """The empty text and those of `null_values` are null, unless they are labels."""
    from sklar.rows.kernels.words import codes_of_words, word_list

    other = len(column.values)
    missing = other if column.null_code is None else column.null_code
    names = _names(column, null_values, missing)
    words = word_list(names)

    @cache
    def numbers(kind: str) -> Numbers:
        return _numbers(names, kind, other)

    def encode(array: Any) -> Codes:
        found = None if _is_uint64(array) else integers_of(array) or floats_of(array)
        if found is None:
            return codes_of_words(text_of(array), words, other, missing)
        return _matched(*found, numbers(str(array.type)), other, missing)

    return encode


def _is_uint64(array: Any) -> bool:
    """Whether an array may hold integers beyond int64, which are then matched by their text."""
    return not isinstance(array, Text) and pa.types.is_uint64(array.type)


def _names(column: Labels, null_values: tuple[str, ...], missing: int) -> dict[str, int]:
    """Text of every label and null text, with its code; a label wins over a null text."""
    labels = {str(label): code for code, label in enumerate(column.values)}
    if column.integer_labels:
        labels |= {f"{label}.0": code for code, label in enumerate(column.values)}
    return dict.fromkeys(("", *null_values), missing) | labels


def _numbers(names: dict[str, int], kind: str, other: int) -> Numbers:
    """The numbers of an Arrow type that the names spell, ascending, and their codes."""
    known: dict[Any, int]
    if kind == "bool":
        known = {1: _first(TRUE_LABELS, names, other), 0: _first(FALSE_LABELS, names, other)}
    elif kind in FLOATS:
        known = _float_names(names, FLOATS[kind])
    else:
        known = _integer_names(names)
    listed = sorted(known)
    dtype = np.float64 if kind in FLOATS else np.int64
    return np.array(listed, dtype=dtype), np.array([known[number] for number in listed], dtype=np.int32)


def _first(spellings: tuple[str, ...], names: dict[str, int], other: int) -> int:
    return next((names[s] for s in spellings if s in names), other)


def _integer_names(names: dict[str, int]) -> dict[int, int]:
    """The names that are the plain text of a 64-bit integer."""
    numbers: dict[int, int] = {}
    for name, code in names.items():
        if len(name) <= 20 and name.removeprefix("-").isdecimal() and name.isascii() and str(int(name)) == name:
            numbers[int(name)] = code
    return {number: code for number, code in numbers.items() if -(2**63) <= number < 2**63}


def _float_names(names: dict[str, int], dtype: Any) -> dict[float, int]:
    """The names that spell a float of this width: whole numbers as integers, then the shortest text, which wins."""
    numbers = {float(n): code for n, code in _integer_names(names).items() if int(float(n)) == n}
    with np.errstate(over="ignore"):
        for name, code in names.items():
            try:
                number = dtype(name)
            except (ValueError, OverflowError):
                continue
            if str(number) == name and number == number:
                numbers[float(number)] = code
    return numbers


def _matched(values: npt.NDArray[Any], valid: Mask, numbers: Numbers, other: int, missing: int) -> Codes:
    """Code of each value among the listed numbers."""
    listed, codes = numbers
    if not len(listed):
        return np.where(valid, other, missing).astype(np.int32)
    at = np.minimum(np.searchsorted(listed, values), len(listed) - 1)
    return np.where(valid, np.where(listed[at] == values, codes[at], other), missing).astype(np.int32)
