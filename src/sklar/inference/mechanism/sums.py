"""Everything a method may ask for, counted and summed over synthetic codes in plain floating point.

The wall has the same sums in exact integers, with proofs of how far a row moves them. Neither is needed for rows that
nobody owns; tests hold the two against each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.fft import dct

from sklar.arrays import Floats, Ints
from sklar.release.door import Score, SplitNorms, TailNorms
from sklar.release.features import (
    BlockLikelihoods,
    BlockMeans,
    Coefficients,
    Contrasts,
    Feature,
    PairSums,
    StarSums,
    TauVector,
)
from sklar.release.scores import SCORE_BITS, Lookup, Scores

CORR_STEPS = 4097
"""Correlations from -1 to 1 among which a block's likelihood is maximized: half a thousandth apart, far below noise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodeTable:
    """Synthetic rows: base codes by column, all of one length."""

    columns: Mapping[str, np.ndarray]

    @property
    def rows(self) -> int:
        """How many."""
        return len(next(iter(self.columns.values())))

    def counts(self, columns: tuple[str, ...], lookups: tuple[Lookup, ...]) -> Ints:
        """Rows in each cell of a table of recoded columns."""
        shape = tuple(int(lookup.max()) + 1 for lookup in lookups)
        place = np.zeros(self.rows, dtype=np.int64)
        for name, lookup, size in zip(columns, lookups, shape, strict=True):
            place = place * size + lookup[self.columns[name]]
        return np.bincount(place, minlength=math.prod(shape)).reshape(shape)

    def scores(self, scores: Scores) -> Floats:
        """One line of scores a row."""
        found = [lookup[self.columns[name]] for name, lookup in zip(scores.columns, scores.lookups, strict=True)]
        return np.array(found, dtype=np.float64).reshape(len(found), self.rows).T / 2**SCORE_BITS

    def first(self, rows: int) -> CodeTable:
        """Some of the rows; all are drawn alike, so the first are as good a sample as any."""
        return CodeTable(columns={name: codes[:rows] for name, codes in self.columns.items()})

    def last(self, rows: int) -> CodeTable:
        """The last of the rows."""
        return CodeTable(columns={name: codes[self.rows - rows :] for name, codes in self.columns.items()})

    def and_then(self, others: CodeTable) -> CodeTable:
        """These rows and others below them."""
        return CodeTable(columns={name: np.concatenate([x, others.columns[name]]) for name, x in self.columns.items()})


def feature_sums(feature: Feature, codes: CodeTable) -> Floats:
    """The vector of a feature in its own units."""
    if isinstance(feature, StarSums):
        return _star_sums(feature, codes)
    if isinstance(feature, PairSums):
        return _pair_sums(feature, codes)
    if isinstance(feature, TauVector):  # over a sample of the rows, if it says how many
        return _taus(feature, codes.first(feature.rows))
    return _block_means(feature, codes) if isinstance(feature, BlockMeans) else _coefficients(feature, codes)


def sphere_points(scores: Scores, codes: CodeTable) -> Floats:
    """Scores of each row scaled to the length sqrt(d)."""
    points = codes.scores(scores)
    norm = np.sqrt((points**2).sum(axis=1, keepdims=True))
    return points * (math.sqrt(max(scores.count, 1)) / np.where(norm > 0, norm, 1.0))


def contrast_weights(contrasts: Contrasts, codes: CodeTable) -> Floats:
    """One line a contrast."""
    target = codes.columns[contrasts.column]
    return np.stack([lookup[target] for lookup in contrasts.lookups]) / 2.0**contrasts.bits


def _star_sums(feature: StarSums, codes: CodeTable) -> Floats:
    weights = contrast_weights(feature.contrasts, codes)
    sums = [weights @ sphere_points(feature.scores, codes)]
    for name, levels, count in zip(feature.nominal, feature.levels, feature.level_counts, strict=True):
        level = levels[codes.columns[name]]
        sums.append(np.stack([np.bincount(level, line, minlength=count) for line in weights]).astype(np.float64))
    return np.concatenate(sums, axis=1).ravel()


def _pair_sums(feature: PairSums, codes: CodeTable) -> Floats:
    points, upper = sphere_points(feature.scores, codes), np.triu_indices(feature.scores.count, 1)
    weights = contrast_weights(feature.contrasts, codes) if feature.contrasts else np.ones((1, codes.rows))
    return np.concatenate([((points.T * line) @ points)[upper] for line in weights])


