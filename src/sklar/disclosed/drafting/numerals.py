"""Texts that are numbers, as the value rules read them, and the digits they are written with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.disclosed.drafting.profile import Profile, is_excuse, is_missing_word

NUMERAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
ENOUGH = 0.95
"""A column of text is one of numbers if this share of what is not a word for missing reads as a number."""
MOST_DECIMALS = 6
LARGEST_EXACT = 2.0**53
"""From here on reals have no digits after the point."""
FIRST = 200
PADDED = re.compile(r"\s*0\d")


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


@lru_cache(maxsize=1)
def numbers_of(profile: Profile) -> Numbers | None:
    """The numbers of a column, or None if it is not one of numbers. Kept for the next guess about the same column."""
    if profile.form in ("integer", "real"):
        return _collected(list(profile.values), profile.counts)
    if profile.form != "text" or not _seems_numeric(profile.values[:FIRST]):
        return None
    numeric = np.array([NUMERAL.fullmatch(v) is not None for v in profile.values], dtype=bool)
    odd = [(profile.values[i], int(profile.counts[i])) for i in np.flatnonzero(~numeric)]
    unread = sum(count for value, count in odd if not is_missing_word(value))
    excused = sum(count for value, count in odd if is_excuse(value))
    rows = int(profile.counts[numeric].sum())
    if rows < ENOUGH * (rows + unread - excused) or rows < excused:
        return None
    texts = [v for v, n in zip(profile.values, numeric, strict=True) if n]
    padded = any(PADDED.match(v) for v in texts)
    return _collected([_number(v) for v in texts], profile.counts[numeric], unread, padded)


def decimals_of(values: npt.NDArray[np.float64]) -> int | None:
    """Digits after the point that are enough for all values; None if many are needed."""
    if np.max(np.abs(values)) >= LARGEST_EXACT:
        return None
    for digits in range(MOST_DECIMALS + 1):
        if np.array_equal(np.round(values, digits), values):
            return digits
    return None


def _seems_numeric(texts: Sequence[Any]) -> bool:
    """A quick look at the first texts, to spare the rest of a column of words."""
    words = [v for v in texts if not (is_missing_word(v) or is_excuse(v))]
    return sum(NUMERAL.fullmatch(v) is not None for v in words) > len(words) / 2


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _collected(
    values: list[Any], counts: npt.NDArray[np.int64], unread: int = 0, padded: bool = False
) -> Numbers | None:
    """Numbers in order, equal ones (1 and 1.0) together; infinite ones, which are clipped, are left out."""
    floats = np.array(values, dtype=np.float64)
    finite = np.isfinite(floats)
    if not finite.any():
        return None
    whole = bool(np.all(np.floor(floats[finite]) == floats[finite]))
    if whole:
        found: dict[int, int] = {}
        for i in np.flatnonzero(finite):
            number = int(values[i])
            found[number] = found.get(number, 0) + int(counts[i])
        ordered = sorted(found)
        sums = np.array([found[v] for v in ordered], dtype=np.int64)
    else:
        distinct, place = np.unique(floats[finite], return_inverse=True)
        ordered = distinct.tolist()
        sums = np.bincount(place, weights=counts[finite]).astype(np.int64)
    return Numbers(values=tuple(ordered), counts=sums, whole=whole, unread=unread, padded=padded)
