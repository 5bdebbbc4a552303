"""Gaussian copulas in cells: some columns pick a cell, and each cell has a copula of its own for the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, Ints, Mask
from sklar.model.conditioning import Proposals, mass_of_sets, mixture
from sklar.model.gaussian.model import GaussianModel
from sklar.model.margins.margin import Margin

Codes = NDArray[np.int32]


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
    cells: Ints
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

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Rows for a condition: those of the cells, drawn by their weights and by the margins of the sets in them.

        What a cell's own dependence makes of the sets is in the weights of its rows.
        """
        keep = np.ones(len(self.weights), dtype=bool)
        for place, column in enumerate(self.small):
            if column in allowed:
                keep &= allowed[column][self.cells[:, place]]
        inner = {self.large.index(column): mask for column, mask in allowed.items() if column not in self.small}
        guesses = self.weights * keep * [mass_of_sets(model.margins, inner) for model in self.models]
        parts = [self._cell_proposals(cell, inner) if guess > 0 else None for cell, guess in enumerate(guesses)]
        return mixture(self.weights, guesses, parts)

    def _cell_proposals(self, cell: int, inner: Mapping[int, Mask]) -> Proposals:
        propose = self.models[cell].proposals(inner)

        def in_cell(rows: int, rng: np.random.Generator) -> tuple[Codes, Floats]:
            codes = np.empty((rows, len(self.margins)), dtype=np.int32, order="F")
            codes[:, self.small] = self.cells[cell]
            codes[:, self.large], log = propose(rows, rng)
            return codes, log

        return in_cell

    def _filled(self, chosen: Ints, rng: np.random.Generator, *, rounded: bool) -> Codes:
        codes = np.empty((len(chosen), len(self.margins)), dtype=np.int32, order="F")
        codes[:, self.small] = self.cells[chosen]
        order = np.argsort(chosen, kind="stable")
        bounds = np.searchsorted(chosen[order], np.arange(len(self.models) + 1))
        for cell, model in enumerate(self.models):
            at = order[bounds[cell] : bounds[cell + 1]]
            if not len(at) or not self.large:
                continue
            found = model.simulate_rounded(len(at), rng) if rounded else model.simulate(len(at), rng)
            codes[at[:, None], np.array(self.large)] = found
        return codes
