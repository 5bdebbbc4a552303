"""COPULA-SHIRLEY's model of a table: cumulative distributions of encoded columns, joined by a vine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sklar.arrays import Floats, Mask
from sklar.errors import UnsupportedConditionError
from sklar.model.conditioning import Proposals, by_rejection
from sklar.model.margins.margin import Margin
from sklar.model.rvine.table import Codes, spread_evenly
from sklar.model.rvine.vine import RegularVine, import_pyvinecopulib

BLOCK_ROWS = 100_000
"""Rows that are carried through the vine at a time: memory, and how many Sobol points belong together."""
MAX_SOBOL_VARIABLES = 1_000
"""Vines over more variables are sampled with independent points only; points that fill more dimensions
evenly would have to be far more than are drawn."""


MIN_ACCEPTED_SHARE = 1e-3
"""Least share of rows with an indicator in every column of a one-hot model as published, where others are drawn again:
below, it would draw for ever."""
NO_INDICATOR = -1
"""Stands for the code of a row without any indicator."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShirleyModel:
    """Encoded columns over a vine copula. Its vine was learned from rows without noise.

    Attributes:
        columns: How each column is decoded.
        vine: The vine over the variables of all columns; None if there are fewer than two.
    """

    margins: tuple[Margin, ...]
    columns: tuple[ShirleyColumn, ...]
    vine: RegularVine | None
    rows_estimate: int

    def simulate(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return independent rows as base codes, shape (rows, columns), Fortran order."""
        return self._draw_again(rows, rng) if self._by_indicators else self._draw(rows, rng, even=False)

    def simulate_rounded(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows that leave less to chance. Shifted Sobol points go through the vine in place of independent
        uniforms, so that dependence varies less; then the uniforms of each ordered axis give way to evenly spread ones
        of the same ranks, so that its counts match its margin to rounding."""
        return self._draw_again(rows, rng) if self._by_indicators else self._draw(rows, rng, even=True)

    def proposals(self, allowed: Mapping[int, Mask]) -> Proposals:
        """Return rows for a condition: by rejection."""
        return by_rejection(self, allowed)

    @property
    def _by_indicators(self) -> bool:
        """Whether one-hot rows are read as in the paper's software, where some are read as nothing."""
        return any(column.variables > 1 and not len(column.offsets) for column in self.columns)

    def _draw_again(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return rows until there are enough with a level in every column."""
        kept, found, tried = list[Codes](), 0, 0
        while found < rows:
            drawn = self._draw(max(rows, 1_000), rng, even=False)
            kept.append(drawn[(drawn != NO_INDICATOR).all(axis=1)])
            found, tried = found + len(kept[-1]), tried + len(drawn)
            if found < MIN_ACCEPTED_SHARE * tried:
                raise UnsupportedConditionError(
                    "fewer than one row in a thousand of this one-hot model has a level in every column, and the "
                    "published way is to draw until it has; fit without published=True"
                )
        return np.asfortranarray(np.concatenate(kept)[:rows]) if kept else self._draw(0, rng, even=False)

    def _draw(self, rows: int, rng: np.random.Generator, *, even: bool) -> Codes:
        codes = np.empty((rows, len(self.columns)), dtype=np.int32, order="F")
        for start in range(0, rows, BLOCK_ROWS):
            uniforms = self._uniforms(min(BLOCK_ROWS, rows - start), rng, even=even)
            for position, column in enumerate(self.columns):
                if even and column.variables == 1:
                    drawn = column.at(spread_evenly(uniforms[:, column.first], rng))
                else:
                    drawn = column.decode(uniforms)
                codes[start : start + BLOCK_ROWS, position] = drawn
        return codes

    def _uniforms(self, rows: int, rng: np.random.Generator, *, even: bool) -> Floats:
        """Draws of the vine's variables: independent, or from points that fill the cube evenly, in random order."""
        if self.vine is None:
            return rng.random((rows, max(1, sum(column.variables for column in self.columns))))
        if not even or self.vine.size > MAX_SOBOL_VARIABLES:
            return self.vine.simulate(rows, rng)
        sobol = import_pyvinecopulib().utils.sobol  # SciPy's takes as long to import as this takes to draw the rows
        # The first points of the sequence, their binary digits shifted so that each is uniform on the cube.
        points: Floats = sobol(rows, self.vine.size, rng.integers(0, 2**31 - 1, size=8).tolist())
        return self.vine.from_independent(rng.permutation(points, axis=0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShirleyColumn:
    """The levels of a column in the order of their codes after encoding.

    A column of one level has no variable in the vine. A column with one variable inverts its cumulative distribution:
    levels of equal encoded value lie side by side and share a step in proportion to their counts. A column with one
    variable per level (one-hot) takes the level whose indicator is largest: u_k is compared, as a normal score,
    with the threshold above which the indicator of level k is one, and `offsets` make the shares come out right.
    Without offsets it is read as in the paper's software: the last level whose indicator is one, or none.

    Attributes:
        first: Position of its first variable in the vine.
        variables: 0 for a constant, 1 for an ordered axis, or the number of levels.
        codes: Base code of every level, in order.
        edges: Cumulative probability at the borders of the levels, 0 first and 1 last.
        offsets: One per level for one-hot columns, unless read as published; else empty.
    """

    first: int
    variables: int
    codes: Codes
    edges: Floats
    offsets: Floats

    def decode(self, uniforms: Floats) -> Codes:
        """Return base codes of rows, from the uniforms of all variables (one line a row)."""
        if self.variables == 0:
            return np.full(len(uniforms), self.codes[0], dtype=np.int32)
        if self.variables == 1:
            return self.at(uniforms[:, self.first])
        scores = self.scores(uniforms)
        if len(self.offsets):
            return self.codes[np.argmax(scores + self.offsets, axis=1)]
        last = self.variables - 1 - np.argmax(scores[:, ::-1] > 0, axis=1)
        return np.where((scores > 0).any(axis=1), self.codes[last], NO_INDICATOR).astype(np.int32)

    def at(self, u: Floats) -> Codes:
        """Return the code whose step of the cumulative distribution holds u."""
        return self.codes[np.searchsorted(self.edges[1:-1], u, side="right")]

    def scores(self, uniforms: Floats) -> Floats:
        """Return how far each indicator exceeds its threshold, as normal scores: z(u_k) - z(1 - p_k)."""
        own = np.clip(uniforms[:, self.first : self.first + self.variables], 1e-12, 1 - 1e-12)
        return ndtri(own) - ndtri(1.0 - np.diff(self.edges))
