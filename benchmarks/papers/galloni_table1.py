"""Galloni et al. 2023, table 1: what G_eps misses and G_eps+ sees. `python -m benchmarks.papers.galloni_table1`.

A table of two numbers is turned, moved, or replaced by noise with the same means and covariances. The paper does not
say how its table was made; ours is a skewed pair with a linear relation, so single numbers differ and the pattern is
what can be compared.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import sklar
from benchmarks.papers.g_scores import g_scores
from sklar.lab.metrics.g_epsilon import GEpsilon

ROWS = 4_000
COLUMNS = ("phi_k", "C", "R2", "RSE", "TVD", "G_eps", "G_eps+")
PAPER = {
    "rotation by 90 degrees": (0.0, 1.8, 0.0, 0.0, 0.97, 0.0, 0.97),
    "rotation by 180 degrees": (0.0, 0.0, 0.0, 0.0, 0.82, 0.0, 0.82),
    "translation": (0.0, 0.0, 0.0, 0.0, 0.94, 0.0, 0.94),
    "same mean and covariance": (0.11, 0.0, 0.02, 0.0, 0.27, 0.13, 0.40),
}
"""Differences of phi_k, of Pearson's correlation (C), R2, residual standard error; TVD; G_eps and G_eps+."""


def original(rng: np.random.Generator) -> np.ndarray:
    """A tight, skewed cloud."""
    first = rng.gamma(2.0, 1.0, ROWS)
    return np.column_stack([first, 1.5 * first + 0.7 * rng.standard_normal(ROWS)])


def same_moments(real: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Uniform noise with exactly the means and covariances of the real table (Mateo-Sanz et al. 2004)."""
    noise = rng.uniform(size=real.shape)
    noise -= noise.mean(axis=0)
    whitened = noise @ np.linalg.inv(np.linalg.cholesky(np.cov(noise.T))).T
    return whitened @ np.linalg.cholesky(np.cov(real.T)).T + real.mean(axis=0)


def transformations(real: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The four tables of the paper."""
    quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
    return {
        "rotation by 90 degrees": real @ quarter.T,
        "rotation by 180 degrees": -real,
        "translation": real + real.mean(axis=0).sum(),
        "same mean and covariance": same_moments(real, rng),
    }


def compared(real: np.ndarray, other: np.ndarray) -> GEpsilon:
    """G_eps and G_eps+ with linear regression and R2, as in the paper, on a grid over both tables."""
    both = np.concatenate([real, other])
    schema = sklar.Schema({name: sklar.Real(both[:, i].min(), both[:, i].max()) for i, name in enumerate("xy")})
    one, two = (pd.DataFrame(points, columns=["x", "y"]) for points in (real, other))
    return g_scores(one, two, schema, "y", learners=["linear"])


def linear_parts(real: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """|difference| of Pearson's correlation, and of the residual standard error of a regression of y on x."""
    (c_real, e_real), (c_other, e_other) = (_regression(points) for points in (real, other))
    return abs(c_real - c_other), abs(e_real - e_other)


def _regression(points: np.ndarray) -> tuple[float, float]:
    x, y = points.T
    corr = float(np.corrcoef(x, y)[0, 1])
    return corr, float(y.std() * np.sqrt(max(0.0, 1 - corr**2) * len(y) / (len(y) - 2)))


def main() -> None:
    """Print both tables."""
    rng = np.random.default_rng(0)
    real = original(rng)
    made = transformations(real, rng)
    print(f"{'':26s} " + " ".join(f"{name:>11s}" for name in COLUMNS) + "   (ours|paper)")
    for name, table in made.items():
        found = compared(real, table)
        corr, residual = linear_parts(real, table)
        ours = (found.mu, corr, found.delta, residual, found.nu, found.g_epsilon, found.score.value)
        print(f"{name:26s} " + " ".join(f"{a:5.2f}|{b:5.2f}" for a, b in zip(ours, PAPER[name], strict=True)))
    print(
        "Why they differ: the paper gives neither its table nor the bins of its TVD. As there, only TVD sees the\n"
        "first three (a rotation by 90 degrees also turns the sign of the correlation, C, and swaps the column\n"
        "that is regressed, hence our RSE), and phi_k sees the last a little."
    )


if __name__ == "__main__":
    main()
