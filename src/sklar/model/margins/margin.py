"""One margin: the distribution of a single column over its public base codes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sklar.arrays import Floats, Ints, Mask
from sklar.errors import UsageError

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Margin:
    """A distribution over base codes 0..size-1, constant inside runs of codes (cells).

    Missing values and unlisted categories are codes like any other.

    Attributes:
        starts: First base code of each cell, increasing, beginning with 0.
        mass: Probability of each cell; scaled to sum to one.
        decimals: Digits after the point that its numbers were found to have; None if they were declared, or not found.
        heaping: Units (as 100) that parts of its numbers were found to be multiples of, and these parts; the rest, if
            any, is spread over all numbers.
    """

    column: str
    starts: Ints
    mass: Floats
    size: int
    decimals: int | None = None
    heaping: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        starts = np.asarray(self.starts, dtype=np.int64)
        mass = np.asarray(self.mass, dtype=np.float64)
        if starts.ndim != 1 or starts.shape != mass.shape or starts.size == 0:
            raise UsageError("A margin needs one start and one mass per cell.")
        if starts[0] != 0 or starts[-1] >= self.size or np.any(np.diff(starts) <= 0):
            raise UsageError("Cells of a margin start at code 0 and increase within the column.")
        total = float(mass.sum())
        if not np.isfinite(total) or total <= 0 or np.any(mass < 0):
            raise UsageError("Masses of a margin are non-negative and have a positive, finite sum.")
        object.__setattr__(self, "starts", starts)
        # What sums to one already keeps its bits: a margin that is written and read again is the same margin.
        object.__setattr__(self, "mass", mass if abs(total - 1.0) < _ROUNDING else mass / total)

    def widths(self) -> Ints:
        """Return the number of base codes in each cell."""
        return np.diff(self.starts, append=self.size)

    def dense(self) -> Floats:
        """Return the probability of every base code."""
        widths = self.widths()
        return np.repeat(self.mass / widths, widths)

    def edges(self) -> Floats:
        """Return the cumulative probability at the cell borders: 0 first, exactly 1 last."""
        return compute_cumulative(self.mass)

    def ppf(self, u: ArrayLike) -> Ints:
        """Return the base code whose share of [0, 1) holds u; codes without mass are never returned."""
        u = np.asarray(u, dtype=np.float64)
        edges, widths = self.edges(), self.widths()
        last = int(np.flatnonzero(self.mass)[-1])
        cell = np.clip(np.searchsorted(edges, u, side="right") - 1, 0, last)
        cell = np.where(self.mass[cell] > 0, cell, np.flatnonzero(self.mass)[0])  # u below 0 before a first empty cell
        inside = (u - edges[cell]) / self.mass[cell] * widths[cell]
        return self.starts[cell] + np.clip(inside, 0, widths[cell] - 1).astype(np.int64)


def heaping_of(margins: Iterable[Margin]) -> dict[str, tuple[tuple[float, float], ...]]:
    """Return how the numbers of columns are rounded, of those where some are rounder than others."""
    return {margin.column: margin.heaping for margin in margins if margin.heaping}


def u_edges(margin: Margin) -> Floats:
    """Return borders of every base code on the u scale: code c owns [edges[c], edges[c+1])."""
    widths = margin.widths()
    edges = margin.edges()
    offset = np.arange(margin.size) - np.repeat(margin.starts, widths)
    out = np.empty(margin.size + 1)
    out[:-1] = np.repeat(edges[:-1], widths) + offset * np.repeat(margin.mass / widths, widths)
    out[-1] = 1.0
    return np.minimum(out, 1.0)


def margin_from_dense(column: str, probabilities: Floats, tolerance: float = 1e-9) -> Margin:
    """Return a margin from one probability per base code; neighbours equal up to `tolerance` share a cell."""
    p = np.asarray(probabilities, dtype=np.float64)
    change = np.abs(np.diff(p)) > tolerance * np.maximum(p[1:], p[:-1])
    starts = np.concatenate([[0], np.flatnonzero(change) + 1])
    return Margin(column=column, starts=starts, mass=np.add.reduceat(p, starts), size=len(p))


def restrict(margin: Margin, allowed: Mask) -> Margin:
    """Return the margin given that the base code is one of the allowed."""
    return margin_from_dense(margin.column, np.where(allowed, margin.dense(), 0.0))


def compute_cumulative(mass: Floats) -> Floats:
    """Return the cumulative share at the borders of masses of any sum: 0 first, exactly 1 last."""
    edges = np.concatenate([[0.0], np.cumsum(mass)])
    edges /= edges[-1]
    return edges
