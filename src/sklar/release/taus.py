r"""Kendall's tau-a of all pairs of columns from two-way tables, and the proof of how far one row can move it.

**Exact.** For columns j, k and rows i, i' let s_j = sign(x_ij - x_i'j). The integer S_jk = sum over pairs of rows of
s_j s_k (concordant minus discordant pairs; ties give 0) is read off the two-way table of ranks by prefix sums, and
tau_jk = S_jk / C(n, 2). Integers throughout: no rounding, no order of rows.

**One row replaced, n public.** Only the n - 1 pairs with that row change. For each of them the vector (s_j s_k)_{j<k}
becomes (s'_j s'_k)_{j<k}, s and s' in {-1, 0, 1}^m. The L1 norm of the difference, and the square of its L2 norm, are
convex in each single coordinate of s and of s' (absolute values, or squares, of affine functions of it), so both are
largest when all coordinates are -1 or +1. Let f coordinates of s and s' then differ: the f (m - f) products with one
such coordinate change, by 2 each. Hence, with q = floor(m^2 / 4),

    L1 <= 2 q,   L2 <= 2 sqrt(q)         for one pair of rows,
    L1 <= 2 q (n - 1),  L2 <= 2 sqrt(q) (n - 1)      for S, by the triangle inequality over the n - 1 pairs,
    L1 <= 4 q / n,   L2 <= 4 sqrt(q) / n             for tau.

For two columns this is the known 4/n; for m columns it is about sqrt(2) less than 4/n for each of the C(m, 2) taus
would give. It is attained: n - 1 equal rows, and one that moves from above them in all columns to above them in half.
A person with r rows: r replacements one after the other, so r times the bound.

**Added or removed** rows change n and with it the scale of tau, so the bound depends on n, which is then private. Such
requests are refused. Tau-b is not offered at all: its denominator shrinks with ties, and one row can move it by 0.7.

**A sample of the rows.** Tau may be taken over a sample of a public size; one row then moves it as that size says.

**Who is in the sample.** Every row has a key: bits mixed from `seed`, its codes and its number among rows with the same
codes (as in `blocks`), then the codes and that number themselves, so that no two rows of a table share a key. The
sample is the h rows of least key. As collections, the keys are a function of the collection of all rows, in any order.

**One row replaced** takes one key x out of the set of keys and puts one key y in. The h least of the new set are those
of the old with at most one exchanged: if x was among them, y or the next key takes its place; if not, y may take that
of the largest. So the samples are neighbours of each other, of h rows each, and the bound of `tau` holds with h in the
place of n. A person with r rows: r times the bound.

No amplification by sampling is claimed: the seed is no secret, and the mixing is no source of chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sklar.accounting.unit import Unit
from sklar.errors import DoorError
from sklar.release.lookups import Lookup, code_counts, freeze_lookups, require_rule
from sklar.release.sums import Sums, refuse_votes, round_up

MAX_TAU_CELLS = 1 << 24
"""Maximum number of cells of the two-way table of ranks behind one tau."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TauVector(Sums):
    """Kendall's tau-a of every pair of columns, over pairs of rows; ties count 0.

    Attributes:
        lookups: For each of two or more columns, base code -> rank; equal ranks are ties.
        rows: The number of rows, which must be public (replace-one neighbours): the bound depends on it.
    """

    columns: tuple[str, ...]
    lookups: tuple[Lookup, ...]
    rows: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookups", freeze_lookups(self.lookups, "ranks"))
        require_rule(len(self.columns) == len(self.lookups) >= 2, "tau needs two or more columns with one lookup each")
        require_rule(len(set(self.columns)) == len(self.columns), "tau needs different columns")
        require_rule(type(self.rows) is int and 2 <= self.rows < 2**31, "tau needs a public number of rows, at least 2")
        require_rule(all(a.min() >= 0 for a in self.lookups), "ranks are counted from 0")
        sizes = sorted(int(a.max()) + 1 for a in self.lookups)
        require_rule(sizes[-1] * sizes[-2] <= MAX_TAU_CELLS, "the ranks of two columns make too large a table")

    @property
    def size(self) -> int:
        """The pairs (0, 1), (0, 2), ..., (m - 2, m - 1)."""
        return len(self.columns) * (len(self.columns) - 1) // 2

    @property
    def resolution(self) -> float:
        """Tau of one pair of rows more in order: 1 / C(n, 2)."""
        return 2.0 / (self.rows * (self.rows - 1))

    def sensitivity(self, unit: Unit) -> tuple[float, float]:
        """Return L1 and L2 by which one person moves the vector (proof above)."""
        refuse_votes(unit, "Kendall's tau compares pairs of rows")
        if unit.neighbours != "replace":
            raise DoorError(
                "Kendall's tau is an average over pairs of rows: how far one row moves it depends on the number of "
                "rows, which add-remove neighbours keep private. Use neighbours='replace', where it is public."
            )
        quarter = len(self.columns) ** 2 // 4
        scale = 4.0 * unit.rows_per_person / self.rows
        return scale * quarter, round_up(scale * math.sqrt(quarter))

    @property
    def reads(self) -> tuple[tuple[str, int], ...]:
        return code_counts(self.columns, self.lookups)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampledTaus(TauVector):
    """Kendall's tau-a of every pair of columns over a sample of `rows` rows, a public number.

    Attributes:
        seed: Selects the sample. Whether a row is in it depends on its codes, `seed` and its number among equal rows.
    """

    seed: int

    def __post_init__(self) -> None:
        TauVector.__post_init__(self)
        require_rule(type(self.seed) is int and 0 <= self.seed < 2**63, "the seed must be a whole number below 2^63")
