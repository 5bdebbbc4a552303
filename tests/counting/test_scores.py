"""Scores of choices: distances are exact whatever the numbers, so their sensitivity holds to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.accounting.unit import Unit
from sklar.counting.scores import exact_distances, exact_scores, require_exact_estimates
from sklar.errors import DoorError
from sklar.release.choices import Candidate, SplitNorms, TableDistance, TailNorms


def distance_score(estimate, bonus=0.0):
    candidate = Candidate(columns=("a",), partitions=(np.arange(len(estimate)),), estimate=estimate)
    return TableDistance(candidates=(candidate,), bonuses=(bonus,))


def distance(table, estimate, bonus=0.0):
    return exact_distances(distance_score(estimate, bonus), [np.asarray(table, dtype=np.int64)])[0]


@pytest.mark.parametrize("rows", [1_000, 10**9, 2**35 - 200])
def test_no_row_moves_a_distance_by_more_than_the_sensitivity(rows):
    rng = np.random.default_rng(rows)
    allowed = distance_score(np.zeros(97)).sensitivity(Unit(neighbours="add-remove"))
    for _ in range(300):
        table = rng.multinomial(rows, np.full(97, 1 / 97))
        estimate, bonus = rng.random(97) * rows / 97, rng.random() * 1000
        other = table + np.eye(1, 97, int(rng.integers(97)), dtype=np.int64)[0]
        assert abs(distance(table, estimate, bonus) - distance(other, estimate, bonus)) <= allowed
        assert distance(table, estimate, bonus) == pytest.approx(np.abs(table - estimate).sum() + bonus, abs=1e-3)


def test_in_plain_floats_the_last_digits_would_exceed_it():
    rng = np.random.default_rng(1_000)
    table, estimate = rng.multinomial(1_000, np.full(97, 1 / 97)), rng.random((300, 97)) * 10
    other = table + np.eye(1, 97, 5, dtype=np.int64)[0]
    changes = np.abs(np.abs(table - estimate).sum(axis=1) - np.abs(other - estimate).sum(axis=1))
    assert changes.max() > 1
    assert all(abs(distance(table, e) - distance(other, e)) <= 1 for e in estimate)


def test_estimates_too_large_to_be_summed_exactly_are_refused():
    for estimate in (1e300, 2.0**35, np.inf, np.nan):
        with pytest.raises(DoorError, match="less than"):
            distance([1, 2], np.array([estimate, 0.0]))
        with pytest.raises(DoorError, match="less than"):  # what the Door calls before it charges
            require_exact_estimates(distance_score(np.array([estimate, 0.0])), Unit(neighbours="add-remove"))


ROWS, VOTES = Unit(neighbours="add-remove"), Unit(neighbours="add-remove", votes=True)


def scores() -> list[TableDistance | TailNorms | SplitNorms]:
    bins = np.arange(12)
    candidate = Candidate(columns=("a",), partitions=(bins,), estimate=np.linspace(0.3, 40, 12))
    return [
        TableDistance(candidates=(candidate,), bonuses=(1.25,)),
        TailNorms(column="a", partition=bins, penalties=np.arange(5.0)),
        SplitNorms(column="a", partition=bins, runs=3, end=12),
    ]


@pytest.mark.parametrize("which", range(3))
def test_scores_of_votes_are_those_of_rows_in_parts_of_one(which):
    score, table = scores()[which], np.random.default_rng(1).integers(0, 60, 12)
    assert exact_scores(score, [table << 20], VOTES) == pytest.approx(exact_scores(score, [table], ROWS), abs=1e-4)


@pytest.mark.parametrize("which", range(3))
def test_no_vote_moves_a_score_by_more_than_the_sensitivity(which):
    """A vote that is shared out, or not."""
    score, rng = scores()[which], np.random.default_rng(2)
    for _ in range(100):
        table = rng.integers(0, 60 << 20, 12)
        rows = int(rng.integers(1, 9))
        other = table + np.bincount(rng.integers(0, 12, rows), minlength=12) * ((1 << 20) // rows)
        moved = np.abs(exact_scores(score, [table], VOTES) - exact_scores(score, [other], VOTES)).max()
        assert moved <= score.sensitivity(VOTES)
