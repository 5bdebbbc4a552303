"""A model without dependence: every column is drawn from its own margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.model.conditioning import Proposals
from sklar.model.margin import Margin, restrict

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndependentModel:
    """The product of its margins.

    Attributes:
        margins: One per modelled column, in schema order.
        rows_estimate: Noisy (or public) number of rows, at least 1.
    """

    margins: tuple[Margin, ...]
    rows_estimate: int

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Independent rows as base codes, shape (rows, columns), Fortran order."""
        return _draw(self.margins, rows, rng, stratified=False)

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Rows whose counts match every margin to rounding: one uniform in each of `rows` equal strata, shuffled."""
        return _draw(self.margins, rows, rng, stratified=True)

    def proposals(self, allowed: Mapping[int, NDArray[np.bool_]]) -> Proposals:
        """Rows for a condition: from the margins cut to the sets, all of one weight."""
        margins = [restrict(m, allowed[j]) if j in allowed else m for j, m in enumerate(self.margins)]
        return lambda rows, rng: (_draw(margins, rows, rng, stratified=False), np.zeros(rows))


def _draw(margins: tuple[Margin, ...] | list[Margin], rows: int, rng: np.random.Generator, stratified: bool) -> Codes:
    from sklar.model.margin_draw import draw_codes

    codes = np.empty((rows, len(margins)), dtype=np.int32, order="F")
    for column, margin in enumerate(margins):
        u = rng.random(rows)
        if stratified:
            u = rng.permutation((np.arange(rows) + u) / max(rows, 1))
        draw_codes(margin, u, codes[:, column])
    return codes
