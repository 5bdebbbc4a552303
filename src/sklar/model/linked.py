"""Longitudinal data of persons: models of first rows and of transitions, side by side."""

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
    """Several tables, each under its name. As a table model they are independent of each other: persons are drawn from
    them by `sklar.sample.persons`, which begins with the first and goes on with the others, each given what is known.

    Attributes:
        names: What the tables are called, before the names of their columns.
        parts: Their models. The last column of the first one is the number of rows of a person.
        fewest: The smallest number of rows of a person.
    """

    names: tuple[str, ...]
    parts: tuple[TableModel, ...]
    fewest: int

    def part(self, name: str) -> TableModel:
        """Return the model of one table."""
        return self.parts[self.names.index(name)]

    @property
    def margins(self) -> tuple[Margin, ...]:
        """Those of all tables, one after the other."""
        return tuple(
            replace(margin, column=f"{name}: {margin.column}")
            for name, model in zip(self.names, self.parts, strict=True)
            for margin in model.margins
        )

    @property
    def persons_estimate(self) -> int:
        """A noisy number of persons (the exact one where it is public)."""
        return self.parts[0].rows_estimate

    @property
    def mean_rows(self) -> float:
        """Rows of a person, on average."""
        shares = self.parts[0].margins[-1].dense()
        return float(shares @ np.arange(self.fewest, self.fewest + len(shares))) / float(shares.sum())

    @property
    def rows_estimate(self) -> int:
        """A noisy number of rows that are used."""
        return max(round(self.persons_estimate * self.mean_rows), 1)

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows of all tables side by side."""
        return np.asfortranarray(np.hstack([model.simulate(rows, rng) for model in self.parts]))

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Draw rows with less sampling noise than independent ones."""
        drawn = [model.simulate_rounded(rows, rng)[rng.permutation(rows)] for model in self.parts]
        return np.asfortranarray(np.hstack(drawn))

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Return rows as they come."""
        return by_rejection(self, allowed)
