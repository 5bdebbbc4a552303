"""Exact numerators of Kendall's tau-a from two-way tables; defined, with their bounds, in `sklar.release.taus`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from sklar.arrays import Ints
from sklar.counting.jobs import CountedRows
from sklar.counting.plans import TableSpec
from sklar.counting.tables import exact_counts
from sklar.release.taus import TauVector

PASS_BYTES = 512 << 20
"""Two-way tables are counted in passes of at most this size."""


def exact_orders(feature: TauVector, rows: CountedRows) -> Ints:
    """Concordant minus discordant pairs of rows, for every pair of columns."""
    found: list[int] = []
    for specs in _passes(feature):
        found += [exact_order(table) for table in exact_counts(rows, specs)]
    return np.array(found, dtype=np.int64)


def exact_order(table: Ints) -> int:
    """Concordant minus discordant pairs of rows of a two-way table, by 2-D prefix sums.

    Each row is compared with the rows of smaller first rank: those of smaller second rank count +1, of larger -1.
    """
    upto = np.zeros((table.shape[0], table.shape[1] + 1), dtype=np.int64)
    np.cumsum(np.cumsum(table[:-1], axis=0), axis=1, out=upto[1:, 1:])
    # upto[i, j]: rows with first rank below i and second rank below j
    return int((table * (upto[:, :-1] + upto[:, 1:] - upto[:, -1:])).sum())


def _passes(feature: TauVector) -> Iterator[list[TableSpec]]:
    specs: list[TableSpec] = []
    used = 0
    for j, k in combinations(range(len(feature.columns)), 2):
        size = 8 * (int(feature.lookups[j].max()) + 1) * (int(feature.lookups[k].max()) + 1)
        if specs and used + size > PASS_BYTES:
            yield specs
            specs, used = [], 0
        specs.append(((feature.columns[j], feature.columns[k]), (feature.lookups[j], feature.lookups[k])))
        used += size
    yield specs
