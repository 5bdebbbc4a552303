"""The closed list of features the Door can sum, each with its exact sum and its proved sensitivity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.accounting.unit import Unit
from sklar.private.features import blocks, coefficients, sphere, tau
from sklar.release.features import BlockMeans, Coefficients, Feature, PairSums, StarSums, TauVector
from sklar.rows import EncodedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class SumRule:
    """How the Door sums one kind of feature.

    Attributes:
        exact_sums: (feature, base codes of `feature.columns`, one row of codes per row) -> int64 vector in units of
            `feature.resolution`. Sums of batches add up to the sum of the table. None for a feature that is no sum over
            rows.
        exact_whole: (feature, rows) -> the same vector from the whole table, for such a feature.
        bounds: (feature, unit) -> (L1, L2), how far one person moves the vector, in real units.
    """

    exact_sums: Callable[[Any, npt.NDArray[np.integer[Any]]], npt.NDArray[np.int64]] | None = None
    exact_whole: Callable[[Any, EncodedRows], npt.NDArray[np.int64]] | None = None
    bounds: Callable[[Any, Unit], tuple[float, float]]


FEATURES: dict[type, SumRule] = {
    StarSums: SumRule(exact_sums=sphere.exact_star_sums, bounds=sphere.sphere_bounds),
    PairSums: SumRule(exact_sums=sphere.exact_pair_sums, bounds=sphere.sphere_bounds),
    TauVector: SumRule(exact_whole=tau.exact_orders, bounds=tau.tau_bounds),
    BlockMeans: SumRule(exact_whole=blocks.exact_block_sums, bounds=blocks.block_bounds),
    Coefficients: SumRule(exact_sums=coefficients.exact_coefficients, bounds=coefficients.coefficient_bounds),
}


def exact_feature(feature: Feature, rows: EncodedRows) -> npt.NDArray[np.int64]:
    """The exact vector of a feature, in units of its resolution."""
    rule = FEATURES[type(feature)]
    if rule.exact_sums is None:
        assert rule.exact_whole is not None
        return rule.exact_whole(feature, rows)
    total = np.zeros(feature.size, np.int64)
    for codes in rows.code_matrix_batches(feature.columns):
        total += rule.exact_sums(feature, codes)
    return total
