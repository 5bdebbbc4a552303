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
class NoisyPairs:
    """A table of counts for every pair of columns, with integer noise on every cell.

    Attributes:
        columns: The columns.
        sizes: Number of groups of each column.
        counts: All tables one after the other, (0, 1), (0, 2), ..., each with the later column running fastest.
        noise: The noise on every cell.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
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


def pair_cells(sizes: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Number of cells of the table of each pair, in the order (0, 1), (0, 2), ..., (m - 2, m - 1)."""
    first, second = np.triu_indices(len(sizes), 1)
    groups = np.array(sizes, dtype=np.int64)
    return groups[first] * groups[second]


Release = NoisyCounts | NoisyPairs | NoisySums | NoisyChoice | NoisyLabels
