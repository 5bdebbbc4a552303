"""Products of scores, all that is measured of dependence where rows are few, beside what a public table expects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sklar.arrays import Floats
from sklar.methods.few_rows.fit import MeasuredFewRows
from sklar.model.latent.indirect import SPHERE_LOSS
from sklar.model.latent.scores import Latent, score_lookup
from sklar.model.latent.target import contrast_lookups
from sklar.release.scores import SCORE_BITS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreProduct:
    """The mean over rows of a score of one column times a score of another, as released.

    Attributes:
        columns: The two columns, the first one first.
        scores: Score of each of their base codes.
        mean: The mean product.
        variance: That of its noise.
    """

    columns: tuple[int, int]
    scores: tuple[Floats, Floats]
    mean: float
    variance: float


def released_products(measured: MeasuredFewRows) -> tuple[ScoreProduct, ...]:
    """Return all products that were released; coordinates on a sphere are taken for scores that lost a little."""
    return tuple(_ordered(*found) for found in (*_pairs(measured), *_star(measured)))


Found = tuple[tuple[int, int], tuple[Floats, Floats], float, float]


def _pairs(measured: MeasuredFewRows) -> Iterator[Found]:
    pairs, loss = measured.moments.pairs, SPHERE_LOSS**2
    if pairs is None:
        return
    scores = [_scores(measured, latent) for latent in measured.latents]
    for k, (a, b) in enumerate(combinations(range(len(scores)), 2)):
        columns = measured.latents[a].column, measured.latents[b].column
        if columns[0] != columns[1]:
            yield columns, (scores[a], scores[b]), float(pairs.mean[k]) / loss, pairs.variance / loss**2


def _star(measured: MeasuredFewRows) -> Iterator[Found]:
    star, layout = measured.star, measured.layout
    if star is None or layout.classes is None:
        return
    lookups, bits = contrast_lookups(layout.classes)
    for m, lookup in enumerate(lookups):
        contrast = lookup / float(1 << bits)
        for i, latent in enumerate(layout.scored):
            columns, scores = (latent.column, layout.classes.column), (_scores(measured, latent), contrast)
            yield columns, scores, float(star.scores[m, i]) / SPHERE_LOSS, star.variance / SPHERE_LOSS**2
        for column, sums in zip(layout.nominal, star.levels, strict=True):
            for code, one in enumerate(np.eye(sums.shape[1])):
                yield (column, layout.classes.column), (one, contrast), float(sums[m, code]), star.variance


def _scores(measured: MeasuredFewRows, latent: Latent) -> Floats:
    return score_lookup(latent, measured.layout.margins[latent.column].size) / float(1 << SCORE_BITS)


def _ordered(columns: tuple[int, int], scores: tuple[Floats, Floats], mean: float, variance: float) -> ScoreProduct:
    if columns[0] > columns[1]:
        columns, scores = (columns[1], columns[0]), (scores[1], scores[0])
    return ScoreProduct(columns=columns, scores=scores, mean=mean, variance=variance)


def by_pair(products: Sequence[ScoreProduct]) -> Mapping[tuple[int, int], list[int]]:
    """Return the products of each pair of columns, by their place."""
    found: dict[tuple[int, int], list[int]] = {}
    for k, product in enumerate(products):
        found.setdefault(product.columns, []).append(k)
    return found
