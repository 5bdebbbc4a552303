"""Pools of weighted particles: fresh draws of the vine, weighted so that they meet the released tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.model.calibration import Calibration, calibrate, cell_matrix
from sklar.model.scale import Scale
from sklar.model.vine import Vine
from sklar.model.vine_sampling import simulate_vine

POLISHING_SWEEPS = 100
POLISHING_TOLERANCE = 1e-3
MOST_CELL_NUMBERS = 60_000_000
LEAST_PARTICLES, FEW_PARTICLES, MOST_PARTICLES = 20_000, 80_000, 200_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool:
    """Particles to pick rows from.

    Attributes:
        particles: uniforms of each particle (row) in each column.
        table_cells: cell of each particle (column) in each released table (row).
        weights: weight of each particle.
        tilt: the calibration of these particles.
    """

    particles: np.ndarray
    table_cells: np.ndarray
    weights: np.ndarray
    tilt: Calibration


def draw_pool(
    vine: Vine,
    scales: Sequence[Scale],
    calibration: Calibration,
    size: int,
    rng: np.random.Generator,
    sweeps: int = POLISHING_SWEEPS,
) -> Pool:
    """Fresh particles of the vine with the weights that calibrate these very particles.

    The stored tilt is where the sweeps start; a few of them remove the Monte Carlo noise of this pool.
    """
    particles = simulate_vine(vine, size, rng, stratified=True)
    cells = cell_matrix(calibration, scales, particles)
    fitted, weights = calibrate(
        calibration.partitions,
        calibration.tables,
        cells,
        sweeps=sweeps,
        tolerance=POLISHING_TOLERANCE,
        most=calibration.level + np.log(calibration.ceiling),
    )
    return Pool(particles=particles, table_cells=cells, weights=weights, tilt=fitted)


def averaged(calibration: Calibration, pool: Pool, earlier: int) -> Calibration:
    """The mean tilt of `earlier` pools, moved on by one more: Monte Carlo noise of single pools averages out."""
    tables = tuple(
        replace(old, dual=old.dual + (new.dual - old.dual) / (earlier + 1))
        for old, new in zip(calibration.tables, pool.tilt.tables, strict=True)
    )
    return replace(calibration, tables=tables)


def pool_size(calibration: Calibration, rows: int, per_row: float) -> int:
    """Particles to draw for `rows` rows: `per_row` each, between 80,000 and 200,000, fewer when tables are many."""
    affordable = max(MOST_CELL_NUMBERS // max(len(calibration.tables), 1), LEAST_PARTICLES)
    return int(np.clip(per_row * rows, min(FEW_PARTICLES, affordable), min(affordable, MOST_PARTICLES)))
