"""Rows of a noise-free vine with some columns inside given sets: sequential importance sampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sklar.errors import UnsupportedConditionError
from sklar.model.conditional import Runs, runs_of
from sklar.model.disclosed_vine import DisclosedVine
from sklar.model.given import LEAST_EFFECTIVE, Weighted, effective_size
from sklar.model.scale import Scale, codes_at

Floats = NDArray[np.float64]
MOST_PARTICLES = 400_000


def draw_inside(
    vine: DisclosedVine,
    scales: Sequence[Scale],
    allowed: Mapping[int, NDArray[np.bool_]],
    rows: int,
    rng: np.random.Generator,
) -> Weighted:
    """Weighted rows whose codes are allowed, until the effective sample size is twice the number of rows.

    Raises:
        UnsupportedConditionError: The effective sample size stays below 30.
    """
    runs = {column: runs_of(scales[column], mask) for column, mask in allowed.items()}
    size = int(np.clip(4 * rows, 4_000, 20_000))
    blocks: list[NDArray[np.int32]] = []
    weights: list[Floats] = []
    effective = 0.0
    for _ in range(MOST_PARTICLES // size):
        u, weight = particles_inside(vine, runs, size, rng)
        codes = np.column_stack([codes_at(scale, u[:, j]) for j, scale in enumerate(scales)])
        keep = weight > 0
        for column, mask in allowed.items():
            keep &= np.asarray(mask, dtype=bool)[codes[:, column]]
        blocks.append(codes[keep])
        weights.append(weight[keep])
        effective = effective_size(np.concatenate(weights))
        if effective >= 2 * rows:
            break
    if effective < LEAST_EFFECTIVE:
        raise UnsupportedConditionError(
            f"too little of the model lies inside the given sets: the effective sample size is {effective:.1f}, "
            f"and {LEAST_EFFECTIVE:.0f} is needed. Give fewer columns or wider sets."
        )
    return Weighted(codes=np.concatenate(blocks), weights=np.concatenate(weights), effective=effective)


def particles_inside(
    vine: DisclosedVine, runs: Mapping[int, Runs], rows: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Uniforms with some columns inside their runs, and the importance weight of each row.

    Columns are taken in the vine's sampling order. A column's conditional distribution given the ones before is its
    Rosenblatt transform, so that a set is an interval of the column's independent uniform, and its length the weight.
    """
    w = rng.random((rows, vine.size))
    weights = np.ones(rows)
    for column in (column for column in vine.sampling_order() if column in runs):
        u = vine.from_independent(w)
        low = _levels(vine, u, column, runs[column].low)
        high = _levels(vine, u, column, runs[column].high)
        w[:, column], share = _inside(low, high, w[:, column])
        weights *= share
    return vine.from_independent(w), weights


def _levels(vine: DisclosedVine, u: Floats, column: int, at: Floats) -> Floats:
    """P(U <= x | columns drawn before) for every x of `at` (rows of the result)."""
    out = np.empty((len(at), len(u)))
    for place, x in enumerate(at):
        if x <= 0 or x >= 1:
            out[place] = float(x >= 1)
            continue
        moved = u.copy()
        moved[:, column] = x
        out[place] = vine.to_independent(moved)[:, column]
    return out


def _inside(low: Floats, high: Floats, level: Floats) -> tuple[Floats, Floats]:
    """A place inside the intervals at a fraction `level` of their total length, and that length."""
    reach = np.cumsum(np.maximum(high - low, 0.0), axis=0)
    wanted = level * reach[-1]
    run = np.minimum((reach <= wanted).sum(axis=0), len(low) - 1)
    column = np.arange(len(level))
    before = np.where(run > 0, reach[np.maximum(run - 1, 0), column], 0.0)
    return low[run, column] + wanted - before, reach[-1]
