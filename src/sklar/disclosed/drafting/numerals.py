"""Texts that are numbers, as the value rules read them, and the digits they are written with."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.disclosed.drafting.profile import Profile, is_missing_word

NUMERAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
ENOUGH = 0.95
"""A column of text is one of numbers if this share of what is not a word for missing reads as a number."""
MOST_DECIMALS = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Numbers:
    """The distinct finite numbers of a column.

    Attributes:
        values: Ascending; plain integers where all are whole, so that large ones keep every digit.
        counts: How often each occurs.
        whole: Whether all are whole numbers.
        unread: Number of rows with text that is neither a number nor a word for missing.
        padded: Whether numbers are written with leading zeros.
    """

    values: tuple[Any, ...]
    counts: npt.NDArray[np.int64]
    whole: bool
    unread: int
    padded: bool

    @property
    def floats(self) -> npt.NDArray[np.float64]:
        """The values as reals."""
        return np.array([float(v) for v in self.values])

    def quantile(self, share: float) -> float:
        """The value below which this share of the rows lies."""
        at = int(np.searchsorted(np.cumsum(self.counts), share * self.counts.sum()))
        return float(self.values[min(at, len(self.values) - 1)])


def numbers_of(profile: Profile) -> Numbers | None:
    """The numbers of a column, or None if it is not one of numbers."""
    if profile.form not in ("integer", "real", "text"):
        return None
    read = [(_number(v), v, int(c)) for v, c in zip(profile.values, profile.counts, strict=True)]
    found = [(x, c) for x, _, c in read if x is not None and math.isfinite(x)]
    unread = sum(c for x, v, c in read if x is None and not is_missing_word(v))
    if not found or sum(c for _, c in found) < ENOUGH * (sum(c for _, c in found) + unread):
        return None
    counts: dict[Any, int] = {}
    whole = all(x == math.floor(x) for x, _ in found)
    for x, c in found:
        x = int(x) if whole else float(x)
        counts[x] = counts.get(x, 0) + c
    values = tuple(sorted(counts))
    padded = any(isinstance(v, str) and re.match(r"\s*0\d", v) for x, v, _ in read if x is not None)
    return Numbers(
        values=values, counts=np.array([counts[v] for v in values]), whole=whole, unread=unread, padded=padded
    )


def decimals_of(values: npt.NDArray[np.float64]) -> int | None:
    """Digits after the point that are enough for all values; None if many are needed."""
    for digits in range(MOST_DECIMALS + 1):
        if np.array_equal(np.round(values, digits), values):
            return digits
    return None


def _number(value: Any) -> int | float | None:
    if not isinstance(value, str):
        return value
    if not NUMERAL.fullmatch(value):
        return None
    try:
        return int(value)
    except ValueError:
        return float(value)
