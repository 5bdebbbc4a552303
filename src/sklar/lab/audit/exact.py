"""An independent implementation of the exact values and scores of a method's queries on public tables.

No code is shared with the Door. An audit that finds the releases to be these numbers plus the stated noise has
therefore checked the numbers, too. Queries on a keyed sample of the rows (blocks, sampled taus) are not implemented.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats
from sklar.release.agreements import Agreements
from sklar.release.blocks import BlockMeans
from sklar.release.choices import Score, SplitNorms, TableDistance, TailNorms
from sklar.release.coefficients import BASIS_BITS, Coefficients
from sklar.release.counts import Counts, Interaction, PairCounts, Partitioned
from sklar.release.distances import Distances
from sklar.release.measurements import Query, SumsQuery
from sklar.release.scores import SCORE_BITS, Scores
from sklar.release.sphere import Contrasts, PairSums, StarSums
from sklar.release.taus import SampledTaus, TauVector

Codes = Mapping[str, npt.NDArray[Any]]


def exact_values(query: Query, codes: Codes) -> Floats | None:
    """Return the exact whole numbers of a query, its tables concatenated; None if it is not implemented."""
    if isinstance(query, PairCounts):
        shape = query.shape
        groups = [partition[codes[name]] for name, partition in zip(query.columns, query.partitions, strict=True)]
        pairs = combinations(range(len(shape)), 2)
        return np.concatenate([_count_cells([groups[a], groups[b]], [shape[a], shape[b]]) for a, b in pairs])
    if isinstance(query, Counts | Interaction):
        values = table_counts(query, codes).reshape(query.shape)
        for axis, size in enumerate(query.shape if isinstance(query, Interaction) else ()):
            values = size * values - values.sum(axis=axis, keepdims=True)
        return values.ravel()
    return exact_sums(query, codes)


def table_counts(query: Partitioned, codes: Codes) -> Floats:
    """Count the rows in each cell of a table."""
    groups = [partition[codes[name]] for name, partition in zip(query.columns, query.partitions, strict=True)]
    return _count_cells(groups, query.shape)


def _count_cells(groups: Sequence[npt.NDArray[Any]], shape: Sequence[int]) -> Floats:
    cells = np.ravel_multi_index(tuple(group.astype(np.int64) for group in groups), tuple(shape))
    return np.bincount(cells, minlength=int(np.prod(shape))).astype(np.float64)


def choice_scores(score: Score, codes: Codes) -> Floats:
    """Return the exact scores of the candidates of a choice."""
    return exact_scores(score, [table_counts(table, codes) for table in score.tables])


def exact_sums(feature: SumsQuery, codes: Codes) -> Floats | None:
    """Return the vector of a feature in whole units of its resolution; None if it is not implemented."""
    match feature:
        case StarSums():
            return _compute_star_sums(feature, codes)
        case PairSums():
            return _compute_pair_sums(feature, codes)
        case Coefficients():
            return _compute_coefficients(feature, codes)
        case Agreements():
            pairs = zip(feature.first, feature.second, strict=True)
            return np.array([float(np.sum(codes[a] == codes[b])) for a, b in pairs])
        case Distances() if feature.expected is not None:
            expected = np.split(feature.expected, np.cumsum(feature.cells)[:-1])
            tables = zip(feature.tables, expected, strict=True)
            return np.array([np.abs(table_counts(table, codes) - own).sum() for table, own in tables])
        case SampledTaus() | BlockMeans() | Distances():
            return None
        case TauVector():
            return _concordances(feature, codes)
        case _:
            raise TypeError(f"an audit has no exact values of {type(feature).__name__}")


def _points(scores: Scores, codes: Codes) -> Floats:
    """Project rows to the sphere of radius sqrt(d), rounded toward zero to multiples of 2^-10."""
    read = zip(scores.columns, scores.lookups, strict=True)
    k = np.array([lookup[codes[name]] for name, lookup in read], dtype=np.int64).reshape(scores.count, -1).T
    norm = np.maximum((k * k).sum(axis=1, keepdims=True), 1)
    square = k * k * (scores.count << (2 * SCORE_BITS)) // norm
    return np.sign(k) * np.floor(np.sqrt(square))


def _weights(contrasts: Contrasts | None, codes: Codes) -> Floats:
    """Return one weight vector per contrast; without contrasts, every row has weight 1."""
    if contrasts is None:
        return np.ones((1, len(next(iter(codes.values())))))
    return np.array([lookup[codes[contrasts.column]] for lookup in contrasts.lookups], dtype=np.float64)


def _compute_star_sums(feature: StarSums, codes: Codes) -> Floats:
    weights = _weights(feature.contrasts, codes)
    parts = [weights @ _points(feature.scores, codes)] if feature.scores.count else []
    for name, levels, count in zip(feature.nominal, feature.levels, feature.level_counts, strict=True):
        parts.append(weights @ np.eye(count)[levels[codes[name]]] * 2**SCORE_BITS)
    return np.concatenate(parts, axis=1).ravel()


def _compute_pair_sums(feature: PairSums, codes: Codes) -> Floats:
    points = _points(feature.scores, codes)
    upper = np.triu_indices(feature.scores.count, 1)
    return np.concatenate([((points.T * line) @ points)[upper] for line in _weights(feature.contrasts, codes)])


def _compute_coefficients(feature: Coefficients, codes: Codes) -> Floats:
    counts = np.bincount(feature.lookup[codes[feature.column]], minlength=feature.bins).astype(np.float64)
    if feature.basis == "cosine":
        frequency, place = np.arange(feature.kept)[:, None], np.arange(feature.bins) + 0.5
        basis = np.cos(np.pi * frequency * place / feature.bins) * np.sqrt(2 / feature.bins)
        basis[0] /= np.sqrt(2)
        return np.trunc(basis * (1 - 1e-12) * 2**BASIS_BITS) @ counts
    level = np.pad(counts, (0, feature.leaves - feature.bins))
    found: list[Floats] = []
    while level.size > 1:
        found.insert(0, level[0::2] - level[1::2])
        level = level[0::2] + level[1::2]
    return np.concatenate([level, *found])


def _concordances(feature: TauVector, codes: Codes) -> Floats:
    """Count concordant minus discordant pairs of rows by comparing all rows with all."""
    read = zip(feature.columns, feature.lookups, strict=True)
    ranks = [lookup[codes[name]].astype(np.int64) for name, lookup in read]
    signs = [np.sign(rank[:, None] - rank) for rank in ranks]
    return np.array([float((a * b).sum()) / 2 for a, b in combinations(signs, 2)])


def exact_scores(score: TableDistance | TailNorms | SplitNorms, tables: Sequence[Floats]) -> Floats:
    """Compute the score of each candidate from its exact counts."""
    if isinstance(score, TableDistance):
        bonuses = score.bonuses or (0.0,) * len(score.candidates)
        scored = zip(tables, score.candidates, bonuses, strict=True)
        return np.array([np.abs(table - one.estimate.ravel()).sum() + bonus for table, one, bonus in scored])
    if isinstance(score, TailNorms):
        from scipy.fft import dct

        power = np.asarray(dct(tables[0], norm="ortho")) ** 2
        return np.array([-np.sqrt(power[k + 1 :].sum()) - more for k, more in enumerate(score.penalties)])
    return _split_scores(score, tables[0][: score.end])


def _split_scores(score: SplitNorms, counts: Floats) -> Floats:
    """Return minus the distance from the means of the best runs, for every start of the last run."""
    error = {(a, b): float(((counts[a:b] - counts[a:b].mean()) ** 2).sum())
             for a, b in combinations(range(len(counts) + 1), 2)}  # fmt: skip
    best = {end: error[0, end] for end in range(1, len(counts))}
    for run in range(2, score.runs):
        best = {end: min(best[cut] + error[cut, end] for cut in best if cut < end)
                for end in range(run, len(counts))}  # fmt: skip
    return np.array([-np.sqrt(best[start] + error[start, len(counts)]) for start in range(score.runs - 1, score.end)])


def choice_terms(one: Floats, other: Floats, scale: float, picked: Sequence[int]) -> tuple[float, float]:
    """Return the log-likelihood ratio of a choice by Gumbel noise of this scale, and its variance, summed over picks.

    Each pick is the largest of the remaining candidates, an exponential mechanism with probabilities proportional to
    exp(score / scale). The ratio is centred like that of Gaussian cells: to second order its mean is 0 on the first
    table.
    """
    ratio = variance = 0.0
    left = np.ones(len(one), dtype=bool)
    for index in picked:
        a, b = one[left] / scale, other[left] / scale
        p = np.exp(a - a.max())
        p /= p.sum()
        moved = b - a
        spread = float(p @ (moved - p @ moved) ** 2)
        ratio += float((other[index] - one[index]) / scale - np.log(p @ np.exp(moved - moved.max())) - moved.max())
        ratio += spread / 2
        variance += spread
        left[index] = False
    return ratio, variance
