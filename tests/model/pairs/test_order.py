"""Tied amounts: an order is found in the table of a pair where there is one, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.axis import NO_NULLS
from sklar.model.pairs.families import ParametricPair, cell_masses, fit_pair
from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.order import FineGrid, restricted

ROWS, SIGMA = 6_000.0, 45.0


def groups(cells: int, values=None) -> Groups:
    edges = np.linspace(0, 1, cells + 1)
    return Groups(lookup=np.arange(cells), edges=edges, values=None if values is None else values(edges))


def amounts(scale: float):
    """Values at places of an axis: uniform from 0 up."""
    return lambda u: scale * u


def quantiles(values: np.ndarray):
    """Values at places of an axis: those of a sample."""
    ordered = np.sort(values)
    return lambda u: np.interp(u, np.linspace(0, 1, len(ordered)), ordered)


def noisy_table(x: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Counts of ranks on 8 x 8 groups."""
    place = [np.argsort(np.argsort(v)) * 8 // len(v) for v in (x, y)]
    exact = np.bincount(8 * place[0] + place[1], minlength=64).reshape(8, 8)
    return exact + np.random.default_rng(seed).normal(0, SIGMA, (8, 8))


def grid(values: tuple[np.ndarray, np.ndarray]) -> FineGrid:
    edges = np.linspace(0, 1, len(values[0]))
    return FineGrid(edges=(edges, edges), values=values, tops=NO_NULLS, places=(np.arange(4), np.arange(4)))


def test_the_part_of_a_cell_beyond_the_line():
    one = np.arange(5.0)
    above = grid((one, one)).above()
    assert np.all(above[np.tril_indices(4, -1)] == 1) and np.all(above[np.triu_indices(4, 1)] == 0)
    assert np.all(np.abs(np.diag(above) - 0.5) < 0.1)
    assert not grid((one, one + 10)).above().any()


def test_cells_of_nulls_are_on_no_side():
    one = np.array([0.0, 1.0, 2.0, 3.0, 3.0])
    edges = np.linspace(0, 1, 5)
    nulls = FineGrid(edges=(edges, edges), values=(one, one), tops=(0.75, 1.0), places=(np.arange(4), np.arange(4)))
    assert not nulls.above()[3].any() and nulls.above()[2, 0] == 1


def test_a_restricted_copula_keeps_its_margins():
    edges = np.linspace(0, 1, 21)
    shape = cell_masses(ParametricPair(family="gaussian", rotation=0, tau=0.6), edges, edges)
    beyond = np.tril(np.ones((20, 20)), -1)
    after = restricted(shape, np.tril(beyond, -4), (edges, edges))
    np.testing.assert_allclose(after.sum(axis=0), 0.05, atol=1e-9)
    assert (after * np.tril(beyond, -4)).sum() < 0.05 * (shape * np.tril(beyond, -4)).sum()


@pytest.mark.parametrize("seed", range(4))
def test_what_is_owed_is_at_most_the_worth(seed: int):
    rng = np.random.default_rng(seed)
    worth = rng.uniform(50, 300, int(ROWS))
    owed = worth * (1 - rng.gamma(2, 0.12, int(ROWS))).clip(0.05)
    places = [quantiles(owed), quantiles(worth)]
    both = groups(8), groups(8)
    counts = noisy_table(owed, worth, seed)
    found = fit_pair(counts, SIGMA, ROWS, both, (groups(48, places[0]), groups(48, places[1])))
    free = fit_pair(counts, SIGMA, ROWS, both, (groups(48), groups(48)))
    edges = found.copula.edges1, found.copula.edges2
    fine_cells = FineGrid(
        edges=edges,
        values=(places[0](edges[0]), places[1](edges[1])),
        tops=NO_NULLS,
        places=(np.arange(len(edges[0]) - 1), np.arange(len(edges[1]) - 1)),
    )
    above = fine_cells.above()
    assert "order" in found.family and "order" not in free.family
    assert (found.copula.mass * above).sum() < 0.5 * (free.copula.mass * above).sum()


def test_no_order_is_seen_where_there_is_none():
    found = []
    for seed in range(10):
        z = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, 0.85], [0.85, 1]], int(ROWS))
        counts = noisy_table(z[:, 0], z[:, 1], seed)
        both, fine = (groups(8), groups(8)), (groups(48, amounts(1.0)), groups(48, amounts(1.15)))
        found.append(fit_pair(counts, SIGMA, ROWS, both, fine).family)
    assert sum("order" in name for name in found) <= 1
