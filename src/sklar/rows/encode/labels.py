"""Columns of words: each label of a category or ordinal is a code, everything else `other`; booleans as usual.

Text labels match text of exactly the same spelling. A number matches the label that spells it: a whole number as "1",
or else as "1.0", be it an integer or a float, for one missing value makes floats of integers in many tables; any other
float by its shortest text, at 64 or 32 bits.
Integer labels match integers, floats that are whole numbers, and their plain text ("1" or "1.0", but not "01").
Decimals, dates and times match the label that spells them as `spelling` does. A boolean is a truth value, one or zero,
or one of the words below; everything else counts as missing.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sklar.arrays import Mask
from sklar.rows.encode.arrays import Codes, Encoder, floats_of, integers_of, is_listed, listed_numbers
from sklar.rows.encode.spelling import MAX_WHOLE_FLOAT, valid_of
from sklar.rows.encode.text import Text, text_of
from sklar.schema import Boolean, Labels
from sklar.schema.columns import FALSE_WORDS, TRUE_WORDS

Numbers = tuple[npt.NDArray[Any], npt.NDArray[np.int32]]
FLOATS = ("halffloat", "float", "double")
"""Arrow's floating-point types."""
TRUE_LABELS, FALSE_LABELS = ("True", "true", "TRUE", "1"), ("False", "false", "FALSE", "0")


def labels_encoder(column: Labels, null_values: tuple[str, ...]) -> Encoder:
    """Return the encoder of labels; the empty text and `null_values` are null, unless they are labels."""
    from sklar.rows.kernels.words import codes_of_words, word_list

    other = len(column.values)
    missing = other if column.null_code is None else column.null_code
    names = label_names(column, null_values, missing)
    words = word_list(names)

    @cache
    def numbers(kind: str) -> Numbers:
        return _numbers(names, kind, other)

    def encode(array: Any) -> Codes:
        found = integers_of(array) or floats_of(array)
        if found is None:
            return codes_of_words(text_of(array), words, other, missing)
        return _match_numbers(*found, numbers(str(array.type)), other, missing)

    return encode


def label_names(column: Labels, null_values: tuple[str, ...], missing: int) -> dict[str, int]:
    """Return the text of every label and null text, with its code; a label wins over a null text."""
    labels = {str(label): code for code, label in enumerate(column.values)}
    if column.integer_labels:
        labels |= {f"{label}.0": code for code, label in enumerate(column.values)}
    return dict.fromkeys(("", *null_values), missing) | labels


def _numbers(names: dict[str, int], kind: str, other: int) -> Numbers:
    """Return the numbers of an Arrow type that the names spell, ascending, and their codes."""
    known: dict[Any, int]
    if kind == "bool":
        known = {1: _find_first(TRUE_LABELS, names, other), 0: _find_first(FALSE_LABELS, names, other)}
    elif kind in FLOATS:
        known = float_names(names)
    else:
        known = integer_names(names)
    listed = sorted(known)
    dtype = np.float64 if kind in FLOATS else np.int64
    return np.array(listed, dtype=dtype), np.array([known[number] for number in listed], dtype=np.int32)


def _find_first(spellings: tuple[str, ...], names: dict[str, int], other: int) -> int:
    return next((names[s] for s in spellings if s in names), other)


def integer_names(names: dict[str, int]) -> dict[int, int]:
    """Return the names that spell a 64-bit integer: as plain text, or with ".0" if the plain text is not a name."""
    numbers: dict[int, int] = {}
    for name in sorted(names, key=lambda name: not name.endswith(".0")):  # plain ones come last, and win
        digits = name.removesuffix(".0")
        if (
            len(digits) <= 20
            and digits.removeprefix("-").isdecimal()
            and digits.isascii()
            and str(int(digits)) == digits
        ):
            numbers[int(digits)] = names[name]
    return {number: code for number, code in numbers.items() if -(2**63) <= number < 2**63}


