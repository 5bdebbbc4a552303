"""Simulated rows of the small model, scored and placed on the sphere exactly as real rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.model.small_latent import Latent, normal_density, place_scores
from sklar.model.small_normals import ClassNormals

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DRAWS = 6000
_LEAST_SLOPE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class World:
    """What stays fixed while parameters move: common random numbers and the scores of cells.

    Attributes:
        latents: The axes.
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
    seen: NDArray[np.bool_] | None = None

    def stretch(self, first: int | None = None) -> float:
        """How much longer than their scores the coordinates on the sphere of the first latents (or all) are."""
        energy = self.energy[:first]
        return float(np.sqrt(len(energy) / energy.sum())) if len(energy) else 1.0


def make_world(
    latents: Sequence[Latent], share: Floats, rng: np.random.Generator, present: Floats | None = None
) -> World:
    """Common random numbers for latents in classes of the given shares, each present with the given probability."""
    size = len(latents)
    counts = np.maximum(np.rint(share * DRAWS).astype(np.int64), 2 * size + 50)
    scores = [place_scores(latent.edges) for latent in latents]
    pairs = list(zip(latents, scores, strict=True))
    chance = np.ones(size) if present is None else present
    return World(
        latents=latents,
        noise=np.concatenate([_white(rng.standard_normal((n, size))) for n in counts]),
        classes=np.repeat(np.arange(len(share)), counts),
        weights=np.repeat(share / counts, counts),
        scores=scores,
        slopes=np.array([_slope(latent.edges, s) for latent, s in pairs]) * chance,
        energy=np.array([max(np.diff(latent.edges) @ s**2, 1e-6) for latent, s in pairs]) * chance,
        seen=None if present is None else rng.random((int(counts.sum()), size)) < present,
    )


def simulate_scores(world: World, normals: ClassNormals) -> Floats:
    """Scores of simulated rows, draws x d; values of null cells score 0, as in the lookups."""
    z = normals.place(world.noise, world.classes)
    out = np.empty_like(z)
    null_rows: dict[int, NDArray[np.bool_]] = {}
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
    """Rows scaled to length sqrt(d); rows of zeros stay."""
    length = np.sqrt((scores**2).sum(axis=1, keepdims=True))
    return scores * (np.sqrt(scores.shape[1]) / np.maximum(length, 1e-9))


def _slope(edges: Floats, scores: Floats) -> float:
    return float(np.clip(-scores @ np.diff(normal_density(edges)), _LEAST_SLOPE, 1.0))


def _white(noise: Floats) -> Floats:
    """Exact mean 0 and covariance I, so that simulated moments carry little noise of their own."""
    centered = noise - noise.mean(axis=0)
    factor = np.linalg.cholesky(centered.T @ centered / len(centered))
    return np.linalg.solve(factor, centered.T).T
