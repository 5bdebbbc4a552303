"""The part of a table that tables of fewer columns do not determine, and how it becomes a whole table again."""

from __future__ import annotations

import math

from sklar.arrays import Floats


def centre(table: Floats) -> Floats:
    """Return the table without its mean along each axis: its orthogonal projection on tables that sum to zero along
    all."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def with_margins(interactions: Floats, rows: float, masses: tuple[Floats, Floats]) -> Floats:
    """Return the table of a pair whose interactions are known (with noise) and whose margins are given as
    probabilities.

    Noise in what the margins measure better is dropped first: T = centred(R) + n (p_i / L + q_j / K - 1 / (K L)).
    """
    first, second = masses
    k, m = len(first), len(second)
    return centre(interactions) + rows * (first[:, None] / m + second[None, :] / k - 1 / (k * m))


def noisy_dimensions(shape: tuple[int, ...]) -> int:
    """Return the number of dimensions of interactions: the product of the groups less one."""
    return math.prod(size - 1 for size in shape)
