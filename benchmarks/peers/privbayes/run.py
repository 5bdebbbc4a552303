"""PrivBayes on the public grid: run.py DEGREE [CELLS] [old-noise] TRAIN SCHEMA EPSILON DELTA ROWS OUTPUT.

Zhang, Cormode, Procopiuc, Srivastava, Xiao (2017), "PrivBayes: private data release via Bayesian networks", with as
many parents a column as DEGREE says, as the papers that compare with it have it (and DataSynthesizer, which takes over
five minutes for 20 columns at degree 3). Half of epsilon goes to the network, half to its tables; delta is 0. CELLS are
those of a column of numbers. Needs numpy, pandas and pyarrow: any Python that has them, no environment of its own.

`old-noise` repeats what COPULA-SHIRLEY compared itself with: DataSynthesizer until 31 March 2021 added noise of scale
2(d - k)/(n epsilon) to counts, n times too little. NO GUARANTEE: it is for comparing figures with the paper's only.
"""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from public_grid import CELLS, read_task

PROMISE = (
    "epsilon-DP of network (exponential mechanism) and tables (Laplace) for one row replaced by another, up to the "
    "rounding of numpy's noise; domains are those of the schema, the number of rows is public"
)
NO_PROMISE = (
    "NO GUARANTEE: the noise on the tables is n times smaller than epsilon needs, as in DataSynthesizer before "
    "31 March 2021; the result is as good as exact"
)
OLD_NOISE = "old-noise"
Family = tuple[int, tuple[int, ...]]
"""A column and its parents."""


def sensitivity(rows: int, binary: bool) -> float:
    """By how much one replaced row moves the mutual information, in bits, of two variables (lemma 4.1 of the paper).

    `binary` says that one of the two has two values.
    """
    if binary:
        return math.log2(rows) / rows + (rows - 1) / rows * math.log2(rows / (rows - 1))
    return 2 / rows * math.log2((rows + 1) / 2) + (rows - 1) / rows * math.log2((rows + 1) / (rows - 1))


@dataclass(frozen=True, kw_only=True)
class Information:
    """Entropies of sets of columns, each computed once."""

    codes: np.ndarray
    sizes: tuple[int, ...]
    known: dict[tuple[int, ...], float] = field(default_factory=dict)

    def entropy(self, columns: tuple[int, ...]) -> float:
        """Of the columns together, in bits."""
        if columns not in self.known:
            counts = np.unique(joint_code(self.codes, self.sizes, columns), return_counts=True)[1]
            shares = counts / len(self.codes)
            self.known[columns] = float(-(shares * np.log2(shares)).sum())
        return self.known[columns]

    def mutual(self, column: int, parents: tuple[int, ...]) -> float:
        """Between a column and its parents."""
        both = tuple(sorted((column, *parents)))
        return self.entropy((column,)) + self.entropy(parents) - self.entropy(both)


def joint_code(codes: np.ndarray, sizes: tuple[int, ...], columns: tuple[int, ...]) -> np.ndarray:
    """One number a row for the values of some columns, the last running fastest."""
    out = np.zeros(len(codes), dtype=np.int64)
    for column in columns:
        out = out * sizes[column] + codes[:, column]
    return out


def find_network(
    codes: np.ndarray, sizes: tuple[int, ...], degree: int, epsilon: float, rng: np.random.Generator
) -> list[Family]:
    """Columns with their parents, in order (algorithm 2): each pair is chosen by the exponential mechanism."""
    # Sensitivity: `sensitivity` bounds the score of any pair; d - 1 choices share epsilon.
    scores, each = Information(codes=codes, sizes=sizes), epsilon / max(len(sizes) - 1, 1)
    family: list[Family] = [(int(rng.integers(len(sizes))), ())]
    while len(family) < len(sizes):
        placed = sorted(column for column, _ in family)
        others = [column for column in range(len(sizes)) if column not in placed]
        parents = list(itertools.combinations(placed, min(degree, len(placed))))
        pairs = list(itertools.product(others, parents))
        bound = sensitivity(len(codes), max(sizes) == 2)  # of all pairs at once: the mechanism needs one
        logits = np.array([scores.mutual(*pair) for pair in pairs]) * each / (2 * bound)
        family.append(pairs[int(np.argmax(logits + rng.gumbel(size=len(pairs))))])
    return family


def noisy_table(
    codes: np.ndarray, sizes: tuple[int, ...], columns: tuple[int, ...], scale: float, rng: np.random.Generator
) -> np.ndarray:
    """Counts of some columns together with Laplace noise on every cell, not below 0."""
    cells = math.prod(sizes[column] for column in columns)
    counts = np.bincount(joint_code(codes, sizes, columns), minlength=cells).astype(float)
    return np.maximum(counts + rng.laplace(0.0, scale, cells), 0.0)


def synthesize(
    codes: np.ndarray, sizes: tuple[int, ...], degree: int, epsilon: float, rows: int, rng: np.random.Generator,
    old_noise: bool = False,
) -> np.ndarray:  # fmt: skip
    """Rows of codes: network, noisy tables, and draws parents first (algorithms 1 and 3).

    `old_noise` divides the noise of the tables by the number of rows, which leaves no guarantee.
    """
    degree = min(degree, len(sizes) - 1)
    network = find_network(codes, sizes, degree, epsilon / 2, rng)
    # Sensitivity: a replaced row moves two counts by one each; d - degree tables share half of epsilon.
    scale = 2 * (len(sizes) - degree) / (epsilon / 2) / (len(codes) if old_noise else 1)
    made = np.zeros((rows, len(sizes)), dtype=np.int64)
    column, parents = network[degree]
    first = (*parents, column)  # the first columns are each other's parents: one table has them all
    table = noisy_table(codes, sizes, first, scale, rng)
    shares = table / table.sum() if table.any() else np.full(len(table), 1 / len(table))
    drawn = rng.choice(len(table), rows, p=shares)
    for place in reversed(first):
        drawn, made[:, place] = np.divmod(drawn, sizes[place])
    for column, parents in network[degree + 1 :]:
        table = noisy_table(codes, sizes, (*parents, column), scale, rng).reshape(-1, sizes[column])
        table[table.sum(axis=1) == 0] = 1.0
        edges = np.cumsum(table, axis=1)
        given = edges[joint_code(made, sizes, parents)]
        made[:, column] = (given[:, :-1] <= rng.random((rows, 1)) * given[:, -1:]).sum(axis=1)
    return made


def main() -> None:
    """Read, synthesize, write."""
    import pandas as pd

    old_noise = OLD_NOISE in sys.argv[1:-6]
    own = [int(word) for word in sys.argv[1:-6] if word != OLD_NOISE]
    task = read_task(cells=own[1] if len(own) > 1 else CELLS)
    names, sizes = list(task.sizes), tuple(task.sizes.values())
    rng = np.random.default_rng()
    made = synthesize(task.codes.to_numpy(), sizes, own[0], task.epsilon, task.rows, rng, old_noise)
    task.write(pd.DataFrame(made, columns=names), NO_PROMISE if old_noise else PROMISE)


if __name__ == "__main__":
    main()
