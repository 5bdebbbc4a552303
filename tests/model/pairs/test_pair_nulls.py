"""Nulls that come together: read off one direction of a table, kept where denoising the whole would lose them."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.axis import NO_NULLS
from sklar.model.pairs.dependence import mutual_information
from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.nulls import NullExcess, null_direction, nulls_together, read_null_excess
from sklar.model.pairs.posterior import estimate_pair
from tests.model.pairs.measured import pair_table

ROWS, SIGMA = 6_000.0, 50.0
MASS1, MASS2 = np.append(np.full(8, 0.95 / 8), 0.05), np.append(np.full(8, 0.96 / 8), 0.04)
TOPS = (0.95, 0.96)


def counts_with(excess: float, seed: int = 0, sigma: float = SIGMA) -> np.ndarray:
    exact = ROWS * np.outer(MASS1, MASS2) + excess * null_direction(MASS1, MASS2)
    return exact + np.random.default_rng(seed).normal(0, sigma, exact.shape)


def read(excess: float, seed: int = 0, sigma: float = SIGMA) -> NullExcess:
    found = read_null_excess(counts_with(excess, seed, sigma), sigma, ROWS, (MASS1, MASS2), TOPS)
    assert found is not None
    return found


def groups(mass: np.ndarray) -> Groups:
    return Groups(lookup=np.arange(len(mass)), edges=np.concatenate([[0.0], np.cumsum(mass[:-1]), [1.0]]))


def test_the_direction_moves_no_margin():
    direction = null_direction(MASS1, MASS2)
    assert direction[-1, -1] == 1.0
    np.testing.assert_allclose(direction.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(direction.sum(axis=1), 0.0, atol=1e-12)


def test_the_number_is_read_without_bias_and_with_its_variance():
    found = [read(150.0, seed) for seed in range(400)]
    errors = np.array([one.rows for one in found]) - 150.0
    assert abs(errors.mean()) < 5 * SIGMA / 20
    assert errors.std() == pytest.approx(np.sqrt(found[0].variance), rel=0.2)
    assert found[0].variance < SIGMA**2


def test_nulls_that_depend_on_values_do_not_change_the_number():
    """Nulls of the second column come with the first value of the first, which holds 40% of the rows."""
    first, second = np.array([0.4, 0.1, 0.1, 0.1, 0.1, 0.2]), np.array([0.3, 0.2, 0.2, 0.1, 0.2])
    joint = np.outer(first, second)
    change = np.zeros_like(joint)
    change[0, -1], change[2, -1], change[0, 0], change[2, 0] = 0.018, -0.018, -0.018, 0.018
    change[-1, -1] += 0.03
    change[-1, 1] -= 0.03
    change[0, -1] -= 0.03
    change[0, 1] += 0.03
    found = read_null_excess(ROWS * (joint + change), 1.0, ROWS, (first, second), (0.8, 0.8))
    assert found is not None
    assert found.rows == pytest.approx(0.03 * ROWS)


def test_chance_is_left_alone_and_all_together_is_believed():
    most = ROWS * (0.04 - 0.04 * 0.05)
    assert np.mean([abs(read(0.0, seed).expected) for seed in range(40)]) < 0.25 * SIGMA
    assert np.mean([read(most, seed).expected for seed in range(40)]) > 0.85 * most
    assert read(0.5 * most, sigma=1.0).expected == pytest.approx(0.5 * most, abs=2.0)


def test_two_tables_tell_more_than_one():
    one, two = read(150.0, 1), read(150.0, 2, sigma=30.0)
    both = one.pooled(two)
    assert both.variance == pytest.approx(1 / (1 / one.variance + 1 / two.variance))
    assert min(one.rows, two.rows) <= both.rows <= max(one.rows, two.rows)


def test_without_groups_of_nulls_nothing_is_read():
    assert read_null_excess(counts_with(0.0), SIGMA, ROWS, (MASS1, MASS2), NO_NULLS) is None
    assert read_null_excess(counts_with(0.0), SIGMA, ROWS, (MASS1, MASS2), (0.95, 1.0)) is None
    assert not nulls_together(None, (MASS1, MASS2)).any()


def table_of(counts, **more):
    edges = [np.concatenate([[0.0], np.cumsum(mass)]) for mass in (MASS1, MASS2)]
    edges[0][-1] = edges[1][-1] = 1.0
    return pair_table(counts, SIGMA, *edges, **more)


def test_the_posterior_keeps_the_corner():
    """150 rows together against a noise of 50: lost in ten of ten tables, or kept in most."""
    lost, kept = [], []
    for seed in range(10):
        counts = counts_with(150.0, seed)
        lost.append(estimate_pair([table_of(counts)], ROWS).mass)
        kept.append(estimate_pair([table_of(counts, nulls=read(150.0, seed))], ROWS).mass)
    assert np.mean([table[-1, -1] for table in lost]) * ROWS < 30
    assert np.mean([table[-1, -1] for table in kept]) * ROWS == pytest.approx(162, rel=0.25)
    assert np.mean([mutual_information(table) for table in kept]) > 0.02


def test_a_fitted_pair_has_nulls_together_and_exact_margins():
    excess = read(ROWS * 0.038, 4)
    seen = table_of(counts_with(ROWS * 0.038, 4), tops=TOPS, nulls=excess)
    fitted = estimate_pair([seen], ROWS, seen.edges)
    mass = fitted.copula.mass
    np.testing.assert_allclose(mass.sum(axis=0), MASS2, atol=1e-9)
    np.testing.assert_allclose(mass.sum(axis=1), MASS1, atol=1e-3)
    assert mass[-1, -1] > 0.8 * 0.04
