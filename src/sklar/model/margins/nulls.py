"""How many values are missing, from one noisy count: the posterior mean of a share that may well be small.

A threshold would let 2% of nulls vanish in half of all fits. The posterior mean is never 0: nulls that the schema
allows remain possible, at about .6 standard deviations of the noise where there are none.
"""

from __future__ import annotations

import numpy as np

PRIOR_POWER = 0.5
"""The prior density of the count x is x^(PRIOR_POWER - 1), as in Jeffreys' prior of a small share."""
CERTAIN_SIGMAS = 8.0
"""Counts of more standard deviations than this are taken as they are: the prior no longer matters."""
_GRID_POINTS = 400
"""Points of the grid that the posterior is summed on; more change the mean by less than a hundredth of the noise."""


def expected_missing(count: float, sigma: float, rows: float) -> float:
    """Return E[x | count] for count ~ N(x, sigma^2), 0 <= x <= rows and prior x^(PRIOR_POWER - 1).

    It is 0 if nothing was counted.
    """
    if not np.isfinite(sigma):
        return 0.0
    if count > CERTAIN_SIGMAS * sigma:
        return min(count, rows)
    top = min(rows, max(count, 0.0) + CERTAIN_SIGMAS * sigma)
    # Even steps of x^PRIOR_POWER: the prior is flat on them.
    x = top * ((np.arange(_GRID_POINTS) + 0.5) / _GRID_POINTS) ** (1.0 / PRIOR_POWER)
    log = -0.5 * ((count - x) / sigma) ** 2
    weight = np.exp(log - log.max())
    return float(weight @ x / weight.sum())
