"""A fit as post-processing knows it: the public settings, the releases and the model, without rows or ledgers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.unit import Unit
from sklar.model.linked import LinkedModel
from sklar.model.protocol import TableModel
from sklar.release.values import Recorded
from sklar.sample.rng import generator
from sklar.schema.prior import PublicPrior
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """All that is needed to fit a model once more from its releases.

    Attributes:
        schema: What the model is over: the declared columns, or what public rules leave of them.
        method: Name of the method.
        options: Its options, as plain data.
        allowance: What the fit might spend.
        unit: Whom it protects.
        public_rows: The number of rows where it is public, else None.
        seed: That of the post-processing.
        recorded: Every release that the model was made from, step by step.
        held: What was held back to check it, if anything.
        check_share: The share of the whole allowance that was spent on that; `allowance` is the rest.
        whole: The whole allowance.
        model: What was made of them.
        prior: Counts of a public table that it leaned on, or None.
        stream: Of one of several tables that were fitted side by side, its place and how many there are.
        known: Its columns that are known whenever a row of it is drawn.
    """

    schema: Schema
    method: str
    options: Mapping[str, Any]
    allowance: Allowance
    unit: Unit
    public_rows: int | None
    seed: int
    recorded: tuple[Recorded, ...]
    model: TableModel
    prior: PublicPrior | None = None
    held: Recorded | None = None
    check_share: float = 0.0
    whole: Allowance
    stream: tuple[int, int] | None = None
    known: frozenset[str] = frozenset()

    @property
    def rows(self) -> float:
        """The noisy (or public) number of rows."""
        return float(self.model.rows_estimate)

    def rows_behind(self, columns: Sequence[int]) -> float:
        """The number of rows in a table of counts; where several tables tell persons, votes in that of its columns."""
        if not isinstance(self.model, LinkedModel):
            return self.rows
        first = 0
        for part in self.model.parts:
            first += len(part.margins)
            if columns[0] < first:
                return float(part.rows_estimate)
        raise LookupError("the model has no such column")

    def streams(self) -> tuple[np.random.Generator, np.random.Generator]:
        """The generator that the method was handed, and the one that chose what is held back."""
        rng = generator(self.seed)
        if self.stream is not None:
            rng = rng.spawn(self.stream[1])[self.stream[0]]
        return rng, rng.spawn(1)[0] if self.check_share else rng
