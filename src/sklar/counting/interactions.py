"""Exact interactions of tables of counts, in whole numbers; defined, with their bounds, in `sklar.release.counts`."""

from __future__ import annotations

from sklar.arrays import Ints
from sklar.counting.whole_numbers import LARGEST, WholeNumbers


def exact_interactions(counts: Ints) -> WholeNumbers:
    """The whole numbers of a table of counts: along each axis in turn, K times the table minus its sums."""
    # In parts of a vote even a table of millions of persons can leave 64 bits. The numbers are the same either way.
    whole: WholeNumbers = counts if int(counts.sum()) * counts.size < LARGEST else counts.astype(object)
    for axis, groups in enumerate(counts.shape):
        whole = groups * whole - whole.sum(axis=axis, keepdims=True)
    return whole
