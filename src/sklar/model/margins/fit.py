"""From released histograms of one column to its margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.model.margins.bins import COARSE_CELLS, BinLayout
from sklar.model.margins.density import FittedCells, fit_density
from sklar.model.margins.likelihood import CellSupport, KnownTotal, Observation
from sklar.model.margins.margin import Margin
from sklar.model.margins.transforms import clip_and_normalize, project_to_simplex

_WIDTH_TOLERANCE = 0.02
"""Neighbouring codes whose widths differ by less share a margin cell: integer grids round their cells."""
_MIN_RELATIVE_WIDTH = 1e-250
"""Codes of relative widths below this hold no number, or a single real."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Histogram:
    """One released histogram of a column: the bin of every base code, noisy counts, and the noise deviation of each."""

    lookup: Ints
    counts: Floats
    sigma: float

    def on(self, layout: BinLayout) -> Histogram:
        """Return a histogram where every code is counted with its anchor; bins without any number are dropped."""
        lookup = self.lookup.copy()
        lookup[: layout.values] = lookup[layout.anchor]
        bins, lookup = np.unique(lookup, return_inverse=True)
        return Histogram(lookup=lookup.astype(np.int64), counts=self.counts[bins], sigma=self.sigma)


def pool_total(histograms: Sequence[Histogram], before: KnownTotal) -> KnownTotal:
    """Return the number of rows by inverse variance: every histogram sums to it, with bins * sigma^2 of noise."""
    if before.sigma == 0:
        return before
    weight, value = before.sigma**-2.0, before.rows * before.sigma**-2.0
    for seen in histograms:
        precision = 1.0 / (len(seen.counts) * seen.sigma**2)
        weight, value = weight + precision, value + precision * float(seen.counts.sum())
    if weight <= 0:
        return KnownTotal(rows=1.0, sigma=1.0)
    return KnownTotal(rows=max(value / weight, 1.0), sigma=weight**-0.5)


def fit_cells(
    layout: BinLayout,
    starts: Ints,
    atoms: Ints,
    histograms: Sequence[Histogram],
    total: KnownTotal,
    more: Sequence[Observation] = (),
) -> FittedCells:
    """Return the probability of every cell (a run of base codes from its start) by smooth density, given all
    histograms.

    Atoms are value codes that are cells of their own and outside the smooth chain. More may be known of the cells.
    """
    edges = np.append(starts, layout.size)
    width = np.diff(np.concatenate([[0.0], np.cumsum(layout.width)])[np.minimum(edges, layout.values)])
    middle = np.cumsum(width) - width / 2.0
    chained = chained_cells(layout, starts, atoms)
    support = CellSupport(width=width, position=COARSE_CELLS * middle / max(width.sum(), 1e-300), chained=chained)
    seen = [*(observe(starts, layout.size, histogram) for histogram in histograms), *more]
    null = None if layout.null is None else len(starts) - 1
    return fit_density(support, seen, total, rare=np.isin(starts, layout.rare), null=null, absent=layout.absent)


def chained_cells(layout: BinLayout, starts: Ints, atoms: Ints) -> Mask:
    """Return which cells are part of the smooth chain: ordered ones that are neither atoms nor codes after the
    values."""
    return (starts < layout.values) & ~np.isin(starts, atoms) & layout.ordered


def observe(starts: Ints, size: int, seen: Histogram) -> Observation:
    """Return a histogram in terms of cells: bins that cut through a cell are added up until none does."""
    widths = np.diff(np.append(starts, size))
    if len(seen.counts) == size:  # one bin per base code, so a cell is the sum of its own
        sigma = seen.sigma * np.sqrt(widths)
        return Observation(parent=np.arange(len(starts)), counts=np.add.reduceat(seen.counts, starts), sigma=sigma)
    first = seen.lookup[starts]
    owner = np.repeat(first, widths)
    bins = len(seen.counts)
    if np.array_equal(owner, seen.lookup):
        return Observation(parent=first, counts=seen.counts, sigma=np.full(bins, seen.sigma))
    from scipy.sparse import coo_array  # not at import time: scipy.sparse is slow to load
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(size), (seen.lookup, owner)), shape=(bins, bins))
    pieces, merged = connected_components(links, directed=False)
    sigma = seen.sigma * np.sqrt(np.bincount(merged, minlength=pieces))
    counts = np.bincount(merged, seen.counts, minlength=pieces).astype(np.float64)
    return Observation(parent=merged[first].astype(np.int64), counts=counts, sigma=sigma)


def repair_counts(seen: Histogram, total: KnownTotal, repair: str) -> Floats:
    """Return the probability of every bin of one histogram by a simple repair: "simplex" or "clip"."""
    return project_to_simplex(seen.counts, total.rows) if repair == "simplex" else clip_and_normalize(seen.counts)


def spread(name: str, layout: BinLayout, lookup: Ints, mass: Floats, cuts: Ints | None = None) -> Margin:
    """Return the margin that spreads the mass of each group over its base codes in proportion to their widths.

    Cells of the margin are the runs of codes of one group, (nearly) one width and one label of `cuts` (of the value
    codes), so every released lookup that the groups and the cuts refine is constant on them.
    """
    width = np.ones(layout.size)
    width[: layout.values] = layout.width / layout.width.max()
    # Codes without any number get nothing, unless their group holds none at all.
    width = np.where(
        np.bincount(lookup, width)[lookup] < _MIN_RELATIVE_WIDTH, 1.0, np.where(width < _MIN_RELATIVE_WIDTH, 0.0, width)
    )
    groups = np.bincount(lookup, width)
    ratio = np.abs(np.diff(width)) > _WIDTH_TOLERANCE * np.maximum(width[1:], width[:-1])
    change = (np.diff(lookup) != 0) | ratio
    if cuts is not None:
        change[: layout.values - 1] |= np.diff(cuts) != 0
    starts = np.concatenate([[0], np.flatnonzero(change) + 1])
    share = np.add.reduceat(width, starts) / groups[lookup[starts]]
    return Margin(column=name, starts=starts, mass=mass[lookup[starts]] * share, size=layout.size)
