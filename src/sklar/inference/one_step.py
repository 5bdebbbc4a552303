r"""The model's answer, set right by its releases where it smooths: a one-step estimate of what columns say together.

A model draws what is weak beside the noise towards none: a difference between two groups comes out too small, and so it
does in every replica. The releases are not drawn anywhere; their noise has mean 0. With psi the influence of a row on
the statistic, split into a part psi_0 that is a sum of functions of single columns and the rest psi_1, and f a linear
combination, with weights a, of the functions that were released, the truth P obeys to first order (M the model)

    theta(P) = theta(M) + mean_P(psi_0) + mean_P(f) + mean_P(psi_1 - f).

The first mean is about margins, for which models are fitted smoothly and closely: replicas tell its bias and variance.
The second is told by releases: sum_c a_c (s_c - m_c), with s_c the released and m_c the model's value for one row, but
for bias-free noise of variance sum_c a_c^2 sigma_c^2. In the third the model must be believed: it is at most
sqrt(D var_M(psi_1 - f)) in size (Cauchy-Schwarz), D the chi-square divergence of P from M. The weights make

    sum_c a_c^2 sigma_c^2  +  D var_M(psi_1 - f)

least, a ridge regression of psi_1. For a population the chance of having drawn these rows adds var(psi_1) / n. Which
part of psi_1 releases tell is said with the answer. Reference: Bickel, Klaassen, Ritov, Wellner (1993), chapter 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag, solve

from sklar.arrays import Floats, Ints
from sklar.inference.heard import Linear
from sklar.inference.mechanism.sums import CodeTable

DIVERGENCE = 0.1
"""D above. Larger follows the releases where the model would do, and pays for it in noise; smaller believes what the
model has smoothed away. From 0.3 to 10 the errors of differences between groups change by less than 5%."""
MOST_NUMBERS = 4_000
"""Released numbers in one system of equations; those of fewest cells come first."""
BINS, ROUNDS = 64, 8
"""Bins of a column on which functions of it alone are taken, and rounds of fitting them to each other's residuals."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneStep:
    """What releases add to the model's answers, one number of each for every answer.

    Attributes:
        shift: To be added.
        noise: Variance from the noise on releases.
        chance: Variance from having drawn these rows of a population.
        told: Part of what columns say together that releases tell.
        alone: What single columns contribute: for each, functions of its base codes, one line an answer.
    """

    shift: Floats
    noise: Floats
    chance: Floats
    told: Floats
    alone: dict[str, Floats]

    def mean_alone(self, codes: CodeTable) -> Floats:
        """Mean over rows of what single columns contribute."""
        return sum((by_code[:, codes.columns[name]].mean(axis=1) for name, by_code in self.alone.items()), np.zeros(1))


def one_step(
    heard: Sequence[Linear], codes: CodeTable, psi: Floats, sizes: Mapping[str, int], rows: float
) -> OneStep | None:
    """The step from releases about these columns; None if there is none about two or more of them.

    Args:
        heard: What was released.
        codes: Many rows drawn from the model.
        psi: Influence of each of these rows on each answer, one line an answer.
        sizes: The columns that the answers depend on, and how many base codes each has.
        rows: Rows of the fitted table.
    """
    usable = _usable(heard, set(sizes))
    if not usable:
        return None
    alone, together = _split(psi - psi.mean(axis=1, keepdims=True), codes, sizes)
    functions = sparse.hstack([one.functions(codes) for one in usable], format="csr")
    turn = _turn(usable)
    gram = turn @ (functions.T @ functions).toarray() @ turn.T / codes.rows
    moments = (turn @ (functions.T @ together.T)) / codes.rows
    model = turn @ np.asarray(functions.mean(axis=0)).ravel()
    released = np.concatenate([one.values for one in usable]) / rows
    variance = np.concatenate([np.full(one.values.size, (one.sigma / rows) ** 2) for one in usable])
    weights = solve(gram + np.diag(variance / DIVERGENCE), moments, assume_a="pos")
    whole = together.var(axis=1)
    explained = 2 * (moments * weights).sum(axis=0) - ((gram @ weights) * weights).sum(axis=0)
    return OneStep(
        shift=(released - model) @ weights,
        noise=variance @ weights**2,
        chance=whole / rows,
        told=np.clip(explained / np.maximum(whole, 1e-300), 0.0, 1.0),
        alone=alone,
    )


def _usable(heard: Sequence[Linear], columns: set[str]) -> list[Linear]:
    """Releases about these columns alone, as many as can be solved for."""
    about = sorted((one for one in heard if set(one.columns) <= columns), key=lambda one: one.values.size)
    upto = np.cumsum([one.values.size for one in about])
    return [one for one, numbers in zip(about, upto, strict=True) if numbers <= MOST_NUMBERS]


def _turn(usable: Sequence[Linear]) -> Any:
    return sparse.csr_array(np.asarray(block_diag(*(one.turn for one in usable))))


def _split(psi: Floats, codes: CodeTable, sizes: Mapping[str, int]) -> tuple[dict[str, Floats], Floats]:
    """Functions of single columns that tell most of psi (backfitting), and what they leave."""
    bins = {name: _bins(codes.columns[name], size) for name, size in sizes.items()}
    inside = {name: bins[name][codes.columns[name]] for name in sizes}
    counts = {name: np.maximum(np.bincount(inside[name], minlength=BINS), 1) for name in sizes}
    found = {name: np.zeros((len(psi), BINS)) for name in sizes}
    left = psi.copy()
    for _ in range(ROUNDS if len(sizes) > 1 else 1):
        for name in sizes:
            sums = np.stack([np.bincount(inside[name], line, BINS) for line in left])
            found[name] += sums / counts[name]
            left -= (sums / counts[name])[:, inside[name]]
    return {name: found[name][:, bins[name]] for name in sizes}, left


def _bins(codes: np.ndarray, size: int) -> Ints:
    """A bin for each base code, of about equal numbers of rows."""
    upto = np.cumsum(np.bincount(codes, minlength=size)) / len(codes)
    middle = upto - np.diff(upto, prepend=0.0) / 2
    return np.unique((middle * BINS).astype(np.int64).clip(0, BINS - 1), return_inverse=True)[1]
