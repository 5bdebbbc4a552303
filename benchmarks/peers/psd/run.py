"""Private spatial decomposition, KD-hybrid, on a fine public grid: run.py TRAIN SCHEMA EPSILON DELTA ROWS OUTPUT.

Cormode, Procopiuc, Srivastava, Shen, Yu (2012), "Differentially private spatial decompositions": a binary tree of boxes
whose upper levels are cut at noisy medians of one column after the other and whose lower levels are cut in the middle;
noisy counts of all nodes with a geometric share of epsilon a level, made to agree by least squares; rows drawn evenly
inside the leaves. Delta is 0. Needs numpy, pandas and pyarrow: any Python that has them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from public_grid import read_task

PROMISE = (
    "epsilon-DP of cuts (exponential mechanism) and counts (Laplace) for one row more or less, up to the rounding of "
    "numpy's noise; domains are those of the schema"
)
CELLS = 1024
"""Most cells of a column of numbers: DPCopula's columns have at most 1,020 values."""
HEIGHT, MEDIANS = 12, 6
"""Levels of cuts, and how many of them, from the top, at medians: deeper trees have smaller boxes and more noise."""
CUTS_SHARE = 0.3
"""Of epsilon, for the medians (the paper's choice)."""
RATIO = 2 ** (1 / 3)
"""By which a level's share of epsilon grows towards the leaves (the paper's geometric budget)."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A box of cells, from `low` up to and without `high` in each column, and its rows."""

    low: np.ndarray
    high: np.ndarray
    rows: np.ndarray

    @property
    def cells(self) -> float:
        """0 for a box that a cut left empty."""
        return float(np.prod((self.high - self.low).astype(float)))


def cut_place(codes: np.ndarray, low: int, high: int, epsilon: float, rng: np.random.Generator) -> int:
    """Where the upper half begins: by the exponential mechanism, a cut scoring minus its distance in rank from n / 2.

    Sensitivity: one row more or less moves the rank of a cut by at most 1 and n / 2 by 1/2, the distance by at most 1.
    """
    below = np.cumsum(np.bincount(codes - low, minlength=high - low))[:-1]
    score = -np.abs(below - len(codes) / 2)
    return low + 1 + int(np.argmax(score * epsilon / 2 + rng.gumbel(size=len(score))))


def split(node: Node, codes: np.ndarray, level: int, epsilon: float, rng: np.random.Generator) -> tuple[Node, Node]:
    """Both halves along the next column that is wide enough; a box of one cell keeps its rows beside an empty one."""
    wide = np.flatnonzero(node.high - node.low > 1)
    if not len(wide) or node.cells == 0:
        return node, Node(low=node.low, high=node.low, rows=node.rows[:0])
    column = int(wide[np.searchsorted(wide, level % codes.shape[1]) % len(wide)])
    low, high, own = int(node.low[column]), int(node.high[column]), codes[node.rows, column]
    place = cut_place(own, low, high, epsilon, rng) if level < MEDIANS else (low + high) // 2
    upper, lower = node.low.copy(), node.high.copy()
    upper[column] = lower[column] = place
    return (
        Node(low=node.low, high=lower, rows=node.rows[own < place]),
        Node(low=upper, high=node.high, rows=node.rows[own >= place]),
    )


def level_shares(epsilon: float) -> np.ndarray:
    """Epsilon of the counts of each level, the root's first."""
    weights = RATIO ** np.arange(HEIGHT + 1)
    return epsilon * (1 - CUTS_SHARE) * weights / weights.sum()


def agreeing(noisy: list[np.ndarray], variances: np.ndarray) -> np.ndarray:
    """Leaf counts of the least squares solution under which every node is the sum of its two halves."""
    best, spread = [noisy[-1]], [variances[-1]]
    for counts, variance in zip(noisy[-2::-1], variances[-2::-1], strict=True):
        below, error = best[-1].reshape(-1, 2).sum(axis=1), 2 * spread[-1]
        best.append((counts / variance + below / error) / (1 / variance + 1 / error))
        spread.append(1 / (1 / variance + 1 / error))
    final = best.pop()
    while best:
        halves = best.pop()
        final = halves + np.repeat((final - halves.reshape(-1, 2).sum(axis=1)) / 2, 2)
    return final


def synthesize(
    codes: np.ndarray, sizes: tuple[int, ...], epsilon: float, rows: int, rng: np.random.Generator
) -> np.ndarray:
    """Rows of codes."""
    level = [Node(low=np.zeros(len(sizes), int), high=np.array(sizes), rows=np.arange(len(codes)))]
    # Sensitivity: a row lies in one node of each level, so that the counts of a level move by 1 in one of them; cuts of
    # one level concern different rows, and MEDIANS levels share their part of epsilon.
    shares, cuts, noisy = level_shares(epsilon), CUTS_SHARE * epsilon / MEDIANS, list[np.ndarray]()
    for depth in range(HEIGHT + 1):
        exact = np.array([len(node.rows) for node in level], dtype=float)
        noisy.append(exact + rng.laplace(0.0, 1 / shares[depth], len(level)))
        if depth < HEIGHT:
            level = [half for node in level for half in split(node, codes, depth, cuts, rng)]
    counts = np.maximum(agreeing(noisy, 2 / shares**2), 0.0) * np.array([node.cells > 0 for node in level])
    drawn = rng.choice(len(level), rows, p=counts / counts.sum() if counts.any() else None)
    low, high = (np.array([getattr(node, end) for node in level])[drawn] for end in ("low", "high"))
    return low + (rng.random(low.shape) * (high - low)).astype(np.int64)


def main() -> None:
    """Read, synthesize, write."""
    import pandas as pd

    task = read_task(cells=CELLS)
    names, sizes = list(task.sizes), tuple(task.sizes.values())
    made = synthesize(task.codes.to_numpy(), sizes, task.epsilon, task.rows, np.random.default_rng())
    task.write(pd.DataFrame(made, columns=names), PROMISE)


if __name__ == "__main__":
    main()
