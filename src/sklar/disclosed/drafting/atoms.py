"""Values that many rows share exactly, and numbers that look like codes for a missing value."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.disclosed.drafting.numerals import Numbers

SHARE = 0.05
"""A number that holds more than this share of the rows gets a cell of its own."""
SENTINELS = frozenset({-1, -7, -8, -9, -77, -88, -99, -777, -888, -999, -9999, 77, 88, 97, 98, 99, 777, 888, 998, 999,
                       9998, 9999, 99999, 999999})  # fmt: skip


def shared_values(numbers: Numbers) -> tuple[Any, ...]:
    """The numbers that hold more than SHARE of the rows."""
    return tuple(numbers.values[i] for i in np.flatnonzero(numbers.counts > SHARE * numbers.counts.sum()))


def sentinels(numbers: Numbers) -> tuple[Any, ...]:
    """Typical codes for missing (-1, 99, 999, ...) that stand far outside all other values."""
    often = max(3, 0.002 * numbers.counts.sum())
    marked = [v for v in (numbers.values[i] for i in np.flatnonzero(numbers.counts >= often)) if v in SENTINELS]
    if not marked:
        return ()
    rest = [v for v in numbers.values if v not in SENTINELS]
    if len(rest) < 2:
        return ()
    low, high = rest[0], rest[-1]
    gap = max((high - low) / 10, 1)
    return tuple(v for v in marked if v < low - gap or v > high + gap or (v < 0 <= low))
