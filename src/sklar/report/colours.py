"""Colours of pages and charts, light and dark, and colour scales.

Tables and lines have colours that are distinguishable with colour blindness (after Okabe and Ito 2008). Texts have a
contrast of at least 4.5 to their background, marks of at least 3 (WCAG 2.2, AA).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

INK, SOFT, PAPER, AXIS = "#1b1b1b", "#555555", "#ffffff", "#767676"
REAL, SYNTHETIC, SYNTHETIC_TEXT = "#0072B2", "#D55E00", "#a84a00"
"""Colours of the real and the synthetic table; orange text must be darker than orange areas."""
LINES = (SYNTHETIC, REAL, "#009E73", "#b8578c", "#8a6d00", INK)
THEME: dict[str, tuple[str, str]] = {
    "ink": (INK, "#e9e9e9"), "soft": (SOFT, "#b9bcc2"), "paper": (PAPER, "#15171b"), "axis": (AXIS, "#8d9198"),
    "line": ("#d5d5d5", "#3c4048"), "wash": ("#f5f6f8", "#23262d"), "link": ("#004c99", "#8fbcff"),
    "alarm": ("#8a1c00", "#ffab96"), "alarm-wash": ("#fff4f0", "#3a211b"),
    "good": ("#00614a", "#4fd0a8"), "good-wash": ("#eef7f3", "#1d322b"), "fair": ("#7a4f00", "#e3b65c"),
    "real": (REAL, "#56B4E9"), "synthetic": (SYNTHETIC, "#f0883e"), "synthetic-text": (SYNTHETIC_TEXT, "#f0883e"),
    "line-3": (LINES[2], "#2fbf94"), "line-4": (LINES[3], "#e39bc4"), "line-5": (LINES[4], "#d3b24a"),
}  # fmt: skip
"""Colours by name, for light and dark pages."""
UNKNOWN = (221, 221, 221)
WHITE, DEEP_BLUE, BLUE, ORANGE = (255, 255, 255), (0, 58, 112), (0, 114, 178), (213, 94, 0)
Colour = tuple[int, int, int]
_NAMES = {light: name for name, (light, _) in THEME.items()}


def theme_colour(colour: str) -> str:
    """Return the CSS variable of a theme colour; other colours unchanged."""
    return f"var(--{_NAMES[colour]})" if colour in _NAMES else colour


def shade(value: float, top: float = 1.0) -> Colour:
    """Return a colour from white for 0 to deep blue for `top`; grey for NaN."""
    return UNKNOWN if math.isnan(value) else _mix(WHITE, DEEP_BLUE, min(1.0, max(0.0, value / (top or 1.0))))


def diverge(value: float, top: float = 1.0) -> Colour:
    """Return a colour from blue for -top over white for 0 to orange for `top`; grey for NaN."""
    if math.isnan(value):
        return UNKNOWN
    share = min(1.0, max(-1.0, value / (top or 1.0)))
    return _mix(WHITE, ORANGE if share > 0 else BLUE, abs(share))


def tint(colour: str, share: float) -> Colour:
    """Return a colour from white for 0 to a colour, given as #rrggbb, for 1."""
    return _mix(WHITE, bytes.fromhex(colour[1:]), share)


def _mix(one: Sequence[int], two: Sequence[int], share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, two, strict=True))
    return red, green, blue
