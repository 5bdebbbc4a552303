"""Rows of the calibrated vine with some columns inside given sets of base codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sklar.errors import UnsupportedConditionError
from sklar.model.calibration import Calibration, log_weights
from sklar.model.conditional import Runs, runs_of, simulate_inside
from sklar.model.scale import Scale, codes_at
from sklar.model.vine import Vine, sampling_order
from sklar.model.vine_sampling import tabulated

LEAST_EFFECTIVE = 30.0
MOST_PARTICLES = 2_000_000
MOST_CODES = 40_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weighted:
    """Rows of base codes with weights, and the effective sample size of the weights."""

    codes: np.ndarray
    weights: np.ndarray
    effective: float


def effective_size(weights: np.ndarray) -> float:
    """Kish's effective sample size (sum w)^2 / sum w^2."""
    square = float(weights @ weights)
    return float(weights.sum()) ** 2 / square if square > 0 else 0.0


def draw_given(
    vine: Vine,
    scales: Sequence[Scale],
    calibration: Calibration,
    allowed: Mapping[int, np.ndarray],
    rows: int,
    rng: np.random.Generator,
) -> Weighted:
    """Weighted rows inside the sets: particles of the conditioned vine times their calibration weights.

    Draws until the effective sample size is twice the number of rows, or two million particles were drawn.

    Raises:
        UnsupportedConditionError: the effective sample size stays below 30.
    """
    runs = {column: runs_of(scales[column], mask) for column, mask in allowed.items()}
    steps, tables = sampling_order(vine, first=runs), tabulated(vine)
    size = int(np.clip(4 * rows, 5_000, 20_000))
    codes: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    effective = 0.0
    for _ in range(max(min(MOST_PARTICLES, MOST_CODES // len(scales)) // size, 1)):
        particles, weight = simulate_inside(vine, steps, runs, size, rng, tables)
        weight = weight * np.exp(log_weights(calibration, scales, particles))
        block, weight = _inside(scales, particles, weight, allowed)
        codes.append(block)
        weights.append(weight)
        effective = effective_size(np.concatenate(weights))
        if effective >= 2 * rows:
            break
    if effective < LEAST_EFFECTIVE:
        raise UnsupportedConditionError(
            f"too little of the model lies inside the given sets: the effective sample size is {effective:.1f}, "
            f"and {LEAST_EFFECTIVE:.0f} is needed. Give fewer columns or wider sets."
        )
    return Weighted(codes=np.concatenate(codes), weights=np.concatenate(weights), effective=effective)


def _inside(
    scales: Sequence[Scale], particles: np.ndarray, weight: np.ndarray, allowed: Mapping[int, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Base codes of the particles that are really inside the sets (runs may cover a little more)."""
    codes = np.column_stack([codes_at(scale, particles[:, j]) for j, scale in enumerate(scales)])
    keep = weight > 0
    for column, mask in allowed.items():
        keep &= np.asarray(mask, dtype=bool)[codes[:, column]]
    return codes[keep], weight[keep]


def without_mass(scales: Sequence[Scale], allowed: Mapping[int, np.ndarray]) -> list[int]:
    """Columns whose allowed set has no mass under the margin."""
    empty: list[int] = []
    for column, mask in allowed.items():
        runs: Runs = runs_of(scales[column], mask)
        if not len(runs.low):
            empty.append(column)
    return empty
