"""Scores for noisy choices, each with its sensitivity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklar.accounting.unit import VOTE_BITS, Unit
from sklar.arrays import Floats, Ints
from sklar.errors import DoorError
from sklar.release.door import Score, SplitNorms, TableDistance, TailNorms
from sklar.rows import TableSpec

POINT = 16
"""Distances are computed in whole multiples of 2^-16."""
LARGEST = 2.0**51
"""The sum of all estimates of a candidate stays below this many of them."""
ROOM = 1e-3
"""Room for rounding in tail norms, in rows."""


def score_tables(score: Score) -> list[TableSpec]:
    """The tables whose exact counts a score needs."""
    if isinstance(score, TailNorms | SplitNorms):
        return [((score.column,), (score.lookup,))]
    return [(candidate.columns, candidate.lookups) for candidate in score.candidates]


def exact_scores(score: Score, exact_tables: Sequence[Ints], unit: Unit) -> Floats:
    """The score of every candidate. Tables of votes are in parts of 2^-20, and so are then all norms of them."""
    if isinstance(score, TailNorms):
        return exact_tail_norms(score, exact_tables[0], unit.resolution)
    if isinstance(score, SplitNorms):
        return exact_split_norms(score, exact_tables[0]) * unit.resolution
    return exact_distances(score, exact_tables, VOTE_BITS if unit.votes else 0)


def score_sensitivity(score: Score, unit: Unit) -> float:
    """How far one person moves any of the scores."""
    return distance_sensitivity(unit) if isinstance(score, TableDistance) else tail_sensitivity(unit)


def exact_tail_norms(score: TailNorms, exact_table: Ints, resolution: float = 1.0) -> Floats:
    """Minus the norm of all but the 1, 2, ... lowest frequencies of a histogram, minus the penalty."""
    from scipy.fft import dct  # not at import time: slow to load

    power = np.asarray(dct(exact_table * resolution, norm="ortho")) ** 2
    if len(score.penalties) > len(power):
        raise DoorError("a histogram has as many frequencies as bins")
    dropped = np.array([power[kept:].sum() for kept in range(1, len(score.penalties) + 1)])
    return -np.sqrt(dropped) - score.penalties


def tail_sensitivity(unit: Unit) -> float:
    """How far one person moves any of the tail norms.

    Dropping low frequencies is a projection after an orthogonal transform, so the norms of two histograms' tails differ
    by at most the Euclidean distance of the histograms: rows_per_person when rows come or go, sqrt(2) times that when
    they move.

    `ROOM` is for rounding. The transform is off by at most 7 u log2(m) of the norm of a histogram of m bins, u = 2^-53
    (see `composition.tilted`), which is at most the number of rows: for fewer than 2^33 rows and 2^24 bins by
    1.7 x 10^-4, and so are the norms of its tails. Sums of squares are taken in pairs, off by 30 u of themselves, so
    norms by 15 u, which is 1.5 x 10^-5; the penalty adds less. Two neighbours make less than 4 x 10^-4.
    """
    return float(unit.l2) + ROOM


def exact_split_norms(score: SplitNorms, exact_table: Ints) -> Floats:
    """Minus the distance of a histogram from the means of its runs, for every beginning of the last run.

    The histograms that are even on given runs are a linear space, and the best runs choose the nearest of finitely many
    such spaces. A distance from a set moves no more than the histogram itself: `tail_sensitivity` holds here, too. (The
    square of it, which Xu et al. 2013 score by, moves by up to twice the largest count and one, which is private.)

    Rounding is within `ROOM`: squared distances are sums of at most 64 terms (w s2 - s1^2) / w, none of them negative,
    each an exact integer over an integer. They are off by 66 u of themselves, u = 2^-53, and their roots, which are at
    most the number of rows, by 34 u of that: for fewer than 2^33 rows by 3.3 x 10^-5.
    """
    errors = squared_errors(exact_table[: score.end])
    best = errors[0]  # of the first bins in one run, by their number
    for _ in range(score.runs - 2):
        best = np.min(best[:, None] + errors, axis=0)
    first = score.runs - 1
    return -np.sqrt(best[first:-1] + errors[first:-1, -1])


def squared_errors(exact_counts: Ints) -> Floats:
    """Squared distance of bins start, ..., end - 1 from their mean, at [start, end]; infinite where there is no bin."""
    bins = len(exact_counts)
    wide: type = np.int64 if int(exact_counts.sum()) ** 2 * bins < 2**62 else object
    counts = exact_counts.astype(wide)
    sums, squares = (np.concatenate([np.zeros(1, dtype=wide), np.cumsum(x)]) for x in (counts, counts * counts))
    width = np.arange(bins + 1) - np.arange(bins + 1)[:, None]
    inside = width * (squares - squares[:, None]) - (sums - sums[:, None]) ** 2
    return np.where(width > 0, inside.astype(np.float64) / np.maximum(width, 1), np.inf)


def exact_distances(score: TableDistance, exact_tables: Sequence[Ints], bits: int = 0) -> Floats:
    """L1 distance between each candidate's exact counts and its public estimate, plus its public bonus.

    Counts are in parts of 2^-bits.
    """
    bonuses = score.bonuses or (0.0,) * len(score.candidates)
    told = zip(exact_tables, score.candidates, bonuses, strict=True)
    return np.array([_distance(exact, candidate.estimate, bonus, bits) for exact, candidate, bonus in told])


def _distance(exact: Ints, estimate: Floats, bonus: float, bits: int) -> float:
    """One such score, in whole multiples of 2^-16, or of parts of a vote, and without any rounding but that of public
    numbers to them.
    """
    point = max(POINT, bits)
    rounded, added = _in_points(estimate, bonus, point)
    return float(np.abs(exact * 2 ** (point - bits) - rounded).sum() + added) / 2**point


def check_estimates(score: Score, unit: Unit) -> None:
    """Refuse public estimates too large for exact sums, before anything is charged."""
    if isinstance(score, TableDistance):
        point = max(POINT, VOTE_BITS if unit.votes else 0)
        for candidate, bonus in zip(score.candidates, score.bonuses or (0.0,) * len(score.candidates), strict=True):
            _in_points(candidate.estimate, bonus, point)


def _in_points(estimate: Floats, bonus: float, point: int) -> tuple[Floats, int]:
    """Public numbers in whole multiples of 2^-point."""
    rounded, added = np.rint(estimate * 2**point), round(bonus * 2**point)
    if not float(np.abs(rounded).sum()) + abs(added) < LARGEST:
        raise DoorError(f"the estimates and the bonus of a candidate must sum to less than 2^{51 - point}")
    return rounded, added


def distance_sensitivity(unit: Unit) -> float:
    """How far one person moves any of the distances.

    |sum |x - e| - sum |x' - e|| <= sum |x - x'| = L1 change of the counts: one row is in one cell, so rows_per_person
    under add/remove and twice that under replace. Estimates and bonuses are fixed before the rows are read.

    This holds for the floats that are computed too: all are whole multiples of 2^-16 below 2^36 (tables have fewer than
    2^35 rows), or of 2^-20 below 2^32 (fewer than 2^31 votes), and float64 adds such numbers exactly.
    """
    return float(unit.l1)
