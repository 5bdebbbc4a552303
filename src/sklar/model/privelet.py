"""A histogram from noisy Haar differences: every count is a sum of few noisy numbers, and so is every range.

Reference: Xiao, Wang, Gehrke (2010), "Differential privacy via wavelet transforms".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def counts_from_differences(noisy: Floats, bins: int) -> Floats:
    """Noisy counts of all bins from the total and the left-minus-right differences, breadth first.

    A node with total t and difference d has halves (t + d) / 2 and (t - d) / 2.
    """
    level = noisy[:1].astype(np.float64)
    first = 1
    while first < len(noisy):
        difference = noisy[first : 2 * first]
        below = np.empty(2 * first)
        below[0::2], below[1::2] = (level + difference) / 2, (level - difference) / 2
        level, first = below, 2 * first
    return level[:bins]
