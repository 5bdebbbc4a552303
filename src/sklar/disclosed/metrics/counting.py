"""Total variation distances of many margins at once, counted block by block so that memory stays bounded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import usable_cores

DENSE_CELLS = 1 << 20
"""Margins with more cells than this are compared by sorting the cells that occur."""
BLOCK_CELLS = 1 << 22
Stack = npt.NDArray[Any]
Sets = Sequence[tuple[int, ...]]


def distances(left: Stack, right: Stack, sizes: Sequence[int], sets: Sets) -> npt.NDArray[np.float64]:
    """Total variation distance of the margins over each set of columns.

    Args:
        left: Codes of one table, one row of the matrix a column.
        right: Codes of the other table.
        sizes: Number of codes of each column.
        sets: Columns of each margin, by place.
    """
    out = np.zeros(len(sets))
    dense = [at for at, columns in enumerate(sets) if math.prod(sizes[c] for c in columns) <= DENSE_CELLS]
    for at in set(range(len(sets))) - set(dense):
        out[at] = _sparse_distance(left, right, sizes, sets[at])
    with ThreadPoolExecutor(usable_cores()) as pool:
        blocks = list(_blocks(dense, sets, sizes))
        for block, found in zip(blocks, pool.map(lambda b: _block(left, right, sizes, sets, b), blocks), strict=True):
            out[block] = found
    return out


def counts_of(stack: Stack, sizes: Sequence[int], sets: Sets) -> list[npt.NDArray[np.int64]]:
    """Exact counts of dense margins, each in the shape of its columns."""
    flat, starts = _count(stack, sizes, sets)
    shapes = [tuple(sizes[c] for c in columns) for columns in sets]
    return [flat[low:high].reshape(shape) for (low, high), shape in zip(pairwise(starts), shapes, strict=True)]


def _blocks(dense: Sequence[int], sets: Sets, sizes: Sequence[int]) -> Iterator[list[int]]:
    """Runs of margins that are counted together; several, so that threads can share them."""
    total = sum(math.prod(sizes[c] for c in sets[at]) for at in dense)
    room = min(BLOCK_CELLS, max(1, total // (2 * usable_cores())))
    block, used = list[int](), 0
    for at in dense:
        block.append(at)
        used += math.prod(sizes[c] for c in sets[at])
        if used >= room:
            yield block
            block, used = list[int](), 0
    if block:
        yield block


def _block(left: Stack, right: Stack, sizes: Sequence[int], sets: Sets, block: Sequence[int]) -> Any:
    chosen = [sets[at] for at in block]
    (one, starts), (two, _) = _count(left, sizes, chosen), _count(right, sizes, chosen)
    gaps = np.abs(one / left.shape[1] - two / right.shape[1])
    return 0.5 * np.add.reduceat(gaps, starts[:-1])


def _count(stack: Stack, sizes: Sequence[int], sets: Sets) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    from sklar.rows.kernels.tallies import tally

    axes = np.array([c for columns in sets for c in columns], dtype=np.int64)
    axis_starts = np.cumsum([0, *(len(columns) for columns in sets)]).astype(np.int64)
    starts = np.cumsum([0, *(math.prod(sizes[c] for c in columns) for columns in sets)]).astype(np.int64)
    out = np.zeros(starts[-1], dtype=np.int64)
    shape = np.array(sizes, dtype=np.int64)[axes]
    tally(stack, axes, axis_starts, shape, out, starts, np.arange(len(sets)))
    return out, starts


def _sparse_distance(left: Stack, right: Stack, sizes: Sequence[int], columns: tuple[int, ...]) -> float:
    """Only cells that occur are compared: the others are empty in both tables."""
    one, two = (_keys(stack, sizes, columns) for stack in (left, right))
    cells, where = np.unique(np.concatenate([one, two]), return_inverse=True)
    shares = np.bincount(where[: len(one)], minlength=len(cells)) / len(one)
    others = np.bincount(where[len(one) :], minlength=len(cells)) / len(two)
    return float(0.5 * np.abs(shares - others).sum())


def _keys(stack: Stack, sizes: Sequence[int], columns: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """One number a row that tells the cells apart: three columns of a million codes fit into 64 bits."""
    key = np.zeros(stack.shape[1], dtype=np.int64)
    for column in columns:
        key = key * sizes[column] + stack[column]
    return key
