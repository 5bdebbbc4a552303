"""Exact counts of the tables of all pairs of columns, as one array: by bits where every column has two groups."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sklar.errors import TableTooLargeError
from sklar.rows.binary import exact_ones
from sklar.rows.count import exact_counts
from sklar.rows.job import Rows
from sklar.rows.plan import MAX_BYTES, Lookup, TableSpec

Counts = npt.NDArray[np.int64]


def require_pair_room(columns: Sequence[str], sizes: Sequence[int], max_bytes: int = MAX_BYTES) -> None:
    """Refuse, before any row is read, tables that together would take more than `max_bytes`."""
    total = 8 * pair_cell_count(sizes)
    if total <= max_bytes:
        return
    order = sorted(range(len(sizes)), key=lambda j: -sizes[j])[:3]
    largest = ", ".join(f"'{columns[j]}' ({sizes[j]:,})" for j in order)
    raise TableTooLargeError(
        f"the tables of all {len(sizes) * (len(sizes) - 1) // 2:,} pairs of columns would have {total // 8:,} cells, "
        f"more than fit into {max_bytes / 1e9:,.1f} GB; use coarser grids (bins) for the largest columns: {largest}"
    )


def pair_cell_count(sizes: Sequence[int]) -> int:
    """Number of cells of the tables of all pairs: ((sum s)^2 - sum s^2) / 2."""
    return (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2


def exact_pair_counts(rows: Rows, columns: Sequence[str], lookups: Sequence[Lookup]) -> Counts:
    """Tables of the pairs (0, 1), (0, 2), ..., one after the other, each with its later column running fastest."""
    if all(len(lookup) == 2 and lookup[0] == 0 and lookup[1] == 1 for lookup in lookups):
        return _two_by_two(exact_ones(rows, columns), rows.exact_rows)
    specs: list[TableSpec] = [
        ((columns[j], columns[k]), (lookups[j], lookups[k])) for j, k in combinations(range(len(columns)), 2)
    ]
    return np.concatenate([table.ravel() for table in exact_counts(rows, specs)])


def _two_by_two(ones: Counts, total: int) -> Counts:
    """Tables from the rows with both, with the first and with the second code 1, and all rows."""
    first, second = np.triu_indices(len(ones), 1)
    both, single = ones[first, second], ones.diagonal()
    left, right = single[first], single[second]
    tables = np.empty((len(both), 4), dtype=np.int64)
    tables[:, 0], tables[:, 1] = total - left - right + both, right - both
    tables[:, 2], tables[:, 3] = left - both, both
    return tables.ravel()
