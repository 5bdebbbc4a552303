"""Leaning on a public table as far as released numbers bear it out, by empirical Bayes.

A public table expects q of a number whose truth is p. If its people were drawn from the same population as ours, p - q
would have variance phi v with phi = 1 / rows + 1 / public rows, and v = q (1 - q) for a share; if they were not, phi is
larger. A release y = p + noise tells how large: y - q has variance s^2 + phi v. Each table (or number) has a phi of its
own, on a grid that ends where the public table says nothing; how often each phi occurs among the tables is learned from
all of them. Given phi, the truth has mean q + phi v / (phi v + s^2) (y - q) and variance 1 / (1 / s^2 + 1 / (phi v)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats
from sklar.model.margins.averaged import pooled_weights

STEP = 2.0
"""Ratio of neighbouring values of phi."""
WORTHLESS = 1.0
"""The largest phi: the public table is then worth one row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Compared:
    """Released numbers beside what a public table expects of them.

    Attributes:
        observed: The released numbers, as shares.
        expected: What the public table says.
        variance: Noise variance of the released numbers.
        spread: The variance v that phi multiplies.
    """

    observed: Floats
    expected: Floats
    variance: float
    spread: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Leaned:
    """Numbers between those released and those expected.

    Attributes:
        mean: Posterior means.
        variance: Posterior variance, on average over the numbers.
        phi: What the public table turned out to be worth here is 1 / phi rows.
    """

    mean: Floats
    variance: float
    phi: float


def share_spread(shares: Floats, rows: float) -> Floats:
    """q (1 - q), and at least what half a row would have: an empty cell may hold a few rows elsewhere."""
    least = 0.5 / max(rows, 1.0)
    return np.maximum(shares, least) * (1 - np.minimum(shares, 0.5))


def lean(compared: Sequence[Compared], least: float) -> list[Leaned]:
    """Lean on the public table, each entry as far as it is borne out; `least` is the smallest phi."""
    if not compared:
        return []
    grid = least * STEP ** np.arange(max(int(np.ceil(np.log(WORTHLESS / least) / np.log(STEP))), 1) + 1)
    evidence = np.array([[_log_evidence(one, phi) for phi in grid] for one in compared])
    return [_average(one, grid, w) for one, w in zip(compared, pooled_weights(evidence), strict=True)]


def _log_evidence(one: Compared, phi: float) -> float:
    variance = one.variance + phi * one.spread
    return float(-0.5 * np.sum(np.log(variance) + (one.observed - one.expected) ** 2 / variance))


def _average(one: Compared, grid: Floats, weights: Floats) -> Leaned:
    beyond = grid[:, None] * one.spread.ravel()
    pull = weights @ (beyond / (beyond + one.variance))
    mean = one.expected + pull.reshape(one.expected.shape) * (one.observed - one.expected)
    return Leaned(mean=mean, variance=float(np.mean(pull)) * one.variance, phi=float(1 / (weights @ (1 / grid))))
