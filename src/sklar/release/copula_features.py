"""Frozen descriptions of what Gaussian copulas ask to sum: taus, correlations of blocks, coefficients of a histogram.

Why the norms are what they are is told in `sklar.private.features`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nextafter, sqrt

from sklar.accounting.unit import Unit
from sklar.errors import DoorError
from sklar.release.scores import Lookup, Scores, distinct, frozen_lookups, read_lookups, read_scores, require

TAU_CELLS = 1 << 24
"""Largest two-way table that a tau may be counted from."""
BLOCK_BITS = 20
"""Correlations of a block are rounded to multiples of 2^-20."""
BASIS_BITS = 16
"""Cosines are rounded to multiples of 2^-16."""
LEAST_BOUND = 2.0**-20
"""A vector that nobody can move still gets a positive bound, so that its noise has a scale."""
MAX_BASIS = 1 << 24
"""Largest number of entries of a basis."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TauVector:
    """Kendall's tau-a of every pair of columns, over pairs of rows; ties count 0.

    Attributes:
        lookups: For each of two or more columns, base code -> rank; equal ranks are ties.
        rows: The number of rows, which must be public (replace-one neighbours): the bound depends on it.
    """

    columns: tuple[str, ...]
    lookups: tuple[Lookup, ...]
    rows: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookups", frozen_lookups(self.lookups, "ranks"))
        require(len(self.columns) == len(self.lookups) >= 2, "tau needs two or more columns with one lookup each")
        require(len(set(self.columns)) == len(self.columns), "tau needs different columns")
        require(type(self.rows) is int and 2 <= self.rows < 2**31, "tau needs a public number of rows of at least 2")
        require(all(a.min() >= 0 for a in self.lookups), "ranks are counted from 0")
        sizes = sorted(int(a.max()) + 1 for a in self.lookups)
        require(sizes[-1] * sizes[-2] <= TAU_CELLS, "the ranks of two columns make too large a table")

    @property
    def size(self) -> int:
        """Length of the vector: the pairs (0, 1), (0, 2), ..., (m - 2, m - 1)."""
        return len(self.columns) * (len(self.columns) - 1) // 2

    @property
    def resolution(self) -> float:
        """Tau of one pair of rows more in order: 1 / C(n, 2)."""
        return 2.0 / (self.rows * (self.rows - 1))

    def norms(self, unit: Unit) -> tuple[float, float]:
        """The proof is in `sklar.private.features.tau`."""
        if unit.neighbours != "replace":
            raise DoorError(
                "Kendall's tau is an average over pairs of rows: how far one row moves it depends on the number of "
                "rows, which add-remove neighbours keep private. Use neighbours='replace', where it is public."
            )
        quarter = len(self.columns) ** 2 // 4
        scale = 4.0 * unit.rows_per_person / self.rows
        return scale * quarter, nextafter(scale * sqrt(quarter), inf)

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        return read_lookups(self.columns, self.lookups)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockMeans:
    """Correlations of scores, estimated in each of many blocks of rows and averaged over the blocks.

    Attributes:
        scores: At least two scores; a row's normal scores in units of 2^-10, fixed before the rows are read.
        blocks: Number of blocks. A row's block follows from its own codes, `seed` and how many like it there are.
        seed: Which assignment of rows to blocks.
    """

    scores: Scores
    blocks: int
    seed: int

    def __post_init__(self) -> None:
        require(self.scores.count >= 2, "correlations need two or more scores")
        require(type(self.blocks) is int and 1 <= self.blocks < 2**31, "blocks must be a positive whole number")
        require(type(self.seed) is int and 0 <= self.seed < 2**63, "the seed must be a whole number below 2^63")

    @property
    def columns(self) -> tuple[str, ...]:
        return distinct(list(self.scores.columns))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many base codes each of `columns` has."""
        found = dict(self.read)
        return tuple(found[name] for name in self.columns)

    @property
    def size(self) -> int:
        """Length of the vector: the pairs (0, 1), (0, 2), ..., (d - 2, d - 1)."""
        return self.scores.count * (self.scores.count - 1) // 2

    @property
    def resolution(self) -> float:
        """A block's rounding step, shared by all blocks."""
        return 2.0**-BLOCK_BITS / self.blocks

    def norms(self, unit: Unit) -> tuple[float, float]:
        """The proof is in `sklar.private.features.blocks`; `unit.l1` is the number of blocks that change."""
        m, step = self.scores.count, 1.001 * 2.0**-BLOCK_BITS
        changed = unit.l1 / self.blocks
        l1 = min(2.0 * self.size, m * sqrt(self.size)) + step * self.size
        return nextafter(changed * l1, inf), nextafter(changed * (m + step * sqrt(self.size)), inf)

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        return read_scores(self.scores)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coefficients:
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
        object.__setattr__(self, "lookup", frozen_lookups((self.lookup,), "bins")[0])
        require(self.lookup.min() >= 0, "bins are counted from 0")
        require(self.basis in ("cosine", "haar"), "the basis is cosine or haar")
        most = self.bins if self.basis == "cosine" else self.leaves
        require(type(self.kept) is int and 1 <= self.kept <= most, "a histogram has as many coefficients as bins")
        require(self.basis == "cosine" or self.kept == self.leaves, "all Haar differences are needed")
        require(self.basis == "haar" or self.kept * self.bins <= MAX_BASIS, "the basis is too large")

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

    def norms(self, unit: Unit) -> tuple[float, float]:
        """The proof is in `sklar.private.features.coefficients`."""
        r, replaced = unit.rows_per_person, unit.neighbours == "replace"
        if self.basis == "cosine":
            step = sqrt(self.kept)
            l2 = r * (sqrt(2.0) + step * 2.0**-BASIS_BITS if replaced else 1.0)
            return nextafter(step * l2, inf), nextafter(l2, inf)
        levels = self.leaves.bit_length() - 1
        if not replaced:
            return r * (levels + 1.0), nextafter(r * sqrt(levels + 1.0), inf)
        if levels == 0:
            return LEAST_BOUND, LEAST_BOUND
        return r * 2.0 * levels, nextafter(r * sqrt(2.0 * levels + 2.0), inf)

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        return ((self.column, len(self.lookup)),)
