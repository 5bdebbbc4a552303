"""Fitting pair copulas to noisy tables."""

import numpy as np
import pytest
import pyvinecopulib as pv

from sklar.model.axis import interval_of
from sklar.model.pairs.families import ParametricPair, cell_masses, fit_family
from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.posterior import estimate_pair, merge_edges
from tests.model.pairs.measured import pair_table

GRID = np.linspace(0, 1, 13)
ROWS = 30_000.0


def groups(cells):
    return Groups(lookup=np.arange(cells), edges=np.linspace(0, 1, cells + 1))


def noisy(member, sigma, rng):
    return ROWS * cell_masses(member, GRID, GRID) + rng.normal(0, sigma, (12, 12))


@pytest.mark.parametrize("name", ["gaussian", "clayton", "gumbel", "frank"])
def test_family_and_tau_are_recovered(name):
    truth = ParametricPair(family=name, rotation=0, tau=0.43)
    found = fit_family(noisy(truth, 5.0, np.random.default_rng(1)), 5.0, ROWS, (GRID, GRID))
    assert found is not None
    assert abs(found.tau - 0.43) < 0.02
    exact = cell_masses(truth, GRID, GRID)
    assert np.abs(cell_masses(found, GRID, GRID) - exact).sum() < 0.03


def test_negative_dependence_without_symmetry():
    truth = ParametricPair(family="clayton", rotation=90, tau=-0.5)
    found = fit_family(noisy(truth, 5.0, np.random.default_rng(2)), 5.0, ROWS, (GRID, GRID))
    assert found is not None
    assert found.tau < -0.4


def test_noise_alone_is_called_independent():
    rng = np.random.default_rng(3)
    flat = ROWS * np.full((12, 12), 1 / 144)
    called = [fit_family(flat + rng.normal(0, 60, (12, 12)), 60.0, ROWS, (GRID, GRID)) is None for _ in range(10)]
    assert np.mean(called) >= 0.6


def density(board, u, v):
    cells = board.mass / np.outer(np.diff(board.edges1), np.diff(board.edges2))
    return cells[interval_of(board.edges1, u), interval_of(board.edges2, v)]


def test_product_keeps_the_family_shape_inside_cells():
    truth = ParametricPair(family="gumbel", rotation=0, tau=0.5)
    coarse, fine = groups(6), groups(36)
    edges = coarse.edges
    counts = ROWS * cell_masses(truth, edges, edges)
    seen = pair_table(counts, 5.0, edges, edges)
    fitted = estimate_pair([seen], ROWS, (fine.edges, fine.edges))
    finest = fine.edges
    board = estimate_pair([seen], ROWS)
    u = np.random.default_rng(4).random((2, 20_000))
    exact = pv.Bicop(pv.BicopFamily.gumbel, 0, np.array([[truth.parameter]])).pdf(u.T)
    assert np.abs(density(fitted.copula, *u) - exact).mean() < 0.5 * np.abs(density(board.copula, *u) - exact).mean()
    assert np.abs(fitted.copula.mass - cell_masses(truth, finest, finest)).sum() < 0.02
    assert fitted.family.startswith("gumbel")


def test_residual_that_no_family_explains_is_kept():
    edges = np.linspace(0, 1, 7)
    table = np.full((6, 6), 1 / 36)
    table[:3, :3] += np.kron([[1, -1], [-1, 1]], np.ones((2, 2)))[:3, :3] / 72
    table = table / table.sum()
    fitted = estimate_pair([pair_table(1e6 * table, 20.0, edges, edges)], 1e6)
    assert fitted.family == "checkerboard"
    assert np.allclose(fitted.copula.mass.sum(axis=0), np.diff(edges))
    assert fitted.copula.mass[0, 0] > 1.2 / 36


def test_all_negative_counts_still_give_a_copula():
    four, eight = groups(4).edges, groups(8).edges
    seen = pair_table(np.full((4, 4), -500.0), 10.0, four, four)
    fitted = estimate_pair([seen], 10.0, (eight, eight))
    assert np.all(np.isfinite(fitted.copula.mass))
    assert np.allclose(fitted.copula.mass.sum(axis=0), np.diff(fitted.copula.edges2))


def test_merged_edges_have_no_slivers():
    merged = merge_edges(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.25, 0.5 + 1e-12, 1.0]))
    assert np.allclose(merged, [0.0, 0.25, 0.5, 1.0])


def test_noise_beside_a_family_hardly_changes_its_shape():
    """The posterior stays nearer to the family than a hundredth of what the noise would do to the cells."""
    rng = np.random.default_rng(8)
    truth = ParametricPair(family="gaussian", rotation=0, tau=0.5)
    exact, gaps = cell_masses(truth, GRID, GRID), []
    for _ in range(30):
        seen = noisy(truth, 40.0, rng)
        table = pair_table(seen, 40.0, GRID, GRID)
        found = estimate_pair([table], ROWS, (GRID, GRID)).mass
        gaps.append(np.sum((found - exact) ** 2) / np.sum((seen / ROWS - exact) ** 2))
    assert np.median(gaps) < 0.1
