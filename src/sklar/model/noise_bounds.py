"""How far a sum of independent integer noise can be off, with a promised probability."""

from __future__ import annotations

import math


def half_width(kind: str, std: float, terms: int, coverage: float) -> float:
    """The t with P(|sum of `terms` draws| <= t) >= coverage.

    Gaussian: sums of discrete Gaussians are sub-Gaussian with their own variance and follow the normal law up to the
    rounding to integers, for which half a unit is added. Laplace: Chernoff's bound, with the moment generating function
    1 / (1 - (scale h)^2) of the continuous law, which exceeds that of the discrete one.

    Args:
        kind: "gaussian" or "laplace".
        std: standard deviation of one draw.
        terms: number of draws that are summed.
        coverage: wanted probability, below 1.
    """
    if kind == "gaussian":
        return normal_quantile((1 + coverage) / 2) * std * math.sqrt(terms) + 0.5
    return _laplace_bound(std / math.sqrt(2), terms, (1 - coverage) / 2)


def normal_quantile(p: float) -> float:
    """Inverse of the standard normal distribution function."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


def _laplace_bound(scale: float, terms: int, tail: float) -> float:
    """min over h of (log(1/tail) - terms log(1 - (scale h)^2)) / h, by a search over x = scale h in (0, 1).

    The function of x is convex over x times x, hence unimodal; a golden-section search finds its lowest point.
    """

    def bound(x: float) -> float:
        return (math.log(1 / tail) - terms * math.log1p(-x * x)) / x

    low, high = 1e-6, 1 - 1e-9
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(100):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if bound(left) < bound(right):
            high = right
        else:
            low = left
    return scale * bound((low + high) / 2)
