"""A correlation known from elsewhere, in the terms of a pair's table."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from sklar.model.pairs.dependence import mutual_information
from sklar.model.pairs.families import ParametricPair, cell_masses, fit_family
from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.hints import gaussian_cells, move_along, read_correlation, score_hint, value_scores
from sklar.model.pairs.posterior import estimate_pair
from tests.model.pairs.measured import pair_table

EDGES = np.array([0.0, 0.1, 0.3, 0.55, 0.8, 1.0]), np.linspace(0, 1, 8)
ROWS = 20_000.0
MEMBER = ParametricPair(family="clayton", rotation=0, tau=0.4)


@pytest.mark.parametrize("corr", [-0.95, -0.4, 0.0, 0.3, 0.9])
def test_cells_and_their_slopes_are_those_of_the_normal_distribution(corr):
    masses, slopes = gaussian_cells(*EDGES, corr)
    scores = [np.clip(norm.ppf(edges), -9, 9) for edges in EDGES]
    law = multivariate_normal(cov=[[1, corr], [corr, 1]])
    corners = np.array([[law.cdf([a, b]) for b in scores[1]] for a in scores[0]])
    assert np.allclose(masses, np.diff(np.diff(corners, axis=0), axis=1), atol=1e-5)
    nearby = [gaussian_cells(*EDGES, corr + step)[0] for step in (-1e-5, 1e-5)]
    assert np.allclose(slopes, (nearby[1] - nearby[0]) / 2e-5, atol=1e-4)
    assert abs(masses.sum() - 1) < 1e-9
    assert np.allclose(slopes.sum(axis=0), 0, atol=1e-12)


def test_a_table_tells_its_correlation_with_the_stated_variance():
    rng = np.random.default_rng(1)
    truth = ROWS * gaussian_cells(*EDGES, 0.5)[0]
    found = [read_correlation(truth + rng.normal(0, 40, truth.shape), 40.0, ROWS, EDGES, 0.5) for _ in range(2_000)]
    corr = np.array([one.corr for one in found])
    error = np.sqrt(found[0].variance)
    assert abs(corr.mean() - 0.5) < 5 * error / np.sqrt(len(corr))
    assert abs(corr.std() / error - 1) < 0.1


def test_one_step_from_a_near_correlation_is_enough():
    exact = ROWS * gaussian_cells(*EDGES, 0.5)[0]
    assert abs(read_correlation(exact, 1.0, ROWS, EDGES, 0.47).corr - 0.5) < 2e-3


def test_a_column_of_one_group_tells_nothing():
    edges = np.array([0.0, 1.0]), EDGES[1]
    assert read_correlation(np.full((1, 7), 100.0), 1.0, 700.0, edges, 0.2) is None
    assert score_hint(edges, 0.2, 0.01) is None


def test_moving_weighs_by_precision_and_keeps_all_other_directions():
    rng = np.random.default_rng(2)
    counts = ROWS * gaussian_cells(*EDGES, 0.5)[0] + rng.normal(0, 40, (5, 7))
    reading = read_correlation(counts, 40.0, ROWS, EDGES, 0.45)
    moved, corr = move_along(counts, reading, ROWS, 0.45, reading.variance / 3)
    assert np.isclose(corr, 0.25 * reading.corr + 0.75 * 0.45)
    assert np.isclose(read_correlation(moved, 40.0, ROWS, EDGES, 0.45).corr, corr)
    change = (moved - counts).ravel()
    along = reading.direction.ravel()
    assert np.isclose(abs(change @ along), np.linalg.norm(change) * np.linalg.norm(along))
    assert np.isclose(moved.sum(), counts.sum())
    same, _ = move_along(counts, reading, ROWS, 0.45, 1e9)
    assert np.allclose(same, counts, atol=1e-3)


def test_hint_is_met_by_the_gaussian_it_came_from():
    hint = score_hint(EDGES, -0.6, 1e-4)
    assert hint.misfit(gaussian_cells(*EDGES, -0.6)[0]) < 1e-9
    assert 0.7 < hint.misfit(gaussian_cells(*EDGES, -0.61)[0]) < 1.3


def test_hint_decides_where_the_table_is_too_noisy():
    """At this noise the table alone is off by .1 or more in Kendall's tau; the hint holds the fit within .02."""
    rng = np.random.default_rng(3)
    truth = ParametricPair(family="gaussian", rotation=0, tau=0.4)
    grid = np.linspace(0, 1, 13)
    counts = ROWS * cell_masses(truth, grid, grid)
    hint = score_hint((grid, grid), float(np.sin(np.pi / 2 * 0.4)), 1e-4)
    alone, helped = [], []
    for _ in range(5):
        noisy = counts + rng.normal(0, 500, counts.shape)
        found = fit_family(noisy, 500.0, ROWS, (grid, grid))
        alone.append(0.0 if found is None else found.tau)
        helped.append(fit_family(noisy, 500.0, ROWS, (grid, grid), hint).tau)
    assert np.abs(np.array(alone) - 0.4).max() > 0.1
    assert np.abs(np.array(helped) - 0.4).max() < 0.05


