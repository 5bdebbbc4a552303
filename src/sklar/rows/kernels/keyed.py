"""Keyed hashes of texts (SipHash-2-4), by which rows of one person find each other without the key being kept.

Reference: Aumasson, Bernstein (2012), "SipHash: a fast short-input PRF".
"""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import numpy as np

from sklar.arrays import compiled, compiled_part


@compiled_part(inline="always")
def _rotate_left(word, bits):
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@compiled_part()
def _round(a, b, c, d):
    a += b
    b = _rotate_left(b, 13) ^ a
    a = _rotate_left(a, 32)
    c += d
    d = _rotate_left(d, 16) ^ c
    a += d
    d = _rotate_left(d, 21) ^ a
    c += b
    b = _rotate_left(b, 17) ^ c
    c = _rotate_left(c, 32)
    return a, b, c, d


@compiled()
def siphash(data, start, end, low, high):
    """Return SipHash-2-4 of data[start:end] under the 128-bit key (low, high)."""
    a, b = low ^ np.uint64(0x736F6D6570736575), high ^ np.uint64(0x646F72616E646F6D)
    c, d = low ^ np.uint64(0x6C7967656E657261), high ^ np.uint64(0x7465646279746573)
    length = end - start
    for at in range(start, end - length % 8 + 1, 8):
        word = np.uint64(0)
        for k in range(min(8, end - at)):
            word |= np.uint64(data[np.uintp(at + k)]) << np.uint64(8 * k)
        if end - at < 8:
            word |= np.uint64(length & 0xFF) << np.uint64(56)
        d ^= word
        a, b, c, d = _round(a, b, c, d)
        a, b, c, d = _round(a, b, c, d)
        a ^= word
    c ^= np.uint64(0xFF)
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@compiled()
def text_hashes(data, begins, ends, valid, low, high, out):
    """Hash each text; invalid texts get the hash of the empty text."""
    for i in range(len(begins)):
        start = np.int64(begins[i])
        out[i] = siphash(data, start, np.int64(ends[i]) if valid[i] else start, low, high)
