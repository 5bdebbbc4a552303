"""Margins of a table with few rows, from one or two noisy histograms a column; atoms, nulls and bounds stand apart.

The first histogram has public bins: 32 and singled-out values for numbers, else every base code. The second has bins of
about equal mass by the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import cast

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.model.margins.averaged import KINDS, QUICK_KINDS, Bins, average_models, fit_models, pooled_weights
from sklar.model.margins.density import fit_density
from sklar.model.margins.likelihood import CellSupport, KnownTotal, Observation
from sklar.model.margins.margin import Margin, cumulative, margin_from_dense
from sklar.schema.columns import Column
from sklar.schema.grid import Grid
from sklar.schema.numbers import Integer

FIRST_CELLS = 32
"""Coarse cells of numbers: more show finer shapes, and each carries the same noise on fewer rows."""
UNIT_CELLS = 40
"""Integer columns with at most this many base codes are counted code by code."""
SECOND_BINS = 8
"""Bins of the second histogram, of about equal mass: more follow the shape closer, with more noise in all."""
OTHER_SIGMAS = 3.0
"""Unlisted values keep their code only when it holds more than this many standard deviations of noise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FirstCells:
    """How the base codes of a column are counted first: numbers on 32 coarse cells, else every base code.

    Attributes:
        parent: Bin of each base code; bins are numbered without gaps.
        widths: For numbers on coarse cells, the width of each value code as a share of the range; else None.
        chain: For numbers on coarse cells, the bin that each value code shares with its neighbours, were it no atom.
        atoms: Value codes that have a bin of their own and may turn out to be heavy.
        values: Number of value codes; the codes after them are `other` and null.
        other: Base code of unlisted values, or -1.
        ordered: Whether neighbouring value codes are alike.
    """

    parent: Ints
    widths: Floats | None
    chain: Ints
    atoms: Ints
    values: int
    other: int
    ordered: bool

    @property
    def size(self) -> int:
        """Number of base codes."""
        return len(self.parent)

    @property
    def coarse(self) -> bool:
        """Whether several base codes share a bin, so that a second, finer look pays."""
        return self.widths is not None


def first_cells(column: Column) -> FirstCells:
    """The first bins of a column: functions of the schema alone."""
    other = -1 if column.other_code is None else column.other_code
    if column.numeric:
        grid = cast(Integer, column).grid
        if not (grid.integer and grid.cells <= UNIT_CELLS) and grid.cells > 3:
            return _coarse(grid, column.size, other)
    return FirstCells(
        parent=np.arange(column.size),
        widths=None,
        chain=np.zeros(0, np.int64),
        atoms=np.zeros(0, np.int64),
        values=column.value_cells,
        other=other,
        ordered=column.ordered and column.value_cells > 2,
    )


def _coarse(grid: Grid, size: int, other: int) -> FirstCells:
    widths = grid.widths / grid.widths.sum()
    single = _singled_out(grid)
    starts = np.cumsum(widths) - widths
    regular = np.flatnonzero(~single)
    cell = np.minimum((starts[regular] * FIRST_CELLS + 1e-9).astype(np.int64), FIRST_CELLS - 1)
    used, bins = np.unique(cell, return_inverse=True)
    # An atom sits in the bin of the regular code before it (or after it, at the lower end).
    before = np.maximum(np.searchsorted(regular, np.arange(grid.cells), side="right") - 1, 0)
    chain = bins[before]
    parent = np.empty(size, np.int64)
    parent[: grid.cells] = np.where(single, len(used) + np.cumsum(single) - 1, chain)
    parent[grid.cells :] = len(used) + single.sum() + np.arange(size - grid.cells)
    atoms = np.flatnonzero(single)
    return FirstCells(
        parent=parent, widths=widths, chain=chain, atoms=atoms, values=grid.cells, other=other, ordered=True
    )


