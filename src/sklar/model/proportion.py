"""The distribution of rows from a model of votes: a person with m rows has m of them, and one vote.

Where the m rows of a person share one vote, each has 1 / m of the weight of a row that is alone. So the distribution of
rows is that of votes times m, up to a factor: proposals of the model of votes are weighted by m (importance sampling).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.arrays import Floats, Mask
from sklar.model.conditioning import resample_systematically, simulate_given
from sklar.model.margins.margin import Margin
from sklar.model.protocol import Codes, Proposals, RowProposals, RowwiseModel, TableModel

MAX_VOTES_PER_ROW = 8
"""Most votes drawn for one row in proportion: where persons' numbers of rows differ more, a vote gives several rows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InProportion:
    """A model of rows; `votes` is that of votes, and the code of its column `place` is the number of rows less one."""

    votes: TableModel
    place: int

    @property
    def margins(self) -> tuple[Margin, ...]:
        """Those of votes."""
        return self.votes.margins

    @property
    def rows_estimate(self) -> int:
        """The number of persons times the mean number of their rows."""
        distribution = self.margins[self.place].dense()
        return max(
            1,
            round(
                self.votes.rows_estimate
                * float(distribution @ np.arange(1, len(distribution) + 1) / distribution.sum())
            ),
        )

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return independent rows."""
        return simulate_given(self.votes, rows, {self.place: self._shares()}, rng)[0]

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows from evenly drawn votes, each as often as its person has rows; none twice, if that is not too
        many."""
        shares = self._shares()
        mean = float(self.margins[self.place].dense() @ shares)
        votes = int(np.ceil(rows * min(MAX_VOTES_PER_ROW, 1 / max(mean, 1 / MAX_VOTES_PER_ROW))))
        codes = self.votes.simulate_rounded(votes, rng)
        return np.asfortranarray(codes[resample_systematically(shares[codes[:, self.place]], rows, rng)])

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Return those of votes, weighted."""
        return self._weighted(self.votes.proposals(allowed))

    def _weighted(self, propose: Callable[[Any, np.random.Generator], tuple[Codes, Floats]]) -> Any:
        logs = np.log(self._shares())

        def weighted(request: Any, rng: np.random.Generator) -> tuple[Codes, Floats]:
            codes, log = propose(request, rng)
            return codes, log + logs[codes[:, self.place]]

        return weighted

    def _shares(self) -> Floats:
        most = len(self.margins[self.place].dense())
        return np.arange(1, most + 1) / most


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowwiseInProportion(InProportion):
    """Rows in proportion, of a model that can draw each row for its own condition."""

    def row_proposals(self, first: Sequence[int]) -> RowProposals:
        """Return those of votes, weighted."""
        assert isinstance(self.votes, RowwiseModel)
        return self._weighted(self.votes.row_proposals(first))


def in_proportion(model: TableModel, names: Sequence[str], rows_of_person: str | None) -> TableModel:
    """Return the model of rows where the column of this name holds the number of rows of a person; the model itself
    without it."""
    if rows_of_person is None:
        return model
    kind = RowwiseInProportion if isinstance(model, RowwiseModel) else InProportion
    return kind(votes=model, place=list(names).index(rows_of_person))
