r"""Coefficients of one histogram in a fixed basis: exact integers, and how far one row can move them.

**Cosine.** phi_f(b) = c_f cos(pi f (b + 1/2) / B), c_0 = sqrt(1/B), c_f = sqrt(2/B), for bins b = 0..B-1: the rows of
an orthogonal matrix (DCT-II), of which the `kept` lowest frequencies are used. Entries are rounded toward zero to
integers w_f(b) in units u = 2^-16; a row in bin b adds w(b). All coordinates are real and every one of them gets noise:
there is no phase that could be left without.

* One row comes or goes: |w(b)|_2 <= |phi(b)|_2 <= 1, since rounding toward zero shortens and the columns of an
  orthogonal matrix have length 1.
* One row moves from b to c: the rounding errors of two entries differ by less than u, so
  |w(b) - w(c)|_2 <= |phi(b) - phi(c)|_2 + u sqrt(kept) <= sqrt(2) + u sqrt(kept).
* L1 <= sqrt(kept) L2 (Cauchy-Schwarz).

**Haar.** The total, and for each node of a binary tree over the bins the count of its left half minus that of its right
half. A row adds +-1 to the node of each of L = log2(leaves) levels on its path, and 1 to the total.

* One row comes or goes: L1 <= L + 1, L2 <= sqrt(L + 1).
* One row moves: the total and the nodes above the one where the paths part do not change, that one changes by 2, and
  each lower level by 1 at two nodes. So L1 <= 2 L and L2^2 <= 4 + 2 (L - 1) = 2 L + 2 (0 for L = 0).

A person with r rows: r times these bounds (triangle inequality). One whose rows share a vote adds a mean of what single
rows add, or less: the bounds of one row hold, by the argument in `sklar.private.interactions`; only the total, which a
replaced row leaves alone, may move by the parts that a vote is not divided into, and is bounded by 1. Lookup, basis and
`kept` are fixed before the rows are read. Reference for the weights: Xiao, Wang, Gehrke (2010), "Differential privacy
via wavelet transforms".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints
from sklar.release.features import BASIS_BITS, Coefficients


def exact_coefficients(feature: Coefficients, codes: npt.NDArray[np.integer[Any]]) -> Ints:
    """Coefficients of a batch, in units of `feature.resolution`."""
    counts = np.bincount(feature.lookup[codes[:, 0]], minlength=feature.bins).astype(np.int64)
    return cosine_basis(feature.kept, feature.bins) @ counts if feature.basis == "cosine" else _haar(feature, counts)


def cosine_basis(kept: int, bins: int) -> Ints:
    """Integer entries of the lowest frequencies, in units of 2^-16, rounded toward zero."""
    frequency = np.arange(kept)[:, None]
    angle = np.pi * frequency * (2 * np.arange(bins) + 1) / (2 * bins)
    scale = np.where(frequency == 0, math.sqrt(1 / bins), math.sqrt(2 / bins))
    # The guard keeps rounding errors of the cosine from lengthening an entry.
    return np.trunc(scale * np.cos(angle) * (1 - 1e-12) * 2**BASIS_BITS).astype(np.int64)


def _haar(feature: Coefficients, counts: Ints) -> Ints:
    level = np.zeros(feature.leaves, dtype=np.int64)
    level[: len(counts)] = counts
    differences: list[Ints] = []
    while len(level) > 1:
        differences.append(level[0::2] - level[1::2])
        level = level[0::2] + level[1::2]
    return np.concatenate([level, *differences[::-1]])
