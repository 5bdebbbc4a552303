"""The closed list of features the Door can sum, each with its exact sum and its proved sensitivity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.accounting.unit import Unit
from sklar.private.features import sphere
from sklar.release.features import PairSums, StarSums


@dataclass(frozen=True, slots=True, kw_only=True)
class SumRule:
    """How the Door sums one kind of feature.

    Attributes:
        exact_sums: (feature, base codes of `feature.columns`, one row of codes per row) -> int64 vector in units of
            `feature.resolution`. Sums of batches add up to the sum of the table.
        bounds: (feature, unit) -> (L1, L2), how far one person moves the vector, in real units.
    """

    exact_sums: Callable[[Any, npt.NDArray[np.integer[Any]]], npt.NDArray[np.int64]]
    bounds: Callable[[Any, Unit], tuple[float, float]]


FEATURES: dict[type, SumRule] = {
    StarSums: SumRule(exact_sums=sphere.exact_star_sums, bounds=sphere.sphere_bounds),
    PairSums: SumRule(exact_sums=sphere.exact_pair_sums, bounds=sphere.sphere_bounds),
}
