"""Intervals agree with references and cover what they should."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from sklar.disclosed.attacks.intervals import auc_interval, difference, exactly, mean, share
from sklar.disclosed.attacks.membership import draw_games, privacy_score, score_interval


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (10, 10), (3, 10), (499, 1000), (1, 10_000)])
def test_shares_agree_with_scipy(hits: int, trials: int) -> None:
    expected = binomtest(hits, trials).proportion_ci(0.95, "exact")
    found = share(hits, trials)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_auc_counts_pairs() -> None:
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 5, 40).astype(float), rng.integers(0, 4, 30).astype(float)
    pairs = (one[:, None] > two) + 0.5 * (one[:, None] == two)
    assert auc_interval(one, two).value == pytest.approx(pairs.mean())


def test_auc_covers() -> None:
    rng = np.random.default_rng(1)
    hits = sum(auc_interval(rng.normal(size=60), rng.normal(size=40)).contains(0.5) for _ in range(400))
    assert hits >= 364  # 95% of 400 is 380, with a standard deviation of 4.4


def test_a_difference_of_known_numbers_is_known() -> None:
    found = difference(exactly(0.7), exactly(0.2))
    assert (found.low, found.value, found.high) == pytest.approx((0.5, 0.5, 0.5))


def test_mean_of_one_value_has_no_interval() -> None:
    assert mean([1.0]).low == -np.inf and mean([1.0, 3.0]).value == 2.0


@pytest.mark.parametrize(("shift", "rows"), [(0.0, 60), (0.0, 300), (1.0, 300)])
def test_the_interval_of_a_privacy_score_covers(shift: float, rows: int) -> None:
    """Games share rows, so more games do not make the score of the population known."""
    rng = np.random.default_rng(2)
    big = 200_000
    truth = privacy_score(rng.normal(shift, 1, big), rng.normal(0, 1, big), rng)
    hits = 0
    for _ in range(200):
        members, others = rng.normal(shift, 1, rows), rng.normal(0, 1, rows)
        games = draw_games(rows, rows, 50, 20, rng)
        scores = [privacy_score(members[a], others[b], rng) for a, b in zip(games.members, games.others, strict=True)]
        hits += score_interval(np.array(scores), (rows, rows)).contains(truth)
    assert hits >= 178  # 95% of 200 is 190, with a standard deviation of 3.1
