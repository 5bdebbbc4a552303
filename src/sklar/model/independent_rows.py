"""Independent rows of the calibrated vine, by rejection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sklar.model.calibration import Calibration, weigher
from sklar.model.scale import Scale, codes_at
from sklar.model.vine import Vine, sampling_order
from sklar.model.vine_sampling import draw_levels, tabulated, transform

BLOCK = 16_384
"""Particles drawn at a time: small enough to stay in the cache."""


def accepted_rows(
    vine: Vine, scales: Sequence[Scale], calibration: Calibration, rows: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Base codes of `rows` independent rows in all, in blocks.

    A particle x of the vine is kept with probability w(x) / c, where w is its weight and c the ceiling of weights
    (von Neumann 1951). Kept particles are independent, with density proportional to vine times min(w, c).
    """
    steps, tables, weigh = sampling_order(vine), tabulated(vine), weigher(calibration, scales)
    ceiling = calibration.ceiling if calibration.tables else 1.0
    missing = rows
    while missing > 0:
        size = int(min(BLOCK, 1.1 * ceiling * missing + 64))
        uniforms = transform(vine, steps, draw_levels(vine.size, size, rng), tables)
        particles = np.empty((size, vine.size), order="F")
        for column in range(vine.size):
            particles[:, column] = uniforms.get(column)
        chance = np.exp(weigh(particles)) / ceiling
        kept = np.flatnonzero(rng.random(size) < chance)[:missing]
        missing -= len(kept)
        yield np.column_stack([codes_at(scale, particles[kept, j]) for j, scale in enumerate(scales)])
