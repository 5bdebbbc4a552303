r"""Distances of contingency tables from public expectations: exact integers, and how far one person can move them.

For tables T_1, ..., T_m of counts and public tables E_1, ..., E_m of whole numbers the vector is

    d_k = sum over cells |T_k - E_k|.

**Sensitivity.** By the triangle inequality |d_k(T) - d_k(T')| <= |T_k - T'_k|_1, which is at most `unit.l1` for
neighbouring tables of rows (`sklar.release.counts`). So one person moves the vector by at most m `unit.l1` in L1 and
sqrt(m) `unit.l1` in L2. The bound is met by a row in a cell with T_k >= E_k for every k.

Tables of votes are counted in parts of 2^-20 of a vote; their distances are rounded down to multiples of 2^-14 before
noise is added. |floor(a) - floor(b)| <= ceil(|a - b|), and `unit.l1` is a whole number of votes, hence of these
multiples: the bound stays.

Partitions and expectations are fixed before the rows are read. The bound is the same for any expectation, so the
digest of a request leaves expectations out, and model files do not keep them: they are simulated from the model so far,
and the last bits of a simulation differ between computers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from sklar.accounting.unit import Unit
from sklar.arrays import Ints
from sklar.release.counts import Counts
from sklar.release.lookups import Lookup, require_rule
from sklar.release.sums import Sums, round_up, sqrt_up


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distances(Sums):
    """L1 distances between the exact counts of some tables and what is publicly expected of them.

    Attributes:
        tables: The contingency tables.
        expected: Whole numbers of rows expected in all cells, one table after the other; None in a model file.
    """

    tables: tuple[Counts, ...]
    expected: Lookup | None = field(default=None, metadata={"digest": False})

    def __post_init__(self) -> None:
        require_rule(len(self.tables) > 0, "distances need at least one table")
        require_rule(all(type(table) is Counts for table in self.tables), "distances are those of tables of counts")
        if self.expected is None:
            return
        whole = isinstance(self.expected, np.ndarray) and self.expected.dtype.kind in "iu" and self.expected.ndim == 1
        require_rule(whole, "expected counts are one vector of whole numbers")
        require_rule(self.expected.size == int(self.cells.sum()), "every cell needs an expected count")
        require_rule(bool((self.expected >= 0).all()), "expected counts are not negative")
        require_rule(bool((self.expected < 2**31).all()), "expected counts must fit into 32 bits")
        copy = self.expected.astype(np.int32)
        copy.setflags(write=False)
        object.__setattr__(self, "expected", copy)

    def without_expected(self) -> Distances:
        """Return the query as model files keep it."""
        return replace(self, expected=None)

    @property
    def cells(self) -> Ints:
        """Number of cells of each table."""
        return np.array([int(np.prod(table.shape, dtype=np.int64)) for table in self.tables], dtype=np.int64)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for table in self.tables for name in table.columns))

    @property
    def size(self) -> int:
        return len(self.tables)

    @property
    def resolution(self) -> float:
        return 1.0

    def sensitivity(self, unit: Unit) -> tuple[float, float]:
        """Return L1 and L2 by which one person moves the distances (proof above)."""
        return round_up(float(unit.l1) * self.size), round_up(float(unit.l1) * sqrt_up(self.size))

    @property
    def reads(self) -> tuple[tuple[str, int], ...]:
        return tuple(dict.fromkeys(pair for table in self.tables for pair in table.reads))
