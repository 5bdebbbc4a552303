"""The most plausible distribution of one column, given several noisy histograms of it at different resolutions.

Ordered cells are smooth (`fit_density`); levels without order, and too long chains, share an exchangeable prior on
their logarithms (`fit_levels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, log

import numpy as np

from sklar.arrays import Floats, Mask
from sklar.model.margins.likelihood import (
    MAX_LOG_STEP,
    CellSupport,
    KnownTotal,
    Likelihood,
    Mode,
    Observation,
    expected_rows,
    find_mode,
    likelihood_of,
    log_base,
    seen_alone,
    with_sampling,
)
from sklar.model.margins.nulls import expected_missing
from sklar.model.margins.prior import POLYNOMIAL_STDS, DensityAxis, DensityKind, make_smoothness_prior
from sklar.model.margins.tails import with_tails
from sklar.model.margins.transforms import clip_and_normalize
from sklar.model.significance import critical_deviations

MAX_CHAIN_CELLS = 400
"""Longer ordered columns are treated as unordered: the solver is cubic in the cells."""
_MAX_EVIDENCE_LOSS = 6.0
"""A scan over strengths stops once the log evidence is this far below its best."""
_STRENGTHS = {
    1: (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03),
    2: (1e6, 1e5, 1e4, 1e3, 100.0, 10.0, 1.0, 0.1),
    3: (1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 100.0, 10.0, 1.0, 0.1),
}
"""Strengths by order of the differences: from all but a polynomial to nearly free; finer steps cost a fit each."""
_ROUGH_STRENGTHS = (10.0, 1.0, 0.1)
"""Three strengths do for a first estimate."""
_LEVEL_STRENGTHS = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
"""Strengths of the exchangeable prior of levels: from all equal to nearly free."""
_ROUNDS, _TOLERANCE = 60, 1e-3
"""Steps to the mode of levels, and the gain of a step at which they end."""

_LINEAR, _LOGARITHMIC, _STEEP = DensityAxis(), DensityAxis(shift=0.05), DensityAxis(shift=0.005)
_KINDS = (
    DensityKind(axis=_LINEAR, order=1, heavy=True),
    DensityKind(axis=_LINEAR, order=2),
    DensityKind(axis=_LINEAR, order=3),
    DensityKind(axis=_LOGARITHMIC, order=2),
    DensityKind(axis=_STEEP, order=3),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedCells:
    """Probabilities of the cells of a column, and the log evidence of the smooth densities behind them (0 if none)."""

    mass: Floats
    log_evidence: float = 0.0


def fit_density(
    support: CellSupport,
    observations: Sequence[Observation],
    total: KnownTotal,
    rare: Mask | None = None,
    null: int | None = None,
    absent: float = 0.0,
) -> FittedCells:
    """Return probabilities of the cells of a column.

    The population's counts are base * exp(theta); observed bins are sums of the rows' counts plus Gaussian noise.
    Along the chain theta has a Student-t prior on first differences or a Gaussian one on second or third differences.
    For every prior and strength the posterior mode is found and weighted by its Laplace evidence, and the rows' own
    counts are their expectation given the mode. Levels have an exchangeable prior. The result is always a
    valid distribution.

    Cells which may well be empty (`rare`) get mass 0 unless their count is significant; the cell of missing values
    (`null`) gets the posterior mean of its share, which is 0 with the prior probability `absent`, and the others are
    fitted to what is left of the rows.
    """
    k = len(support.width)
    keep = _cells_to_keep(observations, k, rare)
    missing, sigma = (0.0, 0.0) if null is None or k == 1 else _missing(observations, k, null, total, absent)
    keep[[] if null is None or k == 1 else [null]] = False
    if not keep.all():
        mass = np.zeros(k)
        cells = CellSupport(width=support.width[keep], position=support.position[keep], chained=support.chained[keep])
        left = KnownTotal(rows=max(total.rows - missing, 1.0), sigma=float(np.hypot(total.sigma, sigma)))
        share = missing / (missing + left.rows)
        kept = fit_density(cells, [_restrict(seen, keep) for seen in observations], left)
        mass[keep] = (1.0 - share) * kept.mass
        mass[[] if null is None else [null]] = share
        return replace(kept, mass=mass)
    if k == 1:
        return FittedCells(mass=np.ones(1))
    if support.chained.sum() < 3 or k > MAX_CHAIN_CELLS:
        counts, sigma = seen_alone(observations, k)
        return FittedCells(mass=fit_levels(counts, sigma, total.rows, total.sigma))
    return _fit_chain(support, observations, total)


def _missing(
    observations: Sequence[Observation], k: int, null: int, total: KnownTotal, absent: float
) -> tuple[float, float]:
    """Return the expected number of missing values and its standard deviation, from bins that hold nothing else."""
    counts, sigma = seen_alone(observations, k)
    expected = expected_missing(float(counts[null]), float(sigma[null]), total.rows, absent)
    return expected, float(sigma[null]) if np.isfinite(sigma[null]) else 0.0


def _fit_chain(support: CellSupport, observations: Sequence[Observation], total: KnownTotal) -> FittedCells:
    noise_only = likelihood_of(support, observations, total)
    rough = _rough_counts(noise_only, support, *seen_alone(observations, len(support.width)))
    likelihood, sampling = with_sampling(noise_only, rough)
    length = int(support.chained.sum())
    masses: list[Floats] = []
    evidence: list[float] = []
    for kind in _KINDS:
        if kind.order >= length:
            continue
        warped = _on_axis(support, kind.axis)
        here = replace(likelihood, log_base=log_base(warped, total))
        for mode in _scan(here, warped, kind, np.log(rough) - here.log_base):
            masses.append(clip_and_normalize(expected_rows(here, sampling, np.exp(here.log_base + mode.theta))))
            evidence.append(mode.log_evidence)
    if not masses:
        return FittedCells(mass=clip_and_normalize(rough), log_evidence=-inf)
    weights = np.exp(np.array(evidence) - max(evidence))
    mass = with_tails(support, observations, total, weights @ np.array(masses) / weights.sum())
    return FittedCells(mass=mass, log_evidence=max(evidence) + log(weights.sum()))


def _rough_counts(likelihood: Likelihood, support: CellSupport, counts: Floats, sigma: Floats) -> Floats:
    """Return a first estimate of the counts, from which only the size of the rows' own scatter is taken.

    The likelihood is of noise alone; it starts from the counts of cells where they were counted alone, with `sigma`.
    """
    structure = make_smoothness_prior(support.position, support.chained, 1)
    known = np.log(np.maximum(counts, np.minimum(sigma, 1e300))) - likelihood.log_base
    theta = np.where(np.isfinite(sigma), np.minimum(known, 50.0), 0.0)
    best = Mode(theta=np.zeros(len(theta)), log_evidence=-np.inf)
    for strength in _ROUGH_STRENGTHS:
        mode = find_mode(likelihood, structure, strength, theta)
        theta = mode.theta
        best = max(best, mode, key=lambda one: one.log_evidence)
    return np.maximum(np.exp(np.minimum(likelihood.log_base + best.theta, 100.0)), 1e-6)


def _scan(likelihood: Likelihood, support: CellSupport, kind: DensityKind, start: Floats) -> list[Mode]:
    """Return modes over a grid of strengths, from the middle outwards until the evidence has clearly dropped."""
    structure = make_smoothness_prior(support.position, support.chained, kind.order, kind.heavy)
    grid = _STRENGTHS[kind.order]
    middle = len(grid) // 2
    first = find_mode(likelihood, structure, grid[middle], start)
    modes, best = [first], first.log_evidence
    for side in (grid[middle + 1 :], grid[:middle][::-1]):
        theta = first.theta
        for strength in side:
            mode = find_mode(likelihood, structure, strength, theta)
            modes.append(mode)
            best, theta = max(best, mode.log_evidence), mode.theta
            if not mode.log_evidence > best - _MAX_EVIDENCE_LOSS:
                break
    return [mode for mode in modes if np.isfinite(mode.log_evidence)]


def _on_axis(support: CellSupport, axis: DensityAxis) -> CellSupport:
    """Return cells with widths and positions measured along another axis of the chain."""
    if axis is _LINEAR:
        return support
    chain = support.chained
    edges = np.concatenate([[0.0], np.cumsum(support.width[chain])])
    edges = axis.forward(edges / edges[-1])
    width, position = support.width.copy(), support.position.copy()
    width[chain] = np.diff(edges)
    position[chain] = 32.0 * (edges[1:] + edges[:-1]) / 2.0
    return replace(support, width=width, position=position)


def _cells_to_keep(observations: Sequence[Observation], k: int, rare: Mask | None) -> Mask:
    """Return all cells but those that may well be empty (`other`) and whose counts are not significant."""
    if rare is None or not rare.any() or rare.all():
        return np.ones(k, dtype=bool)
    counts, sigma = seen_alone(observations, k)
    limit = critical_deviations(int(rare.sum()))
    return ~rare | (counts > limit * np.where(np.isfinite(sigma), sigma, 0.0))


def _restrict(seen: Observation, keep: Mask) -> Observation:
    """Return the observation of the kept cells; bins that hold none of them are left out."""
    parent = seen.parent[keep]
    used = np.unique(parent[parent >= 0])
    number = np.full(len(seen.counts) + 1, -1, dtype=np.int64)  # the last entry stands for parent -1
    number[used] = np.arange(len(used))
    return Observation(parent=number[parent], counts=seen.counts[used], sigma=seen.sigma[used])


def fit_levels(counts: Floats, sigma: Floats, rows: float, rows_sigma: float) -> Floats:
    """Return probabilities of levels from one noisy count each, averaged over prior strengths by evidence.

    Counts are (rows / k) exp(theta); theta ~ N(mean, 1/strength), mean wide. Never fails: the result is a distribution.
    The noise of a level, `sigma`, is infinite where there is no count; `rows_sigma` is 0 when the number is public.
    """
    k = len(counts)
    if k == 1:
        return np.ones(1)
    weight = sigma**-2.0
    rows = max(rows, 1.0)
    total = max(rows_sigma, 0.05 * float(sigma.min()) if np.isfinite(sigma.min()) else 1.0, 1e-6 * rows) ** -2.0
    theta, masses, evidences = np.zeros(k), [], []
    for strength in _LEVEL_STRENGTHS:
        problem = _Problem(counts=counts, weight=weight, rows=rows, total=total, strength=strength)
        theta, evidence = _mode(problem, theta)
        if np.isfinite(evidence):
            mass = np.exp(theta - theta.max())
            masses.append(mass / mass.sum())
            evidences.append(evidence)
    weights = np.exp(np.array(evidences) - max(evidences))
    return weights @ np.array(masses) / weights.sum()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Problem:
    """Noisy counts and total with weights 1/sigma^2, and a prior precision of strength (I - 11'/k) + level 11'/k."""

    counts: Floats
    weight: Floats
    rows: float
    total: float
    strength: float

    @property
    def level(self) -> float:
        return 1.0 / (POLYNOMIAL_STDS[0] ** 2 * len(self.counts))

    @property
    def shared(self) -> float:
        return (self.strength - self.level) / len(self.counts)


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    theta: Floats
    value: float
    model: Floats
    pull: Floats


def _evaluate(problem: _Problem, theta: Floats) -> _Point:
    model = problem.rows / len(theta) * np.exp(np.minimum(theta, 300.0))
    miss, excess = model - problem.counts, float(model.sum()) - problem.rows
    prior = problem.strength * theta @ theta - problem.shared * theta.sum() ** 2
    value = 0.5 * (problem.weight @ miss**2 + problem.total * excess**2 + prior)
    return _Point(theta, float(value), model, model * (problem.weight * miss + problem.total * excess))


def _mode(problem: _Problem, theta: Floats) -> tuple[Floats, float]:
    """Return damped Gauss-Newton; returns the mode and the Laplace evidence of the strength, up to a constant."""
    point, log_det = _evaluate(problem, theta), inf
    for _ in range(_ROUNDS):
        gradient = point.pull + problem.strength * point.theta - problem.shared * point.theta.sum()
        diagonal = problem.weight * point.model**2 + problem.strength + np.maximum(point.pull, 0.0)
        step, log_det = _solve(diagonal, point.model, problem, gradient)
        after = _take_newton_step(problem, point, step)
        gain, point = point.value - after.value, after
        if min(gain, float(gradient @ step)) < _TOLERANCE:
            break
    log_prior = 0.5 * ((len(theta) - 1) * log(problem.strength) + log(problem.level))
    return point.theta, -point.value + log_prior - 0.5 * log_det


def _take_newton_step(problem: _Problem, point: _Point, step: Floats) -> _Point:
    size = min(1.0, MAX_LOG_STEP / max(float(-step.min()), 1e-12))
    while size > 1e-3:
        after = _evaluate(problem, point.theta - size * step)
        if after.value <= point.value:
            return after
        size /= 3.0
    return point


def _solve(diagonal: Floats, model: Floats, problem: _Problem, right: Floats) -> tuple[Floats, float]:
    """Solve (diag + total model model' - shared 1 1') x = right by Woodbury; also the log determinant."""
    vectors = np.stack([model, np.ones(len(model))], axis=1)
    middle = np.array([problem.total, -problem.shared])
    scaled = vectors / diagonal[:, None]
    small = np.eye(2) + (vectors.T @ scaled) * middle
    plain = right / diagonal
    step = plain - scaled @ (middle * np.linalg.solve(small, vectors.T @ plain))
    return step, float(np.log(diagonal).sum() + np.linalg.slogdet(small)[1])
