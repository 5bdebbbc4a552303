"""Compare the released values of a fit to a public table with its exact counts: is the difference the stated noise?

Three tests for every release with known exact values. The size of the differences: their squares (Gaussian) or absolute
values (Laplace), summed, follow a gamma distribution with the moments of the discrete noise. Their mean, and their
correlation with the exact values, are normal. All numbers are whole, so the moments are sums over integers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import gamma, norm

from sklar.accounting.noise import Noise
from sklar.arrays import Floats
from sklar.lab.audit.exact import exact_values
from sklar.release.measurements import Measurement

FALSE_ALARM = 1e-6
"""Probability that a true release is called forged, over all its tests."""
MAX_SUMMED_SCALE = 1_000.0
"""Above this scale the moments of discrete noise are those of continuous noise to six digits."""
MIN_LAPLACE_TERMS = 100
"""Weighted sums of Laplace noise are taken as normal if they are as even as this number of equal terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseTest:
    """The result of all tests.

    Attributes:
        releases: Number of releases that were compared.
        values: Number of their values.
        unknown: Number of releases whose exact values are not known here.
        faults: What contradicts the stated noise, in words.
    """

    releases: int
    values: int
    unknown: int
    faults: tuple[str, ...]


def compare_with_exact(measurements: Sequence[Measurement], codes: Mapping[str, Any]) -> NoiseTest:
    """Test every release against the codes of the real rows."""
    known: list[tuple[Measurement, Floats]] = []
    for one in measurements:
        exact = exact_values(one.query, codes) if set(one.query.columns) <= set(codes) else None
        if exact is not None and exact.size == one.values.size:
            known.append((one, exact * (one.query.resolution / one.resolution)))
    limit = FALSE_ALARM / max(1, 3 * len(known))
    faults = [f"{one.label}: {says}" for one, exact in known for says in _find_faults(one, exact, limit)]
    values = sum(exact.size for _, exact in known)
    return NoiseTest(releases=len(known), values=values, unknown=len(measurements) - len(known), faults=tuple(faults))


def _find_faults(release: Measurement, exact: Floats, limit: float) -> list[str]:
    noise = Noise(kind=release.noise.kind, scale=release.noise.scale / release.resolution)
    away = np.rint(release.values.ravel() / release.resolution) - exact
    size, faults = len(away), list[str]()
    first, second, fourth = noise_moments(noise)
    total, mean, variance = (
        (float((away**2).sum()), second, fourth - second**2)
        if noise.kind == "gaussian"
        else (float(np.abs(away).sum()), first, second - first**2)
    )
    found = gamma(a=size * mean**2 / variance, scale=variance / mean)
    if min(found.cdf(total), found.sf(total)) < limit / 2:
        word = "less" if total < size * mean else "more"
        faults.append(f"{word} noise than stated (on {size} values, {total / (size * mean):.3g} of what is expected)")
    for name, weights in (("on average", np.ones(size)), ("that follows the exact values", exact - exact.mean())):
        length = float(np.sqrt((weights**2).sum()))
        terms = length**4 / float((weights**4).sum()) if length else 0.0
        if terms < (1 if noise.kind == "gaussian" else MIN_LAPLACE_TERMS):
            continue
        if 2 * norm.sf(abs(float((away * weights).sum())) / (length * math.sqrt(second))) < limit:
            faults.append(f"a difference {name}, which noise does not have")
    return faults


@lru_cache(maxsize=4096)
def noise_moments(noise: Noise) -> tuple[float, float, float]:
    """Return the mean absolute value, and the second and fourth moment, of integer noise."""
    scale = noise.scale
    if scale > MAX_SUMMED_SCALE:
        if noise.kind == "gaussian":
            return scale * math.sqrt(2 / math.pi), scale**2, 3 * scale**4
        return scale, 2 * scale**2, 24 * scale**4
    reach = int(np.ceil(40 * scale)) + 10
    points = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-(points**2) / (2 * scale**2) if noise.kind == "gaussian" else -np.abs(points) / scale)
    weights /= weights.sum()
    return tuple(float((weights * np.abs(points) ** k).sum()) for k in (1, 2, 4))  # type: ignore[return-value]
