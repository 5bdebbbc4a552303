"""Exact whole numbers beyond 64 bits, for sums over any number of rows.

Parts of votes times parts of scores exceed 64 bits at some number of persons. A refusal at that number would reveal it,
so sums are kept in two words instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints

WORD_BITS = 31
"""Bits of the lower word of a sum: times the weight of a row, and added up over parts, it stays far below 2^63."""
MAX_INT64_SUM = 2**60
"""Sums below this in absolute value are kept in int64, which leaves enough of its range for noise."""

WholeNumbers = npt.NDArray[Any]
"""int64, or Python's own integers where some exceed it."""


def split_words(sums: Ints, weight: int) -> tuple[Ints, Ints]:
    """Return (upper, lower) words of sums of rows of this weight: both add up."""
    return (sums >> WORD_BITS) * weight, (sums & ((1 << WORD_BITS) - 1)) * weight


def carry_words(upper: Ints, lower: Ints) -> tuple[Ints, Ints]:
    """Carry over the lower words to at most 31 bits."""
    return upper + (lower >> WORD_BITS), lower & ((1 << WORD_BITS) - 1)


def join_words(upper: Ints, lower: Ints) -> WholeNumbers:
    """Return the numbers from their words."""
    upper, lower = carry_words(upper, lower)
    if (np.abs(upper) < MAX_INT64_SUM >> WORD_BITS).all():
        return (upper << WORD_BITS) + lower
    return upper.astype(object) * (1 << WORD_BITS) + lower
