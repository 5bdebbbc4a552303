"""Total variation distance of one-, two- and three-way margins on the coarse public grid.

TVD(P, Q) = 1/2 sum over cells |P(cell) - Q(cell)|, between 0 (equal margins) and 1 (disjoint). One-way: all
columns; two-way: all pairs; three-way: up to 100 random triples. Reference: Tsybakov (2008), section 2.4; as a
utility measure of synthetic tables Zhang et al. (2017) and Tao et al. (2021). For a category it equals 1 -
TVComplement of sdmetrics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations, groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints, usable_cores
from sklar.lab.metrics.score import About, Part, Score, mean_score
from sklar.lab.tables.table import CoarseGrid, ExactTable, coarse_codes

RANDOM_TRIPLES = 100
"""Number of random triples: more make the mean more stable, and each counts all rows once."""
MAX_PAIRS = 20_000
"""Maximum number of pairs (of 200 columns); more are sampled at random."""
MAX_DENSE_CELLS = 1 << 20
"""Margins with more cells are compared by sorting the occupied cells."""
MAX_BLOCK_CELLS = 1 << 22
"""Maximum number of cells that are counted together: 32 MB of counts."""
REFERENCE = "Tsybakov 2008; Zhang et al. 2017 (PrivBayes)"
TITLES = {1: "Single columns", 2: "Pairs of columns", 3: "Triples of columns"}
GRADE_LIMITS = {1: (0.03, 0.10), 2: (0.07, 0.20), 3: (0.12, 0.30)}
"""Limits of the grades good and fair by the number of columns."""
Stack = npt.NDArray[Any]
Sets = Sequence[tuple[int, ...]]


def describe_tvd(ways: int) -> About:
    """Describe the TVD of margins over `ways` columns."""
    good, fair = GRADE_LIMITS[ways]
    return About(
        name=f"tvd{ways}",
        title=f"{TITLES[ways]}: total variation distance",
        says=f"Share of rows that would have to change for the {ways}-way tables of counts to be equal.",
        reference=REFERENCE,
        lower=0.0, upper=1.0, better="lower", good=good, fair=fair,
    )  # fmt: skip


def column_sets(columns: int, ways: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """List all single columns, all pairs (or MAX_PAIRS random ones), or RANDOM_TRIPLES triples (all if fewer)."""
    limit = RANDOM_TRIPLES if ways == 3 else MAX_PAIRS
    if math.comb(columns, ways) <= limit:
        return list(combinations(range(columns), ways))
    chosen: dict[tuple[int, ...], None] = {}
    while len(chosen) < limit:
        chosen[tuple(sorted(rng.choice(columns, ways, replace=False).tolist()))] = None
    return list(chosen)


def margin_distance(
    real: ExactTable,
    synthetic: ExactTable,
    grid: CoarseGrid,
    ways: int,
    rng: np.random.Generator,
    fresh: tuple[ExactTable, ExactTable] | None = None,
) -> Score:
    """Return the mean TVD of margins over `ways` columns, with the floor from two disjoint real samples if given."""
    names = real.names
    sets, sizes = column_sets(len(names), ways, rng), [grid.sizes[name] for name in names]
    found = margin_distances(coarse_codes(real, grid), coarse_codes(synthetic, grid), sizes, sets)
    parts = [
        Part(columns=tuple(names[c] for c in columns), value=float(value))
        for columns, value in zip(sets, found, strict=True)
    ]
    if fresh is not None:
        floors = _floors(fresh, grid, sizes, sets, real.rows, synthetic.rows, rng)
        parts = [replace(part, floor=float(floor)) for part, floor in zip(parts, floors, strict=True)]
    rows = min(real.rows, synthetic.rows)
    return mean_score(describe_tvd(ways), parts, rows=rows, why_none=f"the tables have fewer than {ways} columns.")


def _floors(
    fresh: tuple[ExactTable, ExactTable],
    grid: CoarseGrid,
    sizes: Sequence[int],
    sets: list[tuple[int, ...]],
    real_rows: int,
    synthetic_rows: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Extrapolate distances between two disjoint real samples to the given numbers of rows.

    With many rows per cell the distance decreases as 1/sqrt(rows), with few more slowly. So the rate is measured:
    `rate` is the factor by which doubling the samples reduces the mean distance, between 1/sqrt(2) and 1.
    """
    left, right = (coarse_codes(table, grid) for table in fresh)
    whole = margin_distances(left, right, sizes, sets)
    size = harmonic_mean(left.shape[1], right.shape[1])
    halved = margin_distances(_draw_half(left, rng), _draw_half(right, rng), sizes, sets)
    rate = np.clip(whole.mean() / max(halved.mean(), 1e-300), math.sqrt(0.5), 1.0) if whole.size else 1.0
    doublings = math.log2(harmonic_mean(real_rows, synthetic_rows) / size)
    return np.minimum(whole * rate**doublings, 1.0)


