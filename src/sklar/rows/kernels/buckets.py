"""Texts to buckets by hashing, and counting the rows of each bucket."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import numpy as np
from numba import njit


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
