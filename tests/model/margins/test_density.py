"""Densities from noisy histograms: always valid, better than clipping on smooth margins, exact without noise."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.margins.density import fit_density
from sklar.model.margins.likelihood import CellSupport, KnownTotal, Observation
from sklar.model.margins.transforms import clip_and_normalize

X = (np.arange(32) + 0.5) / 32
SMOOTH = {
    "uniform": np.ones(32),
    "bump": np.exp(-0.5 * ((X - 0.4) / 0.12) ** 2),
    "falling": np.exp(-6 * X),
    "skewed": np.exp(-0.5 * (np.log(X / 0.2) / 0.6) ** 2) / X,
    "two bumps": np.exp(-0.5 * ((X - 0.25) / 0.12) ** 2) + 0.6 * np.exp(-0.5 * ((X - 0.75) / 0.1) ** 2),
}


def chain(k: int) -> CellSupport:
    return CellSupport(width=np.full(k, 1 / k), position=32 * (np.arange(k) + 0.5) / k, chained=np.ones(k, bool))


def levels(k: int) -> CellSupport:
    return CellSupport(width=np.ones(k), position=np.zeros(k), chained=np.zeros(k, bool))


def each(counts: np.ndarray, sigma: float) -> Observation:
    return Observation(parent=np.arange(len(counts)), counts=counts, sigma=np.full(len(counts), sigma))


def distance(p: np.ndarray, q: np.ndarray) -> float:
    return 0.5 * float(np.abs(p - q).sum())


def errors(p: np.ndarray, rows: int, sigma: float, seed: int, support: CellSupport) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(rows, p / p.sum())
    noisy = counts + np.round(rng.normal(0, sigma, len(p)))
    fitted = fit_density(support, [each(noisy, sigma)], KnownTotal(rows=rows, sigma=sigma)).mass
    return distance(fitted, counts / rows), distance(clip_and_normalize(noisy), counts / rows)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize(("rows", "sigma"), [(20_000, 100.0), (3_000, 60.0)])
def test_smooth_margins_are_fitted_much_better_than_by_clipping(name: str, rows: int, sigma: float):
    found = np.array([errors(SMOOTH[name], rows, sigma, seed, chain(32)) for seed in range(4)])
    smooth, clipped = found.mean(axis=0)
    assert clipped > 1.5 * smooth


def test_noise_the_size_of_the_sampling_scatter_is_still_reduced():
    found = np.array([errors(SMOOTH["falling"], 20_000, 20.0, seed, chain(32)) for seed in range(4)])
    assert found[:, 1].mean() > 1.25 * found[:, 0].mean()


def test_spikes_survive():
    spiky = np.exp(-2 * X)
    spiky[[5, 12, 20]] *= 40
    rng = np.random.default_rng(0)
    counts = rng.multinomial(20_000, spiky / spiky.sum())
    noisy = counts + np.round(rng.normal(0, 60, 32))
    fitted = fit_density(chain(32), [each(noisy, 60.0)], KnownTotal(rows=20_000, sigma=60.0)).mass * 20_000
    assert np.all(np.abs(fitted - counts)[[5, 12, 20]] < 4 * 60)
    assert distance(fitted / 20_000, counts / 20_000) < 1.05 * distance(clip_and_normalize(noisy), counts / 20_000)


def test_atoms_outside_the_chain_do_not_leak_into_their_neighbours():
    p = np.exp(-0.5 * ((X - 0.5) / 0.2) ** 2)
    p[10] = 30 * p.sum()
    apart = CellSupport(width=np.full(32, 1 / 32), position=np.arange(32.0), chained=np.arange(32) != 10)
    rng = np.random.default_rng(1)
    counts = rng.multinomial(20_000, p / p.sum())
    noisy = counts + np.round(rng.normal(0, 40, 32))
    fitted = fit_density(apart, [each(noisy, 40.0)], KnownTotal(rows=20_000, sigma=40.0)).mass * 20_000
    assert abs(fitted[10] - counts[10]) < 4 * 40
    assert np.abs(fitted - counts)[[9, 11]].max() < 40


@pytest.mark.parametrize("support", [chain(40), levels(40)])
def test_without_noise_the_counts_come_back(support: CellSupport):
    counts = np.random.default_rng(2).multinomial(30_000, np.random.default_rng(3).dirichlet(np.ones(40)))
    fitted = fit_density(support, [each(counts.astype(float), 1e-3)], KnownTotal(rows=30_000, sigma=0.0)).mass
    assert distance(fitted, counts / 30_000) < 1e-4


def test_a_coarse_and_a_fine_histogram_together_beat_either():
    rng = np.random.default_rng(4)
    together, coarse_only, fine_only = [], [], []
    p = np.exp(-0.5 * ((np.arange(96) / 96 - 0.3) / 0.1) ** 2) + 0.02
    for _ in range(4):
        counts = rng.multinomial(20_000, p / p.sum())
        parent = np.arange(96) // 4
        coarse = Observation(
            parent=parent, counts=np.bincount(parent, counts) + rng.normal(0, 60, 24), sigma=np.full(24, 60.0)
        )
        fine = each(counts + rng.normal(0, 90, 96), 90.0)
        total = KnownTotal(rows=20_000, sigma=60.0)
        for store, seen in ((together, [coarse, fine]), (coarse_only, [coarse]), (fine_only, [fine])):
            store.append(distance(fit_density(chain(96), seen, total).mass, counts / 20_000))
    assert np.mean(together) < min(np.mean(coarse_only), np.mean(fine_only))


def test_insignificant_rare_cells_get_nothing_and_significant_ones_stay():
    counts = np.array([500.0, 400.0, 300.0, 25.0, 80.0])
    rare = np.array([False, False, False, True, True])
    for support in (levels(5), CellSupport(width=np.ones(5), position=np.arange(5.0), chained=~rare)):
        fitted = fit_density(support, [each(counts, 10.0)], KnownTotal(rows=1305, sigma=10.0), rare).mass
        assert fitted[3] == 0
        assert fitted[4] == pytest.approx(80 / 1280, rel=0.2)
        assert fitted.sum() == pytest.approx(1.0)


def test_levels_shrink_towards_each_other_only_when_the_noise_is_large():
    counts = np.array([900.0, 60.0, 40.0])
    sharp = fit_density(levels(3), [each(counts, 1.0)], KnownTotal(rows=1000, sigma=1.0)).mass
    blunt = fit_density(levels(3), [each(counts, 1e5)], KnownTotal(rows=1000, sigma=1.0)).mass
    np.testing.assert_allclose(sharp, counts / 1000, atol=2e-3)
    np.testing.assert_allclose(blunt, 1 / 3, atol=1e-2)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 60])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1e7])
@pytest.mark.parametrize("level", [-1e6, 0.0, 3.0, 1e6])
def test_the_result_is_a_distribution_whatever_the_noise_did(k: int, ordered: bool, sigma: float, level: float):
    counts = np.round(level * np.cos(np.arange(k)) if k > 3 else np.full(k, level))
    for rows, rows_sigma in ((1.0, 0.0), (1e8, 1e3), (-5.0, 1e9)):
        support = chain(k) if ordered else levels(k)
        fitted = fit_density(support, [each(counts, sigma)], KnownTotal(rows=rows, sigma=rows_sigma)).mass
        assert fitted.shape == (k,)
        assert np.all(np.isfinite(fitted)) and np.all(fitted >= 0)
        assert fitted.sum() == pytest.approx(1.0)


def test_no_observation_at_all_gives_the_base_measure():
    support = CellSupport(width=np.array([1.0, 2.0, 3.0, 4.0]), position=np.arange(4.0), chained=np.ones(4, bool))
    np.testing.assert_allclose(
        fit_density(support, [], KnownTotal(rows=100, sigma=1.0)).mass, [0.1, 0.2, 0.3, 0.4], atol=1e-3
    )
