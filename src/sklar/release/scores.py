"""Scores of a row, read off its base codes by lookups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.release.lookups import Lookup, code_counts, freeze_lookups, require_rule

SCORE_BITS = 10
"""Scores are multiples of 2^-10."""
SCORE_LIMIT = 3 << SCORE_BITS
"""Scores lie in [-3, 3], so that no single column dominates the direction of a row."""
SUM_VOTE_BITS = 14
"""In sums of scores a vote is divided into parts of 2^-14: finer parts times scores could overflow 64 bits."""
MAX_SCORES = 8192
"""With more scores than this, a sum over rows could exceed the integers that float64 holds exactly."""


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
        object.__setattr__(self, "lookups", freeze_lookups(self.lookups, "scores"))
        require_rule(len(self.columns) == len(self.lookups), "scores need one lookup per column")
        require_rule(len(self.columns) <= MAX_SCORES, f"at most {MAX_SCORES} scores can be summed")
        fits = all(int(np.abs(a.astype(np.int64)).max()) <= SCORE_LIMIT for a in self.lookups)
        require_rule(fits, "scores must lie between -3 and 3")

    @property
    def count(self) -> int:
        """Number of scores, d."""
        return len(self.columns)

    @property
    def reads(self) -> tuple[tuple[str, int], ...]:
        """(column, number of base codes it must have) for every lookup."""
        return code_counts(self.columns, self.lookups)
