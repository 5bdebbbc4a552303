"""Exact sums of rows placed on a sphere, in integers; their meaning and bounds are in `sklar.release.sphere`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints
from sklar.release.scores import SCORE_BITS, Scores
from sklar.release.sphere import Contrasts, PairSums, StarSums

Codes = npt.NDArray[np.integer[Any]]

BLOCK_ENTRIES = 1 << 21
"""Matrix entries of a block of rows, which bounds memory."""
MAX_EXACT_FLOAT = 2.0**53
"""Float64 represents every integer up to this, so matrix products below it are exact in any order of addition."""


def exact_star_sums(feature: StarSums, codes: Codes) -> Ints:
    """Return the star sums of a batch, in units of `feature.resolution`."""
    place = {name: i for i, name in enumerate(feature.columns)}
    width = feature.scores.count + sum(feature.level_counts)
    total = np.zeros((len(feature.contrasts.lookups), width), np.int64)
    for block in _split_blocks(codes, feature.scores.count):
        weights = _look_up_weights(feature.contrasts, block, place)
        sums = [_multiply_exactly(weights, _place_rows(feature.scores, block, place))]
        for name, levels, count in zip(feature.nominal, feature.levels, feature.level_counts, strict=True):
            sums.append(_sum_by_level(weights, levels[block[:, place[name]]], count) << SCORE_BITS)
        total += np.concatenate(sums, axis=1)
    return total.ravel()


def exact_pair_sums(feature: PairSums, codes: Codes) -> Ints:
    """Return the pair sums of a batch, in units of `feature.resolution`, without a matrix of rows x pairs."""
    place = {name: i for i, name in enumerate(feature.columns)}
    upper = np.triu_indices(feature.scores.count, 1)
    contrasts = len(feature.contrasts.lookups) if feature.contrasts else 1
    total = np.zeros((contrasts, len(upper[0])), np.int64)
    for block in _split_blocks(codes, feature.scores.count):
        points = _place_rows(feature.scores, block, place)
        weights = _look_up_weights(feature.contrasts, block, place) if feature.contrasts else np.ones((1, 1), np.int64)
        for m, line in enumerate(weights):
            total[m] += _multiply_exactly(points.T * line, points)[upper]
    return total.ravel()


def row_points(scores: Scores, columns: Mapping[str, Codes]) -> Ints:
    """Return the integer point of each row, one line a row, from codes by column."""
    names = tuple(dict.fromkeys(scores.columns))
    codes = np.column_stack([columns[name] for name in names]) if names else np.zeros((0, 0), np.int64)
    return _place_rows(scores, codes, {name: i for i, name in enumerate(names)})


def contrast_weights(contrasts: Contrasts, columns: Mapping[str, Codes]) -> Ints:
    """Return the integer weights of each row, one line a contrast, from codes by column."""
    return _look_up_weights(contrasts, columns[contrasts.column][:, None], {contrasts.column: 0})


def _split_blocks(codes: Codes, scores: int) -> Iterator[Codes]:
    step = max(1, BLOCK_ENTRIES // max(scores, 1))
    return (codes[start : start + step] for start in range(0, len(codes), step))


def _place_rows(scores: Scores, codes: Codes, place: dict[str, int]) -> Ints:
    """Return each row's integer point on the sphere, rounded toward zero."""
    if not scores.count:
        return np.zeros((len(codes), 0), np.int64)
    read = zip(scores.columns, scores.lookups, strict=True)
    k = np.column_stack([lookup[codes[:, place[name]]].astype(np.int64) for name, lookup in read])
    squares = k * k
    norm = np.maximum(squares.sum(axis=1, keepdims=True), 1)
    # d <= 2^13 and k^2 < 2^24, so the numerator stays below 2^57 and the quotient below 2^33.
    quotient = squares * (scores.count << (2 * SCORE_BITS)) // norm
    # The square root of an integer below 2^52 is accurate to less than the distance to the next integer, so floor is
    # exact.
    return np.sign(k) * np.floor(np.sqrt(quotient.astype(np.float64))).astype(np.int64)


def _look_up_weights(contrasts: Contrasts, codes: Codes, place: dict[str, int]) -> Ints:
    """Return the weights of each row, one line per contrast."""
    target = codes[:, place[contrasts.column]]
    return np.stack([lookup[target].astype(np.int64) for lookup in contrasts.lookups])


def _sum_by_level(weights: Ints, levels: npt.NDArray[np.int32], count: int) -> Ints:
    sums = np.zeros((len(weights), count), np.int64)
    for m, line in enumerate(weights):
        np.add.at(sums[m], levels, line)
    return sums


def _multiply_exactly(left: Ints, right: Ints) -> Ints:
    """Multiply integer matrices by float64 products of row blocks small enough to be exact."""
    rows = left.shape[1]
    if not rows or not left.size or not right.size:
        return np.zeros((left.shape[0], right.shape[1]), np.int64)
    largest = float(np.abs(left).max()) * float(np.abs(right).max())
    step = max(1, min(rows, int(MAX_EXACT_FLOAT / max(largest, 1.0))))
    total = np.zeros((left.shape[0], right.shape[1]), np.int64)
    for start in range(0, rows, step):
        part = left[:, start : start + step].astype(np.float64) @ right[start : start + step].astype(np.float64)
        total += part.astype(np.int64)
    return total
