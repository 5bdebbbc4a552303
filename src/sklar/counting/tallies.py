"""Kernels that add rows of codes to tables of counts."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import numpy as np

from sklar.arrays import compiled, compiled_part

LOCAL_CELLS = 4096
"""Tables up to this size are first counted in four interleaved copies."""
SUB_ROWS = 1 << 14
"""Rows processed at a time, so that their codes stay in the cache for all tables."""
CHUNK_ROWS = 1 << 11
"""Rows whose cells in one table are found before they are counted: they stay in the first-level cache."""


@compiled()
def recode(codes, lookup, out):
    """Set out[i] to lookup[codes[i]]."""
    for i in range(len(codes)):
        out[i] = lookup[codes[i]]


@compiled()
def tally(stack, axes, axis_starts, shape, out, out_starts, tables, weight):
    """Add every row of `stack` to the given tables, `weight` times.

    Args:
        stack: Codes, one row of the matrix a feature. A table has fewer than 2^32 cells.
        axes: Features of all tables, one table after the other; table t has axes[axis_starts[t]:axis_starts[t + 1]].
        axis_starts: Where each table's axes start.
        shape: Number of codes along each of the axes.
        out: Counts of all tables, each in C order.
        out_starts: Where each table's counts start, and the end of the last.
        tables: The tables to count.
        weight: Weight of each row, a whole number.
    """
    local, cells = np.zeros((4, LOCAL_CELLS), dtype=np.uint32), np.empty(CHUNK_ROWS, dtype=np.uint32)
    for low in range(0, stack.shape[1], SUB_ROWS):
        high = min(low + SUB_ROWS, stack.shape[1])
        for t in tables:
            counts = out[out_starts[t] : out_starts[t + 1]]
            small = len(counts) <= LOCAL_CELLS
            for at in range(low, high, CHUNK_ROWS):
                some = cells[: min(CHUNK_ROWS, high - at)]
                _fill_cells(stack, axes[axis_starts[t] : axis_starts[t + 1]], shape[axis_starts[t] :], at, some)
                if small:
                    _tally_small(some, local)
                else:
                    for cell in some:
                        counts[np.uintp(cell)] += weight
            if small:
                for c in range(len(counts)):
                    for copy in range(4):
                        counts[c] += weight * np.int64(local[copy, c])
                        local[copy, c] = 0


@compiled_part()
def _fill_cells(stack, axes, shape, at, cells):
    """Find the cell of each row, from row `at` on, in the table on these axes: 0 in one without axes."""
    if len(axes) == 0:
        cells[:] = 0
        return
    codes = stack[axes[0], at : at + len(cells)]
    for i in range(len(cells)):
        cells[i] = codes[i]
    for axis in range(1, len(axes)):
        codes, width = stack[axes[axis], at : at + len(cells)], np.uint32(shape[axis])
        for i in range(len(cells)):
            cells[i] = cells[i] * width + np.uint32(codes[i])


@compiled_part()
def _tally_small(cells, local):
    """Count in four copies in turn, so that equal neighbours do not wait for each other's store."""
    whole = len(cells) - len(cells) % 4
    for i in range(0, whole, 4):
        local[0, np.uintp(cells[i])] += np.uint32(1)
        local[1, np.uintp(cells[i + 1])] += np.uint32(1)
        local[2, np.uintp(cells[i + 2])] += np.uint32(1)
        local[3, np.uintp(cells[i + 3])] += np.uint32(1)
    for i in range(whole, len(cells)):
        local[0, np.uintp(cells[i])] += np.uint32(1)


@compiled()
def hash_texts(data, begins, ends, valid, longest, mask, out):
    """Return the bucket of each text of 1 to `longest` bytes, -1 for all others. Equal texts share a bucket."""
    for i in range(len(begins)):
        start, end = begins[i], ends[i]
        if not valid[i] or end == start or end - start > longest:
            out[i] = -1
            continue
        # Fowler-Noll-Vo 1a with a last mixing step. Texts that collide cost memory, never correctness.
        state = np.uint64(14695981039346656037)
        for k in range(start, end):
            state = (state ^ np.uint64(data[k])) * np.uint64(1099511628211)
        out[i] = (state ^ (state >> np.uint64(29))) & np.uint64(mask)


@compiled()
def tally_buckets(buckets, counts):
    """Add 1 to the bucket of each row that has one; counters saturate instead of wrapping around."""
    for i in range(len(buckets)):
        if buckets[i] >= 0 and counts[buckets[i]] != np.uint32(0xFFFFFFFF):
            counts[buckets[i]] += np.uint32(1)
