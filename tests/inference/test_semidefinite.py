"""Systems of equations that may be singular."""

import warnings

import numpy as np

from sklar.inference.one_step import solve_semidefinite

RNG = np.random.default_rng(3)


def test_regular_systems_are_solved():
    half = RNG.normal(size=(6, 9))
    matrix, truth = half @ half.T, RNG.normal(size=(6, 2))
    assert np.allclose(solve_semidefinite(matrix, matrix @ truth), truth)


def test_singular_systems_have_the_shortest_solution_and_no_warning():
    half = RNG.normal(size=(6, 3))
    matrix, right = half @ half.T, half @ RNG.normal(size=(3, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solve_semidefinite(matrix, right)
        nearly = solve_semidefinite(matrix + 1e-18 * np.eye(6), right)
    assert np.allclose(matrix @ found, right) and np.allclose(nearly, found, atol=1e-6)
    assert np.allclose(found, np.linalg.pinv(matrix) @ right)
