"""The posterior of a pair: what its tables and its prior mean contribute."""

import numpy as np

from sklar.model.pairs.dependence import mutual_information
from sklar.model.pairs.families import cell_masses
from sklar.model.pairs.parametric import ParametricPair
from sklar.model.pairs.posterior import estimate_pair
from tests.model.pairs.measured import pair_table

ROWS = 20_000.0
EVEN = {k: np.linspace(0, 1, k + 1) for k in (2, 4, 6, 8, 12)}


def table(observed, sigma, first, second=None, **others):
    return pair_table(observed, sigma, EVEN[first], EVEN[first if second is None else second], **others)


def test_noise_alone_leaves_independence():
    rng = np.random.default_rng(1)
    flat = ROWS * np.full((8, 12), 1 / 96)
    found = [estimate_pair([table(flat + rng.normal(0, 60, flat.shape), 60.0, 8, 12)], ROWS) for _ in range(40)]
    assert np.median([mutual_information(one.mass) for one in found]) < 1e-4


def test_dependence_without_a_family_is_kept():
    truth = np.full((6, 6), 1 / 36) + 0.7 / 36 * np.kron([[1, -1, 0], [-1, 1, 0], [0, 0, 0]], np.ones((2, 2)))
    seen = ROWS * truth + np.random.default_rng(2).normal(0, 30, truth.shape)
    found = estimate_pair([table(seen, 30.0, 6)], ROWS)
    assert found.family == "checkerboard"
    assert np.abs(found.mass - truth).sum() < 0.85 * np.abs(seen / ROWS - truth).sum()
    assert found.mass[0, 0] > 1.5 * found.mass[4, 4]


def test_a_second_table_of_the_pair_brings_the_estimate_nearer():
    """The coarse table has less noise where its cells are summed over the fine one."""
    rng, gaps = np.random.default_rng(3), np.zeros(2)
    truth = np.full((12, 12), 1 / 144) + 0.6 / 144 * np.kron([[1, -1], [-1, 1]], np.ones((6, 6)))
    coarse = truth.reshape(4, 3, 4, 3).sum(axis=(1, 3))
    for _ in range(20):
        fine_table = table(ROWS * truth + rng.normal(0, 60, truth.shape), 60.0, 12)
        coarse_table = table(ROWS * coarse + rng.normal(0, 60, coarse.shape), 60.0, 4)
        both = estimate_pair([fine_table, coarse_table], ROWS).mass
        alone = estimate_pair([fine_table], ROWS).mass
        sums = [mass.reshape(4, 3, 4, 3).sum(axis=(1, 3)) for mass in (both, alone)]
        gaps += [np.abs(one - coarse).sum() for one in sums]
    assert gaps[0] < 0.6 * gaps[1]


def test_cells_that_rules_exclude_stay_empty():
    possible = np.ones((4, 4))
    possible[0, 3] = 0.0
    seen = np.where(possible > 0, ROWS / 15, 0.0) + np.random.default_rng(4).normal(0, 40, (4, 4)) * (possible > 0)
    found = estimate_pair([table(seen, 40.0, 4, possible=possible)], ROWS)
    assert found.mass[0, 3] == 0.0
    assert np.allclose(found.mass.sum(axis=0), 0.25, atol=1e-4)


def test_negative_counts_and_counts_without_noise_give_a_distribution():
    for seen, sigma in ((np.full((2, 2), -1000.0), 1.0), (np.array([[4.0, 1.0], [1.0, 4.0]]), 0.0)):
        found = estimate_pair([table(seen, sigma, 2)], 10.0).mass
        assert np.all(found >= 0) and np.isclose(found.sum(), 1.0)
    assert np.allclose(found, [[0.4, 0.1], [0.1, 0.4]], atol=1e-6)


def test_a_family_is_the_prior_mean_of_ordered_columns():
    member = ParametricPair(family="clayton", rotation=0, tau=0.5)
    exact = cell_masses(member, EVEN[8], EVEN[8])
    seen = ROWS * exact + np.random.default_rng(5).normal(0, 40, exact.shape)
    named = estimate_pair([table(seen, 40.0, 8)], ROWS, (EVEN[8], EVEN[8]))
    plain = estimate_pair([table(seen, 40.0, 8)], ROWS)
    assert named.family in ("clayton", "joe 180")  # hardly distinguishable on eight intervals
    assert np.abs(named.mass - exact).sum() < 0.5 * np.abs(plain.mass - exact).sum()
