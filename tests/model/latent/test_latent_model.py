"""Rows of the small model: margins, classes, nulls, and conditions against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.errors import UnsupportedConditionError
from sklar.model.codec import ArrayPool, decode, encode
from sklar.model.conditioning import simulate_given
from sklar.model.latent.model import LatentNormalModel
from sklar.model.latent.normals import class_normals
from sklar.model.latent.scores import marked_columns, null_latent, value_latent
from sklar.model.latent.target import class_basis, target_classes
from sklar.model.margins.margin import margin_from_dense


def margin(p, name):
    return margin_from_dense(name, np.asarray(p, dtype=float), tolerance=0.0)


def make_model():
    """Columns: 0 fine, 1 nullable, 2 two values, 3 target (two classes), 4 independent, 5 rarely null."""
    margins = (
        margin(np.full(50, 0.02), "fine"),
        margin([0.1, 0.2, 0.3, 0.15, 0.25], "nullable"),
        margin([0.6, 0.4], "binary"),
        margin([0.5, 0.495, 0.005], "target"),
        margin([0.2, 0.3, 0.5], "alone"),
        margin([0.5, 0.495, 0.005], "rare"),
    )
    marker = null_latent(1, margins[1], 4)
    assert marker is not None
    latents = (
        value_latent(0, margins[0], None),
        value_latent(1, margins[1], 4),
        marker,
        value_latent(2, margins[2], None),
        value_latent(5, margins[5], 2),
    )
    classes = target_classes(3, margins[3], nominal=True)
    assert classes is not None and classes.count == 2
    marked = marked_columns(latents)
    pooled = np.full((5, 5), 0.3) + 0.7 * np.eye(5)
    shifts = np.array([[0.5, 0.3, -0.4, 0.2, 0.1]])
    normals = class_normals(classes.share, class_basis(classes).scores, shifts, pooled, np.zeros((1, 5, 5)), marked)
    return LatentNormalModel(margins=margins, latents=latents, normals=normals, classes=classes, rows=812.4)


MODEL = make_model()


POOL = MODEL.simulate(1_000_000, np.random.default_rng(11))


def frequencies(codes, j):
    return np.bincount(codes[:, j], minlength=MODEL.margins[j].size) / len(codes)


def test_independent_rows_follow_the_margins():
    codes = MODEL.simulate(200_000, np.random.default_rng(0))
    assert codes.dtype == np.int32 and codes.flags.f_contiguous and MODEL.rows_estimate == 812
    for j, m in enumerate(MODEL.margins):
        np.testing.assert_allclose(frequencies(codes, j), m.dense(), atol=0.006)


def test_rounded_rows_have_the_correlations_of_the_model_in_every_class():
    def correlations(draw, seed):
        codes = draw(1_000, np.random.default_rng(seed))
        return [np.corrcoef(codes[codes[:, 3] == k][:, [0, 2, 5]].T)[np.triu_indices(3, 1)] for k in (0, 1)]

    spread = [
        np.std([correlations(draw, seed) for seed in range(40)], axis=0).mean()
        for draw in (MODEL.simulate_rounded, MODEL.simulate)
    ]
    assert spread[0] < 0.75 * spread[1]  # two-valued columns keep the chance of their cells


def test_rounded_rows_follow_the_margins_to_the_row():
    rows = 1000
    codes = MODEL.simulate_rounded(rows, np.random.default_rng(1))
    for j in (0, 2, 3, 4):
        assert np.abs(frequencies(codes, j) - MODEL.margins[j].dense()).max() * rows < 2.01
    for j in (1, 5):
        assert np.abs(frequencies(codes, j) - MODEL.margins[j].dense()).max() * rows < 6


def test_rounded_rows_have_the_dependence_of_independent_ones():
    rng = np.random.default_rng(2)
    free = MODEL.simulate(100_000, rng)
    even = np.concatenate([MODEL.simulate_rounded(2000, rng) for _ in range(50)])
    for a, b in ((0, 2), (0, 3), (1, 3), (2, 3)):
        assert np.corrcoef(free[:, a], free[:, b])[0, 1] == pytest.approx(
            np.corrcoef(even[:, a], even[:, b])[0, 1], abs=0.03
        )


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows(rows):
    rng = np.random.default_rng(0)
    for codes in (MODEL.simulate(rows, rng), MODEL.simulate_rounded(rows, rng)):
        assert codes.shape == (rows, 6)


def mask(size, *codes):
    out = np.zeros(size, bool)
    out[list(codes)] = True
    return out


CONDITIONS = {
    "value": {0: mask(50, *range(40, 50))},
    "null": {1: mask(5, 4)},
    "null or low": {1: mask(5, 0, 4), 2: mask(2, 1)},
    "not null": {1: mask(5, 1, 3)},
    "target": {3: mask(3, 0)},
    "target and values": {3: mask(3, 1, 2), 0: mask(50, 1, 5, 30), 2: mask(2, 0)},
    "independent": {4: mask(3, 0, 2), 5: mask(3, 1)},
    "rare null allowed": {5: mask(3, 1, 2), 0: mask(50, *range(10))},
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_agree_with_rejection(name):
    allowed = CONDITIONS[name]
    rng = np.random.default_rng(7)
    codes, effective = simulate_given(MODEL, 20_000, allowed, rng)
    assert len(codes) == 20_000 and effective > 10_000
    pool = POOL
    keep = np.ones(len(pool), bool)
    for j, m in allowed.items():
        assert m[codes[:, j]].all()
        keep &= m[pool[:, j]]
    pool = pool[keep]
    noise = 5 * np.sqrt(0.25 / min(len(pool), effective, 20_000))
    for j in range(6):
        np.testing.assert_allclose(frequencies(codes, j), frequencies(pool, j), atol=noise)


def test_a_lone_rare_null_can_be_given():
    codes, effective = simulate_given(MODEL, 500, {5: mask(3, 2)}, np.random.default_rng(0))
    assert (codes[:, 5] == 2).all() and effective == 500


def test_sets_in_many_pieces_are_covered():
    m = margin(np.full(400, 1 / 400), "x")
    normals = class_normals(np.ones(1), np.zeros((1, 0)), np.zeros((0, 1)), np.eye(1), np.zeros((0, 1, 1)))
    model = LatentNormalModel(
        margins=(m,), latents=(value_latent(0, m, None),), normals=normals, classes=None, rows=9.0
    )
    codes, _ = simulate_given(model, 5000, {0: np.arange(400) % 2 == 0}, np.random.default_rng(0))
    assert (codes % 2 == 0).all()
    assert np.bincount(codes[:, 0], minlength=400)[::2].min() > 0


def test_sets_without_mass_are_refused():
    with pytest.raises(UnsupportedConditionError, match="fine"):
        simulate_given(MODEL, 10, {0: np.zeros(50, bool)}, np.random.default_rng(0))


def test_a_saved_model_draws_the_same_rows():
    pool = ArrayPool(distinct=True)
    again = decode(encode(MODEL, pool.keep), pool.arrays)
    same = [model.simulate(100, np.random.default_rng(3)) for model in (MODEL, again)]
    np.testing.assert_array_equal(*same)


def test_a_model_without_latents_is_independent():
    normals = class_normals(np.ones(1), np.zeros((1, 0)), np.zeros((0, 0)), np.eye(0), np.zeros((0, 0, 0)))
    model = LatentNormalModel(margins=(margin([0.25, 0.75], "x"),), latents=(), normals=normals, classes=None, rows=3.0)
    rng = np.random.default_rng(0)
    assert np.bincount(model.simulate_rounded(400, rng)[:, 0]).tolist() == [100, 300]
    codes, effective = simulate_given(model, 50, {0: mask(2, 1)}, rng)
    assert (codes == 1).all() and effective == 50
