"""What truncation promises on paper holds in the code: Theorems 2.4 and 2.5 of Griesbauer et al. (2025)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from sklar.lab.vines.fit import fit_rvine
from sklar.model.rvine.vine import FAMILIES, RegularVine

D = 6
"""Covariates; column D is the response, and columns stand in vine order: D is the first root, then D - 1, ..."""


def random_correlation(seed: int, size: int) -> np.ndarray:
    factor = np.random.default_rng(seed).standard_normal((size, size + 2))
    cov = factor @ factor.T
    scale = np.sqrt(np.diag(cov))
    return cov / np.outer(scale, scale)


def partial(corr: np.ndarray, first: int, second: int, given: list[int]) -> float:
    precision = np.linalg.inv(corr[np.ix_([first, second, *given], [first, second, *given])])
    return float(-precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1]))


def gaussian_cvine(corr: np.ndarray) -> RegularVine:
    """The C-vine with Gaussian pairs of a multivariate normal: its parameters are partial correlations."""
    size = len(corr)
    edges = [(v, size - 1 - t, list(range(size - t, size))) for t in range(size - 1) for v in range(size - 1 - t)]
    values = np.array([partial(corr, *edge) for edge in edges])
    return RegularVine(
        size=size,
        first=np.array([edge[0] for edge in edges]),
        second=np.array([edge[1] for edge in edges]),
        given=np.array([column for edge in edges for column in edge[2]], dtype=np.int64),
        family=np.full(len(edges), FAMILIES.index("gaussian")),
        rotation=np.zeros(len(edges), dtype=np.int64),
        parameters=values,
        counts=np.ones(len(edges), dtype=np.int64),
        tau=2 / np.pi * np.arcsin(values),
        discrete=np.zeros(size, dtype=bool),
        loglik=0.0,
        rows=1,
    )


def implied_correlation(vine: RegularVine) -> np.ndarray:
    """Normal scores of a Gaussian vine are linear in independent ones, z = A w, so that their correlation is A A'."""
    factor = ndtri(vine.from_independent(ndtr(np.eye(vine.size)))).T
    return factor @ factor.T


def coefficients(corr: np.ndarray, sensitive: int) -> np.ndarray:
    """Regression of one standardized column on all others, in vine order with the response last."""
    others = [column for column in range(len(corr)) if column != sensitive]
    return np.linalg.solve(corr[np.ix_(others, others)], corr[others, sensitive])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_untruncated_gaussian_c_vine_is_the_multivariate_normal(seed: int) -> None:
    corr = random_correlation(seed, D + 1)
    assert np.allclose(implied_correlation(gaussian_cvine(corr)), corr, atol=1e-6)


@pytest.mark.parametrize("position", [1, 2, 3])
def test_theorem_2_4(position: int) -> None:
    vine = gaussian_cvine(random_correlation(position, D + 1))
    for level in range(1, D + 1):
        beta = coefficients(implied_correlation(vine.truncate(level)), position - 1)
        if level <= D + 1 - position:
            assert np.abs(beta[: D - level]).max(initial=0) < 1e-6
            assert np.abs(beta[D - level :]).min() > 1e-4
        elif level < D:
            # Beyond, the sensitive column is itself a root, and all columns lean on it.
            assert np.abs(beta[: D - level]).min() > 1e-4


def test_theorem_2_5() -> None:
    block = 3  # |S| + |K|: positions 1 to 3, of which the first is sensitive
    corr = np.eye(D + 1)
    corr[:block, :block] = random_correlation(7, block)
    corr[block:, block:] = random_correlation(8, D + 1 - block)
    vine = gaussian_cvine(corr)
    for level in range(1, D + 1):
        beta = coefficients(implied_correlation(vine.truncate(level)), 0)
        if level <= D + 1 - block:
            assert np.abs(beta).max() < 1e-6
        else:
            assert np.abs(beta).max() > 0.05


def test_without_the_block_a_low_level_still_leaks() -> None:
    beta = coefficients(implied_correlation(gaussian_cvine(random_correlation(9, D + 1)).truncate(2)), 0)
    assert np.abs(beta).max() > 0.05


@pytest.mark.parametrize("rows", [3_000, 30_000])
def test_a_fit_to_normal_rows_finds_the_correlations(rows: int) -> None:
    corr = random_correlation(4, 5)
    x = np.random.default_rng(1).multivariate_normal(np.zeros(5), corr, size=rows)
    vine = fit_rvine(ndtr(x), families="gaussian", structure="cvine", order=range(5))
    # Five standard errors of a correlation.
    assert np.allclose(implied_correlation(vine), corr, atol=5 / np.sqrt(rows))


@pytest.mark.parametrize("rows", [4_000, 40_000])
def test_sampling_then_refitting_recovers_the_vine(rows: int) -> None:
    names = ("clayton", "gumbel", "frank", "student", "joe", "gaussian")
    made = RegularVine(
        size=4,
        first=np.array([0, 1, 2, 0, 1, 0]),
        second=np.array([3, 3, 3, 2, 2, 1]),
        given=np.array([3, 3, 2, 3]),
        family=np.array([FAMILIES.index(name) for name in names]),
        rotation=np.array([90, 180, 0, 0, 270, 0]),
        parameters=np.array([2.0, 1.8, 5.0, 0.6, 4.0, 1.7, -0.4]),
        counts=np.array([1, 1, 1, 2, 1, 1]),
        tau=np.zeros(6),
        discrete=np.zeros(4, dtype=bool),
        loglik=0.0,
        rows=1,
    )
    u = made.simulate(rows, np.random.default_rng(5))
    found = fit_rvine(u, structure="cvine", order=range(4), selection="bic")
    assert [FAMILIES[family] for family in found.family[:5]] == list(names[:5])
    assert FAMILIES[found.family[5]] in ("gaussian", "student")  # the one is the limit of the other
    assert found.rotation.tolist() == made.rotation.tolist()
    truth = [copula.tau for tree in made.to_vinecop().pair_copulas for copula in tree]
    assert np.allclose(found.tau, truth, atol=3 / np.sqrt(rows))
    assert np.allclose(found.parameters[:7], made.parameters, rtol=20 / np.sqrt(rows))
