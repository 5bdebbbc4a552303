"""Frozen descriptions of the vectors a method may ask the Door to sum over rows: data only, never a callable.

How a description is summed exactly, and by how much one person can move the sum, is told in `sklar.private.features`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sklar.accounting.unit import Unit
from sklar.release.copula_features import BlockMeans, Coefficients, TauVector
from sklar.release.scores import (
    SCORE_BITS,
    Lookup,
    Scores,
    distinct,
    frozen_lookups,
    read_lookups,
    read_scores,
    require,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrasts:
    """One or more signed weights of a row, read off the base code of the target column.

    Attributes:
        column: The target.
        lookups: For each contrast, base code -> weight in units of 2^-bits; a row's squared weights sum to at most 1.
        bits: Fixed-point digits of the weights; 0 for plain -1, 0, +1.
    """

    column: str
    lookups: tuple[Lookup, ...]
    bits: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookups", frozen_lookups(self.lookups, "contrasts"))
        require(0 <= self.bits <= SCORE_BITS, f"contrasts have 0 to {SCORE_BITS} fixed-point digits")
        require(len(self.lookups) > 0, "a target needs at least one contrast")
        require(len({len(a) for a in self.lookups}) == 1, "contrasts of one column have lookups of one length")
        require(self.largest_square() <= 1 << (2 * self.bits), "squared weights of a row must sum to at most 1")

    def largest_square(self) -> int:
        """Largest sum of squared weights over base codes, in units of 2^-(2 bits)."""
        return int((np.stack(self.lookups).astype(np.int64) ** 2).sum(axis=0).max())

    @property
    def norms(self) -> tuple[float, float]:
        """Largest L1 and L2 norm of a row's weights, computed from the lookups rather than declared."""
        unit = 2.0**-self.bits
        absolute = np.abs(np.stack(self.lookups).astype(np.int64)).sum(axis=0).max()
        return float(absolute) * unit, _sqrt_up(self.largest_square()) * unit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StarSums:
    """Sums over rows of each contrast times the row's point on the sphere, then times its nominal levels.

    Attributes:
        scores: What places a row on the sphere (may be empty).
        nominal: Columns that enter as one level out of several.
        levels: For each nominal column, base code -> level 0, 1, ...
    """

    scores: Scores
    contrasts: Contrasts
    nominal: tuple[str, ...] = ()
    levels: tuple[Lookup, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", frozen_lookups(self.levels, "levels"))
        require(len(self.nominal) == len(self.levels), "nominal columns need one level lookup each")
        require(all(a.min() >= 0 for a in self.levels), "levels are counted from 0")

    @property
    def columns(self) -> tuple[str, ...]:
        return distinct([*self.scores.columns, *self.nominal, self.contrasts.column])

    @property
    def resolution(self) -> float:
        return 2.0 ** -(SCORE_BITS + self.contrasts.bits)

    @property
    def level_counts(self) -> tuple[int, ...]:
        return tuple(int(a.max()) + 1 for a in self.levels)

    @property
    def size(self) -> int:
        """Length of the vector: for each contrast, the d scores and then all levels."""
        return len(self.contrasts.lookups) * (self.scores.count + sum(self.level_counts))

    def norms(self, unit: Unit) -> tuple[float, float]:
        """The proof is in `sklar.private.features.sphere`; `unit.l1` is the number of row terms that change."""
        width = self.scores.count + len(self.nominal)
        l1, l2 = self.contrasts.norms
        return unit.l1 * (l1 * width), unit.l1 * (l2 * _sqrt_up(width))

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        return (*read_scores(self.scores), *read_lookups(self.nominal, self.levels), *_read_contrasts(self.contrasts))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairSums:
    """Sums over rows of products of two coordinates of the row's point on the sphere, for all pairs.

    Attributes:
        scores: What places a row on the sphere.
        contrasts: If given, each product is also multiplied by each contrast.
    """

    scores: Scores
    contrasts: Contrasts | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return distinct([*self.scores.columns, *([self.contrasts.column] if self.contrasts else [])])

    @property
    def resolution(self) -> float:
        return 2.0 ** -(2 * SCORE_BITS + (self.contrasts.bits if self.contrasts else 0))

    @property
    def size(self) -> int:
        """Length of the vector: for each contrast, the pairs (0, 1), (0, 2), ..., (d - 2, d - 1)."""
        pairs = self.scores.count * (self.scores.count - 1) // 2
        return pairs * (len(self.contrasts.lookups) if self.contrasts else 1)

    def norms(self, unit: Unit) -> tuple[float, float]:
        """The proof is in `sklar.private.features.sphere`; `unit.l1` is the number of row terms that change."""
        pairs = self.scores.count * (self.scores.count - 1) // 2
        l1, l2 = self.contrasts.norms if self.contrasts else (1.0, 1.0)
        return unit.l1 * (l1 * pairs), unit.l1 * (l2 * _sqrt_up(pairs))

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        return (*read_scores(self.scores), *(_read_contrasts(self.contrasts) if self.contrasts else ()))


Feature = StarSums | PairSums | TauVector | BlockMeans | Coefficients
"""Everything that can be summed at the Door.

Each has `columns`, whose base codes are read, without repeats and in the order in which they are expected; `read`,
(column, number of base codes it must have) for every lookup; `size`, the length of the vector; `resolution`, the real
value of one integer unit of it; and `norms(unit)`, (L1, L2) by which one person can move it, in real units.
"""


def _sqrt_up(x: int) -> float:
    """Square root, never below the true one."""
    root = math.sqrt(x)
    return root if root.is_integer() and int(root) ** 2 == x else math.nextafter(root, math.inf)


def _read_contrasts(contrasts: Contrasts) -> tuple[tuple[str, int], ...]:
    return tuple((contrasts.column, len(a)) for a in contrasts.lookups)
