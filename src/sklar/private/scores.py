"""Scores for noisy choices, each with its sensitivity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sklar.accounting.unit import Unit
from sklar.release.requests import TableDistance


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
