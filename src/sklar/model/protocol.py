"""What every fitted model of a whole table can do: draw rows of base codes, also rows for a condition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, Mask
from sklar.model.margins.margin import Margin

Codes = NDArray[np.int32]
"""Base codes, one line per synthetic row, one column per modelled column in schema order (Fortran order)."""

Proposals = Callable[[int, np.random.Generator], tuple[Codes, Floats]]
"""Draws a number of independent rows for one condition, with their log-weights (see `sklar.model.conditioning`). Rows
outside the sets may be among them: they are left out for any weight."""


RowProposals = Callable[[Codes, np.random.Generator], tuple[Codes, Floats]]
"""Draws one row for each given one, whose known codes it keeps (UNKNOWN_CODE stands for the others), with log-weights
as above. All proposals for one row have one factor in common."""

UNKNOWN_CODE = -1
"""The code of a value that is to be drawn."""


class TableModel(Protocol):
    """A joint distribution over the base codes of all modelled columns."""

    @property
    def margins(self) -> tuple[Margin, ...]:
        """One margin per modelled column, in schema order."""
        ...

    @property
    def rows_estimate(self) -> int:
        """A noisy (or public) number of rows, at least 1: the default size of a sample."""
        ...

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return independent rows."""
        ...

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows with the same distribution in expectation but less sampling noise: their tables follow the model
        closely."""
        ...

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Return proposals for rows whose codes are allowed (column position -> mask over base codes)."""
        ...


@runtime_checkable
class RowwiseModel(TableModel, Protocol):
    """A model that can draw each row for its own condition."""

    def row_proposals(self, first: Sequence[int]) -> RowProposals:
        """Return proposals for rows of which some codes are known; `first` names the columns that most of them know."""
        ...


@runtime_checkable
class InParts(Protocol):
    """A model that takes long over many rows, and has them part by part."""

    def rounded_parts(self, rows: int, rng: np.random.Generator) -> Iterator[Codes]:
        """Return the rows of `simulate_rounded`."""
        ...


def join_proposals(parts: Iterable[Codes], rows: int, columns: int) -> Codes:
    """Return the codes of all parts, column after column in memory."""
    result, filled = np.empty((0, columns), dtype=np.int32), 0
    for part in parts:
        result = result if filled else np.empty((rows, columns), dtype=np.int32, order="F")
        result[filled : filled + len(part)] = part
        filled += len(part)
    return result
