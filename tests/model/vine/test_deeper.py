"""Trees two and up, from released tables only."""

from dataclasses import replace

import numpy as np

from sklar.model.pairs.copula import GaussianPair, IndependentPair
from sklar.model.pairs.hints import gaussian_cells, score_hint
from sklar.model.vine.deeper import fit_correlation, grow, parabola_minimum
from sklar.model.vine.sampling import simulate_vine
from sklar.model.vine.vine import Edge, Vine
from tests.model.pairs.measured import pair_table

GRID = np.linspace(0, 1, 9)
ROWS = 40_000.0


def tables(particles, sigma, rng):
    found = {}
    size = particles.shape[1]
    for a in range(size):
        for b in range(a + 1, size):
            counts = np.histogram2d(particles[:, a], particles[:, b], bins=[GRID, GRID])[0] * ROWS / len(particles)
            noisy = counts + rng.normal(0, sigma, counts.shape)
            found[a, b] = pair_table(noisy, sigma, GRID, GRID)
    return found


def edge(first, second, given=(), corr=0.0):
    copula = GaussianPair(corr=corr) if corr else IndependentPair()
    return Edge(first=first, second=second, given=tuple(given), copula=copula, family="", tau=0.0)


TREE = (edge(0, 1, (), 0.6), edge(1, 2, (), 0.5))
TRUTH = Vine(size=3, trees=(TREE, (edge(0, 2, (1,), -0.7),)))


def test_partial_correlation_is_recovered():
    rng = np.random.default_rng(1)
    released = tables(simulate_vine(TRUTH, 200_000, rng, even=True), 15.0, rng)
    grown = grow(Vine(size=3, trees=(TREE,)), released, frozenset(range(3)), ROWS, 6, rng)
    (found,) = grown.trees[1]
    assert {found.first, found.second} == {0, 2}
    assert abs(found.copula.corr + 0.7) < 0.04


def test_no_dependence_left_means_no_tree():
    rng = np.random.default_rng(2)
    start = Vine(size=3, trees=(TREE,))
    released = tables(simulate_vine(start, 200_000, rng, even=True), 60.0, rng)
    assert len(grow(start, released, frozenset(range(3)), ROWS, 6, rng).trees) == 1


def test_nominal_columns_and_missing_tables_stay_independent():
    rng = np.random.default_rng(3)
    released = tables(simulate_vine(TRUTH, 100_000, rng, even=True), 15.0, rng)
    assert len(grow(Vine(size=3, trees=(TREE,)), released, frozenset({1, 2}), ROWS, 6, rng).trees) == 1
    assert len(grow(Vine(size=3, trees=(TREE,)), {}, frozenset(range(3)), ROWS, 6, rng).trees) == 1


def test_weighting_by_the_pair_density_gives_the_deeper_vine():
    """fit_correlation's forward model, at the true value, predicts the table of the deeper vine."""
    from scipy.special import ndtri

    from sklar.model.pairs.copula import gaussian_density
    from sklar.model.vine.sampling import draw_levels, transform
    from sklar.model.vine.vine import sampling_order

    rng = np.random.default_rng(4)
    start = Vine(size=3, trees=(TREE,))
    uniforms = transform(start, sampling_order(start), draw_levels(3, 200_000, rng, even=True))
    x, y = ndtri(uniforms.get(0, (1,))), ndtri(uniforms.get(2, (1,)))
    weighted = np.histogram2d(
        uniforms.get(0), uniforms.get(2), bins=[GRID, GRID], weights=gaussian_density(-0.7, x, y)
    )[0]
    deeper = simulate_vine(TRUTH, 200_000, rng, even=True)
    direct = np.histogram2d(deeper[:, 0], deeper[:, 2], bins=[GRID, GRID])[0]
    assert np.abs(weighted / weighted.sum() - direct / direct.sum()).sum() < 0.03


def independent_pair(corr, sigma, seed):
    """Cells and scores of independent particles, and the noisy table of a Gaussian pair on them."""
    from scipy.special import ndtri

    rng = np.random.default_rng(seed)
    u = rng.random((200_000, 2))
    cell = np.minimum((u * 8).astype(int), 7) @ np.array([8, 1])
    observed = ROWS * gaussian_cells(GRID, GRID, corr)[0] + rng.normal(0, sigma, (8, 8))
    return cell, *ndtri(u).T, pair_table(observed, sigma, GRID, GRID)


def test_a_clear_table_gives_the_correlation_between_the_points_of_the_search():
    found = fit_correlation(*independent_pair(0.55, 0.1, 7), ROWS)
    assert abs(found.corr - 0.55) < 0.005


def test_a_hint_decides_where_the_table_is_noise():
    cell, x, y, table = independent_pair(0.55, 3_000.0, 8)
    alone = fit_correlation(cell, x, y, table, ROWS)
    hinted = replace(table, hint=score_hint((GRID, GRID), 0.55, 1e-5))
    helped = fit_correlation(cell, x, y, hinted, ROWS)
    assert abs(alone.corr - 0.55) > 0.1
    assert abs(helped.corr - 0.55) < 0.02
    assert helped.variance < 1e-4 < alone.variance


def test_unpromising_candidates_are_left_alone():
    rng = np.random.default_rng(5)
    cell, x, y = rng.integers(0, 64, 20_000), rng.normal(size=20_000), rng.normal(size=20_000)
    flat = pair_table(np.bincount(cell, minlength=64) * 2.0, 10.0, GRID, GRID)
    assert fit_correlation(cell, x, y, flat, ROWS).gain == 0.0


def test_parabola_minimum_is_kept_inside():
    assert np.isclose(parabola_minimum(np.array([0.0, 1.0, 3.0]), np.array([1.0, 0.0, 4.0])), 1.0)
    assert parabola_minimum(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.0])) == 1.0
    assert parabola_minimum(np.array([0.0, 1.0, 2.0]), np.array([9.0, 4.0, 1.0])) == 2.0