def float_names(names: dict[str, int]) -> dict[float, int]:
    """Return the names that spell a float: as a whole number, or the shortest text at 32 or, which wins, at 64 bits."""
    numbers = {float(n): code for n, code in integer_names(names).items() if int(float(n)) == n}
    with np.errstate(over="ignore"):
        for width, (name, code) in product((np.float32, np.float64), names.items()):
            try:
                number = width(name)
            except (ValueError, OverflowError):
                continue
            if (
                str(number) == name
                and number == number
                and not (abs(number) < MAX_WHOLE_FLOAT and number == int(number))
            ):
                numbers[float(number)] = code
    return numbers


def _match_numbers(values: npt.NDArray[Any], valid: Mask, numbers: Numbers, other: int, missing: int) -> Codes:
    """Return the code of each value among the listed numbers."""
    listed, codes = numbers
    if not len(listed):
        return np.where(valid, other, missing).astype(np.int32)
    at = np.minimum(np.searchsorted(listed, values), len(listed) - 1)
    return np.where(valid, np.where(listed[at] == values, codes[at], other), missing).astype(np.int32)


def boolean_encoder(column: Boolean, null_values: tuple[str, ...]) -> Encoder:
    """Return the encoder of booleans: False is code 0 and True code 1."""
    from sklar.rows.kernels.words import codes_of_words, word_list

    names, missing = boolean_names(column, null_values)
    words, nulls = word_list(names), listed_numbers(null_values)

    def encode(array: Any) -> Codes:
        flags = _flags(array)
        if flags is not None:
            return flags if not array.null_count else np.where(valid_of(array), flags, missing).astype(np.uint8)
        numbers = integers_of(array) or floats_of(array)
        if numbers is not None:
            values, valid = numbers
            known = valid & ((values == 0) | (values == 1)) & ~is_listed(array, values, nulls)
            return np.where(known, values == 1, missing).astype(np.int32)
        return codes_of_words(_strip(text_of(array)), words, missing, missing)

    return encode


def packed_flags(array: Any) -> npt.NDArray[np.uint8] | None:
    """Return the bits of an Arrow array of booleans without nulls, the first in the lowest place, zeros beyond the
    last.

    None for any other array. Arrow's bits are packed already: no byte a value in between.
    """
    if not isinstance(array, pa.Array) or not pa.types.is_boolean(array.type) or array.null_count or not len(array):
        return None
    shift, size = array.offset % 8, -(-len(array) // 8)
    whole = np.frombuffer(array.buffers()[1], dtype=np.uint8)[array.offset // 8 :]
    bits = whole[:size].copy()
    if shift:
        bits >>= shift
        rest = whole[1 : size + 1]
        bits[: len(rest)] |= rest << (8 - shift)
    if len(array) % 8:
        bits[-1] &= (1 << len(array) % 8) - 1
    return bits


def _flags(array: Any) -> Codes | None:
    """Return the bits of an Arrow array of booleans as zeros and ones; None for any other array."""
    if isinstance(array, Text) or not pa.types.is_boolean(array.type):
        return None
    first, bits = array.offset % 8, np.frombuffer(array.buffers()[1], dtype=np.uint8)
    bits = bits[array.offset // 8 : (array.offset + len(array) + 7) // 8]
    return np.unpackbits(bits, count=first + len(array), bitorder="little")[first:]


def boolean_names(column: Boolean, null_values: tuple[str, ...]) -> tuple[dict[str, int], int]:
    """Return (all spellings of the words in any case, with their codes; the code of everything else).

    Texts that stand for null come last, and win.
    """
    missing = int(column.missing_value) if column.null_code is None else column.null_code
    spelled_codes: dict[str, int] = {}
    for code, spellings in ((1, TRUE_WORDS), (0, FALSE_WORDS)):
        for word in spellings:
            for letters in product(*((c, c.upper()) for c in word)):
                spelled_codes["".join(letters)] = code
    return spelled_codes | {text.strip(): missing for text in null_values}, missing


def _strip(text: Text) -> Text:
    """Return texts without ASCII spaces at either end."""
    from sklar.rows.kernels.words import strip_spaces

    begins, ends = np.empty_like(text.begins), np.empty_like(text.ends)
    strip_spaces(text.data, text.begins, text.ends, begins, ends)
    return Text(data=text.data, begins=begins, ends=ends, valid=text.valid)
