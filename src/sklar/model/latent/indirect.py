"""Class shifts and correlations of the latents from noisy sphere sums, by indirect inference.

Sums of points on a sphere are not moments of the latents: cells, clipping and the projection all bend them. So the
model is simulated, its rows are scored and placed on the sphere like real rows, and the parameters move until the
simulated sums meet the released ones, with shrinkage against the known noise at every step
(Gourieroux, Monfort and Renault, 1993).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from sklar.arrays import Floats, Ints, Mask
from sklar.model.axis import even_levels
from sklar.model.latent.normals import (
    ClassNormals,
    class_normals,
    make_symmetric,
    shrink_factors,
    shrink_normal,
    shrink_spike_slab,
    whiten,
)
from sklar.model.latent.scores import Latent, marked_columns, normal_density, place_scores
from sklar.model.latent.target import NO_BASIS, Basis

PARAMETER_STEPS = 8
"""Steps of the parameters: each costs one simulation, and the residual shrinks from step to step."""
SIMULATED_ROWS = 2**13
"""Simulated rows. On even levels they carry less noise of their own into the fit than 150,000 independent ones, which
correlations of 40,000 rows need: 6,000 of those had more error than the sums themselves."""
SPHERE_LOSS = 0.97
"""A normal coordinate loses about 3% of its slope when its row is divided by its own length."""
_LEAST_SLOPE = 0.05
"""Scores that follow their latent less than this count as that: a residual over next to nothing says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moment:
    """A released mean per row, and the variance of its noise."""

    mean: Floats
    variance: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """What was released about dependence; None where nothing was spent.

    Attributes:
        star: Contrasts x the first latents, which make up the sphere of the star: mean of contrast times coordinate.
        levels: M x the other latents (of nominal columns): E[c score], already shrunken.
        pairs: Mean products of two coordinates, all pairs of latents in the order of the upper triangle.
        class_pairs: Contrasts x pairs.
    """

    star: Moment | None = None
    levels: Floats | None = None
    pairs: Moment | None = None
    class_pairs: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class World:
    """What stays fixed while parameters move: common random numbers and the scores of cells.

    Attributes:
        noise: Standard normals, draws x d, white inside each class.
        classes: Class of each draw.
        weights: Weight of each draw; they sum to one, and to the class share inside a class.
        scores: Score of each place along each axis.
        slopes: E[z score(z)] of each latent: how strongly the score of a cell follows the latent behind it.
        energy: E[score^2] of each latent.
        seen: Whether each draw has each latent, if some are missing at random (then they score 0).
    """

    latents: Sequence[Latent]
    noise: Floats
    classes: Ints
    weights: Floats
    scores: Sequence[Floats]
    slopes: Floats
    energy: Floats
    seen: Mask | None = None

    def stretch(self, first: int | None = None) -> float:
        """Return how much longer than their scores the coordinates on the sphere of the first latents (or all) are."""
        energy = self.energy[:first]
        return float(np.sqrt(len(energy) / energy.sum())) if len(energy) else 1.0


def make_world(
    latents: Sequence[Latent], share: Floats, rng: np.random.Generator, present: Floats | None = None
) -> World:
    """Return common random numbers for latents in classes of the given shares, each present with the given
    probability."""
    size = len(latents)
    counts = np.maximum(np.rint(share * SIMULATED_ROWS).astype(np.int64), 2 * size + 50)
    scores = [place_scores(latent.edges) for latent in latents]
    pairs = list(zip(latents, scores, strict=True))
    chance = np.ones(size) if present is None else present
    return World(
        latents=latents,
        noise=np.concatenate([whiten(ndtri(even_levels(n, size, rng))) for n in counts.tolist()]),
        classes=np.repeat(np.arange(len(share)), counts),
        weights=np.repeat(share / counts, counts),
        scores=scores,
        slopes=np.array([_slope(latent.edges, s) for latent, s in pairs]) * chance,
        energy=np.array([max(np.diff(latent.edges) @ s**2, 1e-6) for latent, s in pairs]) * chance,
        seen=None if present is None else rng.random((int(counts.sum()), size)) < present,
    )


def simulate_scores(world: World, normals: ClassNormals) -> Floats:
    """Return scores of simulated rows, draws x d; values of null cells score 0, as in the lookups."""
    z = normals.place(world.noise, world.classes)
    out = np.empty_like(z)
    null_rows: dict[int, Mask] = {}
    for i, latent in enumerate(world.latents):
        place = latent.places_at(normals.uniform(z[:, i], i))
        out[:, i] = world.scores[i][place]
        if latent.marks_null:
            null_rows[latent.column] = place == 1
    for i, latent in enumerate(world.latents):
        if not latent.marks_null and latent.column in null_rows:
            out[null_rows[latent.column], i] = 0.0
    return out if world.seen is None else out * world.seen


def on_sphere(scores: Floats) -> Floats:
    """Return rows scaled to length sqrt(d); rows of zeros stay."""
    length = np.sqrt((scores**2).sum(axis=1, keepdims=True))
    return scores * (np.sqrt(scores.shape[1]) / np.maximum(length, 1e-9))


