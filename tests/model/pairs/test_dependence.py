"""How dependent a pair is, estimated from one noisy table."""

import numpy as np

from sklar.model.pairs.dependence import estimate_dependence, mutual_information, shrink_singular_values
from tests.model.pairs.measured import pair_table


def test_pure_noise_is_removed():
    rng = np.random.default_rng(1)
    kept = [np.abs(shrink_singular_values(rng.normal(0, 5, (14, 10)), 5.0)).max() for _ in range(50)]
    assert np.median(kept) == 0.0


def test_low_rank_signal_is_recovered_better_than_it_was_seen():
    rng = np.random.default_rng(2)
    signal = 40 * np.outer(np.sin(np.arange(12)), np.cos(np.arange(10)))
    seen = signal + rng.normal(0, 5, signal.shape)
    assert np.linalg.norm(shrink_singular_values(seen, 5.0) - signal) < 0.6 * np.linalg.norm(seen - signal)


def test_without_noise_nothing_changes():
    matrix = np.random.default_rng(3).normal(size=(5, 4))
    assert np.allclose(shrink_singular_values(matrix, 0.0), matrix)
    assert np.allclose(shrink_singular_values(matrix, 1e-6), matrix, atol=1e-5)


def test_mutual_information_limits():
    p, q = np.array([0.3, 0.7]), np.array([0.2, 0.5, 0.3])
    assert abs(mutual_information(np.outer(p, q))) < 1e-12
    assert np.isclose(mutual_information(np.diag(q)), -np.sum(q * np.log(q)))


def test_one_dependent_value_of_many_is_found_and_noise_is_not():
    edges, half = np.linspace(0, 1, 25), np.array([0.0, 0.5, 1.0])
    truth, rng = np.full((24, 2), 10_000 / 48), np.random.default_rng(4)
    moved = truth.copy()
    moved[3] += [200, -200]
    found = [
        estimate_dependence(
            pair_table(exact + rng.normal(0, 25, exact.shape), 25.0, edges, half),
            10_000.0,
        )
        for exact in (truth, moved)
    ]  # fmt: skip
    assert found[0] == 0.0 or abs(found[0]) < 1e-3
    assert found[1] > 0.01


def test_negative_counts_have_no_dependence():
    half = np.array([0.0, 0.5, 1.0])
    table = pair_table(np.full((2, 2), -1000.0), 1.0, half, half)
    assert estimate_dependence(table, 10.0) == 0.0
