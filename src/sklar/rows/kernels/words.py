"""Looking words up in a small public list by hashing, straight from flat UTF-8 text to codes."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit


@dataclass(frozen=True, slots=True, kw_only=True)
class WordList:
    """An open-addressing hash table of words.

    Attributes:
        slots: Word number plus one in each slot, 0 where free; a power of two of them, at most a quarter full.
        data: All words, one after the other.
        offsets: Where each word starts, and the end of the last.
        codes: Code of each word.
    """

    slots: npt.NDArray[np.int64]
    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int64]


def word_list(codes: Mapping[str, int]) -> WordList:
    """Prepare words and their codes for `word_codes`."""
    words = [word.encode("utf-8", "surrogatepass") for word in codes]
    offsets = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum([len(w) for w in words], out=offsets[1:])
    data = np.frombuffer(b"".join(words) or b"\0", dtype=np.uint8)
    slots = np.zeros(1 << max(4, (4 * len(words)).bit_length()), dtype=np.int64)
    _fill(data, offsets, slots)
    return WordList(slots=slots, data=data, offsets=offsets, codes=np.array(list(codes.values()), dtype=np.int64))


@njit(nogil=True, cache=True)
def _hash(data, start, end):
    # Fowler-Noll-Vo 1a with a last mixing step; the list is public and small, so no attack on it matters.
    state = np.uint64(14695981039346656037)
    for k in range(start, end):
        state = (state ^ np.uint64(data[k])) * np.uint64(1099511628211)
    return state ^ (state >> np.uint64(32))


@njit(nogil=True, cache=True)
def _fill(data, offsets, slots):
    mask = np.uint64(len(slots) - 1)
    for word in range(len(offsets) - 1):
        at = _hash(data, offsets[word], offsets[word + 1]) & mask
        while slots[at]:
            at = (at + np.uint64(1)) & mask
        slots[at] = word + 1


@njit(nogil=True, cache=True)
def word_codes(data, offsets, valid, slots, words, word_offsets, codes, other, missing, out):
    """Code of each text: that of the word it equals byte for byte, `missing` if invalid, else `other`."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(offsets) - 1):
        if not valid[i]:
            out[i] = missing
            continue
        start, end = offsets[i], offsets[i + 1]
        at = _hash(data, start, end) & mask
        found = other
        while slots[at]:
            word = slots[at] - 1
            left = word_offsets[word]
            if word_offsets[word + 1] - left == end - start:
                k = 0
                while k < end - start and data[start + k] == words[left + k]:
                    k += 1
                if k == end - start:
                    found = codes[word]
                    break
            at = (at + np.uint64(1)) & mask
        out[i] = found
