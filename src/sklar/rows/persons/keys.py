"""The identity of persons and the order of their rows: 128 keyed bits of the key, and the value of the order.

Keys are compared by their text without the spaces around it, so that 7 in one file and "7" in another are one person. A
whole number with a fraction of zeros is that number: 7.0 is what becomes of 7 in a column with missing values of a CSV
file, and a person spelled in both ways must not have two votes. 07 and 7 are two, as codes with leading zeros are.
Letters are composed (Unicode's form NFC), so that an é of one file is that of another. The bits are two SipHashes under
a secret of this opening of the rows: two persons share all 128 with a probability below 10^-24 for ten million persons,
and no one can search for such a pair without the secret.

A row without a key is left out, by its own value alone: a missing key, the empty text, texts that stand for null
(spelled in any of these ways), values without a text, and floats from 2^53 on, which are what neighbouring integers are
rounded to. If such rows were one person together, each of those behind them would move the rows of all.

Floats of 32 bits round integers from 2^24 on, but are keys up to 2^53 like any other: the width of a column is no
property of a value, and one odd cell turns 32 bits into 64. Keys that are rounded before a fit merge persons.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from unicodedata import normalize

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sklar.rows.codes.label_counts import is_label
from sklar.rows.codes.table import RowEncoder
from sklar.rows.encode import encoder_of
from sklar.rows.encode.arrays import Encoder, plain_codes
from sklar.rows.encode.coordinates import value_reader
from sklar.rows.encode.text import Text, text_of
from sklar.schema import Column
from sklar.schema.table import Schema

Words = npt.NDArray[np.uint64]
MAX_EXACT_KEY = 2.0**53
"""From this on a float may stand for several integers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """Random words, drawn for each opening of rows: two keys of hashes, and the seed of hashes of rows."""

    words: tuple[int, ...] = field(default_factory=lambda: tuple(secrets.randbits(64) for _ in range(5)))

    @property
    def mixing(self) -> int:
        """The seed of hashes of whole rows."""
        return self.words[4]


def key_encoders(key: str, secret: Secret, null_values: tuple[str, ...]) -> list[RowEncoder]:
    """Return encoders of two words per row that identify its person; both are 0 without a key."""
    halves = (secret.words[:2], secret.words[2:4])
    return [RowEncoder(encode=_make_key_hasher(low, high, null_values), sources=(key,)) for low, high in halves]


def order_encoder(schema: Schema, order: str, null_values: tuple[str, ...]) -> RowEncoder:
    """Return the encoder of the number that orders rows of a person; rows without it come last."""
    return RowEncoder(encode=_make_ranker(schema[order], null_values), sources=(order,))


def label_encoders(column: str, secret: Secret, null_values: tuple[str, ...]) -> list[RowEncoder]:
    """Return encoders of two words per row that identify its label in a column; 0 without a label."""
    halves = (secret.words[:2], secret.words[2:4])
    return [RowEncoder(encode=_make_label_hasher(low, high, null_values), sources=(column,)) for low, high in halves]


def _make_key_hasher(low: int, high: int, null_values: tuple[str, ...]) -> Any:
    nulls = tuple(_normalize_keys(text_of(pa.array(null_values, pa.string()))).to_arrow().to_pylist())

    def encode(array: Any) -> Words:
        text = text_of(_normalize_keys(text_of(_drop_rounded_floats(array))), nulls)
        return np.where(text.valid & (text.ends > text.begins), _hash_words(text, low, high), np.uint64(0))

    return lambda array: plain_codes(array, encode)


def _drop_rounded_floats(array: Any) -> Any:
    """Replace floats that may stand for several integers by null."""
    if isinstance(array, Text) or not pa.types.is_floating(array.type):
        return array
    values = array.to_numpy(zero_copy_only=False).astype(np.float64)
    return pa.array(values, mask=~(np.abs(values) < MAX_EXACT_KEY))


def _compose_letters(text: Text) -> Text:
    """Return texts in Unicode's form NFC; bytes that are no text stay as they are."""
    if not (text.data >= 0x80).any():  # ASCII is composed as it is
        return text
    entries = [text.entry(at) if valid else None for at, valid in enumerate(text.valid.tolist())]
    for at, entry in enumerate(entries):
        if entry is not None:
            with suppress(UnicodeDecodeError):
                entries[at] = normalize("NFC", entry.decode()).encode()
    return text_of(pa.array(entries, pa.large_binary()))


def _normalize_keys(text: Text) -> Text:
    """Return texts as keys are compared: composed, without the spaces around them, and without a fraction of zeros."""
    from sklar.rows.kernels.words import strip_spaces, trim_zero_fractions

    text = _compose_letters(text)
    begins, ends = np.empty_like(text.begins), np.empty_like(text.ends)
    strip_spaces(text.data, text.begins, text.ends, begins, ends)
    trim_zero_fractions(text.data, begins, ends)
    return replace(text, begins=begins, ends=ends)


def _make_label_hasher(low: int, high: int, null_values: tuple[str, ...]) -> Any:
    def encode(array: Any) -> Words:
        text = text_of(array, null_values)
        return np.where(is_label(text), _hash_words(text, low, high), np.uint64(0))

    return lambda array: plain_codes(array, encode)


def _hash_words(text: Text, low: int, high: int) -> Words:
    """Return a keyed 64-bit hash of each text; invalid texts get the hash of the empty text."""
    from sklar.rows.kernels.keyed import text_hashes

    out = np.empty(len(text), dtype=np.uint64)
    text_hashes(text.data, text.begins, text.ends, text.valid, np.uint64(low), np.uint64(high), out)
    return out


def _make_ranker(column: Column, null_values: tuple[str, ...]) -> Encoder:
    if column.kind == "ordinal":
        codes_of, null = encoder_of(column, null_values), column.null_code

        def ranks(array: Any) -> npt.NDArray[Any]:
            codes = codes_of(array).astype(np.int64)
            return codes if null is None else np.where(codes == null, np.iinfo(np.int64).max, codes)

        return ranks
    read = value_reader(column, null_values)

    def values(array: Any) -> npt.NDArray[Any]:
        found, missing = read(array)
        last = np.inf if found.dtype == np.float64 else np.iinfo(np.int64).max
        return np.where(missing, last, found).astype(found.dtype, copy=False)

    return values
