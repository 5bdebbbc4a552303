"""Dependence when rows are few: noisy sums of normal scores on a sphere, requested and read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.methods.evidence import Setting
from sklar.model.latent.indirect import Moment
from sklar.model.latent.scores import Latent, score_lookup
from sklar.model.latent.target import Classes, contrast_lookups
from sklar.release.measurements import Measurement, Request
from sklar.release.scores import Scores
from sklar.release.sphere import Contrasts, PairSums, StarSums


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


def request_star(
    setting: Setting[Any], allowance: Allowance, latents: Sequence[Latent], nominal: Sequence[int], classes: Classes
) -> Request:
    """Ask for contrasts of the target times scores, and times the levels of nominal columns: one vector, one charge."""
    schema = setting.schema
    names = tuple(schema.modelled[j] for j in nominal)
    levels = tuple(np.arange(schema.size(name), dtype=np.int32) for name in names)
    scores, contrasts = _make_scores(setting, latents), _make_contrasts(setting, classes)
    return sum_request(
        StarSums(scores=scores, contrasts=contrasts, nominal=names, levels=levels), allowance, setting.unit
    )


def read_star(measurement: Measurement, rows: float) -> Star:
    """Return the star of a measurement, per row."""
    query = measurement.query
    assert isinstance(query, StarSums)
    ends = np.cumsum([query.scores.count, *(len(a) for a in query.levels)])[:-1]
    mean = (measurement.values / rows).reshape(len(query.contrasts.lookups), -1)
    parts = np.split(mean, [int(end) for end in ends], axis=1)
    return Star(scores=parts[0], levels=tuple(parts[1:]), variance=measurement.noise.variance / rows**2)


def pool_stars(first: Star, second: Star) -> Star:
    """Average two stars of the same scores by inverse variance."""
    weight = second.variance / (first.variance + second.variance)
    levels = zip(first.levels, second.levels, strict=True)
    return Star(
        scores=weight * first.scores + (1 - weight) * second.scores,
        levels=tuple(weight * a + (1 - weight) * b for a, b in levels),
        variance=weight * first.variance,
    )


def request_pairs(setting: Setting[Any], allowance: Allowance, latents: Sequence[Latent]) -> Request:
    """Ask for products of two scores, for all pairs."""
    return sum_request(PairSums(scores=_make_scores(setting, latents)), allowance, setting.unit)


def request_class_pairs(
    setting: Setting[Any], allowance: Allowance, latents: Sequence[Latent], classes: Classes
) -> Request:
    """Ask for contrasts of the target times products of two scores, for all pairs."""
    query = PairSums(scores=_make_scores(setting, latents), contrasts=_make_contrasts(setting, classes))
    return sum_request(query, allowance, setting.unit)


def sum_request(query: StarSums | PairSums, allowance: Allowance, unit: Unit) -> Request:
    """Ask for sums with the noise that an allowance buys."""
    l1, l2 = query.sensitivity(unit)
    return Request(query=query, noise=allowance.sum_noise(l1=l1, l2=l2))


def read_moment(measured: Sequence[Measurement], rows: float) -> Moment | None:
    """Return measured sums per row with the variance of their noise; None if nothing was measured."""
    if not measured:
        return None
    query, mean = measured[0].query, measured[0].values / rows
    if isinstance(query, PairSums) and query.contrasts is not None:
        mean = mean.reshape(len(query.contrasts.lookups), -1)
    return Moment(mean=mean, variance=measured[0].noise.variance / rows**2)


def _make_scores(setting: Setting[Any], latents: Sequence[Latent]) -> Scores:
    names = [setting.schema.modelled[latent.column] for latent in latents]
    lookups = [score_lookup(latent, setting.schema.size(name)) for latent, name in zip(latents, names, strict=True)]
    return Scores(columns=tuple(names), lookups=tuple(lookups))


def _make_contrasts(setting: Setting[Any], classes: Classes) -> Contrasts:
    lookups, bits = contrast_lookups(classes)
    column = setting.schema.modelled[classes.column]
    return Contrasts(column=column, lookups=tuple(a.astype(np.int32) for a in lookups), bits=bits)
