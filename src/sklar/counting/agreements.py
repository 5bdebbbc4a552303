"""Exact counts of rows that have the same code in two columns; defined, with bounds, in `sklar.release.agreements`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints
from sklar.release.agreements import Agreements


def exact_agreements(feature: Agreements, codes: npt.NDArray[np.integer[Any]]) -> Ints:
    """Rows of a batch that agree, for each pair."""
    return np.count_nonzero(codes[:, : feature.size] == codes[:, feature.size :], axis=0).astype(np.int64)