def harmonic_mean(one: int, two: int) -> float:
    """Return the harmonic mean: the size of two equal samples whose difference has the same noise."""
    return 2.0 / (1.0 / one + 1.0 / two)


def _draw_half(stack: Stack, rng: np.random.Generator) -> Stack:
    rows = max(1, stack.shape[1] // 2)
    return stack[:, np.sort(rng.choice(stack.shape[1], rows, replace=False))]


def margin_distances(left: Stack, right: Stack, sizes: Sequence[int], sets: Sets) -> Floats:
    """Return the total variation distance of the margins over each set of columns.

    Args:
        left: Codes of one table, one matrix row per column.
        right: Codes of the other table.
        sizes: Number of codes of each column.
        sets: Positions of the columns of each margin.
    """
    out = np.zeros(len(sets))
    dense = [at for at, columns in enumerate(sets) if _count_cells(sizes, columns) <= MAX_DENSE_CELLS]
    for at in set(range(len(sets))) - set(dense):
        out[at] = _sparse_distance(left, right, sizes, sets[at])
    blocks = list(_split_blocks(dense, sets, sizes))
    with ThreadPoolExecutor(usable_cores()) as pool:
        measured = pool.map(lambda block: _block_distances(left, right, sizes, sets, block), blocks)
        for block, found in zip(blocks, measured, strict=True):
            out[block] = found
    return out


def _split_blocks(dense: Sequence[int], sets: Sets, sizes: Sequence[int]) -> Iterator[list[int]]:
    """Split margins into blocks that are counted together, so that threads can share the work."""
    ends = np.cumsum([_count_cells(sizes, sets[at]) for at in dense])
    room = min(MAX_BLOCK_CELLS, max(1, int(ends[-1]) // (2 * usable_cores()))) if dense else 1
    for _, block in groupby(zip(dense, ends.tolist(), strict=True), lambda one: (one[1] - 1) // room):
        yield [at for at, _ in block]


def _count_cells(sizes: Sequence[int], columns: tuple[int, ...]) -> int:
    return math.prod(sizes[c] for c in columns)


def _block_distances(left: Stack, right: Stack, sizes: Sequence[int], sets: Sets, block: Sequence[int]) -> Any:
    chosen = [sets[at] for at in block]
    (one, starts), (two, _) = _count(left, sizes, chosen), _count(right, sizes, chosen)
    differences = np.abs(one / left.shape[1] - two / right.shape[1])
    return 0.5 * np.add.reduceat(differences, starts[:-1])


def _count(stack: Stack, sizes: Sequence[int], sets: Sets) -> tuple[Ints, Ints]:
    from sklar.counting.tallies import tally

    axes = np.array([c for columns in sets for c in columns], dtype=np.int64)
    axis_starts = np.cumsum([0, *(len(columns) for columns in sets)]).astype(np.int64)
    starts = np.cumsum([0, *(_count_cells(sizes, columns) for columns in sets)]).astype(np.int64)
    out = np.zeros(starts[-1], dtype=np.int64)
    shape = np.array(sizes, dtype=np.int64)[axes]
    tally(stack, axes, axis_starts, shape, out, starts, np.arange(len(sets)), 1)
    return out, starts


def _sparse_distance(left: Stack, right: Stack, sizes: Sequence[int], columns: tuple[int, ...]) -> float:
    """Compare only occupied cells: the others are empty in both tables."""
    one, two = (_number_cells(stack, sizes, columns) for stack in (left, right))
    cells, where = np.unique(np.concatenate([one, two]), return_inverse=True)
    shares = np.bincount(where[: len(one)], minlength=len(cells)) / len(one)
    others = np.bincount(where[len(one) :], minlength=len(cells)) / len(two)
    return float(0.5 * np.abs(shares - others).sum())


def _number_cells(stack: Stack, sizes: Sequence[int], columns: tuple[int, ...]) -> Ints:
    """Number the cell of each row; three columns with a million codes fit into 64 bits."""
    key = np.zeros(stack.shape[1], dtype=np.int64)
    for column in columns:
        key = key * sizes[column] + stack[column]
    return key
