"""Every interval formula agrees with a reference, or covers what it should."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sklar.lab.attacks.closeness import draw_games, privacy_score
from sklar.lab.intervals import (
    Estimate,
    clopper_pearson,
    corrected_resampled_t,
    delong_auc,
    delta_method_r2,
    exact_estimate,
    hedges_difference,
    newcombe_difference,
    normal_interval,
    privacy_gain_interval,
    privacy_score_interval,
    student_mean,
)


def test_the_normal_interval_is_scipys() -> None:
    found = normal_interval(2.0, 0.3)
    assert (found.low, found.high) == pytest.approx(stats.norm.interval(0.95, 2.0, 0.3))


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (10, 10), (3, 10), (499, 1000), (1, 10_000)])
def test_clopper_pearson_is_scipys(hits: int, trials: int) -> None:
    expected = stats.binomtest(hits, trials).proportion_ci(0.95, "exact")
    found = clopper_pearson(hits, trials)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_newcombes_difference_is_that_of_his_paper() -> None:
    """Newcombe (1998), table II: 56/70 - 48/80 by method 10, from Wilson's intervals, is .0524 to .3339."""
    wilson = [stats.binomtest(k, n).proportion_ci(0.95, "wilson") for k, n in ((56, 70), (48, 80))]
    one, two = (Estimate(value=v, low=w.low, high=w.high) for v, w in zip((0.8, 0.6), wilson, strict=True))
    found = newcombe_difference(one, two)
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=1e-4)
    known = newcombe_difference(exact_estimate(0.7), exact_estimate(0.2))
    assert (known.low, known.high) == pytest.approx((0.5, 0.5))


def test_students_mean_is_scipys_and_one_value_has_no_interval() -> None:
    values = [1.0, 2.0, 4.0, 3.0]
    found = student_mean(values)
    assert (found.low, found.high) == pytest.approx(stats.t.interval(0.95, 3, np.mean(values), stats.sem(values)))
    assert student_mean([1.0]).low == -math.inf


def test_the_corrected_resampled_t_is_wider_by_its_factor() -> None:
    """1/k becomes 1/k + 1/(k - 1)."""
    values = [1.0, 2.0, 4.0, 3.0]
    plain, found = student_mean(values), corrected_resampled_t(values)
    assert found.high - 2.5 == pytest.approx((plain.high - 2.5) * math.sqrt((1 / 4 + 1 / 3) / (1 / 4)))
    assert corrected_resampled_t([7.0]).high == math.inf


def test_hedges_difference_covers() -> None:
    rng = np.random.default_rng(3)
    drawn = [hedges_difference(rng.normal(size=40), rng.normal(0.8, 1, 50), 0.025) for _ in range(400)]
    assert sum(found.contains(0.8) for found in drawn) >= 358  # 380 expected, with a standard deviation of 4.4
    assert hedges_difference(np.zeros(5), np.ones(5), 0.025).low == math.inf


def test_delongs_auc_counts_pairs_and_covers() -> None:
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 5, 40).astype(float), rng.integers(0, 4, 30).astype(float)
    pairs = (one[:, None] > two) + 0.5 * (one[:, None] == two)
    assert delong_auc(one, two).value == pytest.approx(pairs.mean())
    rng = np.random.default_rng(1)
    hits = sum(delong_auc(rng.normal(size=60), rng.normal(size=40)).contains(0.5) for _ in range(400))
    assert hits >= 364  # 95% of 400 is 380, with a standard deviation of 4.4


def test_r2_by_the_delta_method_covers() -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(400):
        guess = rng.normal(size=300)
        hits += delta_method_r2(guess + 0.5 * rng.normal(size=300), guess).contains(0.8)
    assert hits >= 358
    assert delta_method_r2(np.ones(4), np.zeros(4)) == exact_estimate(0.0)


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
        hits += privacy_score_interval(np.array(scores), (rows, rows)).contains(truth)
    assert hits >= 178  # 95% of 200 is 190, with a standard deviation of 3.1


def test_games_that_end_alike_leave_some_doubt_about_the_privacy_gain() -> None:
    alike, mixed = privacy_gain_interval(np.ones((2, 10))), privacy_gain_interval(np.array([[0.0, 1.0] * 5]))
    assert alike.value == 1.0 and 0.8 < alike.low < 1.0 < alike.high
    games = student_mean([0.0, 1.0] * 5)
    assert (mixed.low, mixed.high) == pytest.approx((games.low, games.high))
