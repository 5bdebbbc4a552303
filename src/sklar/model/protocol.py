"""What every fitted model of a whole table can do: draw rows of base codes."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from sklar.model.conditioning import Conditionable

Codes = npt.NDArray[np.int32]
"""Base codes, one row of the array per synthetic row, one column per modelled column (Fortran order)."""


class TableModel(Conditionable, Protocol):
    """A joint distribution over the base codes of all modelled columns."""

    @property
    def rows_estimate(self) -> int:
        """A noisy (or public) number of rows, the default size of a sample."""
        ...

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Rows with the same law in expectation but less sampling noise: their tables follow the model closely."""
        ...
