"""Normal scores inside given sets, drawn one column after the other with weights that make up for the order.

Reference: Geweke (1991), Hajivassiliou, Keane: each score is drawn from its normal law given the earlier ones, cut to
its set; the probability of the set under that law is the weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.errors import UnsupportedConditionError
from sklar.model.margin import Margin, u_edges
from sklar.model.rounding import systematic

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_EFFECTIVE = 30.0
MOST_PARTICLES = 2_000_000
MOST_RUN_ENTRIES = 1 << 23


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreRuns:
    """A set of base codes as intervals of normal scores, one per run of neighboring codes with mass.

    Attributes:
        low: Lower end of each interval.
        high: Upper end.
        first: First code of the run.
        last: Last code of the run.
        cuts: Normal scores between neighboring codes of the whole column.
    """

    low: Floats
    high: Floats
    first: Ints
    last: Ints
    cuts: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Conditioned:
    """Draws behind the conditioned columns (one line a column), their codes, and the effective sample size."""

    draws: Floats
    codes: NDArray[np.int32]
    effective: float


def runs_of_scores(margin: Margin, mask: NDArray[np.bool_]) -> ScoreRuns:
    """The intervals of normal scores that a set of base codes covers; none where it has no mass."""
    from scipy.special import ndtri

    edges = u_edges(margin)
    keep = mask & (np.diff(edges) > 0)
    steps = np.diff(np.concatenate([[0], keep.astype(np.int8), [0]]))
    first, stop = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    return ScoreRuns(
        low=ndtri(edges[first]), high=ndtri(edges[stop]), first=first, last=stop - 1, cuts=ndtri(edges[1:-1])
    )


def conditioned_scores(factor: Floats, runs: Sequence[ScoreRuns], rows: int, rng: np.random.Generator) -> Conditioned:
    """Draws for `rows` rows whose scores lie inside the runs, resampled by weight.

    Particles are drawn until their effective sample size is twice the number of rows, or there are two million.

    Raises:
        UnsupportedConditionError: The effective sample size stays below 30.
    """
    size = int(np.clip(2 * rows, 2_000, max(2_000, MOST_RUN_ENTRIES // max(len(r.low) for r in runs))))
    draws, codes, weights = _particles(factor, runs, size, rng)
    while _effective(weights) < 2 * rows and len(weights) < MOST_PARTICLES and len(runs) > 1:
        more = _particles(factor, runs, size, rng)
        draws, codes = np.concatenate([draws, more[0]], axis=1), np.concatenate([codes, more[1]])
        weights = np.concatenate([weights, more[2]])
    effective = _effective(weights)
    if effective < LEAST_EFFECTIVE:
        raise UnsupportedConditionError(
            f"too little of the model lies inside the given sets: the effective sample size is {effective:.1f}, "
            f"and {LEAST_EFFECTIVE:.0f} is needed. Give fewer columns or wider sets."
        )
    chosen = systematic(weights, rows, rng) if rows else np.zeros(0, dtype=np.int64)
    return Conditioned(draws=draws[:, chosen], codes=codes[chosen], effective=effective)


def _particles(
    factor: Floats, runs: Sequence[ScoreRuns], size: int, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.int32], Floats]:
    draws = np.zeros((len(runs), size))
    codes = np.empty((size, len(runs)), dtype=np.int32)
    weights = np.ones(size)
    for i, run in enumerate(runs):
        center = factor[i, :i] @ draws[:i]
        chosen, draws[i], probability = _inside(run, center, float(factor[i, i]), rng)
        score = center + factor[i, i] * draws[i]
        found = np.searchsorted(run.cuts, score, side="right")
        codes[:, i] = np.clip(found, run.first[chosen], run.last[chosen])
        weights *= probability
    return draws, codes, weights


def _inside(run: ScoreRuns, center: Floats, spread: float, rng: np.random.Generator) -> tuple[Ints, Floats, Floats]:
    """For each particle a run, a standard normal inside it, and the probability of all runs together."""
    from scipy.special import ndtr, ndtri

    low = (run.low - center[:, None]) / spread
    high = (run.high - center[:, None]) / spread
    # Intervals in the upper tail are mirrored, where the distribution function keeps its digits.
    mirrored = low > 0
    left, right = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    mass = ndtr(right) - ndtr(left)
    reach = np.cumsum(mass, axis=1)
    pick = rng.random(len(center)) * reach[:, -1]
    chosen = np.minimum((reach <= pick[:, None]).sum(axis=1), len(run.low) - 1)
    at = np.arange(len(center)), chosen
    start, width = ndtr(left[at]), mass[at]
    draw = np.clip(ndtri(start + rng.random(len(center)) * width), left[at], right[at])
    draw = np.clip(np.where(mirrored[at], -draw, draw), -38.0, 38.0)
    return chosen.astype(np.int64), draw, reach[:, -1]


def _effective(weights: Floats) -> float:
    """Kish's effective sample size (sum w)^2 / sum w^2."""
    largest = float(weights.max(initial=0.0))
    if not largest > 0:
        return 0.0
    scaled = weights / largest
    return float(scaled.sum()) ** 2 / float(scaled @ scaled)
