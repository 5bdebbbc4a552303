"""Decoding of scores to values: offsets meet the margins, rounds meet the pairs and settle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from sklar.model.kernels import find_two_best_groups, pick_best_group
from sklar.model.margins.margin import margin_from_dense
from sklar.model.onehot.decoding import Decoding, fit_offsets, score_weights
from sklar.model.onehot.fit import fit_onehot, latent_correlations, plain_correlations
from sklar.model.onehot.model import lay_out_scores


def test_kernels_agree_with_argmax():
    rng = np.random.default_rng(0)
    scores, offsets = rng.normal(size=(7, 3_001)).astype(np.float32), rng.normal(size=7).astype(np.float32)
    sums = scores + offsets[:, None]
    out = np.empty(3_001, dtype=np.int32)
    pick_best_group(scores, offsets, out)
    np.testing.assert_array_equal(out, sums.argmax(axis=0))
    first, second, gap = np.empty(3_001, np.int32), np.empty(3_001, np.int32), np.empty(3_001, np.float32)
    find_two_best_groups(scores, offsets, first, second, gap)
    order = np.argsort(-sums, axis=0, kind="stable")
    np.testing.assert_array_equal(first, order[0])
    np.testing.assert_array_equal(second, order[1])
    np.testing.assert_allclose(gap, sums[order[0], np.arange(3_001)] - sums[order[1], np.arange(3_001)])


TARGETS = {
    "even": np.full(9, 1 / 9),
    "two": np.array([0.3, 0.7]),
    "steep": np.array([0.9, 0.09, 0.009, 0.0009, 0.0001]),
    "one holds all": np.array([1.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_offsets_meet_the_margins(name, shared):
    """Whether the scores of a column go together (which narrows the gaps) or not."""
    target, rng = TARGETS[name], np.random.default_rng(1)
    sample = np.sqrt(1 - shared) * rng.normal(size=(len(target), 20_000)) + np.sqrt(shared) * rng.normal(size=20_000)
    offsets = fit_offsets(sample.astype(np.float32), np.zeros(len(target)), target)
    share = np.bincount((sample + offsets[:, None]).argmax(axis=0), minlength=len(target)) / 20_000
    assert np.abs(share - target).max() < 0.002


def people():
    """Three columns of 4, 6 and 2 groups with a rare group that the third column follows."""
    rng = np.random.default_rng(2)
    a = rng.choice(4, 40_000, p=[0.5, 0.3, 0.15, 0.05])
    b = np.clip(a + rng.integers(0, 3, 40_000), 0, 5)
    c = (rng.random(40_000) < np.where(a == 3, 0.85, 0.2)).astype(int)
    return np.column_stack([a, b, c]), (4, 6, 2)


@pytest.mark.slow
def test_rounds_meet_the_pairs_and_settle():
    codes, sizes = people()
    layout = lay_out_scores(sizes)
    hot = (codes[:, layout.owner] == layout.value).astype(np.float64)
    joint, apart = hot.T @ hot / len(codes), layout.owner[:, None] != layout.owner
    margins = tuple(
        margin_from_dense(str(j), np.bincount(codes[:, j], minlength=s) / len(codes)) for j, s in enumerate(sizes)
    )
    groups = tuple(np.arange(s) for s in sizes)
    errors = {}
    for rounds in (0, 3, 12):
        for seed in (3, 4):
            model = fit_onehot(
                layout,
                hot.mean(axis=0),
                joint,
                margins,
                groups,
                100,
                Decoding(rounds=rounds),
                np.random.default_rng(seed),
            )
            made = model.simulate_rounded(200_000, np.random.default_rng(5))
            seen = (made[:, layout.owner] == layout.value).astype(np.float32)
            errors[rounds, seed] = np.abs((seen.T @ seen / len(made) - joint)[apart])
    for seed in (3, 4):
        assert errors[0, seed].max() > 1.3 * errors[3, seed].max()
        assert errors[12, seed].max() < 0.009
        # More rounds do not undo what fewer reached: the steps shrink.
        assert errors[12, seed].mean() < 1.1 * errors[3, seed].mean()


def test_plain_correlations_are_those_of_the_paper():
    """Values of one column exclude each other, one that never occurs tells nothing, all others are as they were."""
    codes, sizes = people()
    codes = np.where(codes == 3, 2, codes)  # the last value of the first column never occurs
    layout = lay_out_scores(sizes)
    hot = (codes[:, layout.owner] == layout.value).astype(np.float64)
    p, joint = np.clip(hot.mean(axis=0), 1e-9, 1), hot.T @ hot / len(codes)
    plain = plain_correlations(layout, p, ndtri(p), joint + 1e-6)
    dead = np.flatnonzero(p == 1e-9)
    assert len(dead) and np.abs(np.delete(plain[dead], dead, axis=1)).max() == 0
    alive = p > 1e-9
    same = (layout.owner[:, None] == layout.owner) & ~np.eye(len(p), dtype=bool)
    assert (plain[np.ix_(alive, alive)][same[np.ix_(alive, alive)]] < -0.99).all()
    apart = (~same & ~np.eye(len(p), dtype=bool))[np.ix_(alive, alive)]
    ours = latent_correlations(layout, ndtri(p), joint + 1e-6)
    np.testing.assert_allclose(plain[np.ix_(alive, alive)][apart], ours[np.ix_(alive, alive)][apart], atol=1e-9)
    np.testing.assert_array_equal(plain, plain.T)


def test_weights_of_scores_are_densities():
    assert score_weights(np.array([0.0, 3.0, -6.0])) == pytest.approx([1.0, np.exp(-4.5), np.exp(-18.0)])
