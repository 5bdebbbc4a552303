r"""Tables of counts and their interactions: what is counted, and how far one person moves it.

**Counts.** A row adds 1 to exactly one cell of a contingency table, for any partitions of its columns, as long as
they are fixed before the rows are read (public, or made from earlier measurements). So one person moves a table by
`unit.l1` in L1 and `unit.l2` in L2, also where a person's rows share one vote: see `sklar.accounting.unit`.

**Interactions.** Let a table have axes of K_1, ..., K_m >= 2 groups, N = K_1 ... K_m cells. A row in cell
(i_1, ..., i_m) adds

    x = (K_1 e_{i_1} - 1) (x) ... (x) (K_m e_{i_m} - 1),    an outer product of integer vectors,

e_i being the unit vector and 1 that of ones. For two axes and a table T of counts the sum over rows is
K L T - K (row sums) - L (column sums) + n, and in general N times the table with the mean over each axis taken off in
turn: a linear function of the table, worked out on it. It is orthogonal to every table of fewer axes. Below in units of
counts, that is x / N = a_1 (x) ... (x) a_m with a = e_i - 1/K, for which |a|_2^2 = 1 - 1/K and |a|_1 = 2 (1 - 1/K).

* One row comes or goes: |x|_2^2 = D^2 = prod (1 - 1/K_j), |x|_1 = 2^m D^2: norms of outer products multiply.
* One row becomes another: |x - x'|_2^2 = 2 D^2 - 2 <x, x'>, and <x, x'> is the product over axes of 1 - 1/K where the
  group stays and of -1/K where it changes. It is least with an odd number of changes; and since 1/K <= 1 - 1/K, two
  changes fewer never make it larger. So the worst is one axis j alone, with 2 D^2 + 2 (1/K_j) D^2 / (1 - 1/K_j) =
  2 D^2 / (1 - 1/K_j): the one with the fewest groups. In L1 at most twice that of one row.
* A person with r rows: r times these (triangle inequality).
* A person whose rows share one vote adds a sum of such vectors with weights of at most 1 together: a mean of them, or
  shorter, so no longer than the longest. Replaced by another person: with a mean x of some and a mean y of others,
  x - y is a mean of differences of two rows, and what either lacks to a whole vote only shortens it, since one row
  alone is shorter than the worst difference. So both bounds are those of one row.

Noise of the same sigma thus costs prod (1 - 1/K_j) of what the table of counts would when rows come or go (a quarter
for 2 x 2), and that over the smallest factor when they are replaced (a half). The L1 norm is never less than that of
counts, so Laplace noise gains nothing. Reference: Xiao, He, Zhang, Kifer (2023), "An optimal
and scalable matrix mechanism for noisy marginals".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sklar.accounting.unit import Unit
from sklar.arrays import Ints
from sklar.errors import DoorError
from sklar.release.lookups import Partition, code_counts, freeze_partition

MAX_INTERACTION_CELLS = 1 << 20
"""Most cells of an interaction: the number of cells times the number of rows must fit into 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partitioned:
    """Columns, each with a partition of its base codes into groups; columns in the order of the table's axes."""

    columns: tuple[str, ...]
    partitions: tuple[Partition, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "partitions", tuple(freeze_partition(x) for x in self.partitions))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of groups of each column."""
        return tuple(int(partition.max()) + 1 for partition in self.partitions)

    @property
    def reads(self) -> tuple[tuple[str, int], ...]:
        """(column, number of base codes it must have) for every partition."""
        return code_counts(self.columns, self.partitions)


class _CountQuery:
    """Resolution and sensitivity of contingency tables, of one or of all pairs."""

    __slots__ = ()

    @property
    def resolution(self) -> float:
        """Counts are whole numbers."""
        return 1.0

    def sensitivity(self, unit: Unit) -> tuple[float, float]:
        """Return L1 and L2 by which one person moves each table; the proof is in this module's docstring."""
        return unit.l1, unit.l2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts(_CountQuery, Partitioned):
    """A contingency table on partitions of some columns."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairCounts(_CountQuery, Partitioned):
    """The contingency tables of all pairs of two or more columns, without an object for each of maybe 500,000 pairs.

    Each table is charged. Values are one vector: the tables (0, 1), (0, 2), ... one after the other, each with the
    later column fastest.
    """

    @property
    def tables(self) -> int:
        """Number of pairs."""
        return len(self.columns) * (len(self.columns) - 1) // 2

    @property
    def pair_cells(self) -> Ints:
        """Number of cells of the table of each pair, in their order."""
        first, second = np.triu_indices(len(self.columns), 1)
        groups = np.array(self.shape, dtype=np.int64)
        return groups[first] * groups[second]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Interaction(Partitioned):
    """The part of a contingency table that its lower-order margins do not determine; every axis has two groups or more.

    A row adds the product over axes of (one in its group, minus 1 / groups everywhere). Noise is in units of counts.
    """

    def __post_init__(self) -> None:
        Partitioned.__post_init__(self)
        if len(self.columns) < 2 or min(self.shape) < 2 or math.prod(self.shape) > MAX_INTERACTION_CELLS:
            raise DoorError(
                "an interaction needs at least two axes, at least two groups on each, and at most "
                f"{MAX_INTERACTION_CELLS:,} cells"
            )

    @property
    def resolution(self) -> float:
        """Entries are whole multiples of this."""
        return 1.0 / math.prod(self.shape)

    def sensitivity(self, unit: Unit) -> tuple[float, float]:
        """Return L1 and L2 by which one person moves the table; the proof is in this module's docstring."""
        return interaction_sensitivity(self.shape, unit)


def interaction_sensitivity(shape: tuple[int, ...], unit: Unit) -> tuple[float, float]:
    """Return L1 and L2 by which one person moves the interaction of a table of this shape, in units of counts."""
    left = [1 - 1 / size for size in shape]
    one = math.prod(left)
    worst = one if unit.neighbours == "add-remove" else 2 * one / min(left)
    return unit.l1 * 2 ** len(left) * one, unit.rows_per_person * math.sqrt(worst)
