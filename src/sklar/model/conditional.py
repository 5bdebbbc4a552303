"""Sampling some columns of a vine inside given sets: sequential importance sampling along the trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sklar.model.scale import Scale, clip_open, code_edges
from sklar.model.vine import Step, Vine
from sklar.model.vine_sampling import Tables, Uniforms, draw_step

MOST_RUNS = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Runs:
    """Disjoint intervals of a column's axis, increasing, that together cover a set of base codes."""

    low: np.ndarray
    high: np.ndarray


def runs_of(scale: Scale, allowed: np.ndarray) -> Runs:
    """The intervals of the axis that the allowed base codes own.

    Sets in many pieces are covered by at most `MOST_RUNS` intervals, closing the smallest gaps: the caller must then
    still discard particles that fall into a closed gap.
    """
    low, high = code_edges(scale)
    keep = np.asarray(allowed, dtype=bool) & (high > low)
    low, high = low[keep], high[keep]
    order = np.argsort(low, kind="stable")
    low, high = low[order], high[order]
    if not len(low):
        return Runs(low=low, high=high)
    gaps = low[1:] - high[:-1]
    smallest = np.sort(gaps)[-MOST_RUNS] if len(gaps) >= MOST_RUNS else 0.0
    cut = np.flatnonzero(gaps > max(smallest, 1e-12))
    return Runs(low=low[np.concatenate([[0], cut + 1])], high=high[np.concatenate([cut, [len(high) - 1]])])


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
    reach = np.cumsum(np.maximum(high - low, 0.0), axis=0)
    total = reach[-1]
    wanted = level * total
    run = np.minimum((reach <= wanted).sum(axis=0), len(runs.low) - 1)
    column = np.arange(rows)
    before = np.where(run > 0, reach[np.maximum(run - 1, 0), column], 0.0)
    draw_step(step, uniforms, clip_open(low[run, column] + wanted - before))
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
    """Particles with the columns of `runs` inside their sets, and the importance weight of each.

    Weighted by the result, particles follow the vine conditioned on the sets: the proposal draws each column from its
    conditional distribution (restricted, where asked), so the weight is the product of the probabilities of the sets
    given the columns drawn before.
    """
    uniforms = Uniforms(vine, tables)
    weights = np.ones(rows)
    for step in steps:
        level = clip_open(rng.random(rows))
        if step.column in runs:
            weights *= draw_inside(step, uniforms, runs[step.column], level)
        else:
            draw_step(step, uniforms, level)
    particles = np.empty((rows, vine.size), order="F")
    for column in range(vine.size):
        particles[:, column] = uniforms.get(column)
    return particles, weights
