"""Normal scores of two columns: the bivariate normal distribution, the correlation behind a joint probability or
behind Kendall's tau, and normals cut to intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklar.arrays import Floats, Ints
from sklar.model.conditioning import Runs, place_inside
from sklar.model.margins.margin import Margin

MAX_CORRELATION = 0.9999
"""Solved correlations stay within this, so that a perfect dependence still leaves a usable matrix."""
_MAX_NORMAL_SCORE = 37.5
"""Normal scores beyond this have tails below 1e-307 and are moved here."""
_MOST_STEPS, _TOLERANCE = 60, 1e-11
"""Newton steps end once the joint probability is met this closely; halving the bracket alone would do in 60 steps."""
_CHUNK_PAIRS = 1 << 18
"""Pairs solved at a time, to bound memory."""
MIN_UNTIED_SHARE = 1e-3
"""A column whose values are nearly all tied has no tau to speak of; its share without ties counts as at least this."""


def bivariate_normal_cdf(h: ArrayLike, k: ArrayLike, corr: ArrayLike) -> Floats:
    """Return P(X <= h, Y <= k) for standard normals with the given correlation, by Owen's T function.

    Phi2(h, k; r) = (Phi(h) + Phi(k)) / 2 - T(h, (k - r h) / (h s)) - T(k, (h - r k) / (k s)) - b, with
    s = sqrt(1 - r^2) and b = 1/2 where h k < 0, or h k = 0 and h + k < 0 (Owen 1956). At |r| = 1 the Frechet bounds.
    """
    from scipy.special import ndtr, owens_t  # not at import time: scipy.special is slow to load

    h, k, r = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (h, k, corr)))
    h, k, r = _tamed(h), _tamed(k), np.clip(r, -1.0, 1.0)
    left, right = ndtr(h), ndtr(k)
    s = np.sqrt((1.0 - r) * (1.0 + r))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        first = owens_t(h, _slope(h, k, r, s))
        second = owens_t(k, _slope(k, h, r, s))
        origin = 0.25 + np.arcsin(r) / (2 * np.pi)
    opposite = (h * k < 0) | ((h * k == 0) & (h + k < 0))
    value = (left + right) / 2 - first - second - np.where(opposite, 0.5, 0.0)
    value = np.where((h == 0) & (k == 0), origin, value)
    low, high = np.maximum(left + right - 1.0, 0.0), np.minimum(left, right)
    value = np.where(r >= 1, high, np.where(r <= -1, low, value))
    return np.clip(value, low, high)


def _tamed(score: Floats) -> Floats:
    """Within the range of normal scores, and exactly 0 where a product of two would underflow."""
    return np.where(np.abs(score) < 1e-100, 0.0, np.clip(score, -_MAX_NORMAL_SCORE, _MAX_NORMAL_SCORE))


def _slope(h: Floats, k: Floats, r: Floats, s: Floats) -> Floats:
    """Return (k - r h) / (h s), with its limit of one sign or the other at h = 0."""
    slope = (k - r * h) / (h * s)
    return np.nan_to_num(np.where(h == 0, np.copysign(np.inf, k), slope), nan=0.0, posinf=np.inf, neginf=-np.inf)


def bivariate_normal_density(h: ArrayLike, k: ArrayLike, corr: ArrayLike) -> Floats:
    """Return the density of standard normals with the given correlation, |corr| < 1: the derivative of Phi2(h, k; r) by
    r."""
    h, k, r = (np.asarray(x, dtype=np.float64) for x in (h, k, corr))
    rest = (1.0 - r) * (1.0 + r)
    return np.exp(-(h * h + k * k - 2 * h * k * r) / (2 * rest)) / (2 * np.pi * np.sqrt(rest))


def frechet_bounds(p: ArrayLike, q: ArrayLike) -> tuple[Floats, Floats]:
    """Return the least and largest joint probability of two events of probabilities p and q."""
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    return np.maximum(p + q - 1.0, 0.0), np.minimum(p, q)


def solve_latent_corr(h: ArrayLike, k: ArrayLike, joint: ArrayLike) -> Floats:
    """Return the correlation r with Phi2(h, k; r) = joint, for all pairs of normal scores at once; never fails.

    With r = sin(t), Phi2 = Phi(h) Phi(k) + (1 / 2 pi) int_0^t exp(-(h^2 + k^2 - 2 h k sin u) / (2 cos^2 u)) du, which
    rises strictly in t (Drezner and Wesolowsky 1990). Newton steps in t use the integrand as the slope and are kept
    inside a shrinking bracket. Joint probabilities at or beyond the Frechet bounds give -MAX_CORRELATION or
    MAX_CORRELATION; pairs from which nothing can be learned, since an event has probability 0 or 1, give 0.
    """
    h, k, joint = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (h, k, joint)))
    flat = [np.ascontiguousarray(x).ravel() for x in (h, k, joint)]
    out = np.empty(h.size)
    for start in range(0, out.size, _CHUNK_PAIRS):
        part = slice(start, start + _CHUNK_PAIRS)
        out[part] = _solve(flat[0][part], flat[1][part], flat[2][part])
    return out.reshape(h.shape)


def _solve(h: Floats, k: Floats, joint: Floats) -> Floats:
    largest, edge = MAX_CORRELATION, np.arcsin(MAX_CORRELATION)
    corr = np.zeros(h.size)
    known = (
        np.isfinite(h)
        & np.isfinite(k)
        & np.isfinite(joint)
        & (np.abs(h) < _MAX_NORMAL_SCORE)
        & (np.abs(k) < _MAX_NORMAL_SCORE)
    )
    at = np.flatnonzero(known)
    above = joint[at] >= bivariate_normal_cdf(h[at], k[at], largest) - _TOLERANCE
    below = joint[at] <= bivariate_normal_cdf(h[at], k[at], -largest) + _TOLERANCE
    # An event so rare that both bounds meet says nothing about the correlation: it stays 0.
    corr[at[above & ~below]], corr[at[below & ~above]] = largest, -largest
    at = at[~above & ~below]
    low, high = np.full(at.size, -edge), np.full(at.size, edge)
    angle = np.clip(_first_angle(h[at], k[at], joint[at]), -0.95 * edge, 0.95 * edge)
    for _ in range(_MOST_STEPS):
        if not at.size:
            break
        gap = bivariate_normal_cdf(h[at], k[at], np.sin(angle)) - joint[at]
        low, high = np.where(gap < 0, angle, low), np.where(gap >= 0, angle, high)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = angle - gap / _compute_slope(h[at], k[at], angle)
        inside = (step > low) & (step < high)
        moved = np.where(inside, step, (low + high) / 2)
        corr[at] = np.sin(angle)
        going = (np.abs(gap) > _TOLERANCE) & (high - low > 1e-12)
        at, low, high, angle = at[going], low[going], high[going], moved[going]
    return corr


def _compute_slope(h: Floats, k: Floats, angle: Floats) -> Floats:
    sine, cosine = np.sin(angle), np.cos(angle)
    return np.exp(-(h * h + k * k - 2 * h * k * sine) / (2 * cosine * cosine)) / (2 * np.pi)


def _first_angle(h: Floats, k: Floats, joint: Floats) -> Floats:
    """Interpolate between the Frechet bounds by where the joint probability is between them and independence."""
    from scipy.special import ndtr

    p, q = ndtr(h), ndtr(k)
    low, high = frechet_bounds(p, q)
    excess = joint - p * q
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(excess > 0, excess / (high - p * q), excess / (p * q - low))
    return np.nan_to_num(share, nan=0.0, posinf=1.0, neginf=-1.0) * np.pi / 2


def corr_from_tau(tau: ArrayLike, ties: ArrayLike = 0.0, other_ties: ArrayLike = 0.0) -> Floats:
    """Return corr = sin(pi/2 t), t = tau / sqrt((1 - ties) (1 - other ties)), kept within [-1, 1].

    Without ties this is Greiner's relation tau = (2/pi) arcsin(corr), exact for Gaussian copulas. For two columns cut
    at their medians (ties 1/2 each) it is exact again: P(both high) = 1/4 + arcsin(corr) / (2 pi) gives
    tau-a = arcsin(corr) / pi. In between it is an approximation; tau-a alone would fade to half for such columns.
    Ties count 0 in the (possibly noisy) tau-a; `ties` is the probability that two rows tie in a column.
    """
    left, right = (np.maximum(1 - np.asarray(x, dtype=np.float64), MIN_UNTIED_SHARE) for x in (ties, other_ties))
    untied = np.sqrt(left * right)
    return np.sin(np.pi / 2 * np.clip(np.asarray(tau) / untied, -1.0, 1.0))


def corr_of_table(table: Floats) -> float:
    """Return the correlation behind a two-way table of probabilities over ranks, by its tau-a and its ties.

    tau-a = 2 sum p_ij (mass below in both - mass below in the first and above in the second), by prefix sums.
    """
    upto = np.zeros((table.shape[0], table.shape[1] + 1))
    np.cumsum(np.cumsum(table[:-1], axis=0), axis=1, out=upto[1:, 1:])
    tau = 2 * float((table * (upto[:, :-1] + upto[:, 1:] - upto[:, -1:])).sum())
    first, second = table.sum(axis=1), table.sum(axis=0)
    return float(corr_from_tau(tau, first @ first, second @ second))


def tie_share(margin: Margin, lookup: NDArray[np.integer]) -> float:
    """Return the probability that two independent rows fall into the same group: the sum of squared group masses."""
    mass = np.bincount(lookup, margin.dense())
    return float(mass @ mass)


def rank_groups(margin: Margin, most: int) -> Ints:
    """Group of every base code, in order: every code its own, or at most `most` runs of about equal mass.

    Groups are numbered consecutively. A code that holds more than a group's mass has a group nearly for itself.
    """
    if margin.size <= most:
        return np.arange(margin.size)
    reach = np.cumsum(margin.dense())
    middle = reach - margin.dense() / 2
    group = np.minimum((middle * most).astype(np.int64), most - 1)
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def truncated_normal(runs: Runs, mean: Floats, scale: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the standard normals w with mean + scale w inside the intervals, and the log-probability of the intervals.

    The step of the sampler of Geweke, Hajivassiliou and Keane (GHK): correlated normals are drawn one after the other,
    each from its distribution given the earlier ones, cut to its intervals; the probability of the intervals is the
    weight.

    References: Geweke (1991), "Efficient simulation from the multivariate normal and Student-t distributions subject to
    linear constraints"; Keane (1994), "A computationally practical simulation estimator for panel data"; Hajivassiliou,
    McFadden (1998), "The method of simulated scores for the estimation of LDV models".
    """
    from scipy.special import ndtr, ndtri

    low, high = ((ends.reshape(len(ends), -1) - mean) / scale for ends in (runs.low, runs.high))
    # Intervals in the upper tail are mirrored, where the distribution function keeps its digits.
    mirrored = low > 0
    left, right = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    run, place, total = place_inside(ndtr(left), ndtr(right), rng.random(len(mean)))
    at = run, np.arange(len(mean))
    w = np.clip(ndtri(np.clip(place, 0.0, 1.0)), left[at], right[at])
    with np.errstate(divide="ignore"):
        return np.clip(np.where(mirrored[at], -w, w), -38.0, 38.0), np.log(total)
