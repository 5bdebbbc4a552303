"""A model without dependence: every column is drawn from its own margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.errors import UnsupportedConditionError
from sklar.model.margin import Margin, margin_from_dense

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

    def simulate_given(
        self, rows: int, allowed: Mapping[int, NDArray[np.bool_]], rng: np.random.Generator
    ) -> tuple[Codes, float]:
        """Independent rows with some columns inside given sets of base codes; every row counts fully.

        Raises:
            UnsupportedConditionError: a margin gives its set no mass.
        """
        margins = list(self.margins)
        for column, mask in allowed.items():
            margins[column] = _restricted(margins[column], np.asarray(mask, dtype=bool))
        return _draw(margins, rows, rng, stratified=False), float(rows)


def _draw(margins: tuple[Margin, ...] | list[Margin], rows: int, rng: np.random.Generator, stratified: bool) -> Codes:
    from sklar.model.margin_draw import draw_codes

    codes = np.empty((rows, len(margins)), dtype=np.int32, order="F")
    for column, margin in enumerate(margins):
        u = rng.random(rows)
        if stratified:
            u = rng.permutation((np.arange(rows) + u) / max(rows, 1))
        draw_codes(margin, u, codes[:, column])
    return codes


def _restricted(margin: Margin, mask: NDArray[np.bool_]) -> Margin:
    masked = np.where(mask, margin.dense(), 0.0)
    if not masked.sum() > 0:
        raise UnsupportedConditionError(
            f"no row of the model has column '{margin.column}' inside the given set; "
            "ask for values that the model gives some mass."
        )
    return margin_from_dense(margin.column, masked)