def _slope(edges: Floats, scores: Floats) -> float:
    return float(np.clip(-scores @ np.diff(normal_density(edges)), _LEAST_SLOPE, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Parameters:
    shifts: Floats
    pooled: Floats
    differences: Floats


def fit_normals(
    latents: Sequence[Latent], share: Floats, basis: Basis, moments: Moments, rng: np.random.Generator
) -> ClassNormals:
    """Return the normals whose simulated rows reproduce the released sums, shrunken against their noise."""
    return _meet(make_world(latents, share, rng), share, basis, moments)


def fit_correlations(
    latents: Sequence[Latent], present: Floats, pairs: Moment, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return correlations of the latents behind released products of pairs, and the variances that the noise gives
    them.

    Each is present (not null) with a probability; a null scores 0, for any values of the other columns. The products
    are means of two coordinates on the sphere.
    """
    share = np.ones(1)
    world = make_world(latents, share, rng, present)
    (factor,) = _meet(world, share, NO_BASIS, Moments(pairs=pairs)).factors
    return factor @ factor.T, pairs.variance / _pair_slopes(world) ** 2


def _meet(world: World, share: Floats, basis: Basis, moments: Moments) -> ClassNormals:
    """Return parameters moved until the simulated sums meet the released ones."""
    latents = world.latents
    size, contrasts = len(latents), basis.scores.shape[1]
    shifts, differences = np.zeros((contrasts, size)), np.zeros((contrasts, size, size))
    at = _Parameters(shifts=shifts, pooled=np.eye(size), differences=differences)
    for _ in range(PARAMETER_STEPS):
        scores = simulate_scores(world, _normals(share, basis, at, latents))
        at = _move(world, basis, moments, at, scores)
    return _normals(share, basis, at, latents)


def _normals(share: Floats, basis: Basis, at: _Parameters, latents: Sequence[Latent]) -> ClassNormals:
    return class_normals(share, basis.scores, at.shifts, at.pooled, at.differences, marked_columns(latents))


def _move(world: World, basis: Basis, moments: Moments, at: _Parameters, scores: Floats) -> _Parameters:
    """Return one step: the residual of each released moment, divided by its slope, shrunken."""
    points, slopes = on_sphere(scores), _pair_slopes(world)
    moved = replace(at, shifts=_move_shifts(world, basis, moments, at.shifts, scores))
    if (pairs := moments.pairs) is not None:
        moved = replace(moved, pooled=_move_pooled(world, pairs, at.pooled, points, slopes))
    if (pairs := moments.class_pairs) is not None:
        moved = replace(moved, differences=_move_differences(world, basis, pairs, at.differences, points, slopes))
    return moved


def _pair_slopes(world: World) -> Floats:
    """Change of each mean product on the sphere by a change of the correlation behind it, roughly."""
    single = SPHERE_LOSS * world.slopes * world.stretch()
    return np.outer(single, single)


def _move_shifts(world: World, basis: Basis, moments: Moments, shifts: Floats, scores: Floats) -> Floats:
    moved = shifts.copy()
    if moments.star is not None:
        inside = moments.star.mean.shape[1]
        slopes = SPHERE_LOSS * world.slopes[:inside] * world.stretch(inside)
        contrasts = basis.contrasts[world.classes] * world.weights[:, None]
        residual = basis.turn(moments.star.mean - contrasts.T @ on_sphere(scores[:, :inside]))
        raw = np.clip(shifts[:, :inside] + residual / slopes, -0.95, 0.95)
        for m, spread in enumerate(basis.spread):
            moved[m, :inside] = shrink_normal(raw[m], moments.star.variance / spread / slopes**2)
    if moments.levels is not None:
        rest = shifts.shape[1] - moments.levels.shape[1]
        standardized = basis.scores[world.classes] * world.weights[:, None]
        moved[:, rest:] += (moments.levels - standardized.T @ scores[:, rest:]) / world.slopes[rest:]
    return moved


def _move_pooled(world: World, seen: Moment, pooled: Floats, points: Floats, slopes: Floats) -> Floats:
    size = len(pooled)
    residual = make_symmetric(seen.mean, size) - (points.T * world.weights) @ points
    raw = np.clip(pooled + residual / slopes, -1.5, 1.5)
    np.fill_diagonal(raw, 0.0)
    return np.eye(size) + shrink_factors(raw, seen.variance, slopes)


def _move_differences(
    world: World, basis: Basis, seen: Moment, differences: Floats, points: Floats, slopes: Floats
) -> Floats:
    size = len(slopes)
    upper = np.triu_indices(size, 1)
    contrasts = basis.contrasts[world.classes] * world.weights[:, None]
    simulated = np.stack([((points.T * line) @ points)[upper] for line in contrasts.T])
    raw = np.stack([d[upper] for d in differences]) + basis.turn(seen.mean - simulated) / slopes[upper]
    noise = seen.variance / slopes[upper] ** 2
    lines = zip(np.clip(raw, -1.5, 1.5), basis.spread, strict=True)
    return np.stack([make_symmetric(shrink_spike_slab(line, noise / spread), size) for line, spread in lines])
