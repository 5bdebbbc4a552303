"""A Gaussian copula over columns whose base codes were put into another order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, Ints, Mask
from sklar.model.conditioning import Proposals
from sklar.model.gaussian.model import GaussianModel
from sklar.model.margins.margin import Margin, margin_from_dense

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReorderedModel:
    """A Gaussian copula over places; each column has a list of the base codes at its places.

    Attributes:
        margins: One per modelled column over base codes, in schema order.
        inner: The model over places.
        codes: For each column, the base code at each place.
    """

    margins: tuple[Margin, ...]
    inner: GaussianModel
    codes: tuple[Ints, ...]

    @property
    def rows_estimate(self) -> int:
        """Noisy (or public) number of rows."""
        return self.inner.rows_estimate

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Independent rows as base codes."""
        return self._told(self.inner.simulate(rows, rng))

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Rows whose counts match every margin to rounding."""
        return self._told(self.inner.simulate_rounded(rows, rng))

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Rows for a condition: those of the model over places."""
        propose = self.inner.proposals({column: mask[self.codes[column]] for column, mask in allowed.items()})

        def reordered(rows: int, rng: np.random.Generator) -> tuple[Codes, Floats]:
            places, log = propose(rows, rng)
            return self._told(places), log

        return reordered

    def _told(self, places: Codes) -> Codes:
        for column, codes in enumerate(self.codes):
            places[:, column] = codes[places[:, column]]
        return places


def reordered_margin(margin: Margin, codes: Ints) -> Margin:
    """The margin over places."""
    return replace(margin_from_dense(margin.column, margin.dense()[codes]), decimals=margin.decimals)
