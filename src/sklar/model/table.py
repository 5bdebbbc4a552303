"""What every fitted model of a whole table can do: draw rows of base codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sklar.model.margin import Margin

Codes = npt.NDArray[np.int32]
"""Base codes, one row of the array per synthetic row, one column per modelled column (Fortran order)."""


class TableModel(Protocol):
    """A joint distribution over the base codes of all modelled columns."""

    @property
    def margins(self) -> tuple[Margin, ...]:
        """One margin per modelled column, in schema order."""
        ...

    @property
    def rows_estimate(self) -> int:
        """A noisy (or public) number of rows, the default size of a sample."""
        ...

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Independent rows."""
        ...

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Rows with the same law in expectation but less sampling noise: their tables follow the model closely."""
        ...

    def simulate_given(
        self, rows: int, allowed: Mapping[int, npt.NDArray[np.bool_]], rng: np.random.Generator
    ) -> tuple[Codes, float]:
        """Independent rows whose codes are allowed (column position -> mask over base codes), and the effective
        sample size behind them."""
        ...
