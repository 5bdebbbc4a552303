"""Measuring dependence when rows are few: noisy sums of normal scores on a sphere, through the Door."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.accounting.allowance import Allowance
from sklar.arrays import Floats
from sklar.model.latent.indirect import Moment
from sklar.model.latent.scores import Latent, score_lookup
from sklar.model.latent.target import Classes, contrast_lookups
from sklar.release.door import Door
from sklar.release.features import Contrasts, PairSums, Scores, StarSums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Star:
    """The released star, per row.

    Attributes:
        scores: Contrasts x scored latents.
        levels: For each nominal column, contrasts x base codes.
        variance: Noise variance of every entry.
    """

    scores: Floats
    levels: tuple[Floats, ...]
    variance: float


def measure_star(
    door: Door,
    allowance: Allowance,
    latents: Sequence[Latent],
    nominal: Sequence[int],
    classes: Classes,
    rows: float,
    label: str = "star",
) -> Star:
    """Contrasts of the target times scores, and times the levels of nominal columns: one vector, one charge."""
    names = tuple(door.schema.modelled[j] for j in nominal)
    levels = tuple(np.arange(door.schema.size(name), dtype=np.int32) for name in names)
    contrasts = _contrasts(door, classes)
    feature = StarSums(scores=_scores(door, latents), contrasts=contrasts, nominal=names, levels=levels)
    mean, variance = measure_mean(door, allowance, feature, rows, label)
    parts = np.split(mean.reshape(len(contrasts.lookups), -1), _cuts(len(latents), levels), axis=1)
    return Star(scores=parts[0], levels=tuple(parts[1:]), variance=variance)


def pool_stars(first: Star, second: Star) -> Star:
    """Two stars of the same scores, averaged by inverse variance."""
    weight = second.variance / (first.variance + second.variance)
    levels = zip(first.levels, second.levels, strict=True)
    return Star(
        scores=weight * first.scores + (1 - weight) * second.scores,
        levels=tuple(weight * a + (1 - weight) * b for a, b in levels),
        variance=weight * first.variance,
    )


def measure_pairs(door: Door, allowance: Allowance, latents: Sequence[Latent], rows: float) -> Moment:
    """Products of two scores, for all pairs."""
    mean, variance = measure_mean(door, allowance, PairSums(scores=_scores(door, latents)), rows, "pairs")
    return Moment(mean=mean, variance=variance)


def measure_class_pairs(
    door: Door, allowance: Allowance, latents: Sequence[Latent], classes: Classes, rows: float
) -> Moment:
    """Contrasts of the target times products of two scores, for all pairs."""
    contrasts = _contrasts(door, classes)
    feature = PairSums(scores=_scores(door, latents), contrasts=contrasts)
    mean, variance = measure_mean(door, allowance, feature, rows, "class pairs")
    return Moment(mean=mean.reshape(len(contrasts.lookups), -1), variance=variance)


def measure_mean(
    door: Door, allowance: Allowance, feature: StarSums | PairSums, rows: float, label: str
) -> tuple[Floats, float]:
    """Noisy sums of a feature through the Door, per row, and the variance of their noise."""
    l1, l2 = feature.norms(door.unit)
    noise = allowance.sum_noise(l1=l1, l2=l2)
    noisy = door.sum(feature, noise, label)
    return noisy.values / rows, noise.variance / rows**2


def _scores(door: Door, latents: Sequence[Latent]) -> Scores:
    names = [door.schema.modelled[latent.column] for latent in latents]
    lookups = [score_lookup(latent, door.schema.size(name)) for latent, name in zip(latents, names, strict=True)]
    return Scores(columns=tuple(names), lookups=tuple(lookups))


def _contrasts(door: Door, classes: Classes) -> Contrasts:
    lookups, bits = contrast_lookups(classes)
    return Contrasts(
        column=door.schema.modelled[classes.column], lookups=tuple(a.astype(np.int32) for a in lookups), bits=bits
    )


def _cuts(scores: int, levels: Sequence[NDArray[np.int32]]) -> list[int]:
    return [int(c) for c in np.cumsum([scores, *(len(a) for a in levels)])[:-1]]
