"""Indirect inference gives back the parameters whose sums it is shown, and ignores sums that are only noise."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.latent.indirect import (
    Moment,
    Moments,
    fit_correlations,
    fit_normals,
    make_world,
    on_sphere,
    simulate_scores,
)
from sklar.model.latent.normals import class_normals, make_symmetric
from sklar.model.latent.scores import value_latent
from sklar.model.latent.target import NO_BASIS, class_basis, target_classes
from sklar.model.margins.margin import margin_from_dense

SHARE = np.array([0.35, 0.65])
UPPER = np.triu_indices(4, 1)


def make_latents():
    """Two fine columns, one with a heavy atom, one of two values."""
    atom = np.full(200, 0.5 / 199)
    atom[0] = 0.5
    masses = [np.full(300, 1 / 300), np.full(100, 0.01), atom, np.array([0.7, 0.3])]
    return [value_latent(j, margin_from_dense("x", p), None) for j, p in enumerate(masses)]


def released(normals, basis, share, latents, members=4):
    """Sums of a large simulated table."""
    world = make_world(latents, share, np.random.default_rng(99))
    scores = simulate_scores(world, normals)
    points = on_sphere(scores)
    contrasts = (basis.contrasts[world.classes] * world.weights[:, None]).T
    star = contrasts @ on_sphere(scores[:, :members])
    pairs = ((points.T * world.weights) @ points)[UPPER]
    class_pairs = np.stack([((points.T * line) @ points)[UPPER] for line in contrasts])
    return star, pairs, class_pairs


@pytest.fixture
def basis():
    classes = target_classes(0, margin_from_dense("y", SHARE, tolerance=0.0), nominal=True)
    assert classes is not None
    return class_basis(classes)


def test_parameters_are_recovered_from_exact_sums(basis):
    latents = make_latents()
    shifts = np.array([[0.5, -0.3, 0.2, 0.4]])
    pooled = np.eye(4) + make_symmetric(np.array([0.3, -0.2, 0.1, 0.5, 0.0, 0.2]), 4)
    differences = make_symmetric(np.array([0.2, 0.0, 0.0, -0.2, 0.0, 0.1]), 4)[None]
    truth = class_normals(SHARE, basis.scores, shifts, pooled, differences)
    star, pairs, class_pairs = released(truth, basis, SHARE, latents)
    moments = Moments(
        star=Moment(mean=star, variance=1e-8),
        pairs=Moment(mean=pairs, variance=1e-8),
        class_pairs=Moment(mean=class_pairs, variance=1e-8),
    )
    found = fit_normals(latents, SHARE, basis, moments, np.random.default_rng(1))
    np.testing.assert_allclose(found.means, truth.means, atol=0.05)
    for k in range(2):
        np.testing.assert_allclose(
            found.factors[k] @ found.factors[k].T, truth.factors[k] @ truth.factors[k].T, atol=0.09
        )


def test_levels_outside_the_sphere_meet_their_wanted_shift(basis):
    latents = make_latents()
    truth = class_normals(SHARE, basis.scores, np.array([[0.4, 0.1, 0.0, 0.3]]), np.eye(4), np.zeros((1, 4, 4)))
    star, _, _ = released(truth, basis, SHARE, latents, members=3)
    moments = Moments(star=Moment(mean=star, variance=1e-8), levels=np.array([[0.25]]))
    found = fit_normals(latents, SHARE, basis, moments, np.random.default_rng(1))
    world = make_world(latents, SHARE, np.random.default_rng(5))
    scores = simulate_scores(world, found)
    standardized = basis.scores[world.classes, 0] * world.weights
    assert standardized @ scores[:, 3] == pytest.approx(0.25, abs=0.02)


def test_noise_alone_gives_nearly_independent_latents():
    latents = make_latents()
    rng = np.random.default_rng(3)
    moments = Moments(pairs=Moment(mean=rng.normal(0, 0.5, 6), variance=0.25))
    found = fit_normals(latents, np.ones(1), NO_BASIS, moments, rng)
    correlation = found.factors[0] @ found.factors[0].T
    assert np.abs(correlation - np.eye(4)).max() < 0.35


def test_no_latents_and_no_sums_are_fine():
    found = fit_normals([], np.ones(1), NO_BASIS, Moments(), np.random.default_rng(0))
    assert found.size == 0
    alone = fit_normals(make_latents()[:1], np.ones(1), NO_BASIS, Moments(), np.random.default_rng(0))
    np.testing.assert_allclose(alone.factors, [[[1.0]]])


@pytest.mark.slow
def test_correlations_carry_little_noise_of_the_simulation():
    latents = [value_latent(j, margin_from_dense("x", np.full(300, 1 / 300)), None) for j in range(4)]
    corr = np.eye(4) + make_symmetric(np.array([0.3, -0.2, 0.1, 0.5, 0.0, 0.2]), 4)
    z = np.random.default_rng(4).multivariate_normal(np.zeros(4), corr, 2_000_000)
    pairs = Moment(mean=(on_sphere(z).T @ on_sphere(z) / len(z))[UPPER], variance=1e-8)
    errors = [
        np.abs(fit_correlations(latents, np.ones(4), pairs, np.random.default_rng(seed))[0] - corr).max()
        for seed in range(3)
    ]
    assert max(errors) < 0.006
