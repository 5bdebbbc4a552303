"""Scores for noisy choices, each with its sensitivity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sklar.accounting.unit import Unit
from sklar.errors import DoorError
from sklar.release.requests import Score, TableDistance, TailNorms
from sklar.rows import TableSpec

Ints = npt.NDArray[np.int64]


def score_tables(score: Score) -> list[TableSpec]:
    """The tables whose exact counts a score needs."""
    if isinstance(score, TailNorms):
        return [((score.column,), (score.lookup,))]
    return [(candidate.columns, candidate.lookups) for candidate in score.candidates]


def exact_scores(score: Score, exact_tables: Sequence[Ints]) -> npt.NDArray[np.float64]:
    """The score of every candidate."""
    if isinstance(score, TailNorms):
        return exact_tail_norms(score, exact_tables[0])
    return exact_distances(score, exact_tables)


def score_sensitivity(score: Score, unit: Unit) -> float:
    """How far one person moves any of the scores."""
    return tail_sensitivity(unit) if isinstance(score, TailNorms) else distance_sensitivity(unit)


def score_size(score: Score) -> int:
    """Number of candidates."""
    return len(score.penalties) if isinstance(score, TailNorms) else len(score.candidates)


def exact_tail_norms(score: TailNorms, exact_table: Ints) -> npt.NDArray[np.float64]:
    """Minus the norm of all but the 1, 2, ... lowest frequencies of a histogram, minus the penalty."""
    from scipy.fft import dct  # not at import time: slow to load

    power = np.asarray(dct(exact_table.astype(np.float64), norm="ortho")) ** 2
    if len(score.penalties) > len(power):
        raise DoorError("a histogram has as many frequencies as bins")
    dropped = np.append(np.cumsum(power[::-1])[::-1], 0.0)[1:]
    return -np.sqrt(dropped[: len(score.penalties)]) - score.penalties


def tail_sensitivity(unit: Unit) -> float:
    """How far one person moves any of the tail norms.

    Dropping low frequencies is a projection after an orthogonal transform, so the norms of two histograms' tails differ
    by at most the Euclidean distance of the histograms: rows_per_person when rows come or go, sqrt(2) times that when
    they move. The last digits are for rounding in the transform.
    """
    return float(unit.l2) * (1 + 1e-9)


def exact_distances(score: TableDistance, exact_tables: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.float64]:
    """L1 distance between each candidate's exact counts and its public estimate, plus its public bonus."""
    distances = [
        float(np.abs(exact - candidate.estimate).sum())
        for exact, candidate in zip(exact_tables, score.candidates, strict=True)
    ]
    return np.array(distances) + np.array(score.bonuses or np.zeros(len(distances)))


def distance_sensitivity(unit: Unit) -> float:
    """How far one person moves any of the distances.

    |sum |x - e| - sum |x' - e|| <= sum |x - x'| = L1 change of the counts: one row is in one cell, so rows_per_person
    under add/remove and twice that under replace. Estimates and bonuses are fixed before the rows are read.
    """
    return float(unit.l1)
