"""Rows of a Gaussian copula: margins, dependence, rounding, conditions, saving."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from sklar.errors import UnsupportedConditionError, UsageError
from sklar.model.codec import ArrayPool, decode, encode
from sklar.model.conditioning import simulate_given
from sklar.model.correlation.bivariate import bivariate_normal_cdf
from sklar.model.correlation.normals import factor_of, latent_blocks
from sklar.model.gaussian import GaussianModel
from sklar.model.margins.margin import Margin

ROWS = 40_000
CORR = np.array([[1.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 1.0]])
MASSES = [np.array([0.0, 0.3, 0.0, 0.7, 0.0]), np.full(50, 0.02), np.array([0.1, 0.2, 0.3, 0.4])]
MODEL = GaussianModel(
    margins=tuple(
        Margin(column=name, starts=np.arange(len(mass)), mass=mass, size=len(mass))
        for name, mass in zip("abc", MASSES, strict=True)
    ),
    corr=CORR,
    rows_estimate=1_000,
)


def joint(i, code_i, j, code_j):
    """P(X_i <= code_i, X_j <= code_j) under the model."""
    h, k = (ndtri(np.cumsum(MASSES[c])[x]) for c, x in ((i, code_i), (j, code_j)))
    return float(bivariate_normal_cdf(h, k, CORR[i, j]))


@pytest.mark.parametrize("verb", ["simulate", "simulate_rounded"])
def test_rows_follow_margins_and_pairs(verb):
    rows = getattr(MODEL, verb)(ROWS, np.random.default_rng(0))
    assert rows.dtype == np.int32 and rows.flags.f_contiguous
    slack = 1.01 / ROWS if verb == "simulate_rounded" else 6 * 0.5 / np.sqrt(ROWS)
    for column, mass in enumerate(MASSES):
        counts = np.bincount(rows[:, column], minlength=len(mass)) / ROWS
        assert np.abs(np.cumsum(counts) - np.cumsum(mass)).max() < slack
        assert counts[mass == 0].sum() == 0
    for i, x, j, y in [(0, 1, 1, 20), (1, 30, 2, 1), (0, 1, 2, 2)]:
        seen = np.mean((rows[:, i] <= x) & (rows[:, j] <= y))
        assert abs(seen - joint(i, x, j, y)) < 6 * 0.5 / np.sqrt(ROWS)


def test_rounded_rows_are_nearer_to_the_model_than_chance():
    errors = {}
    for verb in ("simulate", "simulate_rounded"):
        gaps = []
        for seed in range(30):
            rows = getattr(MODEL, verb)(2_000, np.random.default_rng(seed))
            gaps.append(np.mean((rows[:, 1] <= 25) & (rows[:, 2] <= 1)) - joint(1, 25, 2, 1))
        errors[verb] = np.sqrt(np.mean(np.square(gaps)))
    assert errors["simulate_rounded"] < 0.7 * errors["simulate"]


def test_the_same_seed_gives_the_same_rows_and_blocks_do_not_repeat():
    one, two = (MODEL.simulate(5_000, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    blocks = [b for _, b in latent_blocks(np.eye(3), 1_000, np.random.default_rng(1), entries=900)]
    assert len(blocks) == 4
    assert len(np.unique(np.concatenate([b.ravel() for b in blocks]))) > 2_950


def test_conditions_hold_and_shift_the_others_as_the_normal_law_says():
    allowed = {1: np.arange(50) >= 40, 2: np.array([True, False, False, True])}
    rows, effective = simulate_given(MODEL, 20_000, allowed, np.random.default_rng(2))
    assert effective > 5_000
    assert rows[:, 1].min() >= 40 and set(np.unique(rows[:, 2])) == {0, 3}
    plain = MODEL.simulate(400_000, np.random.default_rng(3))
    kept = plain[(plain[:, 1] >= 40) & np.isin(plain[:, 2], [0, 3])]
    for column in range(3):
        size = len(MASSES[column])
        one, two = (np.bincount(x[:, column], minlength=size) / len(x) for x in (rows, kept))
        assert np.abs(np.cumsum(one - two)).max() < 6 * 0.5 / np.sqrt(min(effective, len(kept)))


def test_one_condition_weighs_all_rows_alike_even_far_in_the_tail():
    tail = Margin(column="t", starts=np.array([0, 1]), mass=np.array([1 - 1e-9, 1e-9]), size=2)
    model = GaussianModel(margins=(tail, MODEL.margins[1]), corr=np.array([[1, 0.9], [0.9, 1]]), rows_estimate=1)
    rows, effective = simulate_given(model, 3_000, {0: np.array([False, True])}, np.random.default_rng(4))
    assert effective >= 3_000 and (rows[:, 0] == 1).all() and rows[:, 1].min() > 45


def test_a_condition_without_mass_is_a_plain_error():
    with pytest.raises(UnsupportedConditionError, match="'a'"):
        simulate_given(MODEL, 10, {0: np.array([True, False, True, False, True])}, np.random.default_rng(5))


def test_no_rows_and_no_conditions_are_no_trouble():
    rng = np.random.default_rng(6)
    assert MODEL.simulate(0, rng).shape == MODEL.simulate_rounded(0, rng).shape == (0, 3)
    assert simulate_given(MODEL, 0, {0: MASSES[0] > 0}, rng)[0].shape == (0, 3)
    assert simulate_given(MODEL, 5, {}, rng)[0].shape == (5, 3)
    every, effective = simulate_given(MODEL, 5, {j: m > 0 for j, m in enumerate(MASSES)}, rng)
    assert every.shape == (5, 3) and effective == 5


def test_a_singular_matrix_still_has_a_factor():
    factor = factor_of(np.ones((4, 4)))
    np.testing.assert_allclose(factor @ factor.T, np.ones((4, 4)), atol=1e-3)


def test_the_model_survives_saving_and_refuses_other_shapes():
    pool = ArrayPool(distinct=True)
    again = decode(encode(MODEL, pool.keep), pool.arrays)
    np.testing.assert_array_equal(again.corr, CORR)
    np.testing.assert_array_equal(
        again.simulate(50, np.random.default_rng(8)), MODEL.simulate(50, np.random.default_rng(8))
    )
    with pytest.raises(UsageError):
        GaussianModel(margins=MODEL.margins, corr=np.eye(2), rows_estimate=1)
