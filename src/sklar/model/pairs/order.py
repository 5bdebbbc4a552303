"""Amounts of which one is hardly ever above the other: a family restricted to one side of the line of equal values.

What is owed on a house is at most its worth, whatever the copula: no family has such an edge, which runs through the
cells of a table. Whether it is there is told by the released table, as any other shape is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats
from sklar.model.axis import Tops
from sklar.model.pairs.copula import fit_margins
from sklar.model.pairs.hints import Pair

ABOVE = 0.005
"""Of the density beyond the line this part is left: the order is seldom without exception."""
PRICE = 6.0
"""Chi-square that the order must gain over a family alone; a table of tied amounts gains 9 to 28 at epsilon 1."""
LEAST_TAU = 0.35
"""Weaker dependence leaves so much room on both sides that no order is looked for."""
NEARLY = (0.005, 0.3)
"""An order is looked for if the free family has this much mass beyond the line: less needs none, more has none."""
_STEPS = (np.arange(8) + 0.5) / 8
"""Places inside a cell at which values are compared."""
_SWEEPS = 15


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FineGrid:
    """The fine cells of a pair: cut points on both axes, the values there, where values end, and their table cells.

    Attributes:
        edges: Cut points of the two axes.
        values: Values at the cut points; None where the two cannot be compared.
        tops: Where values end and nulls begin.
        places: Group of the table that each fine interval lies in, for both axes.
    """

    edges: Pair
    values: Pair | None
    tops: Tops
    places: tuple[np.ndarray, np.ndarray]

    def coarse(self, shape: Floats, size: tuple[int, ...]) -> Floats:
        """The masses of the table's cells."""
        table = np.zeros(size)
        np.add.at(table, (self.places[0][:, None], self.places[1][None, :]), shape)
        return table

    def above(self) -> Floats:
        """The part of each fine cell in which the first value is above the second; 0 where one is null."""
        assert self.values is not None
        first, second = (v[:-1, None] + np.diff(v)[:, None] * _STEPS for v in self.values)
        share = np.mean(first[:, None, :, None] > second[None, :, None, :], axis=(2, 3))
        return np.where(self.filled(), share, 0.0)

    def filled(self) -> np.ndarray:
        """Whether a fine cell holds values of both columns."""
        first, second = ((e[1:] + e[:-1]) / 2 < top for e, top in zip(self.edges, self.tops, strict=True))
        return np.outer(first, second)


def restricted(shape: Floats, beyond: Floats, edges: Pair) -> Floats:
    """A copula's fine cells with little left beyond a line, and the same margins."""
    kept = shape * (1.0 - (1.0 - ABOVE) * beyond)
    return fit_margins(kept, np.diff(edges[0]), np.diff(edges[1]), _SWEEPS)


def fit_order(
    grid: FineGrid, free: Floats, shapes: Iterable[Callable[[], Floats]], misfit: Callable[[Floats], float]
) -> tuple[int, Floats] | None:
    """The best of restricted shapes, as (its number, its fine cells), if the order is worth its price.

    Args:
        grid: The fine cells.
        free: Those of the best family without an order.
        shapes: Fine cells of the families to try.
        misfit: Chi-square of fine cells.
    """
    above = grid.above()
    lines = [line for line in (above, np.where(grid.filled(), 1.0 - above, 0.0)) if _nearly(float((free * line).sum()))]
    if not lines:
        return None
    best, found = misfit(free) - PRICE, None
    for number, shape in enumerate(shapes):
        masses = shape()
        for line in lines:
            tried = restricted(masses, line, grid.edges)
            if (distance := misfit(tried)) < best:
                best, found = distance, (number, tried)
    return found


def _nearly(mass: float) -> bool:
    return NEARLY[0] < mass < NEARLY[1]
