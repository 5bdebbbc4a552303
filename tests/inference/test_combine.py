"""The combining rule covers where tables are made as it assumes, and refuses what cannot be combined."""

from __future__ import annotations

import numpy as np
import pytest

import sklar
from sklar.errors import UsageError
from sklar.sample.rng import generator


def covered(chance: float, noise: float, count: int, bias: float = 0.0, corrected: bool = False) -> float:
    """Share of intervals that hold the truth 0, over 4,000 models made as the rule assumes."""
    rng, held = generator(7), 0
    whole = chance + noise
    for _ in range(4000):
        model = bias + rng.normal(0.0, np.sqrt(whole))
        replicas = model + bias + rng.normal(0.0, np.sqrt(whole), count)
        estimates = replicas + rng.normal(0.0, np.sqrt(chance), count)
        variances = chance * rng.chisquare(200, count) / 200
        found = sklar.combine(estimates, variances, model=model if corrected else None)
        held += found.low <= 0 <= found.high
    return held / 4000


@pytest.mark.parametrize(("chance", "noise"), [(1.0, 0.0), (1.0, 1.0), (1.0, 5.0), (0.1, 5.0)])
@pytest.mark.parametrize("count", [pytest.param(5, marks=pytest.mark.slow), 20])
def test_intervals_hold_the_truth_as_often_as_they_say(chance: float, noise: float, count: int) -> None:
    assert 0.935 < covered(chance, noise, count) <= (1.0 if count < 20 else 0.99)


def test_a_naive_reading_does_not() -> None:
    rng, held = generator(8), 0
    for _ in range(2000):
        found = rng.normal(0.0, np.sqrt(6.0)) + rng.normal(0.0, 1.0)
        held += abs(found) < 1.96
    assert held / 2000 < 0.65


def test_bias_that_replicas_show_is_taken_off_where_the_model_itself_was_asked() -> None:
    assert covered(1.0, 5.0, 20, bias=4.0) < 0.6
    assert 0.935 < covered(1.0, 5.0, 20, bias=4.0, corrected=True) < 0.995


def test_no_variance_is_negative_and_rows_are_worth_what_their_noise_leaves() -> None:
    same = sklar.combine([1.0, 1.0, 1.0], [0.5, 0.5, 0.5])
    assert same.error**2 == pytest.approx(0.5 + 1.0 / 3)
    loud = sklar.combine([0.0, 10.0, -10.0, 4.0, -4.0], [1.0] * 5)
    assert loud.effective_share < 0.05 < same.effective_share <= 1.0
    assert sklar.combine([2.0, 2.0], [0.0, 0.0]).low == 2.0


@pytest.mark.parametrize(
    ("estimates", "variances", "more"),
    [
        ([1.0], [1.0], {}),
        ([1.0, 2.0], [1.0], {}),
        ([1.0, float("nan")], [1.0, 1.0], {}),
        ([1.0, 2.0], [1.0, -1.0], {}),
        (["a", "b"], [1.0, 1.0], {}),
        ([1.0, 2.0], [1.0, 1.0], {"confidence": 1}),
        ([1.0, 2.0], [1.0, 1.0], {"rows_ratio": 0.0}),
        ([1.0, 2.0], [1.0, 1.0], {"model": float("inf")}),
    ],
)
def test_what_cannot_be_combined_is_refused(
    estimates: list[float], variances: list[float], more: dict[str, float]
) -> None:
    with pytest.raises(UsageError):
        sklar.combine(estimates, variances, **more)
