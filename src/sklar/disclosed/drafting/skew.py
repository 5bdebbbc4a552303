"""Cells that are finer where most values lie, for columns whose bulk would fall into a few of many equal cells."""

from __future__ import annotations

import math
from decimal import Decimal

from sklar.disclosed.drafting.numerals import Numbers

BULK = 0.01
"""Skewed: the middle half of the values spans less than this share of the range."""
MOST_DECADES = 12
STEPS = ("1", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9",
         "2", "2.2", "2.4", "2.6", "2.8", "3", "3.2", "3.4", "3.6", "3.8",
         "4", "4.5", "5", "5.5", "6", "6.5", "7", "7.5", "8", "8.5", "9", "9.5")  # fmt: skip
"""Edges in each decade: 5 to 10 percent apart, and all short numbers."""


def is_skewed(numbers: Numbers, lower: float, upper: float) -> bool:
    """Whether equal cells would be too coarse for the bulk of the values."""
    return numbers.quantile(0.75) - numbers.quantile(0.25) < BULK * (upper - lower)


def growing_edges(numbers: Numbers, lower: float, upper: float) -> tuple[float, ...]:
    """Edges that grow in proportion to the distance from 0, on both sides of it, from the size of the small values on.

    Empty if the range does not reach down to the size of 0, where such edges would not be finer.
    """
    sizes = sorted((abs(float(v)), int(c)) for v, c in zip(numbers.values, numbers.counts, strict=True) if v != 0)
    total, reach = sum(c for _, c in sizes), max(abs(lower), abs(upper))
    small, seen = reach, 0
    for size, count in sizes:
        seen += count
        if seen >= 0.02 * total:
            small = size
            break
    first = max(math.floor(math.log10(small)), math.ceil(math.log10(reach)) - MOST_DECADES)
    ladder = [float(Decimal(s).scaleb(k)) for k in range(first, math.ceil(math.log10(reach)) + 1) for s in STEPS]
    inside = [e for e in (*ladder, 0.0, *(-x for x in ladder)) if lower < e < upper]
    edges = tuple(sorted({lower, *inside, upper}))
    return edges if len(ladder) > 2 * len(STEPS) and lower <= 0 <= upper else ()
