"""Ranks and ties: paired over folds, noise is a tie, and clear differences are not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sklar.lab.compare.result import estimate_interval, rank_systems

RANKED = frozenset({"a", "b", "c"})


def by_fold(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values))


def tied(one: dict[int, float], two: dict[int, float]) -> bool:
    """Neither is better beyond chance, whichever way is better."""
    ways = [rank_systems({"a": one, "b": two}, lower=lower, ranked=RANKED) for lower in (True, False)]
    return all(standing.rank == 1 for way in ways for standing in way)


def test_the_interval_is_the_corrected_resampled_t() -> None:
    values = [1.0, 2.0, 4.0, 3.0]
    mean, half = estimate_interval(values)
    plain = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    # The plain interval has 1/k where the corrected one has 1/k + 1/(k-1).
    widened = (plain[1] - plain[0]) / 2 * math.sqrt((1 / 4 + 1 / 3) / (1 / 4))
    assert (mean, half) == (pytest.approx(2.5), pytest.approx(widened))
    assert estimate_interval([7.0]) == (7.0, None)


def test_a_small_but_steady_difference_is_no_tie_and_a_large_unsteady_one_is() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(size=5)
    steady = by_fold((base + 0.01 + 0.0001 * rng.normal(size=5)).tolist())
    assert not tied(by_fold(base.tolist()), steady)
    assert tied(by_fold([0.0, 0.0, 0.0]), by_fold([1.0, -1.1, 0.3]))


def test_same_noise_is_rarely_called_a_difference() -> None:
    rng = np.random.default_rng(2)
    ties = [tied(by_fold(rng.normal(size=5).tolist()), by_fold(rng.normal(size=5).tolist())) for _ in range(400)]
    # The correction is for dependent folds, so independent ones are tied more often than 95%.
    assert np.mean(ties) > 0.95


def test_ranks_count_who_is_better_and_ties_share_them() -> None:
    found = {
        "a": by_fold([0.10, 0.11, 0.12]),
        "b": by_fold([0.101, 0.109, 0.121]),
        "c": by_fold([0.30, 0.31, 0.32]),
        "reference": by_fold([0.0, 0.0, 0.0]),
        "failed": {},
    }
    out = {s.system: s for s in rank_systems(found, lower=True, ranked=RANKED)}
    assert [out[name].rank for name in "abc"] == [1, 1, 3]
    assert out["reference"].rank is None and not out["reference"].first
    assert out["failed"].mean is None and out["failed"].folds == 0
    higher = {s.system: s.rank for s in rank_systems(found, lower=False, ranked=RANKED)}
    assert [higher[name] for name in "abc"] == [2, 2, 1]
    assert [s.system for s in rank_systems(found, lower=True, ranked=RANKED)][::4] == ["reference", "failed"]


def test_one_common_fold_tells_nothing() -> None:
    assert tied({0: 1.0, 1: 1.0}, {1: 5.0, 2: 5.0})


def test_last_digits_are_no_difference() -> None:
    assert tied(by_fold([0.1 + 0.2] * 3), by_fold([0.3] * 3))
