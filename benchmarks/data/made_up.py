"""Tables that are made from a definition and a seed: DPCopula's, stand-ins for its censuses, and one with odd pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import ndtr

DOMAIN = 1_000
"""Values of each column of DPCopula's synthetic tables."""
SHAPES = ("gaussian", "uniform", "zipf")
"""Their margins (Li et al. 2014, section 5.1)."""
CENSUS = {
    "us": (100_000, {"age": 96, "occupation": 511, "income": 1_020, "gender": 2}),
    "brazil": (
        188_846,
        {
            "age": 95, "gender": 2, "disability": 2, "nativity": 2, "hours": 95, "education": 140, "years": 31,
            "income": 586,
        },
    ),
}  # fmt: skip
"""Rows and domain sizes of the censuses (Li et al. 2014, table 2). The tables themselves come from IPUMS, which lets
nobody hand them on, so stand-ins of the same sizes take their place."""


def gauss8(rows: int = 50_000, columns: int = 8, seed: int = 0) -> pd.DataFrame:
    """Gaussian margins and a random correlation matrix, DOMAIN values a column."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(columns, columns))
    z = rng.multivariate_normal(np.zeros(columns), _correlation(root @ root.T), rows)
    return pd.DataFrame(gaussian_codes(z), columns=[f"A{i}" for i in range(columns)])


def tail6(rows: int = 20_000, seed: int = 0) -> pd.DataFrame:
    """Dependence that no Gaussian copula has: a Clayton pair, a sign that changes, a spread that does, and skew."""
    rng = np.random.default_rng(seed)
    frailty = rng.gamma(0.5, 1, rows)
    claim, loss = ((1 + rng.exponential(size=rows) / frailty) ** -0.5 for _ in range(2))
    a = rng.normal(size=rows)
    f = np.where(a < 0, 1.6 * a, -0.2 * a) + 0.6 * rng.normal(size=rows)
    h = rng.normal(size=rows) * (0.3 + np.abs(a))
    b = np.exp(0.8 * a + 0.4 * rng.normal(size=rows))
    return pd.DataFrame(
        {
            "claim": np.clip(-np.log(claim) * 2, 0, 40), "loss": np.clip(-np.log(loss) * 2, 0, 40),
            "a": np.clip(a, -5, 5), "f": np.clip(f, -12, 12), "h": np.clip(h, -20, 20), "b": np.clip(b, 0, 60),
        }
    )  # fmt: skip


def gaussian_dependence(rows: int, columns: int, seed: int, shape: str = "gaussian") -> np.ndarray:
    """Codes below DOMAIN with dependence of three factors and margins of one shape."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(columns, 3))
    z = rng.multivariate_normal(np.zeros(columns), _correlation(loadings @ loadings.T + np.eye(columns)), rows)
    if shape == "gaussian":
        return gaussian_codes(z)
    weight = np.ones(DOMAIN) if shape == "uniform" else 1.0 / np.arange(1, DOMAIN + 1)
    return np.searchsorted(np.cumsum(weight[:-1]) / weight.sum(), ndtr(z), side="right")


def gaussian_codes(z: np.ndarray) -> np.ndarray:
    """Equal cells over four standard deviations to both sides."""
    return np.clip(np.floor((z + 4) / 8 * DOMAIN), 0, DOMAIN - 1).astype(int)


def census(name: str, rows: int | None = None, seed: int = 0) -> pd.DataFrame:
    """A stand-in for a census: its rows and domain sizes, skewed margins, and dependence of two factors."""
    known, sizes = CENSUS[name]
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(len(sizes), 2))
    cov = _correlation(loadings @ loadings.T + np.eye(len(sizes)))
    u = ndtr(rng.multivariate_normal(np.zeros(len(sizes)), cov, rows or known))
    powers = rng.uniform(1.0, 2.5, len(sizes))
    return pd.DataFrame(
        {
            column: np.minimum((u[:, j] ** (powers[j] if size > 2 else 1.0) * size).astype(int), size - 1)
            for j, (column, size) in enumerate(sizes.items())
        }
    )


def _correlation(cov: np.ndarray) -> np.ndarray:
    scale = np.sqrt(cov.diagonal())
    return cov / scale[:, None] / scale
