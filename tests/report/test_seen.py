"""What a picture shows, in words that were computed: peaks, stretches, labels and pairs that differ."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

from sklar.report.seen import (
    MIN_VISIBLE_DIFFERENCE,
    correlations_seen,
    labels_seen,
    numbers_seen,
    pair_seen,
    widest_gap,
)

AGES = ("20 to 29", "30 to 39", "40 to 49", "50 to 59", "60 to 69", "70 to 79")


def test_numbers_tell_where_both_peak_and_where_they_differ() -> None:
    real, synthetic = [0.1, 0.2, 0.3, 0.2, 0.15, 0.05], [0.1, 0.19, 0.29, 0.2, 0.16, 0.06]
    assert numbers_seen(AGES, real, synthetic) == "both peak at 40 to 49; synthetic is 2.0 points higher from 60 on"
    moved = [0.3, 0.2, 0.1, 0.2, 0.15, 0.05]
    assert numbers_seen(AGES, real, moved) == (
        "real peaks at 40 to 49, synthetic at 20 to 29; synthetic is 20.0 points higher up to 29"
    )
    later = [0.05, 0.1, 0.1, 0.1, 0.15, 0.5]
    assert numbers_seen(AGES, real, later).startswith("real peaks at 40 to 49, synthetic at 70 to 79; ")
    assert numbers_seen(AGES, real, real) == "both peak at 40 to 49; no stretch differs by half a point"
    inner = [0.1, 0.24, 0.33, 0.2, 0.1, 0.03]
    assert "7.0 points higher from 30 to 49" in numbers_seen(AGES, real, inner)
    assert "at 1" in numbers_seen(("0", "1", "2"), [0.5, 0.2, 0.3], [0.5, 0.1, 0.3])
    assert numbers_seen((), [], []) == numbers_seen(("0",), [0.0], [0.0]) == "there are no values"


def test_labels_tell_the_most_frequent_and_the_furthest_off() -> None:
    labels = ("F", "M", "X")
    assert labels_seen(labels, [0.5, 0.3, 0.2], [0.51, 0.33, 0.16]) == (
        "most frequent in both is F (50.0% real, 51.0% synthetic); furthest off is X, synthetic 4.0 points lower"
    )
    assert labels_seen(labels, [0.5, 0.3, 0.2], [0.2, 0.6, 0.2]).startswith(
        "most frequent is F in the real table, M in the synthetic one"
    )
    assert labels_seen(labels, [0.5, 0.3, 0.2], [0.5, 0.3, 0.2]).endswith("no label differs by half a point")
    assert labels_seen((), [], []) == "there are no values"


def test_the_widest_gap_is_that_of_all_stretches() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        gaps = rng.normal(size=7).tolist()
        every = {(i, j): sum(gaps[i : j + 1]) for i, j in combinations_with_replacement(range(7), 2)}
        first, last, gap = widest_gap(gaps)
        assert gap == pytest.approx(every[first, last]) and abs(gap) == pytest.approx(max(map(abs, every.values())))
    assert widest_gap([]) == (0, 0, 0.0) and 0 < MIN_VISIBLE_DIFFERENCE < 0.01


def test_pairs_and_matrices() -> None:
    labels = (("a", "b"), ("x", "y"))
    assert pair_seen(labels, [[0.5, 0.1], [0.2, 0.2]], [[0.2, 0.1], [0.5, 0.2]]) == (
        "real is densest at a and x, synthetic at b and x; 30.0% of the synthetic rows would have to move"
    )
    assert pair_seen(labels, [[0.0]], [[0.0]]) == pair_seen(labels, [], []) == "there are no values"
    real = [[1, 0.5, -0.9], [0.5, 1, 0.1], [-0.9, 0.1, 1]]
    synthetic = [[1, 0.1, -0.8], [0.1, 1, math.nan], [-0.8, math.nan, 1]]
    assert correlations_seen(["p", "q", "r"], real, synthetic) == (
        "strongest: p and r, -0.90 real and -0.80 synthetic; furthest off: p and q, 0.50 real and 0.10 synthetic"
    )
    assert correlations_seen(["p"], [[1]], [[1]]) == "there are no two columns"
