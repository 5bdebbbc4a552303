"""How one column of COPULA-SHIRLEY is read off the uniforms of its vine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShirleyColumn:
    """The levels of a column in the order of their codes after encoding.

    A column of one level has no variable in the vine. A column with one variable inverts its cumulative distribution:
    levels of equal encoded value lie side by side and share a step in proportion to their counts. A column with one
    variable per level (one-hot) takes the level whose indicator stands out most: u_k is compared, as a normal score,
    with the threshold above which the indicator of level k is one, and `offsets` make the shares come out right.

    Attributes:
        first: Position of its first variable in the vine.
        variables: 0 for a constant, 1 for an ordered axis, or the number of levels.
        codes: Base code of every level, in order.
        edges: Cumulative probability at the borders of the levels, 0 first and 1 last.
        offsets: One per level for one-hot columns, else empty.
    """

    first: int
    variables: int
    codes: Codes
    edges: Floats
    offsets: Floats

    def decode(self, uniforms: Floats) -> Codes:
        """Base codes of rows, from the uniforms of all variables (one line a row)."""
        if self.variables == 0:
            return np.full(len(uniforms), self.codes[0], dtype=np.int32)
        if self.variables == 1:
            return self.at(uniforms[:, self.first])
        return self.codes[np.argmax(self.scores(uniforms) + self.offsets, axis=1)]

    def at(self, u: Floats) -> Codes:
        """The code whose step of the cumulative distribution holds u."""
        return self.codes[np.searchsorted(self.edges[1:-1], u, side="right")]

    def scores(self, uniforms: Floats) -> Floats:
        """How far each indicator exceeds its threshold, as normal scores: z(u_k) - z(1 - p_k)."""
        from scipy.special import ndtri

        own = np.clip(uniforms[:, self.first : self.first + self.variables], 1e-12, 1 - 1e-12)
        return ndtri(own) - ndtri(1.0 - np.diff(self.edges))
