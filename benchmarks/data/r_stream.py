"""The random numbers of R, as far as the papers' tables need them: `set.seed`, `runif`, `rnorm`, `sample` (R >= 3.6).

Mersenne Twister, inversion for normal numbers and rejection for whole ones, R's defaults. With them the split of
SUPPORT2 and the simulated table of TVineSynth are the published ones, row by row.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

BIG = 134_217_728
"""2^27: R makes a normal number of two uniform ones."""


class RStream:
    """One stream after `set.seed(seed)`."""

    def __init__(self, seed: int) -> None:
        state, scrambled = list[int](), seed & 0xFFFFFFFF
        for _ in range(50):
            scrambled = _next(scrambled)
        for _ in range(625):
            scrambled = _next(scrambled)
            state.append(scrambled)
        self._bits = np.random.MT19937()
        key = np.array(state[1:], dtype=np.uint32)
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 624}}

    def uniform(self, size: int) -> np.ndarray:
        """`runif(size)`."""
        return self._bits.random_raw(size).astype(float) * 2.3283064365386963e-10

    def normal(self, size: int) -> np.ndarray:
        """`rnorm(size)`."""
        pairs = self.uniform(2 * size).reshape(size, 2)
        return ndtri((np.floor(BIG * pairs[:, 0]) + pairs[:, 1]) / BIG)

    def sample(self, among: int, size: int) -> np.ndarray:
        """`sample(among, size)`, without replacement, counted from 0."""
        left, out = list(range(among)), list[int]()
        for _ in range(size):
            at = self._below(len(left))
            out.append(left[at])
            left[at] = left[-1]
            left.pop()
        return np.array(out)

    def _below(self, bound: int) -> int:
        bits = (bound - 1).bit_length()
        while True:
            drawn = 0
            for _ in range(0, bits + 1, 16):
                drawn = 65_536 * drawn + int(self.uniform(1)[0] * 65_536)
            drawn &= (1 << bits) - 1
            if drawn < bound:
                return drawn


def _next(state: int) -> int:
    return (69_069 * state + 1) & 0xFFFFFFFF
