"""What truncation promises on paper holds in the code: Theorems 2.3 to 2.5 of Griesbauer et al. (2025)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal

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


SHARE = 0.4
"""P(Y = 1) of the vine of Theorem 2.3: two covariates, Y their root, all pair copulas Gaussian."""
CORRELATIONS = {"x1,y": 0.6, "x2,y": -0.4, "x1,x2;y": 0.7}


def response_vine() -> RegularVine:
    values = np.array(list(CORRELATIONS.values()))
    return RegularVine(
        size=3,
        first=np.array([0, 1, 0]),
        second=np.array([2, 2, 1]),
        given=np.array([2]),
        family=np.full(3, FAMILIES.index("gaussian")),
        rotation=np.zeros(3, dtype=np.int64),
        parameters=values,
        counts=np.ones(3, dtype=np.int64),
        tau=2 / np.pi * np.arcsin(values),
        discrete=np.array([False, False, True]),
        loglik=0.0,
        rows=1,
    )


def given_response(x: np.ndarray, corr: float, y: int) -> tuple[np.ndarray, np.ndarray]:
    """Density and distribution of a uniform covariate given Y = y, from its Gaussian copula with Y: by hand."""
    joint = np.array([multivariate_normal([0, 0], [[1, corr], [corr, 1]]).cdf(ndtri([u, 1 - SHARE])) for u in x])
    below = ndtr((ndtri(1 - SHARE) - corr * ndtri(x)) / np.sqrt(1 - corr**2))
    return ((1 - below) / SHARE, (x - joint) / SHARE) if y else (below / (1 - SHARE), joint / (1 - SHARE))


def gaussian_density(u: np.ndarray, v: np.ndarray, corr: float) -> np.ndarray:
    a, b = ndtri(u), ndtri(v)
    odd = corr**2 * (a**2 + b**2) - 2 * corr * a * b
    return np.exp(-odd / (2 * (1 - corr**2))) / np.sqrt(1 - corr**2)


def log_odds_terms(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """psi_1 and psi_2 of equations 4 and 5."""
    first, second, pair = CORRELATIONS.values()
    (f1, u1), (f0, u0) = (given_response(x[:, 0], first, y) for y in (1, 0))
    (g1, v1), (g0, v0) = (given_response(x[:, 1], second, y) for y in (1, 0))
    one = np.log(SHARE / (1 - SHARE)) + np.log(f1 / f0) + np.log(g1 / g0)
    return one, np.log(gaussian_density(u1, v1, pair) / gaussian_density(u0, v0, pair))


def log_odds(vine: RegularVine, share: float, x: np.ndarray) -> np.ndarray:
    """Of Y = 1 against Y = 0 at rows x: F(y) and F(y-) of the response beside the covariates."""
    model = vine.to_vinecop(discrete=True)
    sides = ((1.0, 1 - share), (1 - share, 0.0))
    density = [
        model.pdf(np.asfortranarray(np.column_stack([x, *(np.full(len(x), end) for end in ends)]))) for ends in sides
    ]
    # pyvinecopulib gives densities relative to the masses of the response.
    return np.log(share / (1 - share)) + np.log(density[0] / density[1])


X = np.array([[0.2, 0.7], [0.8, 0.3], [0.6, 0.6], [0.9, 0.8]])


def test_log_odds_are_a_sum_over_trees() -> None:
    """Equation 3: the log-odds of a C-vine are psi_1 + ... + psi_d, and those of a truncated one leave the last out."""
    one, two = log_odds_terms(X)
    vine = response_vine()
    assert log_odds(vine, SHARE, X) == pytest.approx(one + two, abs=1e-5)
    assert log_odds(vine.truncate(1), SHARE, X) == pytest.approx(one, abs=1e-5)
    assert np.abs(two).max() > 0.5


def draw_rows(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the vine of Theorem 2.3, exactly: Y, then a pair of uniforms from its copula, then their quantiles."""
    grid = np.concatenate([[1e-6], np.linspace(0.002, 0.998, 499), [1 - 1e-6]])
    first, second, pair = CORRELATIONS.values()
    y = (rng.random(rows) < SHARE).astype(int)
    u = ndtr(rng.multivariate_normal([0, 0], [[1, pair], [pair, 1]], rows))
    x = np.empty_like(u)
    for column, corr in enumerate((first, second)):
        for value in (0, 1):
            here = y == value
            x[here, column] = np.interp(u[here, column], given_response(grid, corr, value)[1], grid)
    return x, y


@pytest.mark.slow
def test_theorem_2_3() -> None:
    """The error of the full vine is variance alone and falls as 1 / n; truncation adds a squared bias that stays."""
    rng = np.random.default_rng(23)
    one, two = log_odds_terms(X)
    truth, errors = one + two, dict[tuple[int, int], np.ndarray]()
    x, y = draw_rows(60 * 1_600 + 60 * 400, rng)
    start = 0
    for rows in (400, 1_600):
        found = []
        for _ in range(60):
            part = slice(start, start + rows)
            start += rows
            share = float(y[part].mean())
            upper, lower = np.where(y[part] == 1, 1.0, 1 - share), np.where(y[part] == 1, 1 - share, 0.0)
            u = np.column_stack([x[part], upper])
            below = np.column_stack([x[part], lower])
            fitted = fit_rvine(
                u, lower=below, discrete=[False, False, True], families="gaussian", structure="cvine", order=range(3)
            )
            found.append([log_odds(fitted.truncate(level), share, X) for level in (2, 1)])
        for at, level in enumerate((2, 1)):
            errors[level, rows] = np.array(found)[:, at] - truth
    mse = {key: (error**2).mean(axis=0) for key, error in errors.items()}
    variance = {key: error.var(axis=0) for key, error in errors.items()}
    # Full vine: four times the rows, a quarter of the error (the ratio of two variances of 60 draws, over 4 points).
    assert 2.5 < mse[2, 400].sum() / mse[2, 1_600].sum() < 6.5
    # Truncated: bias^2 + variance, equation 9; the variance falls, the bias of psi_2 stays.
    for rows in (400, 1_600):
        assert mse[1, rows] == pytest.approx(two**2 + variance[1, rows], rel=0.3, abs=0.05)
        assert errors[1, rows].mean(axis=0) == pytest.approx(-two, abs=5 * np.sqrt(variance[1, rows].max() / 60) + 0.02)
    assert 2.0 < variance[1, 400].sum() / variance[1, 1_600].sum() < 8.0
    assert mse[1, 1_600].sum() > 10 * mse[2, 1_600].sum()
