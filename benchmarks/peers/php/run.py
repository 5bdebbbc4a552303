"""P-HP on a fine public grid: run.py TRAIN SCHEMA EPSILON DELTA ROWS OUTPUT.

Ács, Castelluccia, Chen (2012), "Differentially private histogram publishing through lossy compression": the cells in a
row are cut in two again and again, each cut chosen by the exponential mechanism so that counts are even on both sides;
each part gets one noisy sum, spread evenly over its cells. Cells of several columns are put in a row by interleaving
the bits of their codes (Z-order), so that a part is close to a box; neither that paper nor those that compare with it
say how they do this. Codes that no column has, up to the next power of two, are empty cells. Only cells with rows are
kept in memory, and a part of more than MAX_CUTS cells is cut at one of as many places, evenly spread. Delta is 0. Needs
numpy, pandas and pyarrow: any Python that has them.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from public_grid import read_task

PROMISE = (
    "epsilon-DP of cuts (exponential mechanism) and sums (Laplace) for one row more or less, up to the rounding of "
    "numpy's noise; domains are those of the schema"
)
CELLS = 1024
"""Most cells of a column of numbers."""
MAX_CUTS = 1 << 12
"""Most places among which a cut is chosen."""
MAX_DRAWS = 30
"""Draws of a cell of a part until one is a cell of the domain."""
DEPTH = 10
"""Levels of cuts: more make parts smaller, and choose each cut with less of epsilon."""
CUTS_SHARE = 0.5
"""Of epsilon, for the cuts."""
SENSITIVITY = 2.0
"""A row more or less moves a count by 1 and the mean of its part of k cells by 1/k, so that the sum of distances from
the mean moves by at most 2 (k - 1) / k; the other part stays."""


def places_of_bits(sizes: tuple[int, ...]) -> list[tuple[int, int]]:
    """Column and bit of its code, from the lowest bit of the place in Z-order on."""
    most = max((size - 1).bit_length() for size in sizes)
    return [(at, bit) for bit in range(most) for at, size in enumerate(sizes) if bit < (size - 1).bit_length()]


def to_places(codes: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Places in Z-order of rows of codes."""
    places = np.zeros(len(codes), dtype=np.int64)
    for place, (at, bit) in enumerate(places_of_bits(sizes)):
        places |= ((codes[:, at].astype(np.int64) >> bit) & 1) << place
    return places


def to_codes(places: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Rows of codes at places in Z-order; some are beyond the sizes."""
    codes = np.zeros((len(places), len(sizes)), dtype=np.int64)
    for place, (at, bit) in enumerate(places_of_bits(sizes)):
        codes[:, at] |= ((places >> place) & 1) << bit
    return codes


def uneven(at: np.ndarray, counts: np.ndarray, low: int, high: int, cuts: np.ndarray) -> np.ndarray:
    """For each cut of the cells low to high, the sum of distances from the mean on both sides.

    `at` are the sorted places of the cells with rows, all of them from low to high, and `counts` their rows.
    """
    before = np.searchsorted(at, cuts)
    sums = np.concatenate([[0], np.cumsum(counts)])
    out = np.zeros(len(cuts))
    for cells, filled, rows, inside in (
        (cuts - low, before, sums[before], lambda kept: kept[before]),
        (high - cuts, len(at) - before, sums[-1] - sums[before], lambda kept: kept[-1] - kept[before]),
    ):
        mean = rows / cells
        out += (cells - filled) * mean
        for value in np.unique(counts):
            out += inside(np.concatenate([[0], np.cumsum(counts == value)])) * np.abs(value - mean)
    return out


def cut(
    at: np.ndarray, counts: np.ndarray, low: int, high: int, epsilon: float, rng: np.random.Generator
) -> int:  # fmt: skip
    """The first cell of the second of two parts, by the exponential mechanism."""
    cuts = np.unique(np.linspace(low + 1, high - 1, min(high - low - 1, MAX_CUTS)).astype(np.int64))
    score = -uneven(at, counts, low, high, cuts) * epsilon / (2 * SENSITIVITY)
    return int(cuts[np.argmax(score + rng.gumbel(size=len(score)))])


def find_parts(
    at: np.ndarray, counts: np.ndarray, cells: int, epsilon: float, rng: np.random.Generator
) -> np.ndarray:  # fmt: skip
    """First cells of the parts, and the end. Parts of a level are disjoint, and the levels share epsilon."""
    ends = [0, cells]
    for _ in range(DEPTH):
        found = set(ends)
        for low, high in itertools.pairwise(ends):
            if high - low > 1:
                inside = slice(*np.searchsorted(at, (low, high)))
                found.add(cut(at[inside], counts[inside], low, high, epsilon / DEPTH, rng))
        ends = sorted(found)
    return np.array(ends)


def synthesize(
    codes: np.ndarray, sizes: tuple[int, ...], epsilon: float, rows: int, rng: np.random.Generator
) -> np.ndarray:
    """Rows of codes."""
    at, counts = np.unique(to_places(codes, sizes), return_counts=True)
    ends = find_parts(at, counts, 1 << len(places_of_bits(sizes)), CUTS_SHARE * epsilon, rng)
    exact = np.diff(np.concatenate([[0], np.cumsum(counts)])[np.searchsorted(at, ends)]).astype(float)
    noisy = np.maximum(exact + rng.laplace(0.0, 1 / ((1 - CUTS_SHARE) * epsilon), len(exact)), 0.0)
    part = rng.choice(len(noisy), rows, p=noisy / noisy.sum() if noisy.any() else None)
    made = rng.integers(0, sizes, (rows, len(sizes)))  # stays where a part has no cell of the domain
    left = np.arange(rows)
    for _ in range(MAX_DRAWS):
        low, length = ends[part[left]], np.diff(ends)[part[left]]
        drawn = to_codes(low + (rng.random(len(left)) * length).astype(np.int64), sizes)
        valid = (drawn < sizes).all(axis=1)
        made[left[valid]] = drawn[valid]
        left = left[~valid]
    return made


def main() -> None:
    """Read, synthesize, write."""
    import pandas as pd

    task = read_task(cells=CELLS)
    made = synthesize(
        task.codes.to_numpy(), tuple(task.sizes.values()), task.epsilon, task.rows, np.random.default_rng()
    )
    task.write(pd.DataFrame(made, columns=list(task.sizes)), PROMISE)


if __name__ == "__main__":
    main()
