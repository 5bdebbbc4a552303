"""Telling signal from noise in a noisy table: shrinkage of singular values, and mutual information."""

from __future__ import annotations

import numpy as np


def shrink_singular_values(residual: np.ndarray, sigma: float, edge: float = 1.0) -> np.ndarray:
    """Best low-rank guess of a matrix seen through white noise of standard deviation `sigma`.

    With b = rows / columns (at most 1) and y a singular value divided by sigma sqrt(columns), keep
    sqrt((y^2 - b - 1)^2 - 4 b) / y when y > 1 + sqrt(b), else nothing: asymptotically optimal in Frobenius loss
    (Gavish and Donoho, "Optimal shrinkage of singular values", IEEE Trans. Inf. Theory 2017). With `edge` above 1 a
    singular value must pass that line by this factor.
    """
    if sigma <= 0:
        return np.array(residual, dtype=float)
    short, long = sorted(residual.shape)
    ratio = short / long
    left, values, right = np.linalg.svd(residual, full_matrices=False)
    scaled = values / (sigma * np.sqrt(long))
    kept = np.sqrt(np.maximum((scaled**2 - ratio - 1) ** 2 - 4 * ratio, 0.0)) / np.maximum(scaled, 1e-9)
    kept = np.where(scaled > edge * (1 + np.sqrt(ratio)), kept, 0.0) * sigma * np.sqrt(long)
    return (left * kept) @ right


def denoise_pair(counts: np.ndarray, sigma: float, rows: float, mass1: np.ndarray, mass2: np.ndarray) -> np.ndarray:
    """Probabilities of a pair table: independence under the released margins plus what stands out of the noise."""
    expected = rows * np.outer(mass1, mass2)
    table = np.maximum(expected + shrink_singular_values(counts - expected, sigma), 0.0)
    total = table.sum()
    return table / total if total > 0 else np.outer(mass1, mass2)


def mutual_information(table: np.ndarray) -> float:
    """Mutual information in nats of a table of probabilities."""
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    seen = (table > 0) & (product > 0)
    return float(np.sum(table[seen] * np.log(table[seen] / product[seen])))