def _singled_out(grid: Grid) -> Mask:
    """Atoms of the schema, and both bounds of an integer range, where clipped values land."""
    single = grid.is_atom.copy()
    if grid.integer:
        single[[0, -1]] |= grid.widths[[0, -1]] == 1
    if single.all():
        single[:] = False
    return single


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FewRowsHistogram:
    """A released histogram: noisy counts of all bins and their common noise standard deviation."""

    counts: Floats
    sigma: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitMargin:
    """A coarse numeric column after its first release: what is smooth, and what stands apart.

    Attributes:
        apart: Base codes outside the smooth chain: kept atoms, a kept `other`, null.
        axis: Where each value code starts on [0, 1] when kept atoms have no width, and 1 at the end.
        first: The first histogram; light atoms are merged into the chain.
    """

    cells: FirstCells
    apart: Ints
    axis: Floats
    first: Bins


def split_first(cells: FirstCells, seen: FewRowsHistogram) -> SplitMargin:
    """Keep the atoms that rise above the noise; merge the others into their neighbours.

    The threshold grows with the number of candidates m as sigma (sqrt(2 log m) + 2.3): 3.5 sigma for two bounds.
    """
    assert cells.widths is not None
    threshold = seen.sigma * (sqrt(2 * log(max(len(cells.atoms), 1))) + 2.3)
    counts = seen.counts[cells.parent[cells.atoms]]
    kept = cells.atoms[counts > threshold]
    apart = np.concatenate([kept, _outside(cells, seen)])
    widths = cells.widths.copy()
    widths[kept] = 0.0
    return SplitMargin(cells=cells, apart=apart, axis=cumulative(widths), first=_first_bins(cells, seen, kept, apart))


def second_lookup(split: SplitMargin, margin: tuple[Ints, Floats]) -> tuple[Ints, Ints]:
    """(edges, lookup): about equal-mass bins of the value codes, then the cells apart, then anything left over."""
    edges, mass = margin
    rising = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
    rising += 1e-12 * np.arange(len(rising))
    wanted = np.interp(np.arange(1, SECOND_BINS) / SECOND_BINS, rising, split.axis[edges])
    inner = np.unique(np.searchsorted(split.axis, wanted))
    inner = inner[(split.axis[inner] > 1e-9) & (split.axis[inner] < 1 - 1e-9)]
    codes = np.concatenate([[0], inner, [split.cells.values]])
    lookup = np.full(split.cells.size, len(codes) - 1 + len(split.apart))
    lookup[: split.cells.values] = np.searchsorted(inner, np.arange(split.cells.values), side="right")
    lookup[split.apart] = len(codes) - 1 + np.arange(len(split.apart))
    return codes, lookup


def second_bins(split: SplitMargin, edges: Ints, seen: FewRowsHistogram) -> Bins:
    """The second release as bins: the left-over bin, if any, is dropped."""
    used = len(edges) - 1 + len(split.apart)
    return Bins(edges=edges, counts=seen.counts[:used], sigma=np.full(used, seen.sigma))


def smooth_margins(
    splits: Mapping[str, SplitMargin],
    second: Mapping[str, Bins],
    total: KnownTotal,
    more: Mapping[str, tuple[Bins, ...]] | None = None,
) -> dict[str, tuple[Ints, Floats, Floats]]:
    """(edges, masses between them, masses apart) of every coarse column; model weights are pooled over the columns.

    Without second histograms the result only serves to place their bins, and fewer models are tried. More may be known
    of the bins of the first.
    """
    kinds = KINDS if second else QUICK_KINDS
    seen = {name: [split.first, second[name]] if name in second else [split.first] for name, split in splits.items()}
    known = more or {}
    fits = {n: fit_models(split.axis, [*seen[n], *known.get(n, ())], total, kinds) for n, split in splits.items()}
    if not fits:
        return {}
    evidence = np.array([[-np.inf if f is None else f.log_evidence for f in fit] for fit in fits.values()])
    weights = pooled_weights(evidence)
    return {
        name: average_models(splits[name].axis, len(splits[name].apart), fits[name], w)
        for name, w in zip(fits, weights, strict=True)
    }


