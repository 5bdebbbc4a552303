"""Exact whole numbers beyond 64 bits: how sums over any number of rows are kept.

Parts of votes times parts of scores leave 64 bits at some number of persons. A refusal at that number would reveal it,
so there is none: sums are kept in two words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints

WORD_BITS = 31
"""Of the lower word of a sum: times a weight of a row, and added up over parts, it stays far below 2^63."""
LARGEST = 2**60
"""Numbers below it, of either sign, go to the noise as they are."""

WholeNumbers = npt.NDArray[Any]
"""int64, or Python's own integers where some are beyond."""


def words_of(sums: Ints, weight: int) -> tuple[Ints, Ints]:
    """(upper, lower) words of sums of rows that count `weight` each: both add up."""
    return (sums >> WORD_BITS) * weight, (sums & ((1 << WORD_BITS) - 1)) * weight


def carried(upper: Ints, lower: Ints) -> tuple[Ints, Ints]:
    """The same numbers with lower words of at most 31 bits."""
    return upper + (lower >> WORD_BITS), lower & ((1 << WORD_BITS) - 1)


def from_words(upper: Ints, lower: Ints) -> WholeNumbers:
    """The numbers themselves."""
    upper, lower = carried(upper, lower)
    if (np.abs(upper) < LARGEST >> WORD_BITS).all():
        return (upper << WORD_BITS) + lower
    return upper.astype(object) * (1 << WORD_BITS) + lower
