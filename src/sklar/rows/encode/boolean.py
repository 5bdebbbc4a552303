"""Boolean columns: true and false in their usual spellings, one and zero; everything else counts as missing."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from sklar.rows.encode.arrays import Codes, Encoder, floats_of, integers_of, spelled, text_of
from sklar.schema import Boolean

TRUE_WORDS = ("true", "t", "yes", "y", "1", "1.0")
FALSE_WORDS = ("false", "f", "no", "n", "0", "0.0")


def boolean_encoder(column: Boolean, null_values: tuple[str, ...]) -> Encoder:
    """False is code 0 and True code 1."""
    from sklar.rows.kernels.words import word_codes, word_list

    missing = int(column.missing_value) if column.null_code is None else column.null_code
    words = word_list(_spellings(null_values, missing))

    def encode(array: Any) -> Codes:
        numbers = integers_of(array) or floats_of(array)
        if numbers is not None:
            values, valid = numbers
            known = valid & ((values == 0) | (values == 1))
            return np.where(known, values == 1, missing).astype(np.int32)
        text = text_of(_stripped(spelled(array)))
        out = np.empty(len(text.valid), dtype=np.int32)
        table = (words.slots, words.data, words.offsets, words.codes)
        word_codes(text.data, text.offsets, text.valid, *table, missing, missing, out)
        return out

    return encode


def _spellings(null_values: tuple[str, ...], missing: int) -> dict[str, int]:
    """Every way of writing the words in small and capital letters, except those that stand for null."""
    spelled_codes: dict[str, int] = {}
    for code, spellings in ((1, TRUE_WORDS), (0, FALSE_WORDS)):
        for word in spellings:
            for letters in product(*((c, c.upper()) for c in word)):
                spelled_codes["".join(letters)] = code
    return spelled_codes | {text.strip(): missing for text in null_values}


def _stripped(array: Any) -> Any:
    """Without ASCII spaces at either end."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        array = array.cast(pa.large_string()) if pa.types.is_string_view(array.type) else array
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return pc.call_function("ascii_trim_whitespace", [array])
    return array
