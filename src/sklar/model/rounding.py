"""Controlled rounding: rows picked from weighted particles so that counts lie nearer to the model than chance would."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

PROPOSALS_PER_ROW = (24, 400)
FEW_PROPOSALS, MOST_PROPOSALS = 300_000, 3_000_000


def systematic(weights: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Indices of `rows` particles: particle i appears floor or ceiling of rows w_i / sum w times; shuffled."""
    reach = np.cumsum(weights)
    places = (np.arange(rows) + rng.random()) / rows * reach[-1]
    return rng.permutation(np.minimum(np.searchsorted(reach, places, side="right"), len(weights) - 1))


def proposals(rows: int, total: int) -> int:
    """Proposals for `rows` rows of a sample of `total`.

    24 a row, but in a whole sample at most three million, and in a small one 300,000 (or 400 a row): there each row
    counts, and all of them together cost little.
    """
    per_row = np.clip(FEW_PROPOSALS / max(total, 1), *PROPOSALS_PER_ROW)
    return int(min(per_row, MOST_PROPOSALS / max(total, 1)) * rows)


def round_rows(
    cells: np.ndarray, counts: Sequence[int], weights: np.ndarray, rows: int, effort: int, rng: np.random.Generator
) -> np.ndarray:
    """Indices of `rows` particles whose counts in all tables follow the weighted model closely.

    Starts from systematic resampling, then replaces one row at a time by another particle (proposed according to the
    weights) whenever that lowers sum (count - target)^2 / (target + 4) over the cells of all tables. The work is
    that of the proposals, whatever the number of rows.

    Args:
        cells: cell of each particle (column) in each table (row).
        counts: number of cells of each table.
        weights: weight of each particle.
        rows: number of rows wanted.
        effort: number of replacements to propose.
        rng: source of randomness.
    """
    from sklar.model.rounding_kernels import swap_rows, weighted_counts

    chosen = systematic(weights, rows, rng)
    if len(counts) == 0 or rows == 0:
        return chosen
    proposed = systematic(weights, effort, rng)
    cells = np.ascontiguousarray(cells.T)  # all cells of a particle side by side: swaps read whole rows
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    target = weighted_counts(cells, offsets, weights) * (rows / weights.sum())
    swap_rows(cells, offsets, chosen, proposed, target)
    return chosen
