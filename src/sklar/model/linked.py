"""Persons whose rows follow one another: a model of first rows, and one of steps from a row to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Mask
from sklar.model.conditioning import by_rejection
from sklar.model.margins.margin import Margin
from sklar.model.protocol import Codes, Proposals, TableModel


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedModel:
    """Two tables side by side, each under its name. As a table model they are independent of each other: persons are
    drawn from them by `sklar.sample.persons`, which starts with the first and goes on with the second.

    Attributes:
        names: What the tables are called, before the names of their columns.
        first: The model of first rows, one a person.
        steps: The model of steps.
    """

    names: tuple[str, str]
    first: TableModel
    steps: TableModel

    @property
    def margins(self) -> tuple[Margin, ...]:
        """Those of the first rows, then those of the steps."""
        return tuple(
            replace(margin, column=f"{name}: {margin.column}")
            for name, model in zip(self.names, (self.first, self.steps), strict=True)
            for margin in model.margins
        )

    @property
    def persons_estimate(self) -> int:
        """A noisy number of persons (the exact one where it is public)."""
        return self.first.rows_estimate

    @property
    def mean_rows(self) -> float:
        """Rows of a person, as the last margin of first rows tells."""
        shares = self.first.margins[-1].dense()
        return float(shares @ np.arange(1, len(shares) + 1)) / float(shares.sum())

    @property
    def rows_estimate(self) -> int:
        """A noisy number of rows that are used."""
        return max(round(self.persons_estimate * self.mean_rows), 1)

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """First rows and steps side by side."""
        return np.asfortranarray(np.hstack([self.first.simulate(rows, rng), self.steps.simulate(rows, rng)]))

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """The same with less sampling noise."""
        parts = [self.first.simulate_rounded(rows, rng), self.steps.simulate_rounded(rows, rng)]
        return np.asfortranarray(np.hstack([parts[0], parts[1][rng.permutation(rows)]]))

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Rows as they come."""
        return by_rejection(self, allowed)
