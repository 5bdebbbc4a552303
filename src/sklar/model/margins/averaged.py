"""Densities of numeric columns from few noisy bins: smooth on one of several axes, averaged by evidence.

With few rows a histogram says little, but most columns look alike on some axis: a smooth bump on a linear scale, or one
on a logarithmic scale. Each model is an axis, an order of smoothness and a strength; its weight in a column is its
Laplace evidence times how often the other columns of the table like it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.model.margins.likelihood import CellSupport, KnownTotal, Likelihood, Observation, find_mode, likelihood_of
from sklar.model.margins.prior import AXES, DensityAxis, DensityKind, smooth

LATENT_CELLS = 32
"""Steps along each axis: finer cells show narrower bumps, and the solver is cubic in them."""
NATURAL = 32.0
"""Positions on an axis are measured in 32nds of it."""
NEGLIGIBLE = 1e-3
"""Models of a smaller weight are left out of the mean."""
_GIVE_UP = 8.0
"""A scan over strengths stops once the log evidence is this far below its best."""
_STRENGTHS = {1: (100.0, 10.0, 3.0, 1.0, 0.3, 0.1), 2: (1e4, 100.0, 10.0, 1.0, 0.1), 3: (1e5, 1e3, 100.0, 10.0, 1.0)}
"""Strengths by order of the differences, from all but a polynomial to nearly free: each costs a fit for every axis."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bins:
    """One noisy histogram of a numeric column.

    Edges are the first value code of each chained bin, then the number of value codes; noisy counts and their
    deviations are those of the chained bins, then of the cells apart (kept atoms, null).
    """

    edges: Ints
    counts: Floats
    sigma: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedDensity:
    """One model's answer for one column: masses between edges (value codes), masses of the cells apart, evidence."""

    edges: Ints
    mass: Floats
    apart: Floats
    log_evidence: float


KINDS = tuple(
    [DensityKind(axis=axis, order=order) for axis in AXES for order in (2, 3)]
    + [DensityKind(axis=AXES[i], order=1, heavy=heavy) for i in (0, 2) for heavy in (False, True)]
)
"""All families of models."""
QUICK_KINDS = tuple(kind for kind in KINDS if kind.order == 2 or kind.heavy)
"""Enough to place the bins of a second histogram."""


def fit_models(
    axis: Floats, bins: Sequence[Bins], total: KnownTotal, kinds: Sequence[DensityKind] = KINDS
) -> list[FittedDensity | None]:
    """Every model of every kind, in a fixed order; None where a scan over strengths gave up.

    The axis is where each value code starts on [0, 1], and 1 at the end; all histograms have the same cells apart.
    """
    fitted: list[FittedDensity | None] = []
    for kind in kinds:
        edges = latent_edges(axis, bins, kind.axis)
        likelihood, support = _problem(axis, edges, bins, total, kind.axis)
        fitted += _scan(likelihood, support, kind, edges)
    return fitted


def latent_edges(axis: Floats, bins: Sequence[Bins], warp: DensityAxis) -> Ints:
    """All bin edges, and equal steps along the warped axis, snapped to value codes."""
    steps = warp.inverse(np.linspace(0.0, 1.0, LATENT_CELLS + 1))
    snapped = np.searchsorted(axis, steps - 1e-12)
    edges = np.unique(np.concatenate([*(b.edges for b in bins), np.clip(snapped, 0, len(axis) - 1)]))
    # An edge inside a width of nothing (next to an atom of a real range) would make an empty cell.
    return edges[np.concatenate([[True], np.diff(axis[edges]) > 1e-9])]


def pooled_weights(evidence: Floats, rounds: int = 30) -> Floats:
    """Weights of models for each column: evidence times a prior over models shared by all columns.

    The shared prior is found by expectation maximization with one pseudo-count spread over the models. The evidence is
    in logarithms, columns x models; -inf where a model was given up.
    """
    columns, models = evidence.shape
    weights = _softmax(evidence)
    for _ in range(rounds if columns > 2 else 0):
        log_prior = np.log((weights.sum(axis=0) + 1.0 / models) / (columns + 1.0))
        weights = _softmax(evidence + log_prior)
    return weights


def average_models(
    axis: Floats, apart: int, fitted: Sequence[FittedDensity | None], weights: Floats
) -> tuple[Ints, Floats, Floats]:
    """(edges, masses between them, masses of the cells apart) of the mean of the models; flat if none was fitted."""
    kept = [(w, f) for w, f in zip(weights, fitted, strict=True) if f is not None and w > NEGLIGIBLE]
    if not kept:
        return np.array([0, len(axis) - 1]), np.ones(1), np.zeros(apart)
    edges = np.unique(np.concatenate([f.edges for _, f in kept]))
    rising, beside = np.zeros(len(edges)), np.zeros(apart)
    for weight, f in kept:
        rising += weight * np.interp(axis[edges], axis[f.edges], np.concatenate([[0.0], np.cumsum(f.mass)]))
        beside += weight * f.apart
    mass = np.maximum(np.diff(rising), 0.0)
    total = mass.sum() + beside.sum()
    return edges, mass / total, beside / total


def _problem(
    axis: Floats, edges: Ints, bins: Sequence[Bins], total: KnownTotal, warp: DensityAxis
) -> tuple[Likelihood, CellSupport]:
    place = warp.forward(axis[edges])
    apart = len(bins[0].counts) - len(bins[0].edges) + 1
    width = np.concatenate([np.maximum(np.diff(place), 1e-9), np.ones(apart)])
    position = np.concatenate([(place[1:] + place[:-1]) / 2 * NATURAL, np.zeros(apart)])
    chained = np.arange(len(width)) < len(edges) - 1
    support = CellSupport(width=width, position=position, chained=chained)
    return likelihood_of(support, [_observe(b, edges, apart) for b in bins], total), support


def _observe(bins: Bins, edges: Ints, apart: int) -> Observation:
    chained = np.searchsorted(bins.edges, edges[:-1], side="right") - 1
    parent = np.concatenate([chained, len(bins.edges) - 1 + np.arange(apart)])
    return Observation(parent=parent, counts=bins.counts, sigma=bins.sigma)


def _scan(likelihood: Likelihood, support: CellSupport, kind: DensityKind, edges: Ints) -> list[FittedDensity | None]:
    """Falling strengths, each started from the one before."""
    chain = len(edges) - 1
    if chain <= kind.order:
        return [None] * len(_STRENGTHS[kind.order])
    structure = smooth(support.position, support.chained, kind.order, kind.heavy)
    theta, best = np.zeros(len(likelihood.log_base)), -np.inf
    out: list[FittedDensity | None] = []
    for strength in _STRENGTHS[kind.order]:
        if out and (out[-1] is None or out[-1].log_evidence < best - _GIVE_UP):
            out.append(None)
            continue
        mode = find_mode(likelihood, structure, strength, theta)
        theta, best = mode.theta, max(best, mode.log_evidence)
        counts = np.exp(np.minimum(likelihood.log_base + theta, 300.0))
        share = counts / counts.sum()
        usable = np.isfinite(mode.log_evidence) and np.isfinite(share).all()
        fit = FittedDensity(edges=edges, mass=share[:chain], apart=share[chain:], log_evidence=mode.log_evidence)
        out.append(fit if usable else None)
    return out


def _softmax(logs: Floats) -> Floats:
    top = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
