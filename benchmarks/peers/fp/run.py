"""Filter and priority sampling (FP) on a fine public grid: run.py TRAIN SCHEMA EPSILON DELTA ROWS OUTPUT.

Cormode, Procopiuc, Srivastava, Tran (2012), "Differentially private summaries for sparse data": every cell gets
geometric noise, cells below a threshold are left out, and a priority sample of the others is published. Empty cells are
not counted one by one: how many of them exceed the threshold is binomial, and where they are is uniform. The threshold
lets about as many empty cells pass as the sample has places. Rows are drawn from the sample in proportion to its
weights, so that the total is consistent. Delta is 0. Needs numpy, pandas and pyarrow: any Python that has them.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from public_grid import read_task

PROMISE = (
    "epsilon-DP by geometric noise of numpy for one row more or less; domains are those of the schema, the number of "
    "rows is public"
)
CELLS = 1024
"""Most cells of a column of numbers."""


def find_threshold(cells: int, sample: int, epsilon: float) -> int:
    """The least threshold that at most `sample` of so many empty cells are expected to reach."""
    alpha = math.exp(-epsilon)
    return max(1, math.ceil(math.log(sample * (1 + alpha) / cells) / -epsilon))


def filter_cells(
    at: np.ndarray, counts: np.ndarray, cells: int, threshold: int, epsilon: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Cells whose noisy count reaches the threshold, and these counts."""
    alpha = math.exp(-epsilon)
    noisy = counts + rng.geometric(1 - alpha, len(counts)) - rng.geometric(1 - alpha, len(counts))
    passing = rng.binomial(cells - len(at), alpha**threshold / (1 + alpha))
    empty = np.empty(0, dtype=np.int64)
    while len(empty) < passing:
        drawn = rng.integers(0, cells, 2 * (passing - len(empty)) + 8)
        drawn = drawn[~np.isin(drawn, at) & ~np.isin(drawn, empty)]
        _, first = np.unique(drawn, return_index=True)
        empty = np.concatenate([empty, drawn[np.sort(first)]])[:passing]
    kept = noisy >= threshold
    values = threshold - 1 + rng.geometric(1 - alpha, passing)
    return np.concatenate([at[kept], empty]), np.concatenate([noisy[kept], values])


def sample_by_priority(values: np.ndarray, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Places of a priority sample, and its weights, which are unbiased for the values."""
    if len(values) <= size:
        return np.arange(len(values)), values.astype(float)
    priority = values / (1 - rng.random(len(values)))
    order = np.argsort(-priority)
    return order[:size], np.maximum(values[order[:size]], priority[order[size]])


def synthesize(
    codes: np.ndarray, sizes: tuple[int, ...], epsilon: float, rows: int, rng: np.random.Generator
) -> np.ndarray:
    """Rows of codes."""
    cells = math.prod(sizes)
    at, counts = np.unique(np.ravel_multi_index(tuple(codes.T), sizes), return_counts=True)
    kept, values = filter_cells(at, counts, cells, find_threshold(cells, rows, epsilon), epsilon, rng)
    chosen, weights = sample_by_priority(values, rows, rng)
    places = rng.integers(0, cells, rows)
    if len(chosen):
        places = kept[chosen[rng.choice(len(chosen), rows, p=weights / weights.sum())]]
    return np.column_stack(np.unravel_index(places, sizes))


def main() -> None:
    """Read, synthesize, write."""
    import pandas as pd

    task = read_task(cells=CELLS)
    made = synthesize(
        task.codes.to_numpy(), tuple(task.sizes.values()), task.epsilon, task.rows, np.random.default_rng()
    )
    task.write(pd.DataFrame(made, columns=list(task.sizes)), PROMISE)


if __name__ == "__main__":
    main()
