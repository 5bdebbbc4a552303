"""Which base codes of a column are counted together: public first bins, values singled out, and finer bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.model.margins.nulls import NO_NULLS_PROBABILITY
from sklar.model.margins.units import UnitSearch, units_to_seek
from sklar.schema.columns import Column
from sklar.schema.grid import (
    Grid,
    Unit,
    clip_to_multiples,
    find_multiples,
    find_nearest_multiple,
    get_ratio,
    weigh_multiples,
)
from sklar.schema.numbers import Datetime, Integer, Real

COARSE_CELLS = 32
"""Cells of the first histogram of numbers: more show finer shapes, each with the same noise on fewer rows."""
HALVINGS = 6
"""The coarse cell next to zero, if zero is a bound, is halved so often towards it: bounds that are much too wide crowd
amounts there. No more would show on the 2,048 cells of a real's grid."""
MIN_CROWDED_SHARE = 0.25
"""The halves stay apart in a column with more than this part of its values in them; in others they are noise only."""
MAX_SINGLE_CELLS = 64
"""Numeric columns with at most this many value cells are counted cell by cell; of longer ones two histograms measure
more about shapes, and less about single values."""
MIN_SEARCHED_CELLS = 500
"""Integer columns with more unit cells than this are also searched for heavy single values; and columns with more cells
than this have halves next to zero."""
MAX_ATOMS = 24
"""Values kept as cells of their own, heaviest first."""
MOST_FINE_BINS, MOST_PARTS = 256, 64
"""Bins of the second histogram in all, and of one coarse cell: the density fit is cubic in its cells."""
LEAST_WIDTH, NEXT_TO_NOTHING = 1e-300, 1e-12
"""Width assigned to cells that contain no value, or exactly one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinLayout:
    """How the base codes of a column can be grouped; functions of the schema, and of its unit once that is found.

    Attributes:
        width: Width of every value code in values, relative to the range, or what the numbers that it holds stand for;
            ones for levels.
        anchor: Value code that each value code is always counted with: its own, unless the unit of numbers is known.
        coarse: Coarse cell of every value code by its value; its own number where codes are few.
        whole: The same with the halves of the cell next to zero as one.
        candidate: Value codes that are singled out by the schema (bounds of reals, declared and round values).
        rare: Codes after the values which may well be empty: `other`.
        null: Code of missing values, the last one; None if the column has none.
        absent: Prior probability that no value is missing.
        unit: Whether all value codes hold one integer each.
        units: How to find the unit of its numbers and where they heap; None if that cannot be measured.
    """

    width: Floats
    anchor: Ints
    coarse: Ints
    whole: Ints
    candidate: Mask
    size: int
    rare: Ints
    null: int | None
    ordered: bool
    unit: bool
    absent: float = 0.0
    units: UnitSearch | None = None

    @property
    def values(self) -> int:
        """Number of value codes."""
        return len(self.width)

    @property
    def refined(self) -> bool:
        """Whether several value codes share a coarse cell, so that a second, finer histogram pays."""
        return int(self.coarse[-1]) + 1 < self.values

    @property
    def searched(self) -> bool:
        """Whether heavy single values are looked for at base-code resolution."""
        return self.refined and self.unit and self.values > MIN_SEARCHED_CELLS


def lay_out_column(column: Column) -> BinLayout:
    """Return the public layout of a modelled column."""
    values = column.value_cells
    width, candidate, unit = np.ones(values), np.zeros(values, dtype=bool), False
    coarse = whole = np.arange(values)
    if isinstance(column, Integer | Real | Datetime):
        grid = column.grid
        width = np.maximum(grid.widths, LEAST_WIDTH)
        unit = bool(grid.step and np.allclose(width, grid.step, rtol=1e-9))
        if values > MAX_SINGLE_CELLS:
            zero = _zero_at(column) if values > MIN_SEARCHED_CELLS else 1
            cells, candidate = _coarse_cells(width, zero), grid.is_atom
            coarse, whole = _numbered(cells), _numbered(np.floor(cells))
        width = width / width.sum()
    layout = BinLayout(
        width=width,
        anchor=np.arange(values),
        coarse=coarse,
        whole=whole,
        candidate=candidate,
        size=column.size,
        rare=np.array([] if column.other_code is None else [column.other_code], dtype=np.int64),
        null=column.null_code,
        ordered=column.ordered,
        unit=unit,
        absent=NO_NULLS_PROBABILITY if column.provenance("kind") == "measured" else 0.0,
    )
    if not layout.refined:
        return layout
    return replace(with_unit(layout, column, getattr(column, "decimals", None)), units=units_to_seek(column))


def with_unit(layout: BinLayout, column: Column, unit: Unit | None) -> BinLayout:
    """Return the layout of a column whose numbers are multiples of a unit: no bin of its cuts through one of them."""
    if unit is None or not isinstance(column, Integer | Real):
        return layout
    anchor = find_anchors(column, unit)
    coarse, whole = _numbered(layout.coarse[anchor]), _numbered(layout.whole[anchor])
    layout = replace(layout, anchor=anchor, coarse=coarse, whole=whole)
    return weight_layout(layout, weigh_numbers(column.grid, {unit: 1.0}))


def weight_layout(layout: BinLayout, weight: Floats) -> BinLayout:
    """Return the layout whose value codes are as wide as what they hold weighs; the density is smooth relative to
    that."""
    if not weight.sum() > 0:
        return layout
    width = np.maximum(weight / weight.sum(), LEAST_WIDTH)
    return replace(layout, width=width / width.sum())


def weigh_numbers(grid: Grid, parts: Mapping[Unit | None, float]) -> Floats:
    """Return what each cell of a grid stands for if these parts of the numbers are multiples of these units (None:
    any)."""
    first = grid.starts.astype(np.float64)
    stop = np.append(first[1:], float(grid.stop))
    return np.sum([part * weigh_multiples(first, stop, unit) for unit, part in parts.items()], axis=0)


def unless_crowded(layout: BinLayout, lookup: Ints, counts: Floats) -> BinLayout:
    """Return the layout for the fits: without the halves next to zero, unless the first histogram found many values
    there."""
    halves = np.bincount(layout.whole[np.unique(layout.coarse, return_index=True)[1]])
    bins = lookup[: layout.values]
    near = np.unique(bins[(layout.whole == np.argmax(halves)) & ~layout.candidate])
    crowded = counts[near].sum() > MIN_CROWDED_SHARE * counts[np.unique(bins)].sum()
    return layout if crowded or halves.max() < 2 else replace(layout, coarse=layout.whole)


def first_lookup(layout: BinLayout) -> Ints:
    """Return the bin of every base code in the first histogram: coarse cells, then candidates, then `other` and
    null."""
    return _with_atoms(layout, layout.coarse, np.flatnonzero(layout.candidate))


def finer_lookup(
    layout: BinLayout, atoms: Ints, mass: Floats, part_mass: float, lumps: Mapping[int, float] | None = None
) -> Ints:
    """Return the bin of every base code in the second histogram: heavy cells cut in parts that hold `part_mass` or
    more.

    Light cells are counted in blocks that hold half of it, whose noise is that of one cell for any length: where
    rows are few, these are a few bins of about equal mass. Atoms are value codes kept as cells of their own; `mass` is
    the estimated probability of every cell of `cell_starts(layout, layout.coarse, atoms)`. The coarse cells of `lumps`
    (by the rows in excess) are cut as finely as can be, the largest first, in up to half of the bins: their rows may
    all have one value, and cuts by mass would not show which.
    """
    starts = cell_starts(layout, layout.coarse, atoms)
    ends = np.append(starts[1:], layout.size)
    chained = starts < layout.values
    alone = np.isin(starts, atoms) | ~chained
    lumped, left = np.zeros(len(starts), dtype=bool), MOST_FINE_BINS // 2
    for coarse in sorted(lumps or {}, key=lambda cell: -(lumps or {})[cell]):
        own = np.flatnonzero(~alone & (layout.coarse[np.minimum(starts, layout.values - 1)] == coarse))
        bins = sum(min(MOST_PARTS, int((~layout.candidate[starts[cell] : ends[cell]]).sum())) for cell in own)
        if bins <= left:
            lumped[own], left = True, left - bins
    most = MOST_FINE_BINS // 2 + left - int(alone.sum())
    parts = _count_parts(np.where(alone | lumped, 0.0, mass), part_mass, most)
    parts = np.where(alone, 1, np.where(lumped, MOST_PARTS, parts))
    block, cells = np.arange(len(starts)), np.flatnonzero(~alone)
    block[cells] = cells[_blocks(np.where(lumped, part_mass, mass)[cells], part_mass / 2)]
    shared = np.bincount(block, minlength=len(starts)) > 1
    parts = np.where(shared[block], 1, parts).astype(int)
    fine, bins = np.empty(layout.values, dtype=np.int64), 0
    first: dict[int, int] = {}
    for cell in np.flatnonzero(chained):
        cut = _cut(~layout.candidate[starts[cell] : ends[cell]], int(parts[cell]))
        begin = first.setdefault(int(block[cell]), bins)
        fine[starts[cell] : ends[cell]] = begin + cut
        bins = max(bins, begin + int(cut[-1]) + 1)
    return _with_atoms(layout, fine[layout.anchor], np.zeros(0, dtype=np.int64))


def find_lumps(layout: BinLayout, lookup: Ints, counts: Floats, sigma: float) -> dict[int, float]:
    """Return coarse cells that are denser than both of their neighbours, by more than noise explains, and by how many
    rows.

    Values that are top-coded, censored or typed in by habit stand on one number inside such a cell. The bar is what
    the largest of that number of differences of two noisy counts rarely exceeds.
    """
    seen = coarse_counts(layout, lookup, counts)
    width = np.bincount(layout.coarse, np.where(layout.candidate, 0.0, layout.width))
    width = np.maximum(width, NEXT_TO_NOTHING * width.max())
    bar = np.sqrt(2.0 * np.log(len(seen))) * sigma
    found, excess = np.ones(len(seen), dtype=bool), seen
    for here, beside in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
        scale, more = np.zeros(len(seen)), seen.copy()
        scale[here] = width[here] / width[beside]  # cells may hold unequal numbers of values
        more[here] -= scale[here] * np.maximum(seen[beside], 0.0)
        found &= more > bar * np.sqrt(1.0 + scale**2)
        excess = np.minimum(excess, more)
    return {int(cell): float(excess[cell]) for cell in np.flatnonzero(found)}


def lump_values(layout: BinLayout, lumps: Mapping[int, float], lookup: Ints, counts: Floats, sigma: float) -> Ints:
    """Return the value that each lump stands on, where the second histogram shows it.

    If a lump of m rows stands on value v, the count of v is m higher than without: all values of the cell being equally
    likely a priori, the probability of v is proportional to exp(m count_v / sigma^2). One above 1/2 is taken.
    """
    anchors, found = np.unique(layout.anchor), list[int]()
    alone = np.bincount(lookup[anchors], minlength=len(counts)) == 1
    for cell, rows in lumps.items():
        values = anchors[(layout.coarse[anchors] == cell) & ~layout.candidate[anchors]]
        log = rows * counts[lookup[values]] / sigma**2
        weight = np.exp(log - log.max(initial=-np.inf))
        best = int(np.argmax(weight)) if len(values) else 0
        # At a bound a lump looks like the beginning of a steep density, as of counts that are mostly 0.
        inside = len(values) and anchors[0] < values[best] < anchors[-1]
        if inside and alone[lookup[values[best]]] and weight[best] > weight.sum() / 2:
            found.append(int(np.argmax(layout.anchor == values[best])))
    return np.array(sorted(found), dtype=np.int64)


def coarse_counts(layout: BinLayout, lookup: Ints, counts: Floats) -> Floats:
    """Return the count of each coarse cell in the first histogram, without the candidates, which it counts apart."""
    free = np.flatnonzero(~layout.candidate)
    cell, seen = np.unique(np.stack([layout.coarse[free], lookup[free]]), axis=1)
    return np.bincount(cell, counts[seen], minlength=int(layout.coarse[-1]) + 1).astype(np.float64)


def _blocks(mass: Floats, least: float) -> Ints:
    """Return the first cell of the block of each: itself, but light neighbours share one until it holds `least`.

    Where a light run goes on to an end, beyond cells that hold as much, it is a tail: blocks of 1, 2, 4, ... outwards.
    """
    block, first, held = np.arange(len(mass)), 0, np.inf
    for cell, one in enumerate(mass.tolist()):
        if held >= least or one >= least:
            first, held = cell, 0.0
        block[cell], held = first, held + one
    heavy = np.flatnonzero(mass >= least)
    tails = (np.arange(heavy[-1] + 1, len(mass)), np.arange(heavy[0] - 1, -1, -1)) if len(heavy) else ()
    for run in tails:
        size = np.floor(np.log2(np.arange(len(run)) + 1)).astype(int)
        for one in np.unique(size):
            block[run[size == one]] = run[size == one].min()
    return block


def joint_labels(layout: BinLayout, finer: Ints | None) -> Ints:
    """Return labels of the value codes whose runs refine both histograms."""
    if finer is None:
        return layout.coarse
    both = layout.coarse * (int(finer.max()) + 1) + finer[: layout.values]
    return np.unique(both, return_inverse=True)[1].astype(np.int64)


def _count_parts(mass: Floats, part_mass: float, most: int) -> Floats:
    """In how many parts to cut each cell: of about the same mass, `part_mass` or more, so that there are at most
    `most`."""
    part_mass = max(part_mass, float(mass.sum()) / max(2 * most, 1), 1e-300)
    while True:
        parts = np.clip(np.round(mass / part_mass), 1, MOST_PARTS)
        if parts.sum() <= max(most, len(parts)):
            return parts
        part_mass *= 1.05


def cell_starts(layout: BinLayout, labels: Ints, atoms: Ints) -> Ints:
    """Return first base code of every cell of a density: runs of equal labels, atoms and the codes after the values
    alone.

    An atom is the first of the codes that are counted together with one value.
    """
    change = np.zeros(layout.size, dtype=bool)
    change[0] = True
    change[1 : layout.values] = labels[1 : layout.values] != labels[: layout.values - 1]
    ends = np.append(np.flatnonzero(np.diff(layout.anchor)) + 1, layout.values)
    after = ends[np.searchsorted(ends, atoms, side="right")]
    change[atoms] = True
    change[after[after < layout.size]] = True
    change[layout.values :] = True
    return np.flatnonzero(change)


def heavy_values(layout: BinLayout, counts: Floats, sigma: float, coarse_counts: Floats) -> Ints:
    """Return values that exceed the noise and the rest of their coarse cell: at most MAX_ATOMS, heaviest first, sorted.

    A value is kept if its excess over the mean of its cell is above sigma (sqrt(2 ln size) + 1.5): the largest of
    `size` Gaussian draws rarely gets there. Noisy counts are of all value codes, with noise `sigma`, and of the coarse
    cells. Of the codes that are counted with a value, the first is given.
    """
    values, first = np.unique(layout.anchor, return_index=True)
    mean = np.maximum(coarse_counts, 0.0) / np.bincount(layout.coarse[values])
    excess = counts[values] - mean[layout.coarse[values]]
    found = np.flatnonzero(excess > sigma * (np.sqrt(2.0 * np.log(layout.values)) + 1.5))
    return np.sort(first[found[np.argsort(-excess[found], kind="stable")][:MAX_ATOMS]])


def significant_candidates(layout: BinLayout, lookup: Ints, counts: Floats, sigma: float) -> Ints:
    """Return candidates whose bin of the first histogram exceeds the noise, sorted."""
    candidates = np.flatnonzero(layout.candidate)
    if not len(candidates):
        return candidates
    found = counts[lookup[candidates]]
    threshold = max(3.0, float(np.sqrt(2.0 * np.log(len(candidates)))) + 1.5)
    heaviest = np.argsort(-found, kind="stable")[:MAX_ATOMS]
    return np.sort(candidates[heaviest[found[heaviest] > threshold * sigma]])


def _zero_at(column: Integer | Real | Datetime) -> int:
    """Return where zero is a bound: 0 below, -1 above; 1 if it is none."""
    if isinstance(column, Datetime):
        return 1
    return 0 if column.lower == 0 else -1 if column.upper == 0 else 1


def _coarse_cells(width: Floats, zero: int) -> Floats:
    """Return coarse cell of every code: 32 equal widths, 0 to 31, and a fraction for the halves of the one next to
    zero."""
    start = np.concatenate([[0.0], np.cumsum(width)[:-1]]) / width.sum()
    place = np.clip(start * COARSE_CELLS + 1e-9, 0, COARSE_CELLS - 1e-9)
    cell = np.floor(place)
    if zero > 0:
        return cell
    away = np.maximum(COARSE_CELLS - place if zero else place, 1e-300)
    halved = np.clip(np.floor(-np.log2(away)), 0, HALVINGS)
    return cell + np.where(cell == cell[zero], halved if zero else HALVINGS - halved, 0.0) / (HALVINGS + 1)


def _numbered(labels: Floats | Ints) -> Ints:
    """Return labels by their rank, consecutively."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _with_atoms(layout: BinLayout, labels: Ints, atoms: Ints) -> Ints:
    lookup = np.empty(layout.size, dtype=np.int64)
    lookup[: layout.values] = labels
    first = int(labels.max()) + 1
    lookup[atoms] = first + np.arange(len(atoms))
    lookup[layout.values :] = first + len(atoms) + np.arange(layout.size - layout.values)
    return np.unique(lookup, return_inverse=True)[1].astype(np.int64)


