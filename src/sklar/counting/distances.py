"""Exact distances of tables from public expectations; defined, with their sensitivity, in `sklar.release.distances`."""

from __future__ import annotations

import numpy as np

from sklar.accounting.unit import VOTE_BITS
from sklar.arrays import Ints
from sklar.counting.jobs import CountedRows
from sklar.counting.tables import exact_counts
from sklar.errors import DoorError
from sklar.release.distances import Distances
from sklar.release.scores import SUM_VOTE_BITS


def exact_distances(query: Distances, rows: CountedRows) -> Ints:
    """Return the L1 distance of each exact table from what is expected of it, in whole rows or parts of a vote."""
    if query.expected is None:
        raise DoorError("distances from expectations that were not kept cannot be evaluated")
    exact_tables = exact_counts(rows, [(table.columns, table.partitions) for table in query.tables])
    expected = np.split(query.expected.astype(np.int64), np.cumsum(query.cells)[:-1])
    bits = VOTE_BITS if rows.votes else 0
    exact = [int(np.abs(t.ravel() - (e << bits)).sum()) for t, e in zip(exact_tables, expected, strict=True)]
    return np.array(exact, dtype=np.int64) >> (VOTE_BITS - SUM_VOTE_BITS if rows.votes else 0)
