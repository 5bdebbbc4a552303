"""Quantiles by inverted shares: hand-made curves, and columns with many rows at one value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.inference.quantiles import SharesBelow


def levels(at: list[float], shares: list[float], noise: float) -> SharesBelow:
    return SharesBelow(
        at=np.array(at, dtype=float), shares=np.array(shares), noise=np.full(len(at), noise), chance=3e-4, explained=1.0
    )


def test_ends_are_where_the_error_of_a_share_reaches_the_level():
    found = levels([1, 2, 3, 4, 5], [0.1, 0.3, 0.5, 0.7, 0.9], noise=1e-4)
    assert found.invert_shares(0.6, 2.0, chance=False, whole=True) == (4, 4, 4)
    # The standard error is 0.02 with the chance of the rows, so 0.04 is allowed for: a fifth of the way to the next.
    assert found.invert_shares(0.6, 2.0, chance=True, whole=False) == pytest.approx((3.5, 3.3, 3.7))
    assert found.invert_shares(0.69, 2.0, chance=True, whole=True) == (4, 4, 5)


def test_a_level_beyond_all_thresholds_is_at_the_last_one():
    found = levels([1, 2, 3], [0.4, 0.5, 0.6], noise=1e-4)
    assert found.invert_shares(0.95, 2.0, chance=True, whole=False) == (3, 3, 3)
    assert found.invert_shares(0.05, 2.0, chance=True, whole=False) == (1, 1, 1)


def test_a_level_on_a_lump_is_the_lump_and_nothing_else():
    found = levels([9, 10, 11], [0.2, 0.8, 0.82], noise=1e-4)
    assert found.invert_shares(0.5, 2.0, chance=True, whole=True) == (10, 10, 10)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "spike"), [(1_000, 0.2), (5_000, 0.05), (20_000, 0.6)])
def test_spikes_inside_the_bounds_bend_neither_estimates_nor_rows(rows: int, spike: float):
    rng = np.random.default_rng([rows, 7])
    at_spike, free = rng.random((rows, 3)) < spike, rng.normal(size=(rows, 3))
    top = np.where(at_spike[:, 0], 90, np.clip(np.rint(60 + 12 * free[:, 0]), 0, 90))
    low = np.where(at_spike[:, 1], 30, np.clip(np.rint(60 + 12 * free[:, 1]), 30, 120))
    middle = np.where(at_spike[:, 2], 40, np.clip(np.rint(45 + 12 * free[:, 2]), 0, 120))
    frame = pd.DataFrame({"top": top, "low": low, "middle": middle}).astype(int)
    model = sklar.fit(frame, sklar.Schema({name: sklar.Integer(0, 120) for name in frame}), epsilon=2, delta=1e-6)
    drawn: Any = model.sample(20_000, seed=1).to_pandas().astype(int)
    for name, value in (("top", 90), ("low", 30), ("middle", 40)):
        asked = {
            f"share({name}={value})": (lambda x, value=value: float(np.mean(x == value))),
            f"mean({name})": (lambda x: float(np.mean(x))),
            f"median({name})": (lambda x: float(np.quantile(x, 0.5, method="inverted_cdf"))),
        }
        for question, answer in asked.items():
            found = model.estimate(question)
            # Wider than 95%, since there are many questions: four standard errors.
            room = 2 * (found.high - found.value) + 1e-9, 2 * (found.value - found.low) + 1e-9
            for table in (frame, drawn):
                truth = answer(table[name].to_numpy())
                assert found.value - room[1] <= truth <= found.value + room[0], (question, found, truth)


@pytest.mark.slow
def test_far_quantiles_of_a_skewed_column_with_much_room_above():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": rng.lognormal(3, 1, 20_000).round(2).clip(0, 2_000), "z": rng.normal(size=20_000)})
    schema = sklar.Schema({"x": sklar.Real(0, 2_000, decimals=2), "z": sklar.Real(-6, 6)})
    model = sklar.fit(frame, schema, epsilon=2, delta=1e-6)
    for level in (0.01, 0.5, 0.9, 0.99):
        found, truth = model.estimate(f"quantile(x, {level})"), float(np.quantile(frame["x"], level))
        assert found.value - 2 * (found.value - found.low) - 0.5 <= truth, (level, found, truth)
        assert truth <= found.value + 2 * (found.high - found.value) + 0.5, (level, found, truth)
        assert found.high - found.low < max(0.7 * truth, 3.0), (level, found, truth)
