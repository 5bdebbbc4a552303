"""A histogram from its lowest noisy frequencies (enhanced Fourier perturbation, with a real transform).

Reference: Acs, Castelluccia, Chen (2012), "Differentially private histogram publishing through lossy compression".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def penalties(bins: int, noise_std: Floats) -> Floats:
    """Expected norm of the noise when 1, 2, ..., `bins` frequencies are kept: sqrt(kept) times its deviation.

    Args:
        bins: Number of bins.
        noise_std: Standard deviation of the noise on each kept frequency, by how many are kept.
    """
    return np.sqrt(np.arange(1, bins + 1)) * noise_std


def counts_from_frequencies(noisy: Floats, bins: int) -> Floats:
    """Noisy counts of all bins: the inverse cosine transform with the frequencies that were not kept set to 0."""
    from scipy.fft import idct  # not at import time: slow to load

    whole = np.zeros(bins)
    whole[: len(noisy)] = noisy
    return np.asarray(idct(whole, norm="ortho"), dtype=np.float64)