TOPS = (0.8, 1.0)
"""Of the first axis the last group, from .8 on, is null."""


def test_nulls_are_independent_of_the_other_column_and_values_keep_the_copula():
    whole = EDGES[0][:-1] / 0.8, EDGES[1]
    for masses, inside in (
        (gaussian_cells(*EDGES, 0.6, TOPS)[0], gaussian_cells(*whole, 0.6)[0]),
        (cell_masses(MEMBER, *EDGES, TOPS), cell_masses(MEMBER, *whole)),
    ):
        assert np.allclose(masses[:-1], 0.8 * inside, atol=1e-9)
        assert np.allclose(masses[-1], 0.2 * np.diff(EDGES[1]), atol=1e-9)
    both = cell_masses(MEMBER, *EDGES, (0.8, EDGES[1][-2]))
    assert np.allclose(both[-1, :], 0.2 * np.diff(EDGES[1]), atol=1e-9)
    assert np.allclose(both[:, -1], np.diff(EDGES[0]) * np.diff(EDGES[1])[-1], atol=1e-9)
    assert np.isclose(both.sum(), 1)


def test_slopes_with_nulls():
    slopes = gaussian_cells(*EDGES, 0.6, TOPS)[1]
    nearby = [gaussian_cells(*EDGES, 0.6 + step, TOPS)[0] for step in (-1e-5, 1e-5)]
    assert np.allclose(slopes, (nearby[1] - nearby[0]) / 2e-5, atol=1e-4)
    assert np.all(slopes[-1] == 0)


def test_nulls_score_nothing():
    scores = value_scores(EDGES[0], 0.8)
    assert scores[-1] == 0
    assert np.allclose(scores[:-1], value_scores(EDGES[0][:-1] / 0.8, 1.0))
    assert np.all(np.diff(scores[:-1]) > 0)


def test_a_known_correlation_is_kept_where_the_table_is_but_noise():
    masses = np.array([0.7, 0.3]), np.array([0.4, 0.6])
    groups = tuple(Groups(lookup=np.arange(2), edges=np.array([0.0, mass[0], 1.0])) for mass in masses)
    edges = groups[0].edges, groups[1].edges
    unsure, sure = (score_hint(edges, 0.5, 0.01, noise=noise) for noise in (0.3, 0.01))
    assert unsure.corr == 0.0 and sure.corr == pytest.approx(0.48)
    rng, found = np.random.default_rng(3), np.zeros((2, 40, 2))
    for hint, kept in zip((unsure, sure), found, strict=True):
        for k in range(len(kept)):
            noisy = ROWS * np.outer(*masses) + rng.normal(0, 2_000, (2, 2))
            table = pair_table(noisy, 2_000.0, edges[0], edges[1], hint=hint)
            pair = estimate_pair([table], ROWS)
            kept[k] = mutual_information(pair.mass), pair.tau
    assert np.median(found[0, :, 0]) < 0.005 and np.median(found[1, :, 0]) > 0.03
    assert abs(np.median(found[0, :, 1])) < 0.03 and np.median(found[1, :, 1]) > 0.1
