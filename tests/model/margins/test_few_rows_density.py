"""Densities from few noisy bins: limits, pooling and the gain from the right axis."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.margins.averaged import KINDS, Bins, average_models, fit_models, latent_edges, pooled_weights
from sklar.model.margins.likelihood import KnownTotal
from sklar.model.margins.prior import AXES

CODES = 2048
AXIS = np.linspace(0, 1, CODES + 1)
EDGES = np.arange(0, CODES + 1, 64)


def skewed(codes=CODES):
    """A log-normal-like bump near the lower end."""
    x = (np.arange(codes) + 0.5) / codes
    p = np.exp(-0.5 * ((np.log(x) + 2.5) / 0.6) ** 2) / x
    return p / p.sum()


def noisy_bins(p, rows, sigma, rng, edges=EDGES):
    counts = np.add.reduceat(p, edges[:-1]) * rows + rng.normal(0, sigma, len(edges) - 1)
    return Bins(edges=edges, counts=counts, sigma=np.full(len(counts), sigma))


def fit(bins, rows, kinds=KINDS):
    fitted = fit_models(AXIS, bins, KnownTotal(rows=rows, sigma=1.0), kinds)
    evidence = np.array([[-np.inf if f is None else f.log_evidence for f in fitted]])
    edges, mass, _ = average_models(AXIS, 0, fitted, pooled_weights(evidence)[0])
    return np.interp(AXIS, AXIS[edges], np.concatenate([[0], np.cumsum(mass)]))


def test_little_noise_gives_back_the_bins():
    p = skewed()
    rising = fit([noisy_bins(p, 1e5, 1.0, np.random.default_rng(0))], 1e5)
    np.testing.assert_allclose(rising[EDGES], np.concatenate([[0], np.cumsum(p)])[EDGES], atol=2e-3)


def test_a_logarithmic_axis_helps_a_skewed_column():
    p, rows = skewed(), 1000
    truth = np.concatenate([[0], np.cumsum(p)])
    linear = [kind for kind in KINDS if kind.axis == AXES[0]]
    gain = []
    for seed in range(3):
        bins = [noisy_bins(p, rows, 20.0, np.random.default_rng(seed))]
        gain.append(np.abs(fit(bins, rows, linear) - truth).max() - np.abs(fit(bins, rows) - truth).max())
    assert np.mean(gain) > 0.003


def test_a_second_histogram_sharpens_the_first():
    p, rows, rng = skewed(), 1000, np.random.default_rng(3)
    first = noisy_bins(p, rows, 40.0, rng)
    truth = np.concatenate([[0], np.cumsum(p)])
    edges = np.unique(np.concatenate([[0], np.searchsorted(truth, np.arange(1, 8) / 8), [CODES]]))
    second = noisy_bins(p, rows, 40.0, rng, edges)
    assert np.abs(fit([first, second], rows) - truth).max() < np.abs(fit([first], rows) - truth).max()


def test_cells_apart_keep_their_own_mass():
    counts = np.concatenate([np.add.reduceat(skewed(), EDGES[:-1]) * 600, [400.0]])
    bins = Bins(edges=EDGES, counts=counts, sigma=np.ones(len(counts)))
    fitted = fit_models(AXIS, [bins], KnownTotal(rows=1000, sigma=1.0))
    best = max((f for f in fitted if f is not None), key=lambda f: f.log_evidence)
    assert best.apart[0] == pytest.approx(0.4, abs=0.01)
    assert best.mass.sum() == pytest.approx(0.6, abs=0.01)


def test_nothing_fitted_is_flat():
    edges, mass, apart = average_models(AXIS, 2, [None, None], np.zeros(2))
    assert edges.tolist() == [0, CODES] and mass.tolist() == [1.0] and apart.tolist() == [0.0, 0.0]


def test_pure_noise_still_gives_a_distribution():
    rng = np.random.default_rng(0)
    bins = Bins(edges=EDGES, counts=rng.normal(0, 500, 32), sigma=np.full(32, 500.0))
    rising = fit([bins], 10)
    assert np.all(np.isfinite(rising)) and np.all(np.diff(rising) >= 0) and rising[-1] == pytest.approx(1)


def test_latent_edges_keep_every_observed_edge():
    bins = Bins(edges=np.array([0, 17, 900, CODES]), counts=np.zeros(3), sigma=np.ones(3))
    for axis in AXES:
        edges = latent_edges(AXIS, [bins], axis)
        assert np.isin(bins.edges, edges).all() and np.all(np.diff(edges) > 0)


def test_pooling_lets_clear_columns_decide_for_unclear_ones():
    clear = np.tile([0.0, -20.0], (9, 1))
    unclear = np.array([[-0.5, 0.0]])
    weights = pooled_weights(np.vstack([clear, unclear]))
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert weights[-1, 0] > 0.9 > 0.5 > pooled_weights(unclear)[0, 0]
    assert pooled_weights(np.array([[-np.inf, 0.0]]))[0, 0] == 0
