r"""Sums of rows placed on a sphere: exact integer arithmetic, and the proof of how far one row can move them.

**A row's point.** The row's scores are integers k_1..k_d (units of 2^-10). With s = sum k_a^2 > 0 its point is the
integer vector

    w_a = sign(k_a) isqrt( floor( d k_a^2 2^20 / s ) )          (w = 0 if s = 0)

which is sqrt(d) k / |k| in units of 2^-10, rounded toward zero coordinate by coordinate. Everything is integer
arithmetic, so the point is the same on every machine, in every batch and next to any other rows.

**One row.** w_a^2 <= floor(d k_a^2 2^20 / s), hence S = sum w_a^2 <= d 2^20. In real units (w 2^-10, written v):

* star: the row adds c_m v_a for every contrast m and coordinate a, and c_m to one level of each of q nominal columns.
  L2^2 = |c|^2 (sum v_a^2 + q) <= |c|^2 (d + q).  L1 <= |c|_1 (sum |v_a| + q) <= |c|_1 (d + q), by Cauchy-Schwarz.
* pairs: the row adds v_a v_b for a < b. With S = sum v_a^2 <= d and sum v_a^4 >= S^2 / d (Cauchy-Schwarz),
  L2^2 = (S^2 - sum v_a^4) / 2 <= S^2 (1 - 1/d) / 2 <= d (d - 1) / 2 = P.
  L1 = ((sum |v_a|)^2 - S) / 2 <= (d S - S) / 2 <= P.
  Times the contrasts: L2 <= |c| sqrt(P), L1 <= |c|_1 P.

Rounding is inside these bounds: they are stated for the rounded w itself and need no equality sum v_a^2 = d.

**One person** has r = rows_per_person rows. Added or removed: r rows, so r times the bound (triangle inequality).
Replaced: r rows leave and r rows come, so 2 r times the bound. Where a person's rows share one vote their weights sum
to at most 1, and the bounds are those of r = 1. Scores, contrasts and levels are fixed before the rows are read
(public, or from earlier releases), so a row's term does not depend on other rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.accounting.unit import Unit
from sklar.release.lookups import Lookup, code_counts, freeze_lookups, require_rule
from sklar.release.scores import SCORE_BITS, Scores
from sklar.release.sums import Sums, sqrt_up


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
        object.__setattr__(self, "lookups", freeze_lookups(self.lookups, "contrasts"))
        require_rule(0 <= self.bits <= SCORE_BITS, f"contrasts have 0 to {SCORE_BITS} fixed-point digits")
        require_rule(len(self.lookups) > 0, "a target needs at least one contrast")
        require_rule(len({len(a) for a in self.lookups}) == 1, "contrasts of one column have lookups of one length")
        require_rule(self.largest_square() <= 1 << (2 * self.bits), "squared weights of a row must sum to at most 1")

    def largest_square(self) -> int:
        """Return the largest sum of squared weights over base codes, in units of 2^-(2 bits)."""
        return int((np.stack(self.lookups).astype(np.int64) ** 2).sum(axis=0).max())

    @property
    def norms(self) -> tuple[float, float]:
        """Largest L1 and L2 norm of a row's weights, computed from the lookups rather than declared."""
        unit = 2.0**-self.bits
        absolute = np.abs(np.stack(self.lookups).astype(np.int64)).sum(axis=0).max()
        return float(absolute) * unit, sqrt_up(self.largest_square()) * unit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StarSums(Sums):
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
        object.__setattr__(self, "levels", freeze_lookups(self.levels, "levels"))
        require_rule(len(self.nominal) == len(self.levels), "nominal columns need one level lookup each")
        require_rule(all(a.min() >= 0 for a in self.levels), "levels are counted from 0")

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.scores.columns, *self.nominal, self.contrasts.column]))

    @property
    def resolution(self) -> float:
        return 2.0 ** -(SCORE_BITS + self.contrasts.bits)

    @property
    def level_counts(self) -> tuple[int, ...]:
        return tuple(int(a.max()) + 1 for a in self.levels)

    @property
    def size(self) -> int:
        """For each contrast, the d scores and then all levels."""
        return len(self.contrasts.lookups) * (self.scores.count + sum(self.level_counts))

    def sensitivity(self, unit: Unit) -> tuple[float, float]:
        """Return L1 and L2 by which one person moves the vector (proof above); unit.l1 row terms change."""
        width = self.scores.count + len(self.nominal)
        l1, l2 = self.contrasts.norms
        return unit.l1 * (l1 * width), unit.l1 * (l2 * sqrt_up(width))

    @property
    def reads(self) -> tuple[tuple[str, int], ...]:
        return (*self.scores.reads, *code_counts(self.nominal, self.levels), *_read_contrasts(self.contrasts))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairSums(Sums):
    """Sums over rows of products of two coordinates of the row's point on the sphere, for all pairs.

    Attributes:
        scores: What places a row on the sphere.
        contrasts: If given, each product is also multiplied by each contrast.
    """

    scores: Scores
    contrasts: Contrasts | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.scores.columns, *([self.contrasts.column] if self.contrasts else [])]))

    @property
    def resolution(self) -> float:
        return 2.0 ** -(2 * SCORE_BITS + (self.contrasts.bits if self.contrasts else 0))

    @property
    def size(self) -> int:
        """For each contrast, the pairs (0, 1), (0, 2), ..., (d - 2, d - 1)."""
        pairs = self.scores.count * (self.scores.count - 1) // 2
        return pairs * (len(self.contrasts.lookups) if self.contrasts else 1)

    def sensitivity(self, unit: Unit) -> tuple[float, float]:
        """Return L1 and L2 by which one person moves the vector (proof above); unit.l1 row terms change."""
        pairs = self.scores.count * (self.scores.count - 1) // 2
        l1, l2 = self.contrasts.norms if self.contrasts else (1.0, 1.0)
        return unit.l1 * (l1 * pairs), unit.l1 * (l2 * sqrt_up(pairs))

    @property
    def reads(self) -> tuple[tuple[str, int], ...]:
        return (*self.scores.reads, *(_read_contrasts(self.contrasts) if self.contrasts else ()))


def _read_contrasts(contrasts: Contrasts) -> tuple[tuple[str, int], ...]:
    return tuple((contrasts.column, len(a)) for a in contrasts.lookups)
