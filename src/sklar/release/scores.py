"""Scores of a row, read off its base codes by lookups, and what all lookups in requests must obey."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.errors import DoorError

SCORE_BITS = 10
"""Scores are multiples of 2^-10."""
SCORE_LIMIT = 3 << SCORE_BITS
"""Scores lie in [-3, 3], so that no single column rules the direction of a row."""
SUM_VOTE_BITS = 14
"""In sums of scores a vote is shared out in parts of 2^-14: with those of scores, finer ones could leave 64 bits."""
MAX_SCORES = 8192
"""Beyond this many scores a sum over rows could leave the integers that float64 holds exactly."""

Lookup = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """The d numbers that place a row on a sphere: one per lookup, read off the row's base codes.

    Attributes:
        columns: Column of each lookup; a column may occur more than once.
        lookups: For each of them, base code -> score in units of 2^-10, between -3 * 2^10 and 3 * 2^10.
    """

    columns: tuple[str, ...]
    lookups: tuple[Lookup, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookups", frozen_lookups(self.lookups, "scores"))
        require(len(self.columns) == len(self.lookups), "scores need one lookup per column")
        require(len(self.columns) <= MAX_SCORES, f"at most {MAX_SCORES} scores can be summed")
        fits = all(int(np.abs(a.astype(np.int64)).max()) <= SCORE_LIMIT for a in self.lookups)
        require(fits, "scores must lie between -3 and 3")

    @property
    def count(self) -> int:
        """d."""
        return len(self.columns)

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        return read_lookups(self.columns, self.lookups)


def frozen_lookups(arrays: Iterable[npt.NDArray[Any]], what: str) -> tuple[Lookup, ...]:
    """Own read-only copies: a description cannot change after its bound was computed."""
    copies = []
    for array in arrays:
        require(array.ndim == 1 and array.size > 0, f"{what} are one-dimensional lookups with at least one entry")
        require(np.issubdtype(array.dtype, np.integer), f"{what} are integer lookups")
        require(int(array.min()) >= -(2**31) and int(array.max()) < 2**31, f"{what} must fit into 32 bits")
        copy = array.astype(np.int32)
        copy.flags.writeable = False
        copies.append(copy)
    return tuple(copies)


def read_lookups(columns: tuple[str, ...], lookups: tuple[Lookup, ...]) -> tuple[tuple[str, int], ...]:
    """(column, number of base codes it must have) for every lookup."""
    return tuple((c, len(a)) for c, a in zip(columns, lookups, strict=True))


def require(truth: object, rule: str) -> None:
    """Refuse a description that breaks a rule."""
    if not truth:
        raise DoorError(f"this feature cannot be summed: {rule}.")
