"""A measured table of one or more columns on groups of their axes: what pairs and whole models are estimated from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sklar.arrays import Floats
from sklar.model.axis import NO_NULLS, Tops
from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.hints import Hint
from sklar.model.pairs.interactions import noisy_dimensions
from sklar.model.pairs.nulls import NullExcess

TableContent = Literal["counts", "interaction", "derived"]
"""What of a table was measured: all its counts; its interactions, with margins put in from elsewhere; or
other numbers, from which it was made."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredTable:
    """A measured table on groups of axes.

    Attributes:
        columns: Positions of its axes among the modelled columns.
        groups: Groups of each axis.
        counts: Noisy counts.
        sigma: Standard deviation of the noise of a count; of an interaction, before its margins are put in.
        content: What was measured: all counts, interactions, or other numbers that the table was made from.
        hint: A measurement of the correlation of a pair from score sums, or None.
        tops: Where the values of the two axes of a pair end, where nulls are groups of their own.
        nulls: The measured number of joint nulls of a pair beyond chance, or None.
        possible: The part of each cell in which public rules allow rows; None if that is all.
    """

    columns: tuple[int, ...]
    groups: tuple[Groups, ...]
    counts: Floats
    sigma: float
    content: TableContent = "counts"
    hint: Hint | None = None
    tops: Tops = NO_NULLS
    nulls: NullExcess | None = None
    possible: Floats | None = None

    @property
    def pair(self) -> tuple[int, int]:
        """Positions of its first two columns."""
        return self.columns[0], self.columns[1]

    @property
    def edges(self) -> tuple[Floats, Floats]:
        """Ends of the groups of its first two axes."""
        return self.groups[0].edges, self.groups[1].edges

    @property
    def masses(self) -> tuple[Floats, Floats]:
        """Released masses of the groups of its first two axes."""
        return self.groups[0].mass, self.groups[1].mass

    @property
    def dimensions(self) -> int:
        """Number of dimensions that carry noise: fewer than cells where margins were put in."""
        return noisy_dimensions(self.counts.shape) if self.content == "interaction" else self.counts.size

    @property
    def empty(self) -> np.ndarray | None:
        """Cells that no row can be in, or None if there are none."""
        return None if self.possible is None or self.possible.all() else self.possible == 0

    @property
    def possible_counts(self) -> Floats:
        """Noisy counts, 0 in cells that no row can be in."""
        return self.counts if self.empty is None else np.where(self.empty, 0.0, self.counts)
