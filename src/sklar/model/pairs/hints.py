"""What a correlation that is known from elsewhere says about the table of a pair.

Noisy sums of normal scores measure a correlation far better than a noisy table of the same cost: a table of K x K cells
spends its budget on all its shapes, so its own reading of the correlation is about K times as noisy. But the sums
see one number, and see it through a Gaussian eye. So a table keeps its shape, and is moved along the one direction that
a change of correlation would move it, by the precision of the sums; and fits of families and deeper edges get the
correlation as one more observation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats
from sklar.model.axis import NO_NULLS, Tops, split_edges
from sklar.model.correlation.bivariate import bivariate_normal_cdf, bivariate_normal_density
from sklar.model.latent.scores import place_scores

Pair = tuple[Floats, Floats]

_MAX_NORMAL_SCORE = 9.0
"""Normal scores beyond this have no density to speak of."""
_MIN_SLOPE = 1e-12
"""A table that a change of correlation moves less than this (squared) cannot measure it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hint:
    """One linear function of the cells' probabilities, roughly the correlation of normal scores, and what it should be.

    The sum of weights times probabilities should be `value`, up to `variance`, the chance of the rows included.

    Attributes:
        corr: The correlation, shrunk towards 0 by its noise: that of the prior mean.
    """

    weights: Floats
    value: float
    variance: float
    corr: float

    def misfit(self, masses: Floats) -> float:
        """Return squared distance from the value, in variances."""
        return (float(np.vdot(self.weights, masses)) - self.value) ** 2 / self.variance


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CorrelationReading:
    """The correlation that a table measures by itself, near a given one, and the variance that its noise gives it.

    The direction is the change of the cells' probabilities by a small change of the correlation.
    """

    corr: float
    variance: float
    direction: Floats


def gaussian_cells(edges1: Floats, edges2: Floats, corr: float, tops: Tops = NO_NULLS) -> Pair:
    """Return probabilities of the cells of a Gaussian copula, and their derivatives by its correlation.

    The derivative of the bivariate normal distribution function by the correlation is its density (Plackett 1954).
    Beyond `tops` an axis holds nulls, which are independent of the other column.
    """
    from scipy.special import ndtri  # not at import time: scipy.special is slow to load

    (below1, above1), (below2, above2) = (split_edges(e, top) for e, top in zip((edges1, edges2), tops, strict=True))
    share = tops[0] * tops[1]
    first, second = ndtri(below1 / tops[0])[:, None], ndtri(below2 / tops[1])[None, :]
    corners = share * bivariate_normal_cdf(first, second, corr)
    corners += np.outer(above1, below2) + np.outer(below1 + above1, above2)
    density = share * bivariate_normal_density(
        np.clip(first, -_MAX_NORMAL_SCORE, _MAX_NORMAL_SCORE),
        np.clip(second, -_MAX_NORMAL_SCORE, _MAX_NORMAL_SCORE),
        corr,
    )
    slopes = np.where(np.isinf(first) | np.isinf(second), 0.0, density)
    return np.maximum(np.diff(np.diff(corners, axis=0), axis=1), 0.0), np.diff(np.diff(slopes, axis=0), axis=1)


def read_correlation(
    counts: Floats, sigma: float, rows: float, edges: Pair, corr: float, tops: Tops = NO_NULLS
) -> CorrelationReading | None:
    """Return the least squares for the correlation from a noisy table, one step from `corr`; None if the table cannot
    measure it."""
    masses, direction = gaussian_cells(*edges, corr, tops)
    size = float(np.vdot(direction, direction))
    if size < _MIN_SLOPE:
        return None
    own = corr + float(np.vdot(direction, counts / rows - masses)) / size
    return CorrelationReading(corr=own, variance=(sigma / rows) ** 2 / size, direction=direction)


def move_along(
    counts: Floats, reading: CorrelationReading, rows: float, corr: float, variance: float
) -> tuple[Floats, float]:
    """Return the table moved towards a correlation known with the given variance, and the correlation it then has.

    Both are weighted by their precision; nothing but the one direction changes.
    """
    trust = reading.variance / (reading.variance + variance)
    step = trust * (corr - reading.corr)
    return counts + rows * step * reading.direction, reading.corr + step


def score_hint(edges: Pair, corr: float, variance: float, tops: Tops = NO_NULLS, noise: float = 0.0) -> Hint | None:
    """Return the correlation of normal scores of a Gaussian copula as a hint for any other copula on the same cells.

    `noise` is the variance of the correlation itself.
    """
    weights = np.outer(*(value_scores(e, top) for e, top in zip(edges, tops, strict=True)))
    masses, direction = gaussian_cells(*edges, float(np.clip(corr, -0.99, 0.99)), tops)
    slope = float(np.vdot(weights, direction))
    if slope < 1e-3:
        return None
    kept = float(np.clip(corr * max(0.0, 1.0 - noise / max(corr**2, 1e-9)), -0.99, 0.99))
    return Hint(weights=weights / slope, value=float(np.vdot(weights, masses)) / slope, variance=variance, corr=kept)


def value_scores(edges: Floats, top: float) -> Floats:
    """Return normal scores of the places along an axis; beyond `top` are nulls, which score 0."""
    inside = edges[:-1] < top
    scores = np.zeros(len(edges) - 1)
    scores[inside] = place_scores(np.minimum(edges[: int(inside.sum()) + 1] / top, 1.0))
    return scores
