"""Li et al. 2014, section 4.1, algorithm 2: the joint likelihood of a block against the likelihood of each pair.

python -m benchmarks.papers.dpcopula_joint [--quick]

Algorithm 2 maximizes the likelihood of all columns of a block together; `dpcopula-mle -O estimate=likelihood` that of
each pair alone. Both have the same noise, since a coefficient lies between -1 and 1 either way. This measures how far
their means over blocks lie from the truth and from each other, beside that noise.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from scipy.optimize import minimize

from benchmarks.papers.beside import Beside
from benchmarks.papers.figures import add_picture_options

COLUMNS, BLOCK_ROWS = 4, 50
EPSILON_2 = 1 / 9
"""At epsilon 1 and the paper's k = 8."""
PLACES = np.tril_indices(COLUMNS, -1)


def correlation_of(angles: np.ndarray) -> np.ndarray:
    """A correlation matrix from numbers without bounds: rows of a triangle, each of length one."""
    root = np.eye(COLUMNS)
    root[PLACES] = angles
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    return root @ root.T


def joint_estimate(scores: np.ndarray) -> np.ndarray:
    """The correlations of greatest likelihood of all columns together."""
    squares = scores.T @ scores / len(scores)

    def loss(angles: np.ndarray) -> float:
        corr = correlation_of(angles)
        return float(np.linalg.slogdet(corr)[1] + np.trace(np.linalg.solve(corr, squares)))

    return correlation_of(minimize(loss, np.zeros(len(PLACES[0])), method="BFGS").x)[PLACES]


def pair_estimate(scores: np.ndarray) -> np.ndarray:
    """The correlations of greatest likelihood of each pair of columns, on a grid of 1/1,000."""
    grid = np.linspace(-0.999, 0.999, 1_999)
    squares = scores.T @ scores / len(scores)
    mean = (squares.diagonal()[PLACES[0]] + squares.diagonal()[PLACES[1]])[:, None]
    product = squares[PLACES][:, None]
    loss = np.log(1 - grid**2) + (mean - 2 * grid * product) / (1 - grid**2)
    return grid[np.argmin(loss, axis=1)]


def main() -> None:
    """Print both errors beside the noise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_picture_options(parser)
    blocks = 200 if parser.parse_args().quick else 2_160  # the fewest that algorithm 2 allows for four columns
    rng = np.random.default_rng(0)
    corr = correlation_of(rng.normal(size=len(PLACES[0])))
    root = np.linalg.cholesky(corr)
    made = [rng.normal(size=(BLOCK_ROWS, COLUMNS)) @ root.T for _ in range(blocks)]
    joint, pairs = (np.array([estimate(rows) for rows in made]) for estimate in (joint_estimate, pair_estimate))
    beside, truth = Beside(), corr[PLACES]
    for name, found in (("joint", joint), ("pair by pair", pairs)):
        beside.add(f"{name}: spread of a block's correlation", None, float(found.std(axis=0).mean()))
        beside.add(f"{name}: error of the mean over {blocks:,} blocks", None, float(_off(found.mean(axis=0) - truth)))
    beside.add("between both means", None, float(_off(joint.mean(axis=0) - pairs.mean(axis=0))))
    allowed = 2_160
    noise = math.sqrt(2) * 2 * math.comb(COLUMNS, 2) / (allowed * EPSILON_2)
    beside.add(f"noise on a mean over {allowed:,} blocks, epsilon 1", None, noise)
    beside.show()
    print("Why they differ: they hardly do. The noise is what counts, and the joint likelihood does not lower it; its")
    print("maximum has no closed form, so that a block would need a search whose end depends on its rows.")


def _off(differences: np.ndarray) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(differences**2)))


if __name__ == "__main__":
    main()
