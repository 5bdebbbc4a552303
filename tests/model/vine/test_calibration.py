"""Soft iterative proportional fitting and its dual."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from sklar.model.axis import lay_out
from sklar.model.kernels import solve_cell
from sklar.model.vine.calibration import (
    NO_TILT,
    Calibration,
    Partition,
    SoftTable,
    calibrate,
    cell_matrix,
    hold_margins,
    log_weights,
    noisy_cells,
    prior_strength,
    weight_ceiling,
)

SCALES = (
    lay_out(np.arange(3), np.full(3, 1 / 3), 3, nominal=False),
    lay_out(np.arange(4), np.full(4, 1 / 4), 4, nominal=False),
)
PARTS = (
    Partition(column=0, lookup=np.arange(3), count=3),
    Partition(column=1, lookup=np.arange(4), count=4),
    Partition(column=1, lookup=np.array([0, 0, 1, 1]), count=2),
)


def soft(parts, observed, variance):
    flat = np.asarray(observed, float).ravel()
    return SoftTable(parts=parts, observed=flat, variance=variance, dual=np.zeros(len(flat)))


def setup(variance, rng):
    particles = rng.random((5_000, 2))
    tables = [
        soft((0, 1), rng.dirichlet(np.ones(12)), variance),
        soft((0, 2), rng.dirichlet(np.ones(6)), variance),
        soft((1,), rng.dirichlet(np.ones(4)), variance),
    ]
    draft = Calibration(partitions=PARTS, tables=tuple(tables), level=0.0, effective=1.0, ceiling=1.0)
    return particles, tables, cell_matrix(draft, SCALES, particles)


@given(
    mass=st.floats(1e-12, 1.0),
    observed=st.floats(-0.5, 1.5),
    variance=st.floats(1e-10, 1.0),
    dual=st.floats(-20, 20),
)
def test_each_cell_is_solved(mass, observed, variance, dual):
    found = solve_cell(mass, observed, variance, dual)
    function = lambda d: mass * np.exp(d) + variance * (dual + d) - observed  # noqa: E731
    if -50 < found < 60:
        low, high = found - 1.0, found + 1.0
        assert function(low) <= 1e-9
        assert function(high) >= -1e-9
        assert abs(brentq(function, low, high) - found) < 1e-6 or abs(function(found)) < 1e-9


def test_solution_minimizes_the_stated_objective():
    rng = np.random.default_rng(1)
    _, tables, cells = setup(0.01, rng)
    found, weights = calibrate(PARTS, tables, cells, sweeps=500, tolerance=1e-12)

    # the dual, minimized by a general method over all lambdas at once
    observed = np.concatenate([t.observed for t in tables])
    offsets = np.cumsum([0, 12, 6])

    def dual(z):
        logs = sum(z[offset + row] for offset, row in zip(offsets, cells.astype(int), strict=True))
        top = logs.max()
        w = np.exp(logs - top)
        shares = w / w.sum()
        moved = np.concatenate([np.bincount(r, shares, len(t.observed)) for r, t in zip(cells, tables, strict=True)])
        return top + np.log(w.mean()) - z @ observed + 0.005 * z @ z, moved - observed + 0.01 * z

    best = minimize(dual, np.zeros(22), jac=True, options={"gtol": 1e-9})
    ours = np.concatenate([t.dual for t in found.tables])
    assert np.allclose(ours, best.x, atol=1e-4)
    assert np.isclose(weights.sum(), 1.0)


def test_without_noise_it_is_iterative_proportional_fitting():
    rng = np.random.default_rng(2)
    truth = rng.dirichlet(np.ones(12)).reshape(3, 4)
    particles = rng.random((4_000, 2))
    tables = [soft((0, 1), truth, 1e-12), soft((0, 2), truth.reshape(3, 2, 2).sum(2), 1e-12)]
    draft = Calibration(partitions=PARTS, tables=tuple(tables), level=0.0, effective=1.0, ceiling=1.0)
    cells = cell_matrix(draft, SCALES, particles)
    _, weights = calibrate(PARTS, tables, cells)
    assert np.allclose(np.bincount(cells[0], weights), truth.ravel(), atol=1e-6)


def test_with_much_noise_nothing_moves():
    rng = np.random.default_rng(3)
    _, tables, cells = setup(1e6, rng)
    found, weights = calibrate(PARTS, tables, cells)
    assert np.allclose(weights * len(weights), 1.0, atol=1e-4)
    assert found.effective > 0.999


def test_weights_of_fresh_rows_follow_from_the_dual():
    rng = np.random.default_rng(4)
    particles, tables, cells = setup(0.01, rng)
    found, weights = calibrate(PARTS, tables, cells)
    assert np.allclose(np.exp(log_weights(found, SCALES, particles)) / len(weights), weights)


def test_restart_from_a_solution_stays_there():
    rng = np.random.default_rng(5)
    _, tables, cells = setup(0.01, rng)
    found, weights = calibrate(PARTS, tables, cells, sweeps=300, tolerance=1e-10)
    _, same = calibrate(PARTS, found.tables, cells, sweeps=1)
    assert np.allclose(weights, same, rtol=1e-5)


def test_no_tables_no_tilt():
    found, weights = calibrate((), [], np.empty((0, 7), np.uint16))
    assert found == NO_TILT or found.tables == ()
    assert np.allclose(weights, 1 / 7)


@pytest.mark.parametrize("distance", [0.01, 0.05])
def test_prior_strength_measures_unexplained_distance(distance):
    rng = np.random.default_rng(6)
    cell = rng.integers(0, 4, 1_000_000)
    observed = np.array([0.25 + distance, 0.25 - distance, 0.25, 0.25])
    strength = prior_strength((), [soft((1,), observed, 1e-12)], cell[None, :])
    assert np.isclose(strength, np.clip(0.75 / (2 * distance**2), 100, 1e5), rtol=0.15)


def test_negative_and_absurd_tables_leave_finite_weights():
    rng = np.random.default_rng(7)
    _, tables, cells = setup(1e-3, rng)
    absurd = [soft(t.parts, rng.normal(0, 50, len(t.observed)), 1e-3) for t in tables]
    _, weights = calibrate(PARTS, absurd, cells)
    assert np.all(np.isfinite(weights))


def test_ceiling_bounds_the_excess():
    weights = np.random.default_rng(8).lognormal(0, 1.5, 20_000)
    ceiling = weight_ceiling(weights, excess=0.02, most=1e9)
    assert np.maximum(weights - ceiling, 0).sum() <= 0.02 * weights.sum()
    assert np.maximum(weights - 0.99 * ceiling, 0).sum() > 0.02 * weights.sum() * 0.9


def test_cells_without_particles_get_no_tilt():
    """Else a fresh particle that lands there would outweigh everything."""
    rng = np.random.default_rng(9)
    particles = rng.random((4_000, 2)) * np.array([1.0, 0.7])
    tables = [soft((0, 1), np.full(12, 1 / 12), 1e-9), soft((1,), np.full(4, 1 / 4), 1e-9)]
    draft = Calibration(partitions=PARTS, tables=tuple(tables), level=0.0, effective=1.0, ceiling=1.0)
    found, _ = calibrate(PARTS, tables, cell_matrix(draft, SCALES, particles))
    assert np.all(found.tables[0].dual.reshape(3, 4)[:, 3] == 0)
    assert found.tables[1].dual[3] == 0


def test_margins_hold_on_particles_that_took_no_part_in_the_fit():
    rng = np.random.default_rng(4)
    truth = rng.dirichlet(np.ones(4))
    pair = (np.outer(np.full(3, 1 / 3), truth) + rng.normal(0, 0.02, (3, 4))).ravel()
    draft = Calibration(
        partitions=PARTS,
        tables=(soft((0, 1), pair, 1e-6), soft((1,), truth, 1e-8)),
        level=0.0,
        effective=1.0,
        ceiling=1.0,
    )
    few = rng.random((300, 2))
    fitted, _ = calibrate(PARTS, draft.tables, cell_matrix(draft, SCALES, few))
    held = hold_margins(fitted, SCALES, rng.random((50_000, 2)))

    fresh = rng.random((200_000, 2))
    cells = cell_matrix(draft, SCALES, fresh)[1]

    def error(calibration):
        weights = np.exp(log_weights(calibration, SCALES, fresh))
        return np.abs(np.bincount(cells, weights, 4) / weights.sum() - truth).sum()

    assert error(held) < 0.3 * error(fitted)
    assert np.array_equal(held.tables[0].dual, fitted.tables[0].dual)


def test_without_tables_of_single_columns_nothing_is_held():
    draft = Calibration(
        partitions=PARTS, tables=(soft((0, 1), np.full(12, 1 / 12), 1e-4),), level=0.0, effective=1.0, ceiling=1.0
    )
    assert hold_margins(draft, SCALES, np.random.default_rng(0).random((100, 2))) is draft


@pytest.mark.parametrize("told, dimensions", [("counts", 12), ("interaction", 6)])
def test_noise_is_counted_in_the_dimensions_that_carry_it(told, dimensions):
    parts = (Partition(column=0, lookup=np.arange(3), count=3), Partition(column=1, lookup=np.arange(4), count=4))
    table = replace(soft((0, 1), np.full(12, 1 / 12), 1e-4), content=told)
    assert noisy_cells(parts, table) == dimensions
