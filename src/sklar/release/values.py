"""The only values that may cross the wall: counts, sums, choices and labels that already carry noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sklar.accounting.noise import Noise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyCounts:
    """A table of counts with integer noise on every cell."""

    columns: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    noise: Noise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisySums:
    """A vector of sums over rows with noise on every coordinate; values are multiples of `resolution`."""

    values: npt.NDArray[np.float64]
    noise: Noise
    resolution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyChoice:
    """Positions of the chosen candidates, best first as far as the noise let it tell."""

    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyLabels:
    """Labels that passed the threshold of a discovery, in alphabetical order, and their noisy counts."""

    column: str
    labels: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    noise: Noise
    threshold: int


Release = NoisyCounts | NoisySums | NoisyChoice | NoisyLabels
