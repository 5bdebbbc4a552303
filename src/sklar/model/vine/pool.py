"""Pools of weighted particles: fresh draws of the vine, weighted so that they meet the released tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.model.axis import Scale, codes_at
from sklar.model.vine.calibration import Calibration, calibrate, make_weigher, part_codes, table_cells
from sklar.model.vine.sampling import draw_levels, simulate_vine, tabulate_vine, transform
from sklar.model.vine.vine import Vine, sampling_order

POLISHING_SWEEPS = 100
"""Largest number of sweeps that remove the Monte Carlo noise of a pool."""
MOST_CELL_NUMBERS = 60_000_000
"""Cell numbers held for a pool (120 MB): with many tables, pools are smaller."""
LEAST_PARTICLES, FEW_PARTICLES, MOST_PARTICLES = 20_000, 80_000, 200_000
"""Particles of a pool, at the least, usually at the least, and at the most: less noise of its own against time."""
BLOCK_PARTICLES = 16_384
"""Particles drawn at a time by rejection: small enough to stay in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool:
    """Particles to pick rows from, with their weights and the calibration (`tilt`) that gave them.

    Attributes:
        particles: uniforms of each particle (row) in each column.
        codes: group of each particle (column) under each partition of the calibration (row).
        table_cells: cell of each particle (column) in each released table (row).
    """

    particles: np.ndarray
    codes: np.ndarray
    table_cells: np.ndarray
    weights: np.ndarray
    tilt: Calibration


def draw_pool(
    vine: Vine, scales: Sequence[Scale], calibration: Calibration, size: int, rng: np.random.Generator, sweeps: int
) -> Pool:
    """Return fresh particles of the vine with the weights that calibrate these very particles.

    The stored tilt is where the sweeps start; a few of them remove the Monte Carlo noise of this pool.
    """
    particles = simulate_vine(vine, size, rng, even=True)
    codes = part_codes(calibration.partitions, scales, particles)
    cells = table_cells(calibration, codes)
    most = calibration.level + np.log(calibration.ceiling)
    fitted, weights = calibrate(calibration.partitions, calibration.tables, cells, sweeps=sweeps, most=most)
    return Pool(particles=particles, codes=codes, table_cells=cells, weights=weights, tilt=fitted)


def average_tilts(calibration: Calibration, pool: Pool, earlier: int) -> Calibration:
    """Return the mean tilt of `earlier` pools, moved on by one more: Monte Carlo noise of single pools averages out."""
    pairs = zip(calibration.tables, pool.tilt.tables, strict=True)
    tables = (replace(old, dual=old.dual + (new.dual - old.dual) / (earlier + 1)) for old, new in pairs)
    return replace(calibration, tables=tuple(tables))


def pool_size(calibration: Calibration, rows: int, per_row: float) -> int:
    """Return particles to draw for `rows` rows: `per_row` each, between 80,000 and 200,000, fewer when tables are
    many."""
    affordable = max(MOST_CELL_NUMBERS // max(len(calibration.tables), 1), LEAST_PARTICLES)
    return int(np.clip(per_row * rows, min(FEW_PARTICLES, affordable), min(affordable, MOST_PARTICLES)))


def accepted_rows(
    vine: Vine, scales: Sequence[Scale], calibration: Calibration, rows: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield base codes of `rows` independent rows in all, in blocks.

    A particle x of the vine is kept with probability w(x) / c, where w is its weight and c the ceiling of weights
    (von Neumann 1951). Kept particles are independent, with density proportional to vine times min(w, c).
    """
    steps, tables, weigh = sampling_order(vine), tabulate_vine(vine), make_weigher(calibration, scales)
    ceiling = calibration.ceiling if calibration.tables else 1.0
    missing = rows
    while missing > 0:
        size = int(min(BLOCK_PARTICLES, 1.1 * ceiling * missing + 64))
        particles = transform(vine, steps, draw_levels(vine.size, size, rng), tables).particles()
        chance = np.exp(weigh(particles)) / ceiling
        kept = np.flatnonzero(rng.random(size) < chance)[:missing]
        missing -= len(kept)
        yield np.column_stack([codes_at(scale, particles[kept, j]) for j, scale in enumerate(scales)])
