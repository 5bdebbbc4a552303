"""Boolean columns: true and false in their usual spellings, one and zero; everything else counts as missing."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sklar.rows.encode.arrays import Codes, Encoder, floats_of, integers_of, is_listed, listed_numbers
from sklar.rows.encode.spelling import valid_of
from sklar.rows.encode.text import Text, text_of
from sklar.schema import Boolean

TRUE_WORDS = ("true", "t", "yes", "y", "1", "1.0")
FALSE_WORDS = ("false", "f", "no", "n", "0", "0.0")


def boolean_encoder(column: Boolean, null_values: tuple[str, ...]) -> Encoder:
    """False is code 0 and True code 1."""
    from sklar.rows.kernels.words import codes_of_words, word_list

    missing = int(column.missing_value) if column.null_code is None else column.null_code
    words, nulls = word_list(_spellings(null_values, missing)), listed_numbers(null_values)

    def encode(array: Any) -> Codes:
        flags = _flags(array)
        if flags is not None:
            return flags if not array.null_count else np.where(valid_of(array), flags, missing).astype(np.uint8)
        numbers = integers_of(array) or floats_of(array)
        if numbers is not None:
            values, valid = numbers
            known = valid & ((values == 0) | (values == 1)) & ~is_listed(array, values, nulls)
            return np.where(known, values == 1, missing).astype(np.int32)
        return codes_of_words(_stripped(text_of(array)), words, missing, missing)

    return encode


def packed_flags(array: Any) -> npt.NDArray[np.uint8] | None:
    """The bits of an Arrow array of booleans without nulls, the first in the lowest place, zeros beyond the last.

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
    """The bits of an Arrow array of booleans as zeros and ones; None for any other array."""
    if isinstance(array, Text) or not pa.types.is_boolean(array.type):
        return None
    first, bits = array.offset % 8, np.frombuffer(array.buffers()[1], dtype=np.uint8)
    bits = bits[array.offset // 8 : (array.offset + len(array) + 7) // 8]
    return np.unpackbits(bits, count=first + len(array), bitorder="little")[first:]


def _spellings(null_values: tuple[str, ...], missing: int) -> dict[str, int]:
    """Every way of writing the words in small and capital letters, except those that stand for null."""
    spelled_codes: dict[str, int] = {}
    for code, spellings in ((1, TRUE_WORDS), (0, FALSE_WORDS)):
        for word in spellings:
            for letters in product(*((c, c.upper()) for c in word)):
                spelled_codes["".join(letters)] = code
    return spelled_codes | {text.strip(): missing for text in null_values}


def _stripped(text: Text) -> Text:
    """Without ASCII spaces at either end."""
    from sklar.rows.kernels.words import strip_spaces

    begins, ends = np.empty_like(text.begins), np.empty_like(text.ends)
    strip_spaces(text.data, text.begins, text.ends, begins, ends)
    return Text(data=text.data, begins=begins, ends=ends, valid=text.valid)
