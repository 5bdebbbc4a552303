"""Compiled loops over rows: counts of pairs in cells, and distances between packed rows."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import numpy as np

from sklar.arrays import compiled, compiled_part
from sklar.counting.bits import popcount


@compiled()
def count_cells(first: np.ndarray, second: np.ndarray, lookup: np.ndarray, cells: int) -> np.ndarray:
    """Count the rows in each cell; `lookup` gives the cell of each of many equal steps of [0, 1]."""
    steps = lookup.shape[0]
    counts = np.zeros((cells, cells))
    for k in range(first.shape[0]):
        i = lookup[min(int(first[k] * steps), steps - 1)]
        j = lookup[min(int(second[k] * steps), steps - 1)]
        counts[i, j] += 1.0
    return counts


@compiled_part()
def _mismatches(target, other, low, high):
    """Count the columns in which two packed rows differ.

    A word contains several columns, one per lane. `low` has all bits of each lane but the highest, `high` the highest
    only: ((x & low) + low) | x has the highest bit of a lane set exactly if the lane of x is not zero. The number of
    such bits in the exclusive or of two words is the number of columns in which they differ.
    """
    count = np.uint64(0)
    for w in range(len(target)):
        x = target[w] ^ other[w]
        count += popcount((((x & low) + low) | x) & high)
    return count


@compiled()
def hamming_counts(targets, others, low, high, out):
    """Add to out[i, d] the number of other rows that differ from target i in d columns."""
    for i in range(targets.shape[0]):
        for j in range(others.shape[0]):
            out[i, _mismatches(targets[i], others[j], low, high)] += 1


@compiled()
def mixed_nearest(numbers, words, other_numbers, other_words, low, high, skip, distance, place):
    """Find squared distance and position of the nearest other row: squared differences of numbers plus unequal labels.

    Labels are packed as for Hamming distances. `skip[i]` is the position of target i among the others, or -1. A row is
    abandoned as soon as it is too far.
    """
    for i in range(numbers.shape[0]):
        best, found = np.inf, -1
        for j in range(other_numbers.shape[0]):
            d = float(_mismatches(words[i], other_words[j], low, high))
            if d >= best or j == skip[i]:
                continue
            for k in range(numbers.shape[1]):
                gap = numbers[i, k] - other_numbers[j, k]
                d += gap * gap
                if d >= best:
                    break
            if d < best:
                best, found = d, j
        distance[i], place[i] = best, found


@compiled()
def mixed_within(numbers, words, other_numbers, other_words, low, high, radius, scale, eta, counts, scores):
    """Count the other rows within each radius of each target, and sum their -log(distance / scale + eta).

    `radius` contains squared radii in ascending order; counts[i, r] and scores[i, r] belong to radius r.
    """
    last = radius[-1]
    for i in range(numbers.shape[0]):
        for j in range(other_numbers.shape[0]):
            d = float(_mismatches(words[i], other_words[j], low, high))
            if d > last:
                continue
            for k in range(numbers.shape[1]):
                gap = numbers[i, k] - other_numbers[j, k]
                d += gap * gap
                if d > last:
                    break
            if d <= last:
                term = -np.log(np.sqrt(d) / scale + eta)
                for r in range(len(radius) - 1, -1, -1):
                    if d > radius[r]:
                        break
                    counts[i, r] += 1
                    scores[i, r] += term
