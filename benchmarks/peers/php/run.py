"""P-HP of two columns on a fine public grid: run.py TRAIN SCHEMA EPSILON DELTA ROWS OUTPUT.

Ács, Castelluccia, Chen (2012), "Differentially private histogram publishing through lossy compression": the cells in a
row are cut in two again and again, each cut chosen by the exponential mechanism so that counts are even on both sides;
each part gets one noisy sum, spread evenly over its cells. Cells of two columns are put in a row by interleaving the
bits of their codes (Z-order), so that a part is close to a box; neither that paper nor those that compare with it say
how they do this. Delta is 0. Needs numpy, pandas and pyarrow: any Python that has them.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from public_grid import read_task

PROMISE = (
    "epsilon-DP of cuts (exponential mechanism) and sums (Laplace) for one row more or less, up to the rounding of "
    "numpy's noise; domains are those of the schema"
)
CELLS = 1024
"""Most cells of a column of numbers."""
DEPTH = 10
"""Levels of cuts: more make parts smaller, and choose each cut with less of epsilon."""
CUTS_SHARE = 0.5
"""Of epsilon, for the cuts."""
SENSITIVITY = 2.0
"""A row more or less moves a count by 1 and the mean of its part of k cells by 1/k, so that the sum of distances from
the mean moves by at most 2 (k - 1) / k; the other part stays."""


def z_order(sizes: tuple[int, ...]) -> np.ndarray:
    """Cells (row-major) in the order of their interleaved bits."""
    axes = np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij")
    key = np.zeros(sizes, dtype=np.int64)
    for bit in range(max(sizes).bit_length()):
        for at, axis in enumerate(axes):
            key |= ((axis >> bit) & 1) << (bit * len(sizes) + at)
    return np.argsort(key.ravel(), kind="stable")


def uneven(counts: np.ndarray) -> np.ndarray:
    """For each cut after 1, 2, ... cells, the sum of distances from the mean on both sides."""
    values, place = np.unique(counts, return_inverse=True)
    length = np.arange(1, len(counts))
    sums = np.cumsum(counts)
    left, right = sums[:-1] / length, (sums[-1] - sums[:-1]) / (len(counts) - length)
    out = np.zeros(len(length))
    for at, value in enumerate(values):
        before = np.cumsum(place == at)
        out += before[:-1] * np.abs(value - left) + (before[-1] - before[:-1]) * np.abs(value - right)
    return out


def cut(counts: np.ndarray, epsilon: float, rng: np.random.Generator) -> int:
    """Cells in the first of two parts, by the exponential mechanism."""
    score = -uneven(counts) * epsilon / (2 * SENSITIVITY)
    return 1 + int(np.argmax(score + rng.gumbel(size=len(score))))


def find_parts(counts: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """First cells of the parts, and the end. Parts of a level are disjoint, and the levels share epsilon."""
    ends = [0, len(counts)]
    for _ in range(DEPTH):
        pairs = [pair for pair in itertools.pairwise(ends) if pair[1] - pair[0] > 1]
        ends = sorted({*ends, *(low + cut(counts[low:high], epsilon / DEPTH, rng) for low, high in pairs)})
    return np.array(ends)


def synthesize(
    codes: np.ndarray, sizes: tuple[int, ...], epsilon: float, rows: int, rng: np.random.Generator
) -> np.ndarray:
    """Rows of codes."""
    order = z_order(sizes)
    cells = int(np.prod(sizes))
    counts = np.bincount(np.ravel_multi_index(tuple(codes.T), sizes), minlength=cells)[order]
    ends = find_parts(counts, CUTS_SHARE * epsilon, rng)
    exact = np.add.reduceat(counts, ends[:-1]).astype(float)
    noisy = np.maximum(exact + rng.laplace(0.0, 1 / ((1 - CUTS_SHARE) * epsilon), len(exact)), 0.0)
    part = rng.choice(len(noisy), rows, p=noisy / noisy.sum() if noisy.any() else None)
    drawn = ends[part] + (rng.random(rows) * np.diff(ends)[part]).astype(np.int64)
    return np.column_stack(np.unravel_index(order[drawn], sizes))


def main() -> None:
    """Read, synthesize, write."""
    import pandas as pd

    task = read_task(cells=CELLS)
    names, sizes = list(task.sizes), tuple(task.sizes.values())
    if len(sizes) != 2:
        sys.exit(f"this P-HP counts every cell of two columns; the table has {len(sizes)}")
    made = synthesize(task.codes.to_numpy(), sizes, task.epsilon, task.rows, np.random.default_rng())
    task.write(pd.DataFrame(made, columns=names), PROMISE)


if __name__ == "__main__":
    main()
