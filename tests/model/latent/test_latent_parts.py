"""Latent axes, target classes, nominal levels and shrinkage: identities and limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from sklar.model.latent.normals import (
    class_normals,
    make_symmetric,
    nearby_correlation,
    shrink_factors,
    shrink_normal,
    shrink_spike_slab,
)
from sklar.model.latent.scores import null_latent, place_scores, score_lookup, value_latent
from sklar.model.latent.target import (
    class_basis,
    contrast_lookups,
    contrast_vectors,
    order_levels,
    shrunken_effects,
    target_classes,
)
from sklar.model.margins.margin import Margin, margin_from_dense
from sklar.release.scores import SCORE_LIMIT


def margin(p, name="x"):
    return margin_from_dense(name, np.asarray(p, dtype=float), tolerance=0.0)


def test_scores_of_a_fine_axis_are_normal_quantiles():
    edges = np.linspace(0, 1, 4001)
    middle = ndtri((edges[1:] + edges[:-1]) / 2)
    inside = np.abs(middle) < 2.5
    np.testing.assert_allclose(place_scores(edges)[inside], middle[inside], atol=0.01)


@pytest.mark.parametrize("p", [0.5, 0.2, 0.93])
def test_scores_have_mean_zero_and_variance_one(p):
    scores = place_scores(np.array([0.0, p, 1.0]))
    mass = np.array([p, 1 - p])
    assert mass @ scores == pytest.approx(0, abs=1e-9) or np.abs(scores).max() == 3.0
    assert mass @ scores**2 == pytest.approx(1, abs=1e-9) or np.abs(scores).max() == 3.0


def test_codes_of_an_axis_follow_the_margin_and_skip_null():
    m = margin([0.1, 0.0, 0.5, 0.2, 0.2])
    latent = value_latent(0, m, null=4)
    u = (np.arange(8000) + 0.5) / 8000
    np.testing.assert_allclose(
        np.bincount(latent.codes_at(u), minlength=5) / 8000, [0.125, 0, 0.625, 0.25, 0], atol=1e-3
    )
    assert latent.codes_at(np.array([0.0, 1.0])).tolist() == [0, 3]
    lookup = score_lookup(latent, 5)
    assert lookup[4] == 0 and lookup[0] < lookup[2] < lookup[3] and np.abs(lookup).max() <= SCORE_LIMIT


def test_null_markers_need_some_nulls_and_some_values():
    assert null_latent(0, margin([0.999, 0.001]), 1) is None
    assert null_latent(0, margin([0.001, 0.999]), 1) is None
    marker = null_latent(0, margin([0.4, 0.3, 0.3]), 2)
    assert marker is not None
    lookup = score_lookup(marker, 3)
    assert lookup[0] == lookup[1] < lookup[2]


def test_two_classes_are_minus_and_plus_one():
    classes = target_classes(0, margin([0.3, 0.7, 0.0]), nominal=True)
    assert classes is not None and classes.count == 2
    (signs,), bits = contrast_lookups(classes)
    assert bits == 0 and signs[:2].tolist() == [-1, 1]


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_contrasts_are_unit_vectors_and_never_grow_by_rounding(count):
    vectors = contrast_vectors(count)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1)
    np.testing.assert_allclose(vectors.sum(axis=0), 0, atol=1e-12)
    classes = target_classes(0, margin(np.full(count, 1 / count)), nominal=True)
    assert classes is not None
    lookups, bits = contrast_lookups(classes)
    assert max(sum(np.asarray(a, dtype=int) ** 2 for a in lookups)) <= 1 << (2 * bits)


@pytest.mark.parametrize("share", [[0.3, 0.7], [0.5, 0.3, 0.2], [0.1, 0.2, 0.3, 0.4]])
def test_the_basis_is_standardized(share):
    classes = target_classes(0, margin(share), nominal=True)
    assert classes is not None
    basis = class_basis(classes)
    np.testing.assert_allclose(classes.share @ basis.scores, 0, atol=1e-9)
    np.testing.assert_allclose(
        basis.scores.T @ (basis.scores * classes.share[:, None]), np.eye(len(share) - 1), atol=1e-9
    )
    # Covariances with the contrasts turn into covariances with the scores.
    x = np.random.default_rng(0).normal(size=(len(share), 5))
    x -= classes.share @ x
    with_contrasts = (basis.contrasts * classes.share[:, None]).T @ x
    np.testing.assert_allclose(basis.turn(with_contrasts), (basis.scores * classes.share[:, None]).T @ x, atol=1e-9)


def test_classes_of_odd_targets():
    assert target_classes(0, margin([1.0, 0.0]), nominal=True) is None
    many = target_classes(0, margin(np.full(50, 0.02)), nominal=True)
    assert many is not None and many.count == 6
    halves = target_classes(0, margin(np.full(50, 0.02)), nominal=False)
    assert halves is not None and halves.count == 2 and halves.share == pytest.approx([0.5, 0.5], abs=0.021)
    rare = target_classes(0, margin([0.6, 0.395, 0.005]), nominal=True)
    assert rare is not None and rare.count == 2
    fine = target_classes(0, Margin(column="x", starts=np.array([0]), mass=np.ones(1), size=5000), nominal=False)
    assert fine is not None and fine.count == 2


def test_levels_are_ordered_by_their_effect_and_noise_is_ignored():
    classes = target_classes(0, margin([0.5, 0.5]), nominal=True)
    assert classes is not None
    basis = class_basis(classes)
    p = np.array([0.3, 0.3, 0.2, 0.2])
    effect = np.array([0.5, -0.5, 0.1, -0.1])
    (found,) = order_levels([margin(p)], classes.share, basis, [(p * effect)[None]], 1e-9)
    values = effect[found.order]
    assert np.all(np.diff(values) > 0) or np.all(np.diff(values) < 0)
    assert np.abs(found.shifts[0]) == pytest.approx(np.sqrt(p @ effect**2), rel=0.1)
    noise = np.random.default_rng(0).normal(0, 0.1, 40)
    assert np.abs(shrunken_effects(noise, np.full(40, 0.025), 0.01)).max() < 0.3


def test_shrinkage_limits():
    rng = np.random.default_rng(0)
    x = rng.normal(0, 0.3, 300)
    for shrink in (shrink_normal, shrink_spike_slab):
        np.testing.assert_allclose(shrink(x, np.full(300, 1e-8)), x, rtol=1e-3)
        assert np.abs(shrink(rng.normal(0, 0.3, 300), np.full(300, 0.09))).max() < 0.25
        assert shrink(x[:0], x[:0]).size == 0
    sparse = np.where(np.arange(300) < 10, 0.6, 0.0)
    noisy = sparse + rng.normal(0, 0.1, 300)
    slab = shrink_spike_slab(noisy, np.full(300, 0.01))
    assert ((slab - sparse) ** 2).sum() < 0.5 * ((shrink_normal(noisy, np.full(300, 0.01)) - sparse) ** 2).sum()


def test_factors_above_the_noise_survive():
    rng = np.random.default_rng(1)
    loading = rng.uniform(0.5, 0.8, 30)
    truth = np.outer(loading, loading)
    np.fill_diagonal(truth, 0)
    noisy = truth + make_symmetric(rng.normal(0, 0.2, 30 * 29 // 2), 30)
    error = np.linalg.norm(shrink_factors(noisy, 0.04, np.ones((30, 30))) - truth)
    assert error < 0.5 * np.linalg.norm(noisy - truth)
    noise = make_symmetric(rng.normal(0, 0.2, 30 * 29 // 2), 30)
    assert np.linalg.norm(shrink_factors(noise, 0.04, np.ones((30, 30)))) < 0.3 * np.linalg.norm(noise)


def test_nearby_correlation_repairs_and_leaves_good_ones_alone():
    good = np.array([[1, 0.5], [0.5, 1]])
    np.testing.assert_array_equal(nearby_correlation(good), good)
    bad = make_symmetric(np.random.default_rng(0).uniform(-1, 1, 45), 10) + np.eye(10)
    fixed = nearby_correlation(bad)
    np.testing.assert_allclose(np.diag(fixed), 1)
    assert np.linalg.eigvalsh(fixed)[0] > 0.005


def test_class_normals_have_mean_zero_and_variance_one_in_total():
    classes = target_classes(0, margin([0.3, 0.7]), nominal=True)
    assert classes is not None
    basis = class_basis(classes)
    shifts = np.array([[0.5, -0.2, 0.99]])
    normals = class_normals(classes.share, basis.scores, shifts, np.eye(3), np.zeros((1, 3, 3)))
    np.testing.assert_allclose(classes.share @ normals.means, 0, atol=1e-12)
    inside = np.array([np.diag(f @ f.T) for f in normals.factors])
    np.testing.assert_allclose(classes.share @ (inside + normals.means**2), 1, atol=1e-9)
    u = np.array([0.0, 1e-6, 0.2, 0.5, 0.999, 1.0])
    np.testing.assert_allclose(normals.uniform(normals.quantile(u, 0), 0), u, atol=1e-9)
