"""Normals cut to intervals: the step of the sampler of Geweke, Hajivassiliou and Keane (GHK).

Correlated normals are drawn one after the other, each from its law given the earlier ones, cut to its intervals; the
probability of the intervals under that law is the weight.

References: Geweke (1991), "Efficient simulation from the multivariate normal and Student-t distributions subject to
linear constraints"; Keane (1994), "A computationally practical simulation estimator for panel data"; Hajivassiliou,
McFadden (1998), "The method of simulated scores for the estimation of LDV models".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklar.model.conditioning import Runs, place_inside

Floats = NDArray[np.float64]


def truncated_normal(runs: Runs, mean: Floats, scale: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Standard normals w with mean + scale w inside the intervals, and the log-probability of the intervals."""
    from scipy.special import ndtr, ndtri

    low, high = (runs.low[:, None] - mean) / scale, (runs.high[:, None] - mean) / scale
    # Intervals in the upper tail are mirrored, where the distribution function keeps its digits.
    mirrored = low > 0
    left, right = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    run, place, total = place_inside(ndtr(left), ndtr(right), rng.random(len(mean)))
    at = run, np.arange(len(mean))
    w = np.clip(ndtri(np.clip(place, 0.0, 1.0)), left[at], right[at])
    with np.errstate(divide="ignore"):
        return np.clip(np.where(mirrored[at], -w, w), -38.0, 38.0), np.log(total)
