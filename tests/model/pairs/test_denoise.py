"""Denoising of pair tables."""

import numpy as np

from sklar.model.pairs.families import denoise_pair, mutual_information, shrink_singular_values


def test_pure_noise_is_removed():
    rng = np.random.default_rng(1)
    kept = [np.abs(shrink_singular_values(rng.normal(0, 5, (14, 10)), 5.0)).max() for _ in range(50)]
    assert np.median(kept) == 0.0


def test_low_rank_signal_is_recovered_better_than_it_was_seen():
    rng = np.random.default_rng(2)
    signal = 40 * np.outer(np.sin(np.arange(12)), np.cos(np.arange(10)))
    seen = signal + rng.normal(0, 5, signal.shape)
    assert np.linalg.norm(shrink_singular_values(seen, 5.0) - signal) < 0.6 * np.linalg.norm(seen - signal)


def test_a_higher_edge_drops_what_barely_passes():
    """The edge of a 10 x 10 matrix with sigma 1 is at 2 sqrt(10) = 6.32."""
    barely, clearly = (np.diag([value, *[0.0] * 9]) for value in (6.5, 6.8))
    assert np.abs(shrink_singular_values(barely, 1.0)).max() > 1
    assert np.abs(shrink_singular_values(barely, 1.0, 1.05)).max() == 0.0
    assert np.array_equal(shrink_singular_values(clearly, 1.0, 1.05), shrink_singular_values(clearly, 1.0))


def test_without_noise_nothing_changes():
    matrix = np.random.default_rng(3).normal(size=(5, 4))
    assert np.allclose(shrink_singular_values(matrix, 0.0), matrix)
    assert np.allclose(shrink_singular_values(matrix, 1e-6), matrix, atol=1e-5)


def test_mutual_information_limits():
    p, q = np.array([0.3, 0.7]), np.array([0.2, 0.5, 0.3])
    assert abs(mutual_information(np.outer(p, q))) < 1e-12
    assert np.isclose(mutual_information(np.diag(q)), -np.sum(q * np.log(q)))


def test_denoised_pair_is_a_distribution_even_when_all_counts_are_negative():
    half = np.array([0.5, 0.5])
    table = denoise_pair(np.full((2, 2), -1000.0), 1.0, 10.0, (half, half))
    assert np.all(table >= 0)
    assert np.isclose(table.sum(), 1.0)
