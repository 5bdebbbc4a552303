"""Bounds rounded outward to round numbers, so that a draft does not quote the smallest and largest value."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

MARGIN = 0.05
LARGEST = 5e307
"""Bounds beyond this would be further apart than a real can tell; values beyond are clipped."""
EXACT_SPAN = 20
"""Whole numbers without a gap that span at most this many are taken to be a scale with exactly these ends."""


def round_bounds(lowest: float, highest: float) -> tuple[float, float]:
    """Round numbers a little below and above; 0 as the lower one if no value is negative and they reach near it."""
    lowest, highest = max(lowest, -LARGEST), min(highest, LARGEST)
    span = highest - lowest or abs(highest) or 1.0
    step = nice_step(span / 10)
    lower = round_to(lowest - MARGIN * span, step, ROUND_FLOOR)
    upper = round_to(highest + MARGIN * span, step, ROUND_CEILING)
    if lowest >= 0 and (lowest <= highest / 2 or lower < 0):
        lower = 0.0
    if highest <= 0 and lowest < 0 and (highest >= lowest / 2 or upper > 0):
        upper = 0.0
    # A side that barely crosses 0 is rounded at its own size.
    if -step < lowest < 0:
        lower = -nice_step(-lowest * (1 + MARGIN))
    if 0 < highest < step and lowest < 0:
        upper = nice_step(highest * (1 + MARGIN))
    return lower, upper


def round_integer_bounds(lowest: int, highest: int, distinct: int) -> tuple[int, int]:
    """The same for whole numbers; a short scale without a gap keeps its ends."""
    if highest - lowest <= EXACT_SPAN and distinct == highest - lowest + 1:
        return lowest, highest
    if max(abs(lowest), abs(highest)) >= 2**53:
        return _around(lowest, highest)
    lower, upper = round_bounds(float(lowest), float(highest))
    return math.floor(lower), math.ceil(upper)


def nice_step(size: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is at least `size`."""
    if not size > 1e-300:
        return 1e-300
    power = Decimal(1).scaleb(math.floor(math.log10(size)))
    return float(next((m * power for m in (1, 2, 5) if m * power >= Decimal(size)), 10 * power))


def round_to(value: float, step: float, direction: str) -> float:
    """The multiple of `step` next to `value`, computed in decimals so that it prints as a round number."""
    unit = Decimal(repr(step))
    return float((Decimal(value) / unit).to_integral_value(rounding=direction) * unit)


def _around(lowest: int, highest: int) -> tuple[int, int]:
    """Exact integer arithmetic for numbers beyond the precision of reals."""
    step = 10 ** max(len(str(highest - lowest)) - 2, 0)
    lower, upper = lowest // step * step - step, -(-highest // step) * step + step
    return max(lower, -(2**63)), min(upper, 2**63 - 2)
