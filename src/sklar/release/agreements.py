r"""Numbers of rows with the same value in two columns: exact counts, and how far one person can move them.

A row adds 1 to the count of each pair of columns that it agrees in, and 0 to the others. So with d pairs

* one row comes or goes: every count moves by at most 1, hence L1 <= d and L2 <= sqrt(d);
* one row is replaced: every count moves by the difference of two numbers from {0, 1}, at most 1: the same bounds.

A person with k rows: k times these bounds (triangle inequality). One whose rows share a vote adds to each count a sum
of weights of at most 1, and a replaced one moves each by the difference of two numbers from [0, 1]: the bounds of one
row. That is `unit.largest` for each count. Pairs are fixed before the rows are read.
"""

from __future__ import annotations

from dataclasses import dataclass

from sklar.accounting.unit import Unit
from sklar.release.lookups import require_rule
from sklar.release.sums import Sums, sqrt_up


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Agreements(Sums):
    """Counts of rows that have one base code in both columns of a pair, for some pairs.

    Attributes:
        first: The first column of each pair.
        second: The second one.
        sizes: Number of base codes of both.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        require_rule(len(self.first) > 0, "agreements need at least one pair of columns")
        require_rule(len(self.first) == len(self.second) == len(self.sizes), "each pair has two columns and one size")
        require_rule(len(set(self.first + self.second)) == 2 * len(self.first), "each column is in one pair")

    @property
    def columns(self) -> tuple[str, ...]:
        return self.first + self.second

    @property
    def size(self) -> int:
        return len(self.first)

    @property
    def resolution(self) -> float:
        return 1.0

    def sensitivity(self, unit: Unit) -> tuple[float, float]:
        """Return L1 and L2 by which one person moves the counts (proof above)."""
        return unit.largest * self.size, sqrt_up(int(unit.largest) ** 2 * self.size)

    @property
    def reads(self) -> tuple[tuple[str, int], ...]:
        return tuple(zip(self.columns, self.sizes + self.sizes, strict=True))
