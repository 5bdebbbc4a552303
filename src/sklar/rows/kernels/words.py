"""Looking words up in a small public list by hashing, straight from flat UTF-8 text to codes."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints, compiled, compiled_part
from sklar.rows.kernels.decimals import is_space


class WordList(NamedTuple):
    """An open-addressing hash table of words, as `word_codes` takes it.

    Attributes:
        slots: Word number plus one in each slot, 0 where free; a power of two of them, at most a quarter full.
        data: All words, one after the other.
        offsets: Where each word starts, and the end of the last.
        heads: First eight bytes of each word, as a number.
        codes: Code of each word.
    """

    slots: Ints
    data: npt.NDArray[np.uint8]
    offsets: Ints
    heads: npt.NDArray[np.uint64]
    codes: Ints


def word_list(codes: Mapping[str, int]) -> WordList:
    """Prepare words and their codes for `word_codes`."""
    words = [word.encode("utf-8", "surrogatepass") for word in codes]
    offsets = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum([len(w) for w in words], out=offsets[1:])
    data = np.frombuffer(b"".join(words) or b"\0", dtype=np.uint8)
    slots = np.zeros(1 << max(4, (4 * len(words)).bit_length()), dtype=np.int64)
    heads = np.zeros(len(words), dtype=np.uint64)
    _fill(data, offsets, slots, heads)
    return WordList(slots, data, offsets, heads, np.array(list(codes.values()), dtype=np.int64))


def codes_of_words(text: Any, words: WordList, other: int, missing: int) -> npt.NDArray[np.int32]:
    """Return the code of each text of a flat `Text`: that of the equal word, `missing` if not valid, else `other`."""
    out = np.empty(len(text), dtype=np.int32)
    word_codes(text.data, text.begins, text.ends, text.valid, *words, other, missing, out)
    return out


@compiled_part()
def _hash(data, start, end):
    """Return (hash, first eight bytes as a number): eight bytes at a time, multiplied and folded.

    The list is public and small, so no attack on it matters.
    """
    state, head, at = np.uint64(end - start), np.uint64(0), start
    while at < end:
        word, stop = np.uint64(0), min(at + 8, end)
        while at < stop:
            word = (word << np.uint64(8)) | np.uint64(data[np.uintp(at)])
            at += 1
        head = word if at - start <= 8 else head
        state = (state ^ word) * np.uint64(0x9E3779B97F4A7C15)
        state ^= state >> np.uint64(32)
    return state, head


@compiled()
def _fill(data, offsets, slots, heads):
    mask = np.uint64(len(slots) - 1)
    for word in range(len(offsets) - 1):
        at, heads[word] = _hash(data, offsets[word], offsets[word + 1])
        at &= mask
        while slots[at]:
            at = (at + np.uint64(1)) & mask
        slots[at] = word + 1


@compiled_part()
def _same(data, start, words, left, length):
    """Return whether two texts are equal from their ninth byte on."""
    k = 8
    while k < length and data[start + k] == words[left + k]:
        k += 1
    return k >= length


@compiled()
def word_codes(data, begins, ends, valid, slots, words, word_offsets, heads, codes, other, missing, out):
    """Find the code of each text: that of the equal word, byte for byte; `missing` if invalid, else `other`."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(begins)):
        if not valid[i]:
            out[i] = missing
            continue
        start, end = np.int64(begins[i]), np.int64(ends[i])
        at, head = _hash(data, start, end)
        at &= mask
        found = other
        while slots[at]:
            word = np.uintp(slots[at] - 1)
            left = word_offsets[word]
            length = word_offsets[word + np.uintp(1)] - left
            if heads[word] == head and length == end - start and _same(data, start, words, left, length):
                found = codes[word]
                break
            at = (at + np.uint64(1)) & mask
        out[i] = found


@compiled()
def strip_spaces(data, begins, ends, new_begins, new_ends):
    """Return bounds of each text without the ASCII spaces at either end."""
    for i in range(len(begins)):
        at, end = begins[i], ends[i]
        while at < end and is_space(data[at]):
            at += 1
        while end > at and is_space(data[end - 1]):
            end -= 1
        new_begins[i], new_ends[i] = at, end


@compiled()
def trim_zero_fractions(data, begins, ends):
    """Return whole numbers without a fraction of zeros: 7.0 and 7. end where 7 does; all other texts stay as they
    are."""
    for i in range(len(begins)):
        first = begins[i]
        if first < ends[i] and data[first] == ord("-"):
            first += 1
        point = first
        while point < ends[i] and ord("0") <= data[point] <= ord("9"):
            point += 1
        if point == first or point == ends[i] or data[point] != ord("."):
            continue
        at = point + 1
        while at < ends[i] and data[at] == ord("0"):
            at += 1
        if at == ends[i]:
            ends[i] = point
