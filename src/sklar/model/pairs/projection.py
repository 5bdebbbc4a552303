"""The nearest table with given margins and no negative cell: what a noisy table of few filled cells is worth.

Where one column nearly determines another, a table has full rank and most of its cells are empty: singular values keep
all of its noise, and cutting negative cells leaves the positive half of it in every empty cell. The projection on all
tables with the released margins removes it: T_ij = max(y_ij - a_i - b_j, 0), a threshold that the margins tell.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklar.arrays import Floats

ROUNDS, CLOSE = 100, 1e-7
"""Rounds over rows and columns at the most; they end once no cell moves by more than this."""
CLEARLY = 3.0
"""Standard deviations of Stein's estimate, sqrt(2 / cells) each, by which the projection must be better. On Adult it is
for education and its number of years, with 2.5 +- .2% less error of pairs (five seeds)."""
PROBES, STEP = 4, 0.05
"""Directions, and how far in standard deviations of the noise, in which an estimate is tried for its slope."""


def nearest_table(table: Floats, first: Floats, second: Floats) -> Floats:
    """The nearest table in least squares without negative cells and with the given margins (dual coordinate ascent)."""
    down, found = np.zeros(table.shape[1]), np.maximum(table, 0.0)
    for _ in range(ROUNDS):
        before = found
        across = _shifts(table - down, first)
        down = _shifts((table - across[:, None]).T, second)
        found = np.maximum(table - across[:, None] - down, 0.0)
        if np.abs(found - before).max() < CLOSE:
            break
    return found


def _shifts(table: Floats, sums: Floats) -> Floats:
    """For each row the a with sum_j max(y_j - a, 0) = its sum: the mean excess of its largest cells, as many as fit."""
    ordered = np.sort(table, axis=1)[:, ::-1]
    shift = (np.cumsum(ordered, axis=1) - sums[:, None]) / np.arange(1, table.shape[1] + 1)
    last = np.maximum(np.sum(ordered > shift, axis=1) - 1, 0)
    return shift[np.arange(len(sums)), last]


def project_if_clearer(
    estimate: Callable[[Floats], Floats], seen: Floats, sigma: float, margins: tuple[Floats, Floats]
) -> Floats | None:
    """The projection of a table, if it is clearly nearer to the truth than another estimate of it; None else.

    Args:
        estimate: What is made of a noisy table otherwise.
        seen: Noisy probabilities, with noise of standard deviation `sigma`.
        margins: Their sums along each axis, as far as these are known.
    """
    projected = nearest_table(seen, *margins)
    # Filled cells move freely but for the margins.
    freedom = np.sum(projected > 0) - sum(seen.shape) + 1
    gained = _risk(estimate(seen), seen, sigma, _divergence(estimate, seen, sigma)) - _risk(
        projected, seen, sigma, float(freedom)
    )
    return projected if gained > CLEARLY * np.sqrt(2 / seen.size) else None


def _risk(made: Floats, seen: Floats, sigma: float, divergence: float) -> float:
    """Stein's unbiased estimate of |made - truth|^2, over the expected squared noise (Annals of Statistics 1981)."""
    return float(np.sum((made - seen) ** 2) / (seen.size * sigma**2)) - 1.0 + 2.0 * divergence / seen.size


def _divergence(estimate: Callable[[Floats], Floats], seen: Floats, sigma: float) -> float:
    """The sum of the slopes of an estimate in its own cells, by differences along fixed directions of random look."""
    at, number = estimate(seen), np.arange(seen.size)
    slopes: list[float] = []
    for probe in range(PROBES):
        signs = np.where(np.cos((probe + 1.0) * number**2) > 0, 1.0, -1.0).reshape(seen.shape)
        slopes.append(float(np.sum(signs * (estimate(seen + STEP * sigma * signs) - at))) / (STEP * sigma))
    return float(np.mean(slopes))
