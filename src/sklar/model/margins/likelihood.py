"""What noisy histograms say about the cells of a column, as one linear Gaussian model; with a prior on the log-density,
its posterior mode and Laplace evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, lgamma, log, pi

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular

from sklar.arrays import Floats, Ints, Mask
from sklar.model.margins.prior import DEGREES_OF_FREEDOM, PriorStructure

_factorize, _solve = get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)

MAX_LOG_STEP = 3.0
"""Largest growth of theta in one step. Falls are not limited: a count near 0 is flat, a growing one explodes."""
_MAX_LOG_COUNT = 300.0
"""Counts stay below e^300, so that their squares are finite."""
_ROUNDS, _TOLERANCE = 25, 1e-2
"""Steps to a mode, and the gain of a step at which they end: far below differences of evidence that matter."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellSupport:
    """Public facts about the k cells of a column.

    Attributes:
        width: Base measure of each cell, such as its width in values; positive where chained.
        position: Mid-point of each cell; 1 is a natural spacing, such as a 32nd of the range.
        chained: True for the ordered cells whose log-density is smooth; False for atoms and levels.
    """

    width: Floats
    position: Floats
    chained: Mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observation:
    """One noisy histogram: the bin of each of the k cells (-1 where a cell was not observed), counts and deviations."""

    parent: Ints
    counts: Floats
    sigma: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTotal:
    """An estimate of the number of rows and its standard deviation (0 when it is public)."""

    rows: float
    sigma: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Likelihood:
    """Noisy linear counts of cells: target = design @ counts + standard normal noise, counts = exp(log_base + theta).

    Attributes:
        design: Rows are observed bins (and the total), each divided by its noise standard deviation; shape (m, k).
        target: Noisy values on the same scale; shape (m,).
        log_base: Log of the counts expected under the base measure; shape (k,). The gram matrix is design' design.
    """

    design: Floats
    target: Floats
    log_base: Floats
    gram: Floats


def likelihood_of(support: CellSupport, observations: Sequence[Observation], total: KnownTotal) -> Likelihood:
    """Return all observed bins, and the total as one more bin that holds every cell."""
    k, rows = len(support.width), max(total.rows, 1.0)
    finest = min((float(seen.sigma.min()) for seen in observations if len(seen.sigma)), default=1.0)
    # A total without noise would be infinitely heavy; a twentieth of the finest noise is as good.
    sigma = max(total.sigma, 0.05 * finest, 1e-6 * rows)
    designs, targets = [np.full((1, k), 1.0 / sigma)], [np.array([rows / sigma])]
    for seen in observations:
        design = np.zeros((len(seen.counts), k))
        cells = np.flatnonzero(seen.parent >= 0)
        design[seen.parent[cells], cells] = 1.0
        designs.append(design / seen.sigma[:, None])
        targets.append(seen.counts / seen.sigma)
    design, target = np.vstack(designs), np.concatenate(targets)
    return Likelihood(design=design, target=target, log_base=log_base(support, total), gram=design.T @ design)


def log_base(support: CellSupport, total: KnownTotal) -> Floats:
    """Return log counts under the base measure: chained cells share theirs by width, every other cell gets an average
    one."""
    k, chain = len(support.width), support.chained
    base = np.full(k, 1.0 / k)
    width = np.maximum(support.width[chain], 1e-12 * max(float(support.width[chain].sum()), 1e-300))
    base[chain] = width / width.sum() * chain.sum() / k
    return np.log(max(total.rows, 1.0) * base)


def with_sampling(likelihood: Likelihood, counts: Floats) -> tuple[Likelihood, Floats]:
    """Return the likelihood of the population behind the rows, and the sampling covariance of the rows' own counts.

    Rows are a multinomial draw around the population's counts c, so a bin scatters by its noise and by the rows:
    y ~ N(A c, S + A C A'), C = diag(c) - c c' / n. C is held fixed at a first estimate of the cells' counts, and the
    model, of noise alone before, is whitened.
    """
    sampling = np.diag(counts) - np.outer(counts, counts) / counts.sum()
    spread = likelihood.design @ sampling @ likelihood.design.T
    factor = np.linalg.cholesky(spread + np.eye(len(spread)))
    design = solve_triangular(factor, likelihood.design, lower=True)
    target = solve_triangular(factor, likelihood.target, lower=True)
    whitened = Likelihood(design=design, target=target, log_base=likelihood.log_base, gram=design.T @ design)
    return whitened, sampling


def expected_rows(likelihood: Likelihood, sampling: Floats, counts: Floats) -> Floats:
    """Return expected counts of the rows themselves, given the population's counts and what was observed of the rows.

    E[rows | y] = c + C A' (S + A C A')^-1 (y - A c): the smooth density where noise hides the rows, the observed counts
    where it does not. Clipped at 0.
    """
    surprise = likelihood.target - likelihood.design @ counts
    return np.maximum(counts + sampling @ (likelihood.design.T @ surprise), 0.0)


