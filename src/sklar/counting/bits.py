"""Numbers of rows with a bit set, and with both of two bits set for all pairs of many bit rows at once."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from sklar.arrays import compiled, compiled_part

TILE = 4
"""Features are taken four by four, so that each word loaded serves four counts. Their number must be a multiple."""
BLOCK_FEATURES = 64
BLOCK_WORDS = 256
"""A block of features times words takes 128 KB and stays in the second-level cache."""


@intrinsic
def _popcount(typing_context: Any, word: Any) -> Any:
    """Return the number of bits set in a 64-bit word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


popcount: Any = _popcount


@compiled()
def count_ones(data):
    """Return the number of bits set in bytes."""
    total = np.uint64(0)
    for byte in data:
        total += popcount(np.uint64(byte))
    return np.int64(total)


@compiled()
def count_pair_ones(bits, ones, blocks):
    """Add to ones[i, j], for i <= j, the number of places where rows i and j of `bits` are both set.

    Args:
        bits: uint64 words, one row of the matrix a feature.
        ones: int64 counts; entries below the diagonal are not used.
        blocks: Which blocks of columns of `ones` to work on; different threads take different ones.
    """
    features, words = bits.shape
    for low in range(0, words, BLOCK_WORDS):
        high = min(low + BLOCK_WORDS, words)
        for block in blocks:
            end = min((block + 1) * BLOCK_FEATURES, features)
            for i in range(0, end, TILE):
                for j in range(max(block * BLOCK_FEATURES, i), end, TILE):
                    _tile(bits, i, j, low, high, ones)


@compiled_part()
def _tile(bits, i, j, low, high, ones):
    """Add sixteen counts at once, in registers."""
    n00 = n01 = n02 = n03 = n10 = n11 = n12 = n13 = np.uint64(0)
    n20 = n21 = n22 = n23 = n30 = n31 = n32 = n33 = np.uint64(0)
    for w in range(low, high):
        a0, a1, a2, a3 = bits[i, w], bits[i + 1, w], bits[i + 2, w], bits[i + 3, w]
        b0, b1, b2, b3 = bits[j, w], bits[j + 1, w], bits[j + 2, w], bits[j + 3, w]
        n00 += popcount(a0 & b0)
        n01 += popcount(a0 & b1)
        n02 += popcount(a0 & b2)
        n03 += popcount(a0 & b3)
        n10 += popcount(a1 & b0)
        n11 += popcount(a1 & b1)
        n12 += popcount(a1 & b2)
        n13 += popcount(a1 & b3)
        n20 += popcount(a2 & b0)
        n21 += popcount(a2 & b1)
        n22 += popcount(a2 & b2)
        n23 += popcount(a2 & b3)
        n30 += popcount(a3 & b0)
        n31 += popcount(a3 & b1)
        n32 += popcount(a3 & b2)
        n33 += popcount(a3 & b3)
    ones[i, j] += np.int64(n00)
    ones[i, j + 1] += np.int64(n01)
    ones[i, j + 2] += np.int64(n02)
    ones[i, j + 3] += np.int64(n03)
    ones[i + 1, j] += np.int64(n10)
    ones[i + 1, j + 1] += np.int64(n11)
    ones[i + 1, j + 2] += np.int64(n12)
    ones[i + 1, j + 3] += np.int64(n13)
    ones[i + 2, j] += np.int64(n20)
    ones[i + 2, j + 1] += np.int64(n21)
    ones[i + 2, j + 2] += np.int64(n22)
    ones[i + 2, j + 3] += np.int64(n23)
    ones[i + 3, j] += np.int64(n30)
    ones[i + 3, j + 1] += np.int64(n31)
    ones[i + 3, j + 2] += np.int64(n32)
    ones[i + 3, j + 3] += np.int64(n33)
