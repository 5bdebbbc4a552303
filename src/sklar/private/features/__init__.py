"""The closed list of vectors of sums that the Door can ask for, each with its exact sum and its proved sensitivity.

A feature is one file: what is summed, how far one person moves it under both neighbour relations, and why. Nothing is
released here. Start with `sphere`, the simplest bound; `tau` is Kendall's, `sample` the same over fewer rows, `blocks`
and `coefficients` are averages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.accounting.unit import VOTE_BITS
from sklar.arrays import Ints
from sklar.private.features import blocks, coefficients, sample, sphere, tau
from sklar.private.wide import WholeNumbers, carried, from_words, words_of
from sklar.release.features import (
    BlockLikelihoods,
    BlockMeans,
    Coefficients,
    Feature,
    PairSums,
    SampledTaus,
    StarSums,
    TauVector,
)
from sklar.release.scores import SUM_VOTE_BITS
from sklar.rows import CodedPart, Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class SumRule:
    """How the Door sums one kind of feature; how far one person moves the vector is what `feature.norms` says.

    Attributes:
        exact_sums: (feature, base codes of `feature.columns`, one row of codes per row) -> int64 vector in units of
            `feature.resolution`. Sums of batches add up to the sum of the table. None for a feature that is no sum over
            rows.
        exact_whole: (feature, rows) -> the same vector from the whole table, for such a feature.
    """

    exact_sums: Callable[[Any, npt.NDArray[np.integer[Any]]], Ints] | None = None
    exact_whole: Callable[[Any, Rows], Ints] | None = None


FEATURES: dict[type, SumRule] = {
    StarSums: SumRule(exact_sums=sphere.exact_star_sums),
    PairSums: SumRule(exact_sums=sphere.exact_pair_sums),
    TauVector: SumRule(exact_whole=tau.exact_orders),
    SampledTaus: SumRule(exact_whole=sample.exact_sampled_orders),
    BlockMeans: SumRule(exact_whole=blocks.exact_block_sums),
    BlockLikelihoods: SumRule(exact_whole=blocks.exact_likelihood_sums),
    Coefficients: SumRule(exact_sums=coefficients.exact_coefficients),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumJob:
    """The sums of a feature over a part of the rows, in two words each (`sklar.private.wide`)."""

    feature: Any

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.feature.size,), (self.feature.size,))

    def __call__(self, rows: CodedPart) -> tuple[Ints, ...]:
        exact_sums = FEATURES[type(self.feature)].exact_sums
        assert exact_sums is not None
        upper, lower = (np.zeros(shape, np.int64) for shape in self.shapes)
        for codes, weight in rows.weighted_matrices(self.feature.columns):
            # Sensitivity: with w parts of a vote for each of a person's m rows, m w is at most one vote, so the person
            # adds at most a mean of what single rows add: never longer than the longest of them.
            each = weight >> (VOTE_BITS - SUM_VOTE_BITS) if rows.votes else 1
            more = words_of(exact_sums(self.feature, codes), each)
            upper, lower = carried(upper + more[0], lower + more[1])
        return upper, lower


def exact_feature(feature: Feature, rows: Rows) -> WholeNumbers:
    """The exact vector of a feature, in units of its resolution."""
    rule = FEATURES[type(feature)]
    if rule.exact_sums is None:
        assert rule.exact_whole is not None
        return rule.exact_whole(feature, rows)
    return from_words(*rows.summed(SumJob(feature=feature)))
