"""Controlled rounding: rows picked from weighted particles so that counts lie nearer to the model than chance would."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from sklar.model.axis import Scale, clip_open, interval_of
from sklar.model.conditioning import resample_systematically
from sklar.model.vine.calibration import MAX_TABLE_CELLS, Calibration, table_axes

PROPOSALS_PER_ROW, FEW_PROPOSALS, MOST_PROPOSALS = (24, 400), 300_000, 3_000_000
"""Replacements proposed for each row, and in a whole sample: more bring the counts nearer to the model, for time."""
TARGET_OFFSET = 4.0
"""Added to targets where errors are divided by them: the smallest cells, mostly of three columns, do not rule."""
MAX_TRIPLES = 400
"""All triples up to 14 columns; of more columns a random choice."""


def count_proposals(rows: int, total: int) -> int:
    """Return proposals for `rows` rows of a sample of `total`.

    24 a row, but in a whole sample at most three million, and in a small one 300,000 (or 400 a row): there each row
    counts, and all of them together cost little.
    """
    per_row = np.clip(FEW_PROPOSALS / max(total, 1), *PROPOSALS_PER_ROW)
    return int(min(per_row, MOST_PROPOSALS / max(total, 1)) * rows)


def round_rows(
    cells: np.ndarray, counts: Sequence[int], weights: np.ndarray, rows: int, effort: int, rng: np.random.Generator
) -> np.ndarray:
    """Return indices of `rows` particles whose counts in all tables follow the weighted model closely.

    Starts from systematic resampling, then replaces one row at a time by another particle (proposed according to the
    weights) whenever that lowers sum (count - target)^2 / (target + 4) over the cells of all tables. The work is
    that of the proposals (`effort`), for any number of rows. Given are the cell of each particle (row) in each
    table (column), and the number of cells of each table.
    """
    from sklar.model.kernels import swap_rows, weighted_counts

    chosen = resample_systematically(weights, rows, rng)
    if len(counts) == 0 or rows == 0:
        return chosen
    proposed = resample_systematically(weights, effort, rng)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    target = weighted_counts(cells, offsets, weights) * (rows / weights.sum())
    twice = 2.0 / (target + TARGET_OFFSET)
    cost = twice * (0.5 - target)
    swap_rows(cells, offsets.astype(np.uint64), chosen, proposed, cost.astype(np.float32), twice.astype(np.float32))
    return chosen


def rounded_cells(
    calibration: Calibration, codes: np.ndarray, triples: Sequence[tuple[int, ...]]
) -> tuple[np.ndarray, list[int]]:
    """Return the cell of each particle (row) in the released tables and the given triples (columns), and the cells of
    each table.

    Given are the groups of the particles under each partition (`part_codes`). Targets of triples are those of the
    weighted pool, which holds several particles for each row that is picked.
    """
    from sklar.model.kernels import cells_by_particle

    tables = [*(table.parts for table in calibration.tables), *triples]
    counts = [int(np.prod([calibration.partitions[part].count for part in parts])) for parts in tables]
    return cells_by_particle(codes, *table_axes(calibration.partitions, tables)), counts


def choose_triples(calibration: Calibration, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return tables of three columns, as the partitions they are on.

    Rows picked to follow these tables too carry less sampling noise in tables of three columns.
    """
    axes = pair_axes(calibration)
    triples = [tuple(axes[column] for column in triple) for triple in _choose(sorted(axes), rng)]
    sizes = [int(np.prod([calibration.partitions[part].count for part in triple])) for triple in triples]
    return [triple for triple, size in zip(triples, sizes, strict=True) if size <= MAX_TABLE_CELLS]


def pair_axes(calibration: Calibration) -> dict[int, int]:
    """By column, its partition in the first table of two columns that it is part of."""
    found: dict[int, int] = {}
    for table in calibration.tables:
        for part in table.parts if len(table.parts) == 2 else ():
            found.setdefault(calibration.partitions[part].column, part)
    return found


def _choose(columns: Sequence[int], rng: np.random.Generator) -> list[tuple[int, ...]]:
    size = len(columns)
    if size * (size - 1) * (size - 2) // 6 <= MAX_TRIPLES:
        return list(combinations(columns, 3))
    chosen = {tuple(sorted(int(columns[i]) for i in rng.choice(size, 3, replace=False))) for _ in range(MAX_TRIPLES)}
    return sorted(chosen)


def group_cuts(calibration: Calibration, scales: Sequence[Scale]) -> list[np.ndarray]:
    """Return for each column, the ends on its axis of all groups in which it is counted together with other columns.

    A column that is in no table at all, whose margin nothing holds in place while others are tilted, is cut at every
    margin cell.
    """
    inner = [np.ones(max(len(scale.order) - 1, 0), dtype=bool) for scale in scales]
    for part in {part for table in calibration.tables for part in table.parts}:
        inner[calibration.partitions[part].column][:] = False
    for part in {part for table in calibration.tables if len(table.parts) > 1 for part in table.parts}:
        partition = calibration.partitions[part]
        inner[partition.column] |= np.diff(partition.lookup[scales[partition.column].order]) != 0
    return [scale.edges[np.concatenate([[True], cut, [True]])] for scale, cut in zip(scales, inner, strict=True)]


def spread_evenly(cuts: np.ndarray, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Move uniforms inside their intervals, in the same order, so that they cover each interval evenly.

    The i-th smallest of m uniforms in an interval gets a random place in the i-th of m equal parts. Equal uniforms, of
    a particle that was picked more than once, come apart.
    """
    order = _stable_order(u)
    interval = interval_of(cuts, u[order])
    counts = np.bincount(interval, minlength=len(cuts) - 1)
    rank = np.arange(len(u)) - np.repeat(np.cumsum(counts) - counts, counts)
    low = cuts[interval]
    spread = np.empty(len(u))
    spread[order] = low + (rank + rng.random(len(u))) / counts[interval] * (cuts[interval + 1] - low)
    return clip_open(spread)


def _stable_order(u: np.ndarray) -> np.ndarray:
    """Return np.argsort(u, kind="stable") in half the time.

    numpy's quicker sort leaves equal numbers in any order, by machine; keys of their run and place put them right.
    """
    order = np.argsort(u)
    ranked = u[order]
    run = np.cumsum(np.append(False, ranked[1:] != ranked[:-1])[: len(u)]) * len(u)
    return np.sort(run + order) - run
