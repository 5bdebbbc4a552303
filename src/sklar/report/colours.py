"""Colours that people with colour-blindness tell apart (Okabe and Ito 2008), and scales made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

REAL = "#0072B2"
SYNTHETIC = "#D55E00"
UNKNOWN = (221, 221, 221)
WHITE, DEEP_BLUE, BLUE, ORANGE = (255, 255, 255), (0, 58, 112), (0, 114, 178), (213, 94, 0)
Colour = tuple[int, int, int]


def shade(value: float, top: float = 1.0) -> Colour:
    """White for 0 to deep blue for `top`; grey for NaN."""
    return UNKNOWN if math.isnan(value) else _mix(WHITE, DEEP_BLUE, min(1.0, max(0.0, value / (top or 1.0))))


def diverge(value: float, top: float = 1.0) -> Colour:
    """Blue for -top over white for 0 to orange for `top`; grey for NaN."""
    if math.isnan(value):
        return UNKNOWN
    share = min(1.0, max(-1.0, value / (top or 1.0)))
    return _mix(WHITE, ORANGE if share > 0 else BLUE, abs(share))


def tint(colour: str, share: float) -> Colour:
    """White for 0 to a colour, given as #rrggbb, for 1."""
    return _mix(WHITE, bytes.fromhex(colour[1:]), share)


def _mix(one: Sequence[int], two: Sequence[int], share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, two, strict=True))
    return red, green, blue
