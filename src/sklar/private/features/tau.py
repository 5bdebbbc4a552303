r"""Kendall's tau-a of all pairs of columns from two-way tables, and the proof of how far one row can move it.

**Exact.** For columns j, k and rows i, i' let s_j = sign(x_ij - x_i'j). The integer S_jk = sum over pairs of rows of
s_j s_k (concordant minus discordant pairs; ties give 0) is read off the two-way table of ranks by prefix sums, and
tau_jk = S_jk / C(n, 2). Integers throughout: no rounding, no order of rows.

**One row replaced, n public.** Only the n - 1 pairs with that row change. For each of them the vector (s_j s_k)_{j<k}
becomes (s'_j s'_k)_{j<k}, s and s' in {-1, 0, 1}^m. The L1 norm of the difference, and the square of its L2 norm, are
convex in each single coordinate of s and of s' (absolute values, or squares, of affine functions of it), so both are
largest when all coordinates are -1 or +1. Let f coordinates of s and s' then differ: the f (m - f) products with one
such coordinate change, by 2 each. Hence, with q = floor(m^2 / 4),

    L1 <= 2 q,   L2 <= 2 sqrt(q)         for one pair of rows,
    L1 <= 2 q (n - 1),  L2 <= 2 sqrt(q) (n - 1)      for S, by the triangle inequality over the n - 1 pairs,
    L1 <= 4 q / n,   L2 <= 4 sqrt(q) / n             for tau.

For two columns this is the known 4/n; for m columns it is about sqrt(2) less than 4/n for each of the C(m, 2) taus
would give. It is attained: n - 1 equal rows, and one that moves from above them in all columns to above them in half.
A person with r rows: r replacements one after the other, so r times the bound.

**Added or removed** rows change n and with it the scale of tau, so the bound depends on n, which is then private. Such
requests are refused. Tau-b is not offered at all: its denominator shrinks with ties, and one row can move it by 0.7.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from sklar.arrays import Ints
from sklar.release.features import TauVector
from sklar.rows import Rows, TableSpec, exact_counts

PASS_BYTES = 512 << 20
"""Two-way tables are counted in passes of at most this size."""


def exact_orders(feature: TauVector, rows: Rows) -> Ints:
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
