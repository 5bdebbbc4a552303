"""Exact whole numbers beyond 64 bits: how sums over any number of rows are kept, and how they get their noise.

Parts of votes times parts of scores leave 64 bits at some number of persons. A refusal at that number would tell it, so
there is none: sums are kept in two words, and noise is added to the lower end of a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.accounting.noise import Noise
from sklar.arrays import Ints
from sklar.private.noise import NoiseSource

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


def with_noise(
    source: NoiseSource, exact_numbers: Sequence[WholeNumbers], noises: Sequence[Noise]
) -> list[WholeNumbers]:
    """The numbers with noise on each, as if it had been added to the whole of them.

    A number is x = 2 L a + b with -L <= b < L, L = 2^60. Noise z is added to b, and 2 L a comes back on top, which is
    x + z. So what is returned has the law of x + z, and depends on a and b through it alone. |z| < 2^62 by
    `require_samplable`, and so b + z is below 2^63.
    """
    lower = [_lower_end(numbers) for numbers in exact_numbers]
    # Sensitivity: that of the numbers, which the caller argues; the noise is on x = 2 L a + b as a whole.
    noisy = source.add(lower, noises)
    return [
        values if numbers.dtype != object else values.astype(object) + (numbers - ends)
        for numbers, ends, values in zip(exact_numbers, lower, noisy, strict=True)
    ]


def _lower_end(exact_numbers: WholeNumbers) -> Ints:
    if exact_numbers.dtype != object:
        return exact_numbers
    return ((exact_numbers + LARGEST) % (2 * LARGEST) - LARGEST).astype(np.int64)