def _cut(counted: Mask, parts: int) -> Ints:
    """Return the part (0, 1, ...) of each code of a run; all hold about equal numbers of its counted codes."""
    rank = np.cumsum(counted) - counted
    total = max(int(counted.sum()), 1)
    part = np.minimum(np.floor(rank * parts / total + 1e-9).astype(np.int64), parts - 1)
    return np.unique(part, return_inverse=True)[1].astype(np.int64)


def find_anchors(column: Integer | Real, unit: Unit) -> Ints:
    """Return the value code that each value code is counted with: the one that holds the multiple nearest to its
    middle.

    Where that number is a declared value or a bound, which is a code of its own, it is the next one that holds any.
    """
    own, grid = np.arange(column.value_cells, dtype=np.int64), column.grid
    free = ~grid.is_atom
    first, stop = grid.starts, np.append(grid.starts[1:], grid.stop)
    (start, count), (over, under) = find_multiples(first, stop, unit), get_ratio(unit)
    number = np.where(count > 0, start * over / under, find_nearest_multiple(first, stop, unit))
    code = grid.code(clip_to_multiples(number, column.lower, column.upper, unit))
    nothing = free & grid.is_atom[code]
    holders = np.flatnonzero(free & ~nothing)
    if not len(holders):
        return own
    after = np.minimum(np.searchsorted(holders, own), len(holders) - 1)
    before = np.maximum(after - 1, 0)
    next_one = np.where(own - holders[before] < holders[after] - own, holders[before], holders[after])
    return np.where(nothing, code[next_one], np.where(free, code, own)).astype(np.int64)
