"""Exact sums over blocks of rows of rounded correlations; defined, with their bounds, in `sklar.release.blocks`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints
from sklar.counting.jobs import CountedRows
from sklar.release.blocks import BLOCK_BITS, BlockMeans
from sklar.release.scores import SCORE_BITS, Scores

Words = npt.NDArray[np.uint64]


def exact_block_sums(feature: BlockMeans, rows: CountedRows) -> Ints:
    """Sum the rounded correlations over blocks, in units of 2^-20."""
    return estimate_block_correlations(*rows.run_group_job(MomentJob(feature=feature))).sum(axis=0)


def exact_likelihood_sums(feature: BlockMeans, rows: CountedRows) -> Ints:
    """Sum the rounded maximum-likelihood correlations over blocks, in units of 2^-20."""
    return estimate_block_likelihoods(*rows.run_group_job(MomentJob(feature=feature))).sum(axis=0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MomentJob:
    """Counts rows and sums scores and their products in each block, over parts that keep equal rows together.

    A row's number among its equals is the same in any part that contains all of them, and so is its block.
    """

    feature: BlockMeans

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.feature.columns)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        blocks, m = self.feature.blocks, self.feature.scores.count
        return (blocks,), (m, blocks), (m * (m + 1) // 2, blocks)

    def __call__(self, codes: npt.NDArray[np.int32]) -> tuple[Ints, ...]:
        feature = self.feature
        block = assign_blocks(pack_rows(codes, feature.sizes), feature.blocks, feature.seed)
        place = {name: i for i, name in enumerate(feature.columns)}
        return block_moments(_look_up_scores(feature.scores, codes, place), block, feature.blocks)


def block_moments(scores: Ints, block: Ints, blocks: int) -> tuple[Ints, Ints, Ints]:
    """Return (rows, sums, sums of products of each pair j <= k) in each block, as exact integers."""
    m = scores.shape[1]
    sums = np.array([_sum_in_blocks(block, scores[:, j], blocks) for j in range(m)], dtype=np.int64).reshape(m, blocks)
    pairs = combinations_with_replacement(range(m), 2)
    products = [_sum_in_blocks(block, scores[:, j] * scores[:, k], blocks) for j, k in pairs]
    return np.bincount(block, minlength=blocks), sums, np.array(products, dtype=np.int64).reshape(-1, blocks)


def pack_rows(codes: npt.NDArray[np.int32], sizes: Sequence[int]) -> Words:
    """Pack each row's codes as digits of one or more numbers below 2^64 (one line each), equal for equal rows only.

    `sizes` are the numbers of codes of the columns.
    """
    words, room = [np.zeros(len(codes), dtype=np.uint64)], 2**64
    for column, size in zip(codes.T, sizes, strict=True):
        if room < size:
            words.append(np.zeros(len(codes), dtype=np.uint64))
            room = 2**64
        words[-1] = words[-1] * np.uint64(size) + column.astype(np.uint64)
        room //= size
    return np.stack(words)


def assign_blocks(words: Words, blocks: int, seed: int) -> Ints:
    """Return the block of each row, by its words and its number among the rows of the same words."""
    spread, _ = mix_row_keys(words, seed)
    # The high half times the number of blocks, shifted: uniform to within blocks / 2^32.
    return (((spread >> np.uint64(32)) * np.uint64(blocks)) >> np.uint64(32)).astype(np.int64)


def mix_row_keys(words: Words, seed: int) -> tuple[Words, Words]:
    """Return mixed bits of each row, from `seed`, its words and its number among equal rows; and that number."""
    order = np.argsort(words[0], kind="stable") if len(words) == 1 else np.lexsort(words)
    ordered = words[:, order]
    rows = np.arange(words.shape[1])
    first = np.concatenate([[True], (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)])[: len(rows)]
    number = np.empty(len(rows), dtype=np.uint64)
    number[order] = (rows - np.maximum.accumulate(np.where(first, rows, 0))).astype(np.uint64)
    spread = np.full(len(rows), seed, dtype=np.uint64)
    for word in (*words, number):
        spread = mix_bits(spread ^ (word + np.uint64(0x9E3779B97F4A7C15)))
    return spread, number


def mix_bits(words: Words) -> Words:
    """Apply a bijection of 64-bit words that flips half the bits for any change (the finalizer of splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def estimate_block_correlations(count: Ints, sums: Ints, products: Ints) -> Ints:
    """Return the correlations of each block (one line) for each pair, in units of 2^-20, rounded toward zero."""
    m, blocks = sums.shape
    # With more rows in a block, n times a sum of squared scores exceeds 64 bits: Python's integers take over.
    wide: type = np.int64 if count.max(initial=0) < 900_000 else object
    count, sums, products = count.astype(wide), sums.astype(wide), products.astype(wide)
    moments: dict[tuple[int, int], Floats] = {}
    for (j, k), product in zip(combinations_with_replacement(range(m), 2), products, strict=True):
        moments[j, k] = (count * product - sums[j] * sums[k]).astype(np.float64)
    out = np.zeros((blocks, m * (m - 1) // 2), dtype=np.int64)
    pairs = [(j, k) for j in range(m) for k in range(j + 1, m)]
    for place, (j, k) in enumerate(pairs):
        spread = np.sqrt(moments[j, j]) * np.sqrt(moments[k, k])
        corr = np.divide(moments[j, k], spread, out=np.zeros(blocks), where=spread > 0)
        out[:, place] = np.trunc(np.clip(corr, -1.0, 1.0) * 2**BLOCK_BITS).astype(np.int64)
    return out


def estimate_block_likelihoods(count: Ints, sums: Ints, products: Ints) -> Ints:
    """Return the maximum of the likelihood of each block (one line) for each pair, in units of 2^-20, toward zero."""
    (m, blocks), scale = sums.shape, np.maximum(count, 1) * 2.0 ** (2 * SCORE_BITS)
    means = dict(zip(combinations_with_replacement(range(m), 2), products / scale, strict=True))
    pairs = [(j, k) for j in range(m) for k in range(j + 1, m)]
    found = [maximize_likelihood(means[j, j] + means[k, k], means[j, k]) for j, k in pairs]
    return np.trunc(np.array(found).reshape(-1, blocks).T * 2**BLOCK_BITS).astype(np.int64)


def maximize_likelihood(squares: Floats, product: Floats) -> Floats:
    r"""Maximize the likelihood of a bivariate Gaussian copula, with a = mean of x^2 + y^2, b = mean of x y.

    Its logarithm, a row, is -log(1 - r^2) / 2 - (a r^2 - 2 b r) / (2 (1 - r^2)), with a slope of the sign of the cubic
    f(r) = r (1 - r^2) + (1 + r^2) b - r a. Since f(-1) = a + 2 b >= 0 >= 2 b - a = f(1), there is a maximum, to the
    left of the valley of f or to the right of its hill (both at b / 3 if f falls throughout): halving finds the one of
    either side, and the better one is taken. Without rows 0.
    """
    reach = np.sqrt(np.maximum(product**2 - 3 * (squares - 1), 0.0))
    valley, hill = (np.clip((product + side * reach) / 3, -1.0, 1.0) for side in (-1, 1))
    left = _find_falling_root(squares, product, np.full(len(squares), -1.0), valley)
    right = _find_falling_root(squares, product, hill, np.full(len(squares), 1.0))
    better = _log_likelihood(squares, product, right) > _log_likelihood(squares, product, left)
    return np.where(squares > 0, np.where(better, right, left), 0.0)


def _find_falling_root(squares: Floats, product: Floats, low: Floats, high: Floats) -> Floats:
    """Find by bisection where the cubic falls through 0, or the end nearest to that; to less than half a unit."""
    for _ in range(BLOCK_BITS + 3):
        middle = (low + high) / 2
        above = middle * (1 - middle**2) + (1 + middle**2) * product - middle * squares > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return (low + high) / 2


def _log_likelihood(squares: Floats, product: Floats, corr: Floats) -> Floats:
    rest = np.maximum(1 - corr**2, 2.0**-BLOCK_BITS)
    return -np.log(rest) / 2 - (squares * corr**2 - 2 * product * corr) / (2 * rest)


def _sum_in_blocks(block: Ints, values: Ints, blocks: int) -> Ints:
    """Sum integers in each block, exactly: all partial sums stay below 2^53."""
    return np.bincount(block, values, minlength=blocks).astype(np.int64)


def _look_up_scores(scores: Scores, codes: npt.NDArray[np.int32], place: dict[str, int]) -> Ints:
    read = zip(scores.columns, scores.lookups, strict=True)
    return np.column_stack([lookup[codes[:, place[name]]].astype(np.int64) for name, lookup in read])
