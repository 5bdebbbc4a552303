r"""Coefficients of one histogram in a fixed basis: exact integers, and how far one row can move them.

**Cosine.** phi_f(b) = c_f cos(pi f (b + 1/2) / B), c_0 = sqrt(1/B), c_f = sqrt(2/B), for bins b = 0..B-1: the rows of
an orthogonal matrix (DCT-II), of which the `kept` lowest frequencies are used. Entries are rounded toward zero to
integers w_f(b) in units u = 2^-16; a row in bin b adds w(b). All coordinates are real and every one of them gets noise:
there is no phase that could be left without.

* One row comes or goes: |w(b)|_2 <= |phi(b)|_2 <= 1, since rounding toward zero shortens and the columns of an
  orthogonal matrix have length 1.
* One row moves from b to c: the rounding errors of two entries differ by less than u, so
  |w(b) - w(c)|_2 <= |phi(b) - phi(c)|_2 + u sqrt(kept) <= sqrt(2) + u sqrt(kept).
* L1 <= sqrt(kept) L2 (Cauchy-Schwarz).

**Haar.** The total, and for each node of a binary tree over the bins the count of its left half minus that of its right
half. A row adds +-1 to the node of each of L = log2(leaves) levels on its path, and 1 to the total.

* One row comes or goes: L1 <= L + 1, L2 <= sqrt(L + 1).
* One row moves: the total and the nodes above the one where the paths part do not change, that one changes by 2, and
  each lower level by 1 at two nodes. So L1 <= 2 L and L2^2 <= 4 + 2 (L - 1) = 2 L + 2 (0 for L = 0).

A person with r rows: r times these bounds (triangle inequality). One whose rows share a vote adds a mean of what single
rows add, or less: the bounds of one row hold, by the argument in `sklar.release.counts`; only the total, which a
replaced row leaves alone, may move by the parts that a vote is not divided into, and is bounded by 1. Lookup, basis and
`kept` are fixed before the rows are read. Reference for the weights: Xiao, Wang, Gehrke (2010), "Differential privacy
via wavelet transforms".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sklar.accounting.unit import Unit
from sklar.release.lookups import Lookup, freeze_lookups, require_rule
from sklar.release.sums import Sums, round_up

BASIS_BITS = 16
"""Cosines are rounded to multiples of 2^-16."""
MIN_BOUND = 2.0**-20
"""Sensitivity stated for a vector that no person can move: its noise needs a positive scale."""
MAX_BASIS_ENTRIES = 1 << 24
"""Most entries (frequencies times bins) of a cosine basis."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coefficients(Sums):
    """Coefficients of one histogram: the lowest frequencies of its cosine transform, or all its Haar differences.

    Attributes:
        lookup: Base code -> bin 0, 1, ...
        basis: "cosine" (orthonormal, lowest frequencies first) or "haar" (the total, then count of the left half minus
            count of the right half for every node of a binary tree over the bins, breadth first).
        kept: Number of frequencies; for "haar" the number of bins rounded up to a power of two.
    """

    column: str
    lookup: Lookup
    basis: str
    kept: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookup", freeze_lookups((self.lookup,), "bins")[0])
        require_rule(self.lookup.min() >= 0, "bins are counted from 0")
        require_rule(self.basis in ("cosine", "haar"), "the basis is cosine or haar")
        most = self.bins if self.basis == "cosine" else self.leaves
        require_rule(type(self.kept) is int and 1 <= self.kept <= most, "kept must be between 1 and the number of bins")
        require_rule(self.basis == "cosine" or self.kept == self.leaves, "all Haar differences are needed")
        require_rule(self.basis == "haar" or self.kept * self.bins <= MAX_BASIS_ENTRIES, "the basis is too large")

    @property
    def bins(self) -> int:
        return int(self.lookup.max()) + 1

    @property
    def leaves(self) -> int:
        """Number of bins rounded up to a power of two."""
        return 1 << (self.bins - 1).bit_length()

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def size(self) -> int:
        return self.kept

    @property
    def resolution(self) -> float:
        return 2.0**-BASIS_BITS if self.basis == "cosine" else 1.0

    def sensitivity(self, unit: Unit) -> tuple[float, float]:
        """Return L1 and L2 by which one person moves the vector (proof above)."""
        r, replaced = unit.rows_per_person, unit.neighbours == "replace"
        if self.basis == "cosine":
            step = math.sqrt(self.kept)
            l2 = r * (math.sqrt(2.0) + step * 2.0**-BASIS_BITS if replaced else 1.0)
            return round_up(step * l2), round_up(l2)
        levels = self.leaves.bit_length() - 1
        if not replaced:
            return r * (levels + 1.0), round_up(r * math.sqrt(levels + 1.0))
        if levels == 0:  # only the total, which stays, but for the parts that a vote is not divided into
            return (1.0, 1.0) if unit.votes else (MIN_BOUND, MIN_BOUND)
        return r * 2.0 * levels, round_up(r * math.sqrt(2.0 * levels + 2.0))

    @property
    def reads(self) -> tuple[tuple[str, int], ...]:
        return ((self.column, len(self.lookup)),)
