"""Adding rows of codes to tables of counts."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import numpy as np
from numba import njit

LOCAL_CELLS = 4096
"""Tables up to this size are first counted in four interleaved copies."""
SUB_ROWS = 1 << 14
"""Rows worked on at a time, so that their codes stay in the cache while all tables pass over them."""


@njit(nogil=True, cache=True)
def recode(codes, lookup, out):
    """out[i] = lookup[codes[i]]."""
    for i in range(len(codes)):
        out[i] = lookup[codes[i]]


@njit(nogil=True, cache=True)
def tally(stack, axes, axis_starts, shape, out, out_starts, tables):
    """Add every row of `stack` to the given tables.

    Args:
        stack: Codes, one row of the matrix a feature.
        axes: Features of all tables, one table after the other; table t has axes[axis_starts[t]:axis_starts[t + 1]].
        axis_starts: Where each table's axes start.
        shape: Number of codes along each of the axes.
        out: Counts of all tables, each in C order.
        out_starts: Where each table's counts start, and the end of the last.
        tables: The tables to count.
    """
    local = np.zeros((4, LOCAL_CELLS), dtype=np.uint32)
    for low in range(0, stack.shape[1], SUB_ROWS):
        high = min(low + SUB_ROWS, stack.shape[1])
        for t in tables:
            first, k = axis_starts[t], axis_starts[t + 1] - axis_starts[t]
            counts = out[out_starts[t] : out_starts[t + 1]]
            if k == 2 and len(counts) <= LOCAL_CELLS:
                left, right = stack[axes[first], low:high], stack[axes[first + 1], low:high]
                _tally_small_pair(left, right, shape[first + 1], local, counts)
            elif k == 2:
                left, right = stack[axes[first], low:high], stack[axes[first + 1], low:high]
                width = shape[first + 1]
                for i in range(high - low):
                    counts[np.int64(left[i]) * width + np.int64(right[i])] += 1
            elif k == 1 and len(counts) <= LOCAL_CELLS:
                _tally_small(stack[axes[first], low:high], local, counts)
            elif k == 1:
                codes = stack[axes[first], low:high]
                for i in range(high - low):
                    counts[np.uintp(codes[i])] += 1
            else:
                for i in range(low, high):
                    cell = 0
                    for j in range(first, first + k):
                        cell = cell * shape[j] + np.int64(stack[axes[j], i])
                    counts[cell] += 1


@njit(nogil=True, cache=True)
def _tally_small_pair(left, right, width, local, counts):
    """Four copies in turn, so that equal neighbours do not wait for each other's store."""
    cells, rows = len(counts), len(left)
    step = np.uint32(width)
    whole = rows - rows % 4
    for i in range(0, whole, 4):
        local[0, np.uint32(left[i]) * step + np.uint32(right[i])] += np.uint32(1)
        local[1, np.uint32(left[i + 1]) * step + np.uint32(right[i + 1])] += np.uint32(1)
        local[2, np.uint32(left[i + 2]) * step + np.uint32(right[i + 2])] += np.uint32(1)
        local[3, np.uint32(left[i + 3]) * step + np.uint32(right[i + 3])] += np.uint32(1)
    for i in range(whole, rows):
        local[0, np.uint32(left[i]) * step + np.uint32(right[i])] += np.uint32(1)
    for c in range(cells):
        counts[c] += np.int64(local[0, c]) + np.int64(local[1, c]) + np.int64(local[2, c]) + np.int64(local[3, c])
        local[0, c] = 0
        local[1, c] = 0
        local[2, c] = 0
        local[3, c] = 0


@njit(nogil=True, cache=True)
def _tally_small(codes, local, counts):
    """The same for a table of one column."""
    cells, rows = len(counts), len(codes)
    whole = rows - rows % 4
    for i in range(0, whole, 4):
        local[0, np.uintp(codes[i])] += np.uint32(1)
        local[1, np.uintp(codes[i + 1])] += np.uint32(1)
        local[2, np.uintp(codes[i + 2])] += np.uint32(1)
        local[3, np.uintp(codes[i + 3])] += np.uint32(1)
    for i in range(whole, rows):
        local[0, np.uintp(codes[i])] += np.uint32(1)
    for c in range(cells):
        counts[c] += np.int64(local[0, c]) + np.int64(local[1, c]) + np.int64(local[2, c]) + np.int64(local[3, c])
        local[0, c] = 0
        local[1, c] = 0
        local[2, c] = 0
        local[3, c] = 0


@njit(nogil=True, cache=True)
def text_buckets(data, begins, ends, valid, longest, mask, out):
    """Bucket of each text of 1 to `longest` bytes, -1 for all others. Equal texts share a bucket."""
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


@njit(nogil=True, cache=True)
def tally_buckets(buckets, counts):
    """Add 1 to the bucket of each row that has one; a bucket that is full stays full, and never begins anew."""
    for i in range(len(buckets)):
        if buckets[i] >= 0 and counts[buckets[i]] != np.uint32(0xFFFFFFFF):
            counts[buckets[i]] += np.uint32(1)
