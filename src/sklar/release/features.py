"""Frozen descriptions of the vectors a method may ask the Door to sum over rows: data only, never a callable.

How a description is summed exactly, and by how much one person can move the sum, is told in `sklar.private.features`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.errors import DoorError

SCORE_BITS = 10
"""Scores are multiples of 2^-10."""
SCORE_LIMIT = 3 << SCORE_BITS
"""Scores lie in [-3, 3], so that no single column rules the direction of a row."""
MAX_SCORES = 8192
"""Beyond this many scores a sum over rows could leave the integers that float64 holds exactly."""

Lookup = npt.NDArray[np.int32]


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
        object.__setattr__(self, "lookups", _frozen_lookups(self.lookups, "scores"))
        _require(len(self.columns) == len(self.lookups), "scores need one lookup per column")
        _require(len(self.columns) <= MAX_SCORES, f"at most {MAX_SCORES} scores can be summed")
        _require(all(_largest(a) <= SCORE_LIMIT for a in self.lookups), "scores must lie between -3 and 3")

    @property
    def count(self) -> int:
        """Number of scores, d."""
        return len(self.columns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrasts:
    """One or more signed weights of a row, read off the base code of the target column.

    Attributes:
        column: The target.
        lookups: For each contrast, base code -> weight in units of 2^-bits; a row's squared weights sum to at
            most 1.
        bits: Fixed-point digits of the weights; 0 for plain -1, 0, +1.
    """

    column: str
    lookups: tuple[Lookup, ...]
    bits: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookups", _frozen_lookups(self.lookups, "contrasts"))
        _require(0 <= self.bits <= SCORE_BITS, f"contrasts have 0 to {SCORE_BITS} fixed-point digits")
        _require(len(self.lookups) > 0, "a target needs at least one contrast")
        _require(len({len(a) for a in self.lookups}) == 1, "contrasts of one column have lookups of one length")
        _require(self.largest_square() <= 1 << (2 * self.bits), "squared weights of a row must sum to at most 1")

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
        contrasts: The weights.
        nominal: Columns that enter as one level out of several.
        levels: For each nominal column, base code -> level 0, 1, ...
    """

    scores: Scores
    contrasts: Contrasts
    nominal: tuple[str, ...] = ()
    levels: tuple[Lookup, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", _frozen_lookups(self.levels, "levels"))
        _require(len(self.nominal) == len(self.levels), "nominal columns need one level lookup each")
        _require(all(a.min() >= 0 for a in self.levels), "levels are counted from 0")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns whose base codes are read, without repeats, in the order in which they are expected."""
        return _distinct([*self.scores.columns, *self.nominal, self.contrasts.column])

    @property
    def resolution(self) -> float:
        """Real value of one integer unit of the sums."""
        return 2.0 ** -(SCORE_BITS + self.contrasts.bits)

    @property
    def level_counts(self) -> tuple[int, ...]:
        """Number of levels of each nominal column."""
        return tuple(int(a.max()) + 1 for a in self.levels)

    @property
    def size(self) -> int:
        """Length of the vector: for each contrast, the d scores and then all levels."""
        return len(self.contrasts.lookups) * (self.scores.count + sum(self.level_counts))

    @property
    def row_norms(self) -> tuple[float, float]:
        """Largest L1 and L2 norm of what one row adds, in real units (proof: `sklar.private.features.sphere`)."""
        width = self.scores.count + len(self.nominal)
        l1, l2 = self.contrasts.norms
        return l1 * width, l2 * _sqrt_up(width)

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        """(column, number of base codes it must have) for every lookup."""
        return (*_read_scores(self.scores), *_read(self.nominal, self.levels), *_read_contrasts(self.contrasts))


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
        """Columns whose base codes are read, without repeats, in the order in which they are expected."""
        return _distinct([*self.scores.columns, *([self.contrasts.column] if self.contrasts else [])])

    @property
    def resolution(self) -> float:
        """Real value of one integer unit of the sums."""
        return 2.0 ** -(2 * SCORE_BITS + (self.contrasts.bits if self.contrasts else 0))

    @property
    def size(self) -> int:
        """Length of the vector: for each contrast, the pairs (0, 1), (0, 2), ..., (d - 2, d - 1)."""
        pairs = self.scores.count * (self.scores.count - 1) // 2
        return pairs * (len(self.contrasts.lookups) if self.contrasts else 1)

    @property
    def row_norms(self) -> tuple[float, float]:
        """Largest L1 and L2 norm of what one row adds, in real units (proof: `sklar.private.features.sphere`)."""
        pairs = self.scores.count * (self.scores.count - 1) // 2
        l1, l2 = self.contrasts.norms if self.contrasts else (1.0, 1.0)
        return l1 * pairs, l2 * _sqrt_up(pairs)

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        """(column, number of base codes it must have) for every lookup."""
        return (*_read_scores(self.scores), *(_read_contrasts(self.contrasts) if self.contrasts else ()))


TAU_CELLS = 1 << 24
"""Largest two-way table that a tau may be counted from."""
BLOCK_BITS = 20
"""Correlations of a block are rounded to multiples of 2^-20."""
BASIS_BITS = 16
"""Cosines are rounded to multiples of 2^-16."""
MAX_BASIS = 1 << 24
"""Largest number of entries of a basis."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TauVector:
    """Kendall's tau-a of every pair of columns, over pairs of rows; ties count 0.

    Attributes:
        columns: At least two columns.
        lookups: For each of them, base code -> rank; equal ranks are ties.
        rows: The number of rows, which must be public (replace-one neighbours): the bound depends on it.
    """

    columns: tuple[str, ...]
    lookups: tuple[Lookup, ...]
    rows: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookups", _frozen_lookups(self.lookups, "ranks"))
        _require(len(self.columns) == len(self.lookups) >= 2, "tau needs two or more columns with one lookup each")
        _require(len(set(self.columns)) == len(self.columns), "tau needs different columns")
        _require(type(self.rows) is int and 2 <= self.rows < 2**31, "tau needs a public number of rows of at least 2")
        _require(all(a.min() >= 0 for a in self.lookups), "ranks are counted from 0")
        sizes = sorted(int(a.max()) + 1 for a in self.lookups)
        _require(sizes[-1] * sizes[-2] <= TAU_CELLS, "the ranks of two columns make too large a table")

    @property
    def size(self) -> int:
        """Length of the vector: the pairs (0, 1), (0, 2), ..., (m - 2, m - 1)."""
        return len(self.columns) * (len(self.columns) - 1) // 2

    @property
    def resolution(self) -> float:
        """Tau of one pair of rows more in order: 1 / C(n, 2)."""
        return 2.0 / (self.rows * (self.rows - 1))

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        """(column, number of base codes it must have) for every lookup."""
        return _read(self.columns, self.lookups)


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
        _require(self.scores.count >= 2, "correlations need two or more scores")
        _require(type(self.blocks) is int and 1 <= self.blocks < 2**31, "blocks must be a positive whole number")
        _require(type(self.seed) is int and 0 <= self.seed < 2**63, "the seed must be a whole number below 2^63")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns whose base codes are read, without repeats, in the order in which they are expected."""
        return _distinct(list(self.scores.columns))

    @property
    def size(self) -> int:
        """Length of the vector: the pairs (0, 1), (0, 2), ..., (d - 2, d - 1)."""
        return self.scores.count * (self.scores.count - 1) // 2

    @property
    def resolution(self) -> float:
        """Real value of one integer unit: a block's rounding step, shared by all blocks."""
        return 2.0**-BLOCK_BITS / self.blocks

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        """(column, number of base codes it must have) for every lookup."""
        return _read_scores(self.scores)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coefficients:
    """Coefficients of one histogram: the lowest frequencies of its cosine transform, or all its Haar differences.

    Attributes:
        column: The column.
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
        object.__setattr__(self, "lookup", _frozen_lookups((self.lookup,), "bins")[0])
        _require(self.lookup.min() >= 0, "bins are counted from 0")
        _require(self.basis in ("cosine", "haar"), "the basis is cosine or haar")
        most = self.bins if self.basis == "cosine" else self.leaves
        _require(type(self.kept) is int and 1 <= self.kept <= most, "a histogram has as many coefficients as bins")
        _require(self.basis == "cosine" or self.kept == self.leaves, "all Haar differences are needed")
        _require(self.basis == "haar" or self.kept * self.bins <= MAX_BASIS, "the basis is too large")

    @property
    def bins(self) -> int:
        """Number of bins."""
        return int(self.lookup.max()) + 1

    @property
    def leaves(self) -> int:
        """Number of bins rounded up to a power of two."""
        return 1 << (self.bins - 1).bit_length()

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column that is read."""
        return (self.column,)

    @property
    def size(self) -> int:
        """Length of the vector."""
        return self.kept

    @property
    def resolution(self) -> float:
        """Real value of one integer unit."""
        return 2.0**-BASIS_BITS if self.basis == "cosine" else 1.0

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        """(column, number of base codes it must have)."""
        return ((self.column, len(self.lookup)),)


Feature = StarSums | PairSums | TauVector | BlockMeans | Coefficients
"""Everything that can be summed at the Door."""


def _frozen_lookups(arrays: Iterable[npt.NDArray[Any]], what: str) -> tuple[Lookup, ...]:
    """Own read-only copies: a description cannot change after its bound was computed."""
    copies = []
    for array in arrays:
        _require(array.ndim == 1 and array.size > 0, f"{what} are one-dimensional lookups with at least one entry")
        _require(np.issubdtype(array.dtype, np.integer), f"{what} are integer lookups")
        _require(int(array.min()) >= -(2**31) and int(array.max()) < 2**31, f"{what} must fit into 32 bits")
        copy = array.astype(np.int32)
        copy.flags.writeable = False
        copies.append(copy)
    return tuple(copies)


def _sqrt_up(x: int) -> float:
    """Square root, never below the true one."""
    root = math.sqrt(x)
    return root if root.is_integer() and int(root) ** 2 == x else math.nextafter(root, math.inf)


def _largest(array: Lookup) -> int:
    return int(np.abs(array.astype(np.int64)).max())


def _read(columns: tuple[str, ...], lookups: tuple[Lookup, ...]) -> tuple[tuple[str, int], ...]:
    return tuple((c, len(a)) for c, a in zip(columns, lookups, strict=True))


def _read_scores(scores: Scores) -> tuple[tuple[str, int], ...]:
    return _read(scores.columns, scores.lookups)


def _read_contrasts(contrasts: Contrasts) -> tuple[tuple[str, int], ...]:
    return tuple((contrasts.column, len(a)) for a in contrasts.lookups)


def _distinct(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _require(truth: object, rule: str) -> None:
    if not truth:
        raise DoorError(f"this feature cannot be summed: {rule}.")
