"""Exact scores of candidates for private selection; defined, with their sensitivity, in `sklar.release.choices`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklar.accounting.unit import VOTE_BITS, Unit
from sklar.arrays import Floats, Ints
from sklar.errors import DoorError
from sklar.release.choices import Score, SplitNorms, TableDistance, TailNorms

POINT_BITS = 16
"""Distances are computed in whole multiples of 2^-16."""
MAX_ESTIMATE_SUM = 2.0**51
"""Maximum sum of all estimates of a candidate, in multiples of their step, so that sums are exact."""


def exact_scores(score: Score, exact_tables: Sequence[Ints], unit: Unit) -> Floats:
    """Return the score of every candidate. Tables of votes, and their norms, are in parts of 2^-20."""
    if isinstance(score, TailNorms):
        return exact_tail_norms(score, exact_tables[0], unit.resolution)
    if isinstance(score, SplitNorms):
        return exact_split_norms(score, exact_tables[0]) * unit.resolution
    return exact_distances(score, exact_tables, VOTE_BITS if unit.votes else 0)


def exact_tail_norms(score: TailNorms, exact_table: Ints, resolution: float = 1.0) -> Floats:
    """Return minus the norm of all but the 1, 2, ... lowest frequencies of a histogram, minus the penalty."""
    from scipy.fft import dct  # not at import time: slow to load

    power = np.asarray(dct(exact_table * resolution, norm="ortho")) ** 2
    if len(score.penalties) > len(power):
        raise DoorError("there are more penalties than bins of the histogram")
    dropped = np.array([power[kept:].sum() for kept in range(1, len(score.penalties) + 1)])
    return -np.sqrt(dropped) - score.penalties


def exact_split_norms(score: SplitNorms, exact_table: Ints) -> Floats:
    """Return minus the distance of a histogram from the means of its runs, for every beginning of the last run."""
    errors = squared_errors(exact_table[: score.end])
    best = errors[0]  # of the first bins in one run, by their number
    for _ in range(score.runs - 2):
        best = np.min(best[:, None] + errors, axis=0)
    first = score.runs - 1
    return -np.sqrt(best[first:-1] + errors[first:-1, -1])


def squared_errors(exact_counts: Ints) -> Floats:
    """Return the squared distance of bins start, ..., end - 1 from their mean, at [start, end]; else infinite."""
    bins = len(exact_counts)
    wide: type = np.int64 if int(exact_counts.sum()) ** 2 * bins < 2**62 else object
    counts = exact_counts.astype(wide)
    sums, squares = (np.concatenate([np.zeros(1, dtype=wide), np.cumsum(x)]) for x in (counts, counts * counts))
    width = np.arange(bins + 1) - np.arange(bins + 1)[:, None]
    inside = width * (squares - squares[:, None]) - (sums - sums[:, None]) ** 2
    return np.where(width > 0, inside.astype(np.float64) / np.maximum(width, 1), np.inf)


def exact_distances(score: TableDistance, exact_tables: Sequence[Ints], bits: int = 0) -> Floats:
    """Return the L1 distance between each candidate's exact counts and its public estimate, plus its public bonus.

    Counts are in parts of 2^-bits.
    """
    bonuses = score.bonuses or (0.0,) * len(score.candidates)
    scored = zip(exact_tables, score.candidates, bonuses, strict=True)
    return np.array([_compute_distance(exact, candidate.estimate, bonus, bits) for exact, candidate, bonus in scored])


def _compute_distance(exact: Ints, estimate: Floats, bonus: float, bits: int) -> float:
    """Compute one score in whole multiples of 2^-16, or of parts of a vote: only public numbers are rounded."""
    point = max(POINT_BITS, bits)
    rounded, added = _round_to_points(estimate, bonus, point)
    return float(np.abs(exact * 2 ** (point - bits) - rounded).sum() + added) / 2**point


def require_exact_estimates(score: Score, unit: Unit) -> None:
    """Refuse public estimates too large for exact sums."""
    if isinstance(score, TableDistance):
        point = max(POINT_BITS, VOTE_BITS if unit.votes else 0)
        for candidate, bonus in zip(score.candidates, score.bonuses or (0.0,) * len(score.candidates), strict=True):
            _round_to_points(candidate.estimate, bonus, point)


def _round_to_points(estimate: Floats, bonus: float, point: int) -> tuple[Floats, int]:
    """Round public numbers to whole multiples of 2^-point."""
    rounded, added = np.rint(estimate * 2**point), round(bonus * 2**point)
    if not float(np.abs(rounded).sum()) + abs(added) < MAX_ESTIMATE_SUM:
        raise DoorError(f"the estimates and the bonus of a candidate must sum to less than 2^{51 - point}")
    return rounded, added
