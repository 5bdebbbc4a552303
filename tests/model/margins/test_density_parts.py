"""The parts of a density fit against slow references: priors, modes, evidence, levels, likelihood."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.margins.density import _evaluate, _Problem, _solve, fit_levels
from sklar.model.margins.likelihood import (
    CellSupport,
    KnownTotal,
    Likelihood,
    Observation,
    expected_rows,
    find_mode,
    likelihood_of,
    seen_alone,
    with_sampling,
)
from sklar.model.margins.prior import make_smoothness_prior
from sklar.model.margins.transforms import clip_and_normalize, project_to_simplex


def positions(k: int) -> np.ndarray:
    x = np.sort(np.random.default_rng(0).random(k)) * 32
    x[k // 2] = x[k // 2 - 1] + 1e-5  # closer than the spacing floor
    return x


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_normalizer_of_a_prior_is_its_log_determinant(order: int):
    chained = np.ones(30, bool)
    chained[[0, 11]] = False
    prior = make_smoothness_prior(positions(30), chained, order)
    strength = 7.0
    expected = np.linalg.slogdet(strength * prior.penalty + prior.fixed)[1]
    assert len(prior.terms) * np.log(strength) + prior.log_norm == pytest.approx(expected, abs=1e-4)


def test_a_stiff_prior_of_order_three_leaves_gaussian_densities_free():
    x = positions(30)
    x[15] = (x[14] + x[16]) / 2
    wide = np.arange(30.0)  # spacing above the floor, so polynomials are free exactly
    for order in (1, 2, 3):
        prior = make_smoothness_prior(wide, np.ones(30, bool), order)
        for degree in range(order):
            assert np.abs(prior.terms @ wide**degree).max() < 1e-8 * np.abs(prior.terms).max() * 30.0**degree
        assert np.abs(prior.terms @ wide**order).max() > 1e-3


def problem(k: int, sigma: float = 30.0) -> Likelihood:
    rng = np.random.default_rng(1)
    counts = 400 * np.exp(-0.5 * ((np.arange(k) - k / 3) / (k / 5)) ** 2) + rng.normal(0, sigma, k)
    support = CellSupport(width=np.ones(k), position=np.arange(float(k)), chained=np.ones(k, bool))
    seen = Observation(parent=np.arange(k), counts=counts, sigma=np.full(k, sigma))
    return likelihood_of(support, [seen], KnownTotal(rows=float(counts.sum()), sigma=sigma))


def objective(likelihood: Likelihood, prior_of, theta: np.ndarray) -> float:
    residual = likelihood.design @ np.exp(likelihood.log_base + theta) - likelihood.target
    return 0.5 * float(residual @ residual) + prior_of(theta)


@pytest.mark.parametrize("heavy", [False, True])
def test_nothing_near_the_mode_is_more_plausible(heavy: bool):
    likelihood, structure = problem(24), make_smoothness_prior(np.arange(24.0), np.ones(24, bool), 1, heavy)

    def prior_of(theta: np.ndarray) -> float:
        term = structure.terms @ theta
        main = 2.0 * np.log1p(5.0 * term**2 / 3.0).sum() if heavy else 2.5 * term @ term
        return float(main + 0.5 * theta @ structure.fixed @ theta)

    mode = find_mode(likelihood, structure, 5.0, np.zeros(24)).theta
    best = objective(likelihood, prior_of, mode)
    rng = np.random.default_rng(2)
    for scale in (0.3, 0.1, 0.03):
        for _ in range(50):
            assert objective(likelihood, prior_of, mode + scale * rng.normal(size=24)) > best - 0.02


@pytest.mark.parametrize("heavy", [False, True])
def test_the_evidence_is_the_integral_of_the_posterior(heavy: bool):
    """On three well-measured cells Laplace is nearly exact; the integral is taken by importance sampling."""
    likelihood, structure = problem(3, sigma=10.0), make_smoothness_prior(np.arange(3.0), np.ones(3, bool), 1, heavy)
    strength = 2.0
    found = find_mode(likelihood, structure, strength, np.zeros(3))
    counts = np.exp(likelihood.log_base + found.theta)
    spread = np.linalg.inv(likelihood.gram * np.outer(counts, counts))
    rng = np.random.default_rng(3)
    shift = rng.standard_normal((100_000, 3)) @ np.linalg.cholesky(2 * spread).T
    theta = found.theta + shift
    log_proposal = -0.25 * np.einsum("ni,ij,nj->n", shift, np.linalg.inv(spread), shift)
    log_proposal -= 0.5 * np.linalg.slogdet(2 * np.pi * 2 * spread)[1]
    residual = np.exp(likelihood.log_base + theta) @ likelihood.design.T - likelihood.target
    term, fixed = theta @ structure.terms.T, 0.5 * np.einsum("ni,ij,nj->n", theta, structure.fixed, theta)
    gaussian = 0.5 * (2 * np.log(strength) + structure.log_norm) - 1.5 * np.log(2 * np.pi)
    if heavy:  # each term: Student-t with 3 degrees of freedom instead of the standard normal
        log_t = np.log(2 / (np.pi * np.sqrt(3))) - 2 * np.log1p(strength * term**2 / 3)
        log_prior = gaussian + (log_t + 0.5 * np.log(2 * np.pi)).sum(axis=1) - fixed
    else:
        log_prior = gaussian - 0.5 * strength * (term**2).sum(axis=1) - fixed
    log_weight = log_prior - 0.5 * (residual**2).sum(axis=1) - log_proposal
    integral = np.log(np.mean(np.exp(log_weight - log_weight.max()))) + log_weight.max()
    assert found.log_evidence == pytest.approx(integral, abs=0.1)


def test_levels_solve_as_a_dense_matrix_would():
    rng = np.random.default_rng(4)
    counts = rng.gamma(1, 50, 12)
    case = _Problem(counts=counts, weight=np.full(12, 0.01), rows=counts.sum(), total=0.1, strength=0.7)
    point = _evaluate(case, rng.normal(size=12))
    diagonal = rng.random(12) + 1
    dense = np.diag(diagonal) + case.total * np.outer(point.model, point.model) - case.shared
    step, log_det = _solve(diagonal, point.model, case, point.pull)
    np.testing.assert_allclose(step, np.linalg.solve(dense, point.pull), rtol=1e-8)
    assert log_det == pytest.approx(np.linalg.slogdet(dense)[1])


def test_thousands_of_levels_are_no_trouble():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(5_000, 0.05))
    counts = rng.multinomial(100_000, p)
    fitted = fit_levels(counts + rng.normal(0, 5, 5_000), np.full(5_000, 5.0), 100_000, 5.0)
    clipped = clip_and_normalize(counts + rng.normal(0, 5, 5_000))
    assert np.abs(fitted - counts / 1e5).sum() < np.abs(clipped - counts / 1e5).sum()


def test_rows_are_the_conditional_expectation_of_a_joint_gaussian():
    likelihood = problem(8, sigma=15.0)
    counts = np.exp(likelihood.log_base + np.random.default_rng(6).normal(0, 0.3, 8))
    whitened, sampling = with_sampling(likelihood, counts)
    cross = sampling @ likelihood.design.T
    total = np.eye(len(likelihood.design)) + likelihood.design @ cross
    expected = counts + cross @ np.linalg.solve(total, likelihood.target - likelihood.design @ counts)
    np.testing.assert_allclose(expected_rows(whitened, sampling, counts), np.maximum(expected, 0), rtol=1e-8)


def test_counts_seen_alone_are_averaged_by_precision():
    first = Observation(parent=np.array([0, 0, 1]), counts=np.array([50.0, 30.0]), sigma=np.array([1.0, 2.0]))
    second = Observation(parent=np.array([-1, 0, 1]), counts=np.array([9.0, 36.0]), sigma=np.array([3.0, 4.0]))
    counts, sigma = seen_alone([first, second], 3)
    assert np.isinf(sigma[0]) and counts[0] == 0
    assert (counts[1], sigma[1]) == (9.0, 3.0)
    assert counts[2] == pytest.approx((30 / 4 + 36 / 16) / (1 / 4 + 1 / 16))
    assert sigma[2] == pytest.approx((1 / 4 + 1 / 16) ** -0.5)


def test_projection_is_the_nearest_distribution():
    rng = np.random.default_rng(7)
    for _ in range(20):
        noisy = rng.normal(5, 30, 9)
        projected = project_to_simplex(noisy, 100.0)
        assert projected.sum() == pytest.approx(1.0) and projected.min() >= 0
        best = np.sum((projected * 100 - noisy) ** 2)
        others = rng.dirichlet(np.ones(9), 300) * 0.2 + projected * 0.8
        assert np.all(((others * 100 - noisy) ** 2).sum(axis=1) >= best - 1e-6)


def test_repairs_leave_clean_counts_alone_and_survive_bad_ones():
    clean = np.array([[10, 20], [30, 40]])
    np.testing.assert_allclose(clip_and_normalize(clean), clean / 100)
    np.testing.assert_allclose(project_to_simplex(clean, 100), clean / 100)
    np.testing.assert_allclose(clip_and_normalize([-3, -1]), [0.5, 0.5])
    assert project_to_simplex([-3.0, -1.0, -700.0], 0.0).sum() == pytest.approx(1.0)
