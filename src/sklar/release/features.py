"""Frozen descriptions of the vectors a method may ask the Door to sum over rows: data only, never a callable.

How a description is summed exactly, and by how much one person can move the sum, is told in `sklar.private.features`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sklar.accounting.unit import Unit
from sklar.errors import DoorError
from sklar.release.scores import SCORE_BITS, Lookup, Scores, frozen_lookups, read_lookups, require

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

    def norms(self, unit: Unit) -> tuple[float, float]:
        """The proof is in `sklar.private.features.sphere`; `unit.l1` is the number of row terms that change."""
        width = self.scores.count + len(self.nominal)
        l1, l2 = self.contrasts.norms
        return unit.l1 * (l1 * width), unit.l1 * (l2 * _sqrt_up(width))

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        return (*self.scores.read, *read_lookups(self.nominal, self.levels), *_read_contrasts(self.contrasts))


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
        return tuple(dict.fromkeys([*self.scores.columns, *([self.contrasts.column] if self.contrasts else [])]))

    @property
    def resolution(self) -> float:
        return 2.0 ** -(2 * SCORE_BITS + (self.contrasts.bits if self.contrasts else 0))

    @property
    def size(self) -> int:
        """For each contrast, the pairs (0, 1), (0, 2), ..., (d - 2, d - 1)."""
        pairs = self.scores.count * (self.scores.count - 1) // 2
        return pairs * (len(self.contrasts.lookups) if self.contrasts else 1)

    def norms(self, unit: Unit) -> tuple[float, float]:
        """The proof is in `sklar.private.features.sphere`; `unit.l1` is the number of row terms that change."""
        pairs = self.scores.count * (self.scores.count - 1) // 2
        l1, l2 = self.contrasts.norms if self.contrasts else (1.0, 1.0)
        return unit.l1 * (l1 * pairs), unit.l1 * (l2 * _sqrt_up(pairs))

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        return (*self.scores.read, *(_read_contrasts(self.contrasts) if self.contrasts else ()))


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
        """The pairs (0, 1), (0, 2), ..., (m - 2, m - 1)."""
        return len(self.columns) * (len(self.columns) - 1) // 2

    @property
    def resolution(self) -> float:
        """Tau of one pair of rows more in order: 1 / C(n, 2)."""
        return 2.0 / (self.rows * (self.rows - 1))

    def norms(self, unit: Unit) -> tuple[float, float]:
        """The proof is in `sklar.private.features.tau`."""
        _refuse_votes(unit, "Kendall's tau compares pairs of rows")
        if unit.neighbours != "replace":
            raise DoorError(
                "Kendall's tau is an average over pairs of rows: how far one row moves it depends on the number of "
                "rows, which add-remove neighbours keep private. Use neighbours='replace', where it is public."
            )
        quarter = len(self.columns) ** 2 // 4
        scale = 4.0 * unit.rows_per_person / self.rows
        return scale * quarter, _up(scale * math.sqrt(quarter))

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        return read_lookups(self.columns, self.lookups)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampledTaus(TauVector):
    """The same over a sample of the rows: `rows` is how many of them are compared, a public number.

    Attributes:
        seed: Which sample. A row is in it by its own codes, `seed` and how many like it there are.
    """

    seed: int

    def __post_init__(self) -> None:
        TauVector.__post_init__(self)
        require(type(self.seed) is int and 0 <= self.seed < 2**63, "the seed must be a whole number below 2^63")


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
        return tuple(dict.fromkeys(self.scores.columns))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many base codes each of `columns` has."""
        found = dict(self.read)
        return tuple(found[name] for name in self.columns)

    @property
    def size(self) -> int:
        """The pairs (0, 1), (0, 2), ..., (d - 2, d - 1)."""
        return self.scores.count * (self.scores.count - 1) // 2

    @property
    def resolution(self) -> float:
        """A block's rounding step, shared by all blocks."""
        return 2.0**-BLOCK_BITS / self.blocks

    def norms(self, unit: Unit) -> tuple[float, float]:
        """The proof is in `sklar.private.features.blocks`; `unit.l1` is the number of blocks that change."""
        _refuse_votes(unit, "a correlation is worked out in blocks of whole rows")
        m, step = self.scores.count, 1.001 * 2.0**-BLOCK_BITS
        changed = unit.l1 / self.blocks
        l1 = min(2.0 * self.size, m * math.sqrt(self.size)) + step * self.size
        return _up(changed * l1), _up(changed * (m + step * math.sqrt(self.size)))

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        return self.scores.read


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockLikelihoods(BlockMeans):
    """The same with the maximum of the likelihood of a bivariate Gaussian copula in place of the correlation."""

    def norms(self, unit: Unit) -> tuple[float, float]:
        """The proof is in `sklar.private.features.blocks`; `unit.l1` is the number of blocks that change."""
        _refuse_votes(unit, "a likelihood is worked out in blocks of whole rows")
        changed = unit.l1 / self.blocks
        return _up(changed * 2.0 * self.size), _up(changed * 2.0 * math.sqrt(self.size))


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
            step = math.sqrt(self.kept)
            l2 = r * (math.sqrt(2.0) + step * 2.0**-BASIS_BITS if replaced else 1.0)
            return _up(step * l2), _up(l2)
        levels = self.leaves.bit_length() - 1
        if not replaced:
            return r * (levels + 1.0), _up(r * math.sqrt(levels + 1.0))
        if levels == 0:  # only the total, which stays, but for the parts that a vote is not divided into
            return (1.0, 1.0) if unit.votes else (LEAST_BOUND, LEAST_BOUND)
        return r * 2.0 * levels, _up(r * math.sqrt(2.0 * levels + 2.0))

    @property
    def read(self) -> tuple[tuple[str, int], ...]:
        return ((self.column, len(self.lookup)),)


Feature = StarSums | PairSums | TauVector | SampledTaus | BlockMeans | BlockLikelihoods | Coefficients
"""Everything that can be summed at the Door.

Each has `columns`, whose base codes are read, without repeats and in the order in which they are expected; `read`,
(column, number of base codes it must have) for every lookup; `size`, the length of the vector; `resolution`, the real
value of one integer unit of it; and `norms(unit)`, (L1, L2) by which one person can move it, in real units.
"""


def _refuse_votes(unit: Unit, why: str) -> None:
    """Refuse a feature that has no proof for rows that share one vote."""
    if unit.votes:
        raise DoorError(f"{why}, and has no proof for rows that share one vote; use weights='rows' for the person.")


def _up(x: float) -> float:
    """One float further up, above the rounding of x."""
    return math.nextafter(x, math.inf)


def _sqrt_up(x: int) -> float:
    """Square root, never below the true one."""
    root = math.sqrt(x)
    return root if root.is_integer() and int(root) ** 2 == x else _up(root)


def _read_contrasts(contrasts: Contrasts) -> tuple[tuple[str, int], ...]:
    return tuple((contrasts.column, len(a)) for a in contrasts.lookups)
