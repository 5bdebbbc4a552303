r"""Correlations estimated in blocks of rows and averaged (sample and aggregate), and how far one row can move the mean.

**Who is in which block.** A row's block is a function of `seed`, of the row's own codes, and of its number among rows
with the same codes (0, 1, 2, ... in any order: such rows are equal). So the blocks, as collections of rows, are a
function of the collection of all rows, in any order. One row more or less adds or removes one (codes, number)
pair, the last of its codes, hence changes one block by one row; a replaced row changes at most two blocks. Blocks by
position would not do: an inserted row would shift all rows after it. Nor would ranks over all rows, which let one row
change every block. Rows are distinguished exactly, by their codes written as the digits of whole numbers. The choice
of function matters for accuracy only, which is best with similar blocks: it mixes bits.

**A block's estimate** is the correlation matrix R of the scores of its rows, which are fixed integers per code, so that
sums are exact and do not depend on the order of rows. A column without spread has correlation 0 with the others: still
positive semidefinite with a unit diagonal. A block without rows has R = 1 on the diagonal and 0 elsewhere.

**One block changed.** For two such matrices tr(R R') >= 0, hence |R - R'|_F^2 <= tr R^2 + tr R'^2 <= 2 m^2. The
diagonal does not change, so the vector of pairs changes by at most L2 = sqrt(2 m^2 / 2) = m, and by at most
L1 = min(2 P, m sqrt(P)) with P = C(m, 2). Rounding each entry toward zero to units of u = 2^-20 (and the float64
division before it) moves a difference by less than 1.001 u, which adds 1.001 u sqrt(P) to L2 and 1.001 u P to L1. The
mean over l blocks moves by 1/l of that for each changed block: r blocks when r rows come or go, 2 r when they are
replaced.

**The likelihood's maximum** may take the place of the correlation (Li, Xiong, Jiang 2014, Algorithm 2, pair by pair). A
block's estimate for two columns is then the number between -1 and 1 at which the density of the bivariate Gaussian
copula is largest over the block's rows. It is a function of three exact integers, the number of rows and the sums of
x^2 + y^2 and of x y, computed from them alone and rounded to a whole number of units between -2^20 and 2^20. No other
property is used: such maxima need not be a semidefinite matrix, so the bound is the diameter of the cube, as in the
paper, L1 = 2 P and L2 = 2 sqrt(P) for a changed block, and no error of floating point can exceed it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sklar.accounting.unit import Unit
from sklar.release.lookups import require_rule
from sklar.release.scores import Scores
from sklar.release.sums import Sums, refuse_votes, round_up

BLOCK_BITS = 20
"""Correlations of a block are rounded to multiples of 2^-20."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockMeans(Sums):
    """Correlations of scores, estimated in each of many blocks of rows and averaged over the blocks.

    Attributes:
        scores: At least two scores; a row's normal scores in units of 2^-10, fixed before the rows are read.
        blocks: Number of blocks. A row's block depends on its codes, `seed` and its number among equal rows.
        seed: Selects the assignment of rows to blocks.
    """

    scores: Scores
    blocks: int
    seed: int

    def __post_init__(self) -> None:
        require_rule(self.scores.count >= 2, "correlations need two or more scores")
        require_rule(type(self.blocks) is int and 1 <= self.blocks < 2**31, "blocks must be a positive whole number")
        require_rule(type(self.seed) is int and 0 <= self.seed < 2**63, "the seed must be a whole number below 2^63")

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.scores.columns))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of base codes of each of `columns`."""
        found = dict(self.reads)
        return tuple(found[name] for name in self.columns)

    @property
    def size(self) -> int:
        """The pairs (0, 1), (0, 2), ..., (d - 2, d - 1)."""
        return self.scores.count * (self.scores.count - 1) // 2

    @property
    def resolution(self) -> float:
        """A block's rounding step, shared by all blocks."""
        return 2.0**-BLOCK_BITS / self.blocks

    def sensitivity(self, unit: Unit) -> tuple[float, float]:
        """Return L1 and L2 by which one person moves the vector (proof above); unit.l1 blocks change."""
        refuse_votes(unit, "a correlation is worked out in blocks of whole rows")
        m, step = self.scores.count, 1.001 * 2.0**-BLOCK_BITS
        changed = unit.l1 / self.blocks
        l1 = min(2.0 * self.size, m * math.sqrt(self.size)) + step * self.size
        return round_up(changed * l1), round_up(changed * (m + step * math.sqrt(self.size)))

    @property
    def reads(self) -> tuple[tuple[str, int], ...]:
        return self.scores.reads


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockLikelihoods(BlockMeans):
    """Maximum-likelihood correlations of a bivariate Gaussian copula, estimated in blocks of rows and averaged."""

    def sensitivity(self, unit: Unit) -> tuple[float, float]:
        """Return L1 and L2 by which one person moves the vector (proof above); unit.l1 blocks change."""
        refuse_votes(unit, "a likelihood is worked out in blocks of whole rows")
        changed = unit.l1 / self.blocks
        return round_up(changed * 2.0 * self.size), round_up(changed * 2.0 * math.sqrt(self.size))
