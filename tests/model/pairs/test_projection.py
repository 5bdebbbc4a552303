"""Projection of noisy tables on given margins."""

import numpy as np
from scipy.optimize import minimize

from sklar.model.pairs.families import fit_pair
from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.projection import nearest_table, project_if_clearer

ROWS, SIGMA = 20_000, 40.0


def bijection(size=15):
    return np.diag(np.random.default_rng(1).dirichlet(np.full(size, 5.0)))


def seen(truth, seed=0):
    return truth + SIGMA / ROWS * np.random.default_rng(seed).standard_normal(truth.shape)


def test_margins_are_met_and_no_cell_is_negative():
    truth = bijection()
    found = nearest_table(seen(truth), truth.sum(axis=1), truth.sum(axis=0))
    assert found.min() >= 0
    assert np.allclose(found.sum(axis=1), truth.sum(axis=1), atol=1e-5)
    assert np.allclose(found.sum(axis=0), truth.sum(axis=0), atol=1e-5)


def test_no_table_with_the_margins_is_nearer():
    """Parity with a general solver on a small table."""
    rng = np.random.default_rng(3)
    first, second, noisy = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4)), rng.normal(0.08, 0.1, (3, 4))
    limits = [
        {"type": "eq", "fun": lambda x: x.reshape(3, 4).sum(axis=1) - first},
        {"type": "eq", "fun": lambda x: x.reshape(3, 4).sum(axis=0)[:-1] - second[:-1]},
    ]
    start = np.outer(first, second).ravel()
    best = minimize(
        lambda x: np.sum((x - noisy.ravel()) ** 2), start, bounds=[(0, 1)] * 12, constraints=limits, method="SLSQP"
    )
    assert np.allclose(nearest_table(noisy, first, second).ravel(), best.x, atol=1e-4)


def test_a_table_with_the_margins_stays():
    truth = bijection() * 0.8 + 0.2 / 225
    assert np.allclose(nearest_table(truth, truth.sum(axis=1), truth.sum(axis=0)), truth, atol=1e-6)


def test_it_is_used_where_most_cells_are_empty():
    truth = bijection()
    margins, noisy = (truth.sum(axis=1), truth.sum(axis=0)), seen(truth)
    found = project_if_clearer(lambda y: np.maximum(y, 0.0), noisy, SIGMA / ROWS, margins)
    assert found is not None
    assert np.sum((found - truth) ** 2) < 0.4 * np.sum((np.maximum(noisy, 0.0) - truth) ** 2)


def test_it_is_left_out_where_another_estimate_is_as_good():
    margins = np.full(15, 1 / 15), np.full(15, 1 / 15)
    assert project_if_clearer(lambda y: np.outer(*margins), seen(np.outer(*margins)), SIGMA / ROWS, margins) is None


def test_the_copula_of_a_bijection_has_next_to_nothing_elsewhere():
    truth = bijection()
    edges = np.concatenate([[0.0], np.cumsum(truth.sum(axis=1))])
    edges[-1] = 1.0
    groups = Groups(lookup=np.arange(15), edges=edges)
    made = fit_pair(ROWS * seen(truth), SIGMA, ROWS, (groups, groups), None).copula.mass
    assert np.sum(made) - np.trace(made) < 0.05
