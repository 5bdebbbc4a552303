"""Sampling some columns of a vine inside given sets: sequential importance sampling along the trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sklar.model.calibration import Calibration, weigher
from sklar.model.conditioning import Proposals, Runs, cover, place_inside
from sklar.model.scale import Scale, clip_open, code_edges, codes_at
from sklar.model.vine import Step, Vine, sampling_order
from sklar.model.vine_sampling import Tables, Uniforms, draw_step, tabulated


def vine_proposals(
    vine: Vine, scales: Sequence[Scale], calibration: Calibration, allowed: Mapping[int, np.ndarray]
) -> Proposals:
    """Particles of the vine conditioned on the sets, weighted also by their calibration."""
    runs = {column: runs_of(scales[column], mask) for column, mask in allowed.items()}
    steps, tables, weigh = sampling_order(vine, first=runs), tabulated(vine), weigher(calibration, scales)

    def propose(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        particles, log = simulate_inside(vine, steps, runs, rows, rng, tables)
        codes = np.column_stack([codes_at(scale, particles[:, j]) for j, scale in enumerate(scales)])
        return codes, log + weigh(particles)

    return propose


def runs_of(scale: Scale, allowed: np.ndarray) -> Runs:
    """Intervals of the axis that cover what the allowed base codes own."""
    low, high = code_edges(scale)
    keep = allowed & (high > low)
    return cover(low[keep], high[keep])


def conditional_level(step: Step, uniforms: Uniforms, u: np.ndarray) -> np.ndarray:
    """P(U <= u | columns drawn before) for the column of a step."""
    for edge in step.chain:
        u = uniforms.forward(edge, step.column, u)
    return u


def draw_inside(step: Step, uniforms: Uniforms, runs: Runs, level: np.ndarray) -> np.ndarray:
    """Draw a column from its conditional distribution restricted to the runs.

    Returns:
        The probability of the runs given the columns drawn before: the importance weight of each particle.
    """
    rows = len(level)
    low = np.stack([conditional_level(step, uniforms, clip_open(np.full(rows, x))) for x in runs.low])
    high = np.stack([conditional_level(step, uniforms, clip_open(np.full(rows, x))) for x in runs.high])
    run, place, total = place_inside(low, high, level)
    draw_step(step, uniforms, clip_open(place))
    # Rounding in the h-functions may land a hair outside.
    inside = np.clip(uniforms.get(step.column), runs.low[run], np.nextafter(runs.high[run], 0.0))
    uniforms.put(step.column, (), clip_open(inside))
    return total


def simulate_inside(
    vine: Vine,
    steps: tuple[Step, ...],
    runs: Mapping[int, Runs],
    rows: int,
    rng: np.random.Generator,
    tables: Tables | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Particles with the columns of `runs` inside their sets, and the log-weight of each.

    Weighted by the result, particles follow the vine conditioned on the sets: the proposal draws each column from its
    conditional distribution (restricted, where asked), so the weight is the product of the probabilities of the sets
    given the columns drawn before.
    """
    uniforms = Uniforms(vine, tables)
    log = np.zeros(rows)
    for step in steps:
        level = clip_open(rng.random(rows))
        if step.column in runs:
            with np.errstate(divide="ignore"):
                log += np.log(draw_inside(step, uniforms, runs[step.column], level))
        else:
            draw_step(step, uniforms, level)
    particles = np.empty((rows, vine.size), order="F")
    for column in range(vine.size):
        particles[:, column] = uniforms.get(column)
    return particles, log
