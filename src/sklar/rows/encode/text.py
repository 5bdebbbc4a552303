"""Flat UTF-8 text: the one form in which the encoders see text, whether it comes from Arrow or from a text file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sklar.arrays import Ints, Mask
from sklar.rows.encode.spelling import spell_values, valid_of

MAX_TEXT_BYTES = 2**31 - 1
"""Most bytes of text in one batch of one column."""
_NO_TEXT = np.frombuffer(b"\0", dtype=np.uint8)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Text:
    """Flat texts: entry i is data[begins[i]:ends[i]], in UTF-8, if valid[i]."""

    data: npt.NDArray[np.uint8]
    begins: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    valid: Mask

    def __len__(self) -> int:
        return len(self.valid)

    def entry(self, at: int) -> bytes:
        """Return one text."""
        return self.data[self.begins[at] : self.ends[at]].tobytes()

    def some(self, places: Ints) -> Text:
        """Return the texts at these places."""
        return Text(data=self.data, begins=self.begins[places], ends=self.ends[places], valid=self.valid[places])

    def to_arrow(self) -> Any:
        """Return an Arrow array of strings; every entry must be valid."""
        from sklar.rows.kernels.split import gather

        offsets = np.zeros(len(self) + 1, dtype=np.int32)
        np.cumsum(self.ends - self.begins, out=offsets[1:])
        content = np.empty(offsets[-1], dtype=np.uint8)
        gather(self.data, self.begins, self.ends, content)
        return pa.Array.from_buffers(pa.string(), len(self), [None, pa.py_buffer(offsets), pa.py_buffer(content)])


def text_of(array: Any, null_values: tuple[str, ...] = ()) -> Text:
    """Return the text of any plain array; texts listed in `null_values` are null."""
    text = array if isinstance(array, Text) else _arrow_text(spell_values(array))
    return replace(text, valid=text.valid & ~_is_listed(text, null_values)) if null_values else text


def strings_of(array: Any) -> Any:
    """Return any array as an Arrow array of strings."""
    if isinstance(array, Text):
        return array.to_arrow()
    strings = spell_values(array)
    return strings if pa.types.is_string(strings.type) else _large_strings(strings)


def _arrow_text(array: Any) -> Text:
    """Return the flat text of an Arrow array of strings or bytes, in place."""
    if not pa.types.is_string(array.type):
        array = _large_strings(array)
    _, places, content = array.buffers()
    count = len(array)
    nowhere = np.zeros(count, dtype=np.int32)
    if not count or places is None or content is None:
        return Text(data=_NO_TEXT, begins=nowhere, ends=nowhere, valid=valid_of(array))
    wide = pa.types.is_large_string(array.type)
    offsets = np.frombuffer(places, dtype=np.int64 if wide else np.int32)[array.offset : array.offset + count + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    if last - first > MAX_TEXT_BYTES:
        # Only a single value can be that long: longer batches were split before. It is no number and no label.
        return Text(data=_NO_TEXT, begins=nowhere, ends=nowhere, valid=np.zeros(count, dtype=bool))
    data = np.frombuffer(content, dtype=np.uint8)[first:last] if last > first else _NO_TEXT
    places32 = (offsets - first).astype(np.int32)
    return Text(data=data, begins=places32[:-1], ends=places32[1:], valid=valid_of(array))


def _large_strings(array: Any) -> Any:
    """Convert strings of another layout, or bytes, which need not be UTF-8 to be matched."""
    if pa.types.is_large_string(array.type):
        return array
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    flat = array.cast(pa.large_binary())
    return pa.Array.from_buffers(pa.large_string(), len(flat), flat.buffers(), flat.null_count, flat.offset)


def _is_listed(text: Text, words: tuple[str, ...]) -> Mask:
    from sklar.rows.kernels.words import codes_of_words

    return codes_of_words(text, _null_words(words), 0, 0).astype(bool)


@lru_cache(maxsize=16)
def _null_words(words: tuple[str, ...]) -> Any:
    from sklar.rows.kernels.words import word_list

    return word_list(dict.fromkeys(words, 1))
