"""Latent normals behind the columns: how base codes lie along an axis, and the scores that rows get from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sklar.arrays import Floats, Ints
from sklar.model.margins.margin import Margin, compute_cumulative
from sklar.release.scores import SCORE_BITS

MAX_CONSTANT_SHARE = 0.9999
"""A column with one value this likely has nothing to correlate."""
MIN_NULL_PROBABILITY = 0.01
"""A null needs this probability (and its complement) to get a latent of its own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Latent:
    """One standard normal (in total) that drives a column, or whether the column is null.

    Attributes:
        order: Base codes along the axis, lowest first.
        edges: Cumulative probability at their borders: 0 first, 1 last. Given not null, for values.
        marks_null: This latent decides null (last in `order`) against not null (all others).
        null: Base code of null if it is not on this axis; -1 if there is none, or if it is a level like any other.
    """

    column: int
    order: Ints
    edges: Floats
    marks_null: bool = False
    null: int = -1

    def codes_at(self, u: Floats) -> Ints:
        """Return the base code that owns each uniform."""
        return self.order[self.places_at(u)]

    def places_at(self, u: Floats) -> Ints:
        """Return the place along the axis that owns each uniform; places without mass own nothing."""
        last = int(np.searchsorted(self.edges, self.edges[-1], side="left")) - 1
        return np.clip(np.searchsorted(self.edges, u, side="right") - 1, 0, last)


def value_latent(column: int, margin: Margin, null: int | None, order: Ints | None = None) -> Latent:
    """Return the axis of a column's values in the given order (by default that of the codes), conditional on not
    null."""
    codes = np.arange(margin.size) if order is None else order
    codes = codes[codes != null] if null is not None else codes
    mass = margin.dense()[codes]
    if mass.sum() <= 0:
        mass = np.ones(len(codes))
    return Latent(column=column, order=codes, edges=compute_cumulative(mass), null=-1 if null is None else null)


def null_latent(column: int, margin: Margin, null: int) -> Latent | None:
    """Return the axis of null against not null, or None when one of them is too rare to learn about."""
    probability = float(margin.dense()[null])
    if not MIN_NULL_PROBABILITY < probability < 1 - MIN_NULL_PROBABILITY:
        return None
    others = np.setdiff1d(np.arange(margin.size), [null])
    first = np.flatnonzero(margin.dense()[others])[:1]
    order = np.array([others[first[0]] if len(first) else others[0], null])
    return Latent(column=column, order=order, edges=np.array([0.0, 1 - probability, 1.0]), marks_null=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """The values of a column (a latent), the latent that marks its nulls, and the probability of not null."""

    values: int
    marker: int
    present: float


def marked_columns(latents: Sequence[Latent]) -> tuple[Marked, ...]:
    """Return all columns whose nulls have a latent of their own."""
    markers = {latent.column: (i, float(latent.edges[1])) for i, latent in enumerate(latents) if latent.marks_null}
    values = [(i, x.column) for i, x in enumerate(latents) if not x.marks_null and x.column in markers]
    return tuple(Marked(values=i, marker=markers[column][0], present=markers[column][1]) for i, column in values)


def place_scores(edges: Floats) -> Floats:
    """Return scores of the places along an axis: E[z | place] for a standard normal z, scaled to variance 1, within
    [-3, 3].

    Scaling gives a column of two values as much say on the sphere as a continuous one.
    """
    mass = np.diff(edges)
    middle = ndtri(np.clip((edges[1:] + edges[:-1]) / 2, 1e-6, 1 - 1e-6))
    # Where a place holds next to nothing the difference of densities loses its digits, and the middle is as good.
    mean = np.where(mass > 1e-9, -np.diff(normal_density(edges)) / np.maximum(mass, 1e-12), middle)
    spread = np.sqrt(max(float(mass @ mean**2), 1e-6))
    return np.clip(mean / spread, -3.0, 3.0)


def normal_density(edges: Floats) -> Floats:
    """Return the standard normal density at the quantiles of `edges`."""
    return np.exp(-0.5 * ndtri(np.clip(edges, 1e-300, 1 - 1e-16)) ** 2) / np.sqrt(2 * np.pi)


def score_lookup(latent: Latent, size: int) -> NDArray[np.int32]:
    """Return fixed-point normal score of every base code; codes that are not on the axis score 0, or as all but
    null."""
    scores = np.rint(place_scores(latent.edges) * (1 << SCORE_BITS)).astype(np.int32)
    lookup = np.full(size, scores[0] if latent.marks_null else 0, np.int32)
    lookup[latent.order] = scores
    return lookup
