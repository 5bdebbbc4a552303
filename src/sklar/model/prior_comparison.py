"""Shrink measurements to a public table by how well they agree with it, by empirical Bayes.

A public table expects q of a number whose truth is p. If its people were drawn from the same population as ours, p - q
would have variance phi v with phi = 1 / rows + 1 / public rows, and v = q (1 - q) for a share; if they were not, phi is
larger. A release y = p + noise shows how large: y - q has variance s^2 + phi v. Each table (or number) has a phi of its
own, on a grid that ends where the public table says nothing; how often each phi occurs among the tables is learned from
all of them. Given phi, the truth has mean q + phi v / (phi v + s^2) (y - q) and variance 1 / (1 / s^2 + 1 / (phi v)).
Where v is next to nothing, phi^2 / 4 stands for phi v: among other people there may be some of every kind.

Another population often differs smoothly: its people are older, or earn less. So a histogram may also move along a few
smooth directions X, by coefficients of variance psi, which is on a grid that begins with zero: then y - q has
covariance diag(s^2 + phi v) + psi X X'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats

GRID_RATIO = 4.0
"""Ratio of neighbouring values of phi, and of psi."""
MAX_PHI = 1.0
"""Largest phi: the public table then weighs as much as one row."""
MIN_EXTRA_VARIANCE = 0.25
"""Least variance beyond noise, as a multiple of phi squared: a public table of little weight then has little weight for
values that no row has there, too. Without it people of one sex alone as a prior cost 10 to 30% of the error of
margins."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriorComparison:
    """Released numbers beside what a public table expects of them.

    Attributes:
        observed: The released numbers, as shares.
        expected: What the public table says.
        variance: Noise variance of the released numbers, one or one each.
        spread: The variance v that phi multiplies.
        smooth: Directions X of smooth differences, one a column; None where there are none.
        free: The part of the numbers that can differ: less than all where both sides were given the same sums.
    """

    observed: Floats
    expected: Floats
    variance: float | Floats
    spread: Floats
    smooth: Floats | None = None
    free: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posterior:
    """Numbers between those released and those expected.

    Attributes:
        mean: Posterior means.
        variance: Posterior variance, on average over the numbers.
        phi: The public table weighs as much as 1 / phi rows here.
        moved: Posterior means of the coefficients of the smooth directions.
    """

    mean: Floats
    variance: float
    phi: float
    moved: Floats


def compute_share_variance(shares: Floats, rows: float) -> Floats:
    """Return q (1 - q), and at least what half a row would have: an empty cell may hold a few rows elsewhere."""
    least = 0.5 / max(rows, 1.0)
    return np.maximum(shares, least) * (1 - np.minimum(shares, 0.5))


def compute_extra_variance(phi: float, spread: Floats) -> Floats:
    """Return the variance with which the truth differs from what is expected: phi v, and at least that of people
    elsewhere."""
    return phi * np.maximum(spread, MIN_EXTRA_VARIANCE * phi)


def shrink_to_prior(compared: Sequence[PriorComparison], least: float) -> list[Posterior]:
    """Shrink each entry to the public table by how well they agree; `least` is the smallest phi."""
    if not compared:
        return []
    grid = least * GRID_RATIO ** np.arange(max(int(np.ceil(np.log(MAX_PHI / least) / np.log(GRID_RATIO))), 1) + 1)
    smooth = any(one.smooth is not None for one in compared)
    models = [(phi, psi) for phi in grid for psi in (np.append(0.0, grid) if smooth else np.zeros(1))]
    fits = [[_fit(one, *model) for model in models] for one in compared]
    weights = pooled_weights(np.array([[fit.log_evidence for fit in several] for several in fits]))
    phis = np.array([phi for phi, _ in models])
    return [_average_fits(one, several, phis, w) for one, several, w in zip(compared, fits, weights, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fit:
    """One model's answer: how much of the rest is kept, the smooth coefficients, and the log evidence."""

    pull: Floats
    moved: Floats
    log_evidence: float


def _fit(one: PriorComparison, phi: float, psi: float) -> _Fit:
    """By Woodbury's identity with the few smooth directions."""
    beyond = compute_extra_variance(phi, one.spread.ravel())
    variance = beyond + one.variance
    gap = (one.observed - one.expected).ravel()
    smooth = np.zeros((len(gap), 0)) if one.smooth is None else one.smooth
    inner = np.eye(smooth.shape[1]) + psi * smooth.T @ (smooth / variance[:, None])
    moved = np.asarray(psi * np.linalg.solve(inner, smooth.T @ (gap / variance)), dtype=np.float64)
    misfit = float(gap @ ((gap - smooth @ moved) / variance))
    log_evidence = -0.5 * (one.free * float(np.log(variance).sum()) + float(np.linalg.slogdet(inner)[1]) + misfit)
    return _Fit(pull=beyond / variance, moved=moved, log_evidence=log_evidence)


def _average_fits(one: PriorComparison, fits: Sequence[_Fit], phis: Floats, weights: Floats) -> Posterior:
    gap = (one.observed - one.expected).ravel()
    mean, pulled = np.zeros(len(gap)), np.zeros(len(gap))
    for fit, weight in zip(fits, weights, strict=True):
        shift = 0.0 if one.smooth is None else one.smooth @ fit.moved
        mean += weight * (shift + fit.pull * (gap - shift))
        pulled += weight * fit.pull
    return Posterior(
        mean=one.expected + mean.reshape(one.expected.shape),
        variance=float(np.mean(pulled * one.variance)),
        phi=float(1 / (weights @ (1 / phis))),
        moved=weights @ np.array([fit.moved for fit in fits]),
    )


def pooled_weights(evidence: Floats, rounds: int = 30) -> Floats:
    """Return weights of models for each table: evidence times a prior over models shared by all tables.

    The shared prior is found by expectation maximization with one pseudo-count spread over the models. The evidence is
    in logarithms, tables x models; -inf where a model was given up.
    """
    tables, models = evidence.shape
    weights = _compute_softmax(evidence)
    for _ in range(rounds if tables > 2 else 0):
        log_prior = np.log((weights.sum(axis=0) + 1.0 / models) / (tables + 1.0))
        weights = _compute_softmax(evidence + log_prior)
    return weights


def _compute_softmax(logs: Floats) -> Floats:
    top = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
