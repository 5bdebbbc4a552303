"""Gaussian copulas in cells: some columns pick a cell, and each cell has a copula of its own for the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.errors import UnsupportedConditionError
from sklar.model.gaussian_model import GaussianModel
from sklar.model.margin import Margin

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
LEAST_EFFECTIVE = 30.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixtureModel:
    """A distribution over cells, and a model of the other columns in each.

    Attributes:
        margins: One per modelled column, in schema order.
        small: Positions of the columns that make the cells.
        large: Positions of the others.
        cells: Codes of the small columns in each cell, one line a cell.
        weights: Probability of each cell.
        models: A model of the large columns for each cell.
        rows_estimate: Noisy (or public) number of rows, at least 1.
    """

    margins: tuple[Margin, ...]
    small: tuple[int, ...]
    large: tuple[int, ...]
    cells: NDArray[np.int64]
    weights: Floats
    models: tuple[GaussianModel, ...]
    rows_estimate: int

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Independent rows as base codes."""
        return self._filled(rng.choice(len(self.weights), rows, p=self.weights), rng, rounded=False)

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Rows whose cells, and margins inside cells, match the model to rounding."""
        places = (np.arange(rows) + rng.random()) / max(rows, 1)
        reach = np.cumsum(self.weights)
        cells = np.minimum(np.searchsorted(reach, places * reach[-1], side="right"), len(reach) - 1)
        return self._filled(rng.permutation(cells), rng, rounded=True)

    def simulate_given(
        self, rows: int, allowed: Mapping[int, NDArray[np.bool_]], rng: np.random.Generator
    ) -> tuple[Codes, float]:
        """Independent rows inside given sets of base codes, and the effective sample size.

        Cells are kept by their codes; inside a cell the large columns are conditioned, and cells are weighted by how
        much of them lies inside.
        """
        keep = np.ones(len(self.weights), dtype=bool)
        for place, column in enumerate(self.small):
            if column in allowed:
                keep &= np.asarray(allowed[column], dtype=bool)[self.cells[:, place]]
        inner = {self.large.index(c): np.asarray(m, dtype=bool) for c, m in allowed.items() if c not in self.small}
        shares = np.array([_mass(model, inner) if k else 0.0 for k, model in zip(keep, self.models, strict=True)])
        weights = self.weights * shares
        if not weights.sum() > 0:
            raise UnsupportedConditionError(
                "no row of the model lies inside the given sets; ask for values that the model gives some mass."
            )
        chosen = rng.choice(len(weights), rows, p=weights / weights.sum())
        return self._filled(chosen, rng, rounded=False, inner=inner), float(rows)

    def _filled(
        self,
        chosen: NDArray[np.int64],
        rng: np.random.Generator,
        *,
        rounded: bool,
        inner: Mapping[int, NDArray[np.bool_]] | None = None,
    ) -> Codes:
        codes = np.empty((len(chosen), len(self.margins)), dtype=np.int32, order="F")
        codes[:, self.small] = self.cells[chosen]
        order = np.argsort(chosen, kind="stable")
        bounds = np.searchsorted(chosen[order], np.arange(len(self.models) + 1))
        for cell, model in enumerate(self.models):
            at = order[bounds[cell] : bounds[cell + 1]]
            if not len(at) or not self.large:
                continue
            if inner:
                found = model.simulate_given(len(at), inner, rng)[0]
            else:
                found = model.simulate_rounded(len(at), rng) if rounded else model.simulate(len(at), rng)
            codes[at[:, None], np.array(self.large)] = found
        return codes


def _mass(model: GaussianModel, inner: Mapping[int, NDArray[np.bool_]]) -> float:
    """About how much of a cell lies inside the sets: the product of its margins' shares."""
    share = 1.0
    for column, mask in inner.items():
        share *= float(model.margins[column].dense()[mask].sum())
    return share
