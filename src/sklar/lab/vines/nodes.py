"""Columns on their way through the trees: conditional ranks of the rows, and pairs of them ready for a fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sklar.lab.vines.members import cell_edges

Floats = NDArray[np.float64]
EPSILON = 1e-10
GOLDEN = 0.6180339887498949
STEPS = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """One column given some others, row by row.

    Attributes:
        u: P(X <= x | ...).
        lower: P(X < x | ...) of a discrete column, else None.
    """

    u: Floats
    lower: Floats | None = None

    @property
    def kind(self) -> str:
        """As pyvinecopulib writes it."""
        return "c" if self.lower is None else "d"

    def spread(self) -> Floats:
        """One rank a row; those of a discrete column lie evenly inside its steps."""
        if self.lower is None:
            return self.u
        part = np.modf(GOLDEN * np.arange(1, len(self.u) + 1))[0]
        return self.lower + part * (self.u - self.lower)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankPoints:
    """Rows, or cells of like rows, at which a pair copula's density is evaluated.

    Attributes:
        at: The layout of pyvinecopulib: both values, then the lower limits of the discrete ones.
        weights: Rows behind each point; None for one each.
        kinds: "c" or "d" for both columns.
    """

    at: Floats
    weights: Floats | None
    kinds: tuple[str, str]


def layout(first: Node, second: Node, *, upper: bool = True) -> Floats:
    """Values of a pair, then lower limits of its discrete columns; `upper=False` puts those in place of the values."""
    lows = [node.lower for node in (first, second) if node.lower is not None]
    values = [node.u if upper or node.lower is None else node.lower for node in (first, second)]
    return np.asfortranarray(np.clip(np.column_stack([*values, *lows]), EPSILON, 1 - EPSILON))


def rows_as_points(first: Node, second: Node) -> RankPoints:
    """One point a row; where many rows agree exactly, one a group of them."""
    values = layout(first, second)
    order = np.lexsort(values.T)
    new = np.append(True, (np.diff(values[order], axis=0) != 0).any(axis=1))
    if 2 * new.sum() > len(values):
        return RankPoints(at=values, weights=None, kinds=(first.kind, second.kind))
    weights = np.diff(np.append(np.flatnonzero(new), len(values))).astype(np.float64)
    return RankPoints(at=np.asfortranarray(values[order[new]]), weights=weights, kinds=(first.kind, second.kind))


def cells_as_points(first: Node, second: Node, cells: int) -> RankPoints:
    """Rows that agree in the cells of all their limits become one point at their mean."""
    values = layout(first, second)
    key = np.zeros(len(values), dtype=np.int64)
    for column in values.T:
        key = key * cells + cell_of(column, cells)
    _, group = np.unique(key, return_inverse=True)
    weights = np.bincount(group).astype(np.float64)
    means = np.column_stack([np.bincount(group, weights=column) / weights for column in values.T])
    return RankPoints(at=np.asfortranarray(means), weights=weights, kinds=(first.kind, second.kind))


def counts_of(first: Node, second: Node, cells: int) -> Floats:
    """Rows in each cell of the grid."""
    from sklar.lab.kernels import count_cells

    return count_cells(first.spread(), second.spread(), _lookup(cells), cells)


def cell_of(u: Floats, cells: int) -> NDArray[np.int64]:
    """Cell of each value."""
    return _lookup(cells)[np.minimum((u * STEPS).astype(np.int64), STEPS - 1)]


@lru_cache(maxsize=4)
def _lookup(cells: int) -> NDArray[np.int64]:
    middle = (np.arange(STEPS) + 0.5) / STEPS
    return np.clip(np.searchsorted(cell_edges(cells), middle, side="right") - 1, 0, cells - 1)
