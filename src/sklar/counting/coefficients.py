"""Exact coefficients of one histogram in a fixed basis; defined, with their bounds, in `sklar.release.coefficients`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints
from sklar.release.coefficients import BASIS_BITS, Coefficients


def exact_coefficients(feature: Coefficients, codes: npt.NDArray[np.integer[Any]]) -> Ints:
    """Return the coefficients of a batch, in units of `feature.resolution`."""
    counts = np.bincount(feature.lookup[codes[:, 0]], minlength=feature.bins).astype(np.int64)
    return (
        cosine_basis(feature.kept, feature.bins) @ counts
        if feature.basis == "cosine"
        else _transform_haar(feature, counts)
    )


def cosine_basis(kept: int, bins: int) -> Ints:
    """Return the integer entries of the lowest frequencies, in units of 2^-16, rounded toward zero."""
    frequency = np.arange(kept)[:, None]
    angle = np.pi * frequency * (2 * np.arange(bins) + 1) / (2 * bins)
    scale = np.where(frequency == 0, math.sqrt(1 / bins), math.sqrt(2 / bins))
    # The guard keeps rounding errors of the cosine from lengthening an entry.
    return np.trunc(scale * np.cos(angle) * (1 - 1e-12) * 2**BASIS_BITS).astype(np.int64)


def _transform_haar(feature: Coefficients, counts: Ints) -> Ints:
    level = np.zeros(feature.leaves, dtype=np.int64)
    level[: len(counts)] = counts
    differences: list[Ints] = []
    while len(level) > 1:
        differences.append(level[0::2] - level[1::2])
        level = level[0::2] + level[1::2]
    return np.concatenate([level, *differences[::-1]])