def _taus(feature: TauVector, codes: CodeTable) -> Floats:
    """Concordant minus discordant pairs of rows, by sums over the cells before each, over the number of pairs."""
    found: list[float] = []
    for pair in combinations(range(len(feature.columns)), 2):
        names, lookups = zip(*((feature.columns[j], feature.lookups[j]) for j in pair), strict=True)
        table = codes.counts(names, lookups).astype(np.float64)
        below = np.cumsum(table, axis=0) - table
        before = np.cumsum(below, axis=1)
        found.append(float((table * (2 * before - below - before[:, -1:])).sum()))
    return np.array(found) * feature.resolution


def _block_means(feature: BlockMeans, codes: CodeTable) -> Floats:
    """The mean over blocks of what each tells; rows are drawn alike, so that blocks may be dealt in turn."""
    points, pairs = codes.scores(feature.scores), list(combinations(range(feature.scores.count), 2))
    block = np.arange(codes.rows) % feature.blocks
    told = _likeliest if isinstance(feature, BlockLikelihoods) else _corr
    return np.array([told(block, feature.blocks, points[:, j], points[:, k]).mean() for j, k in pairs])


def _corr(block: Ints, blocks: int, x: Floats, y: Floats) -> Floats:
    """Correlation in each block; 0 where there is no spread."""

    def mean(values: Floats) -> Floats:
        return np.bincount(block, values, blocks) / np.maximum(np.bincount(block, minlength=blocks), 1)

    x, y = x - mean(x)[block], y - mean(y)[block]
    spread = np.sqrt(mean(x * x) * mean(y * y))
    return np.where(spread > 1e-9, mean(x * y) / np.maximum(spread, 1e-9), 0.0)


def _likeliest(block: Ints, blocks: int, x: Floats, y: Floats) -> Floats:
    """The correlation of largest likelihood of a Gaussian copula in each block, on a grid."""
    count = np.maximum(np.bincount(block, minlength=blocks), 1)
    squares, product = (np.bincount(block, values, blocks) / count for values in (x * x + y * y, x * y))
    corr = np.linspace(-1.0, 1.0, CORR_STEPS)[1:-1]
    rest = 1.0 - corr**2
    best = np.empty(blocks)
    for i in range(blocks):  # one at a time: there may be thousands
        loss = np.log(rest) + (squares[i] * corr**2 - 2 * product[i] * corr) / rest
        best[i] = corr[np.argmin(loss)] if squares[i] > 0 else 0.0
    return best


def _coefficients(feature: Coefficients, codes: CodeTable) -> Floats:
    counts = codes.counts((feature.column,), (feature.lookup,)).astype(np.float64)
    if feature.basis == "cosine":
        return np.asarray(dct(counts, norm="ortho"))[: feature.kept]
    level = np.concatenate([counts, np.zeros(feature.leaves - len(counts))])
    found: list[Floats] = []
    while len(level) > 1:
        found.append(level[0::2] - level[1::2])
        level = level[0::2] + level[1::2]
    return np.concatenate([level, *found[::-1]])


def table_scores(score: Score, codes: CodeTable) -> Floats:
    """The score of every candidate of a choice."""
    if isinstance(score, TailNorms):
        power = np.asarray(dct(codes.counts((score.column,), (score.lookup,)).astype(np.float64), norm="ortho")) ** 2
        dropped = power.sum() - np.cumsum(power)[: len(score.penalties)]
        return -np.sqrt(np.maximum(dropped, 0.0)) - score.penalties
    if isinstance(score, SplitNorms):
        return _split_norms(score, codes.counts((score.column,), (score.lookup,))[: score.end].astype(np.float64))
    bonuses = score.bonuses or (0.0,) * len(score.candidates)
    tables = [np.abs(codes.counts(x.columns, x.lookups) - x.estimate).sum() for x in score.candidates]
    return np.array(tables) + np.array(bonuses)


def _split_norms(score: SplitNorms, counts: Floats) -> Floats:
    """Minus the distance of a histogram from the means of its best runs, for every beginning of the last run."""
    sums, squares = (np.concatenate([[0.0], np.cumsum(x)]) for x in (counts, counts**2))
    width = np.arange(len(sums)) - np.arange(len(sums))[:, None]
    inside = squares - squares[:, None] - (sums - sums[:, None]) ** 2 / np.maximum(width, 1)
    errors = np.where(width > 0, np.maximum(inside, 0.0), np.inf)
    best = errors[0]
    for _ in range(score.runs - 2):
        best = np.min(best[:, None] + errors, axis=0)
    first = score.runs - 1
    return -np.sqrt(best[first:-1] + errors[first:-1, -1])