def coarse_margin(name: str, split: SplitMargin, fitted: tuple[Ints, Floats, Floats]) -> Margin:
    """The margin over base codes: chain masses spread by width, the cells apart exact, light atoms without mass."""
    edges, mass, apart = fitted
    cells = split.cells
    cuts = np.concatenate([edges[:-1], cells.atoms, cells.atoms + 1, np.arange(cells.values, cells.size)])
    starts = np.unique(cuts[cuts < cells.size])
    ends = np.append(starts[1:], cells.size)
    rising = np.concatenate([[0.0], np.cumsum(mass)])
    chain = np.minimum(np.stack([starts, ends]), cells.values)
    out = np.diff(np.interp(split.axis[chain], split.axis[edges], rising), axis=0)[0]
    out[np.searchsorted(starts, split.apart)] = apart
    return Margin(column=name, starts=starts, mass=np.maximum(out, 0.0), size=cells.size)


def bin_lookup(split: SplitMargin, edges: Ints) -> Ints:
    """The bin of each base code in a histogram with these edges and the cells apart last; -1 for none."""
    lookup = np.full(split.cells.size, -1)
    values = np.arange(split.cells.values)
    lookup[: split.cells.values] = np.searchsorted(edges[1:-1], values, side="right")
    lookup[split.apart] = len(edges) - 1 + np.arange(len(split.apart))
    return lookup


def level_margin(
    name: str,
    cells: FirstCells,
    seen: FewRowsHistogram,
    total: KnownTotal,
    more: tuple[Floats, Floats] | None = None,
) -> Margin:
    """The margin of a column counted code by code: smooth along ordered values, exchangeable otherwise.

    More may be known of each code: counts and their deviations.
    """
    keep = np.concatenate([np.arange(cells.values), _outside(cells, seen)])
    chained = (keep < cells.values) & cells.ordered
    # Positions along the chain: unit steps, compressed to 32nds of the range when there are more than 32 values.
    position = keep.astype(np.float64) * min(1.0, 32.0 / max(cells.values, 1))
    support = CellSupport(width=np.ones(len(keep)), position=position, chained=chained)
    observed = Observation(parent=np.arange(len(keep)), counts=seen.counts[keep], sigma=np.full(len(keep), seen.sigma))
    known = [observed]
    if more is not None:
        known.append(Observation(parent=np.arange(len(keep)), counts=more[0][keep], sigma=more[1][keep]))
    dense = np.zeros(cells.size)
    dense[keep] = fit_density(support, known, total)
    return margin_from_dense(name, dense, tolerance=0.0)


def pool_total(histograms: Sequence[FewRowsHistogram], before: KnownTotal | None) -> KnownTotal:
    """The number of rows by inverse variance: every histogram sums to it, with bins x sigma^2 of noise."""
    if before is not None and before.sigma == 0:
        return before
    rows = [float(h.counts.sum()) for h in histograms] + ([before.rows] if before else [])
    variance = [len(h.counts) * h.sigma**2 for h in histograms] + ([before.sigma**2] if before else [])
    weight = 1.0 / np.maximum(variance, 1e-12)
    mean = float(weight @ rows / weight.sum())
    return KnownTotal(rows=max(mean, 1.0), sigma=float(weight.sum() ** -0.5))


def _outside(cells: FirstCells, seen: FewRowsHistogram) -> Ints:
    """Base codes that are no values: `other` if it rises above the noise, and null."""
    outside = np.arange(cells.values, cells.size)
    light = (outside == cells.other) & (seen.counts[cells.parent[outside]] <= OTHER_SIGMAS * seen.sigma)
    return outside[~light]


def _first_bins(cells: FirstCells, seen: FewRowsHistogram, kept: Ints, apart: Ints) -> Bins:
    bins = int(cells.chain.max()) + 1
    counts, squares = seen.counts[:bins].copy(), np.full(bins, seen.sigma**2)
    merged = np.setdiff1d(cells.atoms, kept)
    np.add.at(counts, cells.chain[merged], seen.counts[cells.parent[merged]])
    np.add.at(squares, cells.chain[merged], seen.sigma**2)
    edges = np.append(np.searchsorted(cells.chain, np.arange(bins)), cells.values)
    beyond = seen.counts[cells.parent[apart]]
    sigma = np.concatenate([np.sqrt(squares), np.full(len(apart), seen.sigma)])
    return Bins(edges=edges, counts=np.concatenate([counts, beyond]), sigma=sigma)
