"""Controlled rounding."""

import numpy as np

from sklar.model.conditioning import resample_systematically
from sklar.model.vine.rounding import count_proposals, round_rows

RNG = np.random.default_rng(0)


def test_systematic_counts_are_floor_or_ceiling():
    weights = RNG.random(500)
    counts = np.bincount(resample_systematically(weights, 2_000, np.random.default_rng(1)), minlength=500)
    expected = 2_000 * weights / weights.sum()
    assert counts.sum() == 2_000
    assert np.all(np.abs(counts - expected) < 1.0 + 1e-9)


def test_rounding_lowers_the_error_of_all_tables():
    particles = 20_000
    cells = np.column_stack([RNG.integers(0, 12, particles), RNG.integers(0, 30, particles)]).astype(np.uint16)
    weights = RNG.gamma(1.0, size=particles)
    rows = 3_000

    def error(chosen):
        total = 0.0
        for k, size in enumerate((12, 30)):
            target = np.bincount(cells[:, k], weights, size) * rows / weights.sum()
            total += np.sum((np.bincount(cells[chosen, k], minlength=size) - target) ** 2 / (target + 4))
        return total

    rounded = round_rows(cells, [12, 30], weights, rows, count_proposals(rows, rows), np.random.default_rng(2))
    plain = resample_systematically(weights, rows, np.random.default_rng(2))
    assert len(rounded) == rows
    assert error(rounded) < 0.1 * error(plain)


def test_without_tables_it_is_plain_resampling():
    assert len(round_rows(np.empty((10, 0), np.uint16), [], np.ones(10), 25, 60, np.random.default_rng(3))) == 25
    assert len(round_rows(np.zeros((10, 1), np.uint16), [1], np.ones(10), 0, 60, np.random.default_rng(3))) == 0


def test_same_seed_same_rows():
    cells = RNG.integers(0, 5, (300, 1)).astype(np.uint16)
    draw = [round_rows(cells, [5], np.ones(300), 100, 600, np.random.default_rng(4)) for _ in range(2)]
    assert np.array_equal(*draw)


def test_effort_is_bounded_for_large_samples_and_raised_for_small_ones():
    assert count_proposals(20_000, 20_000) == 480_000
    assert sum(count_proposals(40_000, 1_000_000) for _ in range(25)) <= 3_000_000
    assert count_proposals(1_000, 1_000) == 300_000
    assert count_proposals(10, 10) == 4_000
    assert count_proposals(0, 0) == 0
