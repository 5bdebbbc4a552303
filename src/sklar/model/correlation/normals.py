"""Correlated normal vectors in blocks: single precision, one factor, threads for the draws."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from sklar.arrays import Floats, usable_cores
from sklar.model.correlation.nearest import nearest_correlation

Singles = NDArray[np.float32]

BLOCK_ENTRIES = 1 << 23
"""A block of draws has about this many numbers (32 MB), for any number of columns."""
MIN_BLOCK_ROWS = 256
"""Rows of a block at least, however many columns there are."""
GENERATORS_PER_BLOCK = 8
"""A block is filled by this many generators, so that threads share the work and the draws do not depend on them."""


def factor_of(corr: Floats) -> Floats:
    """Lower Cholesky factor of a correlation matrix; one that has none is replaced by the nearest that has."""
    try:
        return np.asarray(np.linalg.cholesky(corr), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.cholesky(nearest_correlation(corr)), dtype=np.float64)


def latent_blocks(
    factor: Floats, rows: int, rng: np.random.Generator, *, balanced: bool = False, entries: int = BLOCK_ENTRIES
) -> Iterator[tuple[slice, Singles]]:
    """Yield blocks of normal vectors: the rows of the block, and one line of the array per column.

    The lower triangular factor of the correlation matrix is given. Balanced, each tall block is turned so that its
    sample means are 0 and its sample correlations those of the model.
    """
    width = len(factor)
    height = max(MIN_BLOCK_ROWS, entries // max(width, 1))
    with ThreadPoolExecutor(usable_cores()) as pool:
        for start in range(0, rows, height):
            stop = min(start + height, rows)
            draws, turned = _draws(width, stop - start, rng, pool), factor
            if balanced and stop - start > 4 * width:
                draws -= draws.mean(axis=1, keepdims=True, dtype=np.float64).astype(np.float32)
                turned = factor @ _whitening(draws)
            yield slice(start, stop), _product(turned, draws)


def _draws(width: int, height: int, rng: np.random.Generator, pool: ThreadPoolExecutor) -> Singles:
    out = np.empty((width, height), dtype=np.float32)
    flat, cuts = out.reshape(-1), np.linspace(0, out.size, GENERATORS_PER_BLOCK + 1).astype(np.int64)

    def fill(part: int, child: np.random.Generator) -> None:
        child.standard_normal(dtype=np.float32, out=flat[cuts[part] : cuts[part + 1]])

    list(pool.map(fill, range(GENERATORS_PER_BLOCK), rng.spawn(GENERATORS_PER_BLOCK)))
    return out


def _whitening(centred: Singles) -> Floats:
    """Return the lower triangular matrix that turns draws of mean 0 into ones whose sample covariance is the
    identity."""
    spread = (centred @ centred.T).astype(np.float64) / centred.shape[1]
    return np.linalg.inv(np.linalg.cholesky(spread))


def _product(lower: Floats, draws: Singles) -> Singles:
    """Return lower @ draws in the memory of the draws: half the work of a full product, since half of `lower` is 0."""
    from scipy.linalg.blas import strmm  # pyright: ignore[reportAttributeAccessIssue]

    triangle = np.asfortranarray(lower, dtype=np.float32)
    return strmm(1.0, triangle, draws.T, side=1, lower=1, trans_a=1, overwrite_b=1).T