def seen_alone(observations: Sequence[Observation], k: int) -> tuple[Floats, Floats]:
    """Return the inverse-variance mean count and its standard deviation for each cell, from bins that hold only that
    cell.

    Cells never seen alone have count 0 and an infinite standard deviation.
    """
    weight, value = np.zeros(k), np.zeros(k)
    for seen in observations:
        cells = np.flatnonzero(seen.parent >= 0)
        bins = seen.parent[cells]
        alone = np.bincount(bins, minlength=len(seen.counts))[bins] == 1
        cells, bins = cells[alone], bins[alone]
        weight[cells] += seen.sigma[bins] ** -2
        value[cells] += seen.counts[bins] * seen.sigma[bins] ** -2
    sigma = np.divide(1.0, np.sqrt(weight), out=np.full(k, np.inf), where=weight > 0)
    return np.divide(value, weight, out=np.zeros(k), where=weight > 0), sigma


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mode:
    """A posterior mode: theta and the log evidence of the model that it belongs to."""

    theta: Floats
    log_evidence: float


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    theta: Floats
    value: float
    counts: Floats
    pull: Floats  # derivative of the misfit by each count
    bend: Floats  # prior precision of each term of the structure


def find_mode(likelihood: Likelihood, structure: PriorStructure, strength: float, start: Floats) -> Mode:
    """Minimize misfit + prior by damped Gauss-Newton (iteratively reweighted for Student-t terms) and apply Laplace.

    log evidence = -misfit + log prior(theta) - (1/2) log det H + (k/2) log 2 pi, with H the curvature at the mode.
    """
    point = _evaluate(likelihood, structure, strength, start)
    log_det = inf
    for _ in range(_ROUNDS):
        gradient, curvature = _compute_derivatives(likelihood, structure, point)
        factor, failed = _factorize(curvature.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            break
        log_det = 2.0 * float(np.log(np.diag(factor)).sum())
        step = _solve(factor, gradient, lower=1)[0]
        point, done = _take_newton_step(likelihood, structure, strength, point, step, float(gradient @ step))
        if done:
            break
    return Mode(theta=point.theta, log_evidence=-point.value - 0.5 * log_det + 0.5 * len(start) * log(2.0 * pi))


def _evaluate(likelihood: Likelihood, structure: PriorStructure, strength: float, theta: Floats) -> _Point:
    counts = np.exp(np.minimum(likelihood.log_base + theta, _MAX_LOG_COUNT))
    residual = likelihood.design @ counts - likelihood.target
    term = structure.terms @ theta
    prior, bend = _prior(structure, strength, term)
    value = 0.5 * residual @ residual + prior + 0.5 * theta @ (structure.fixed @ theta)
    value += _normalizer(structure, strength, len(theta))
    return _Point(theta, float(value), counts, likelihood.design.T @ residual, bend)


def _prior(structure: PriorStructure, strength: float, term: Floats) -> tuple[float, Floats]:
    """Return minus log density of the terms (up to a constant) and the precision of its quadratic majorizer."""
    if not structure.heavy:
        return 0.5 * strength * float(term @ term), np.full(len(term), strength)
    df = DEGREES_OF_FREEDOM
    scaled = strength * term**2
    return 0.5 * (df + 1) * float(np.log1p(scaled / df).sum()), strength * (df + 1) / (df + scaled)


def _normalizer(structure: PriorStructure, strength: float, k: int) -> float:
    """Return minus log of the prior's normalizing constant."""
    m = len(structure.terms)
    out = -0.5 * (m * log(strength) + structure.log_norm) + 0.5 * k * log(2.0 * pi)
    if structure.heavy:
        df = DEGREES_OF_FREEDOM
        student = lgamma((df + 1) / 2) - lgamma(df / 2) - 0.5 * log(df * pi)
        out -= m * (student + 0.5 * log(2.0 * pi))
    return out


def _compute_derivatives(likelihood: Likelihood, structure: PriorStructure, point: _Point) -> tuple[Floats, Floats]:
    pull = point.counts * point.pull
    curvature = point.counts[:, None] * likelihood.gram
    curvature *= point.counts
    curvature += structure.fixed
    curvature += _precision(structure, point.bend)
    np.einsum("ii->i", curvature)[:] += np.maximum(pull, 0.0)
    gradient = pull + structure.fixed @ point.theta + structure.terms.T @ (point.bend * (structure.terms @ point.theta))
    return gradient, curvature


def _precision(structure: PriorStructure, bend: Floats) -> Floats:
    """Return d' diag(bend) D; Student-t terms are first differences, so theirs is tridiagonal along the chain."""
    if not structure.heavy:
        return bend[0] * structure.penalty
    left, right = structure.chain[:-1], structure.chain[1:]
    link = bend * structure.penalty[left, right]
    out = np.zeros_like(structure.penalty)
    out[left, right] = out[right, left] = link
    out[left, left] -= link
    out[right, right] -= link
    return out


def _take_newton_step(
    likelihood: Likelihood, structure: PriorStructure, strength: float, point: _Point, step: Floats, decrement: float
) -> tuple[_Point, bool]:
    """Return a damped step; done when the predicted or achieved gain is small."""
    size = min(1.0, MAX_LOG_STEP / max(float(-step.min()), 1e-12))
    while size > 1e-3:
        after = _evaluate(likelihood, structure, strength, point.theta - size * step)
        if after.value <= point.value:
            return after, decrement < _TOLERANCE or point.value - after.value < _TOLERANCE
        size /= 3.0
    return point, True
