"""Pair copulas that differ by the class of a column they are conditioned on."""

import numpy as np
import pytest

from sklar.model.axis import interval_of
from sklar.model.codec import ArrayPool, decode, encode
from sklar.model.pairs.copula import ClassPairs, GaussianPair, make_checkerboard
from sklar.model.vine.calibration import NO_TILT
from sklar.model.vine.deeper import ClassTables, grow
from sklar.model.vine.model import measure_strength
from sklar.model.vine.sampling import draw_levels, simulate_vine, transform, vine_proposals
from sklar.model.vine.vine import Edge, Vine, sampling_order
from tests.model.pairs.measured import pair_table

CLASSES = np.array([0.0, 0.7, 1.0])
GRID = np.linspace(0, 1, 9)
ROWS = 40_000.0


def edge(first, second, given, copula):
    return Edge(first=first, second=second, given=given, copula=copula, family="", tau=0.0)


def gaussians(*corrs):
    return ClassPairs(column=2, edges=CLASSES, pairs=tuple(GaussianPair(corr=corr) for corr in corrs))


def boards():
    """Positive dependence in the first class, negative in the second, on grids of their own."""
    odd = np.array([0.0, 0.3, 0.45, 1.0])
    table = np.eye(3) + 0.2
    pairs = make_checkerboard(np.array([0.0, 0.2, 0.6, 1.0]), odd, table), make_checkerboard(odd, odd, table[::-1])
    return ClassPairs(column=2, edges=CLASSES, pairs=pairs)


def rooted(first, deeper):
    """Column 2 is the root; 0 and 1 given it, then 0 and 3 given both others."""
    star = tuple(edge(column, 2, (), GaussianPair(corr=corr)) for column, corr in ((0, 0.5), (1, -0.3), (3, 0.2)))
    second = edge(0, 1, (2,), first), edge(1, 3, (2,), GaussianPair(corr=0.4))
    return Vine(size=4, trees=(star, second, (edge(0, 3, (1, 2), deeper),)))


def scores_by_class(vine, column_pair, given):
    levels = draw_levels(vine.size, 100_000, np.random.default_rng(5), even=True)
    uniforms = transform(vine, sampling_order(vine), levels)
    number = interval_of(CLASSES, uniforms.get(2))
    x, y = (uniforms.score(column, given) for column in column_pair)
    return [np.corrcoef(x[number == c], y[number == c])[0, 1] for c in range(2)]


def test_each_class_has_its_own_correlation():
    vine = rooted(gaussians(0.6, -0.5), gaussians(-0.4, 0.3))
    assert scores_by_class(vine, (0, 1), (2,)) == pytest.approx([0.6, -0.5], abs=0.02)
    assert scores_by_class(vine, (0, 3), (1, 2)) == pytest.approx([-0.4, 0.3], abs=0.02)
    first, second = scores_by_class(rooted(boards(), gaussians(0.1, 0.1)), (0, 1), (2,))
    assert first > 0.3 > -0.3 > second


@pytest.mark.parametrize("order", [(), (2,), (0,), (3, 1)])
def test_levels_come_back_from_rows(order):
    """The Rosenblatt transform inverts the sampling, whatever the order."""
    vine = rooted(boards(), gaussians(0.6, -0.5))
    steps = sampling_order(vine, first=order)
    levels = draw_levels(vine.size, 5_000, np.random.default_rng(1))
    drawn = transform(vine, steps, levels)
    again = transform(vine, (), levels)
    for column in range(vine.size):
        again.put(column, (), drawn.get(column))
    for step in steps:
        key = () if not step.chain else tuple(sorted({*step.chain[-1].columns} - {step.column}))
        assert again.get(step.column, key) == pytest.approx(levels[:, step.column], abs=1e-5)


def test_classes_that_agree_are_one_pair():
    alike, plain = (
        rooted(gaussians(0.6, 0.6), gaussians(-0.2, -0.2)),
        rooted(GaussianPair(corr=0.6), GaussianPair(corr=-0.2)),
    )
    both = [simulate_vine(vine, 1_000, np.random.default_rng(2)) for vine in (alike, plain)]
    assert np.array_equal(*both)
    assert measure_strength(gaussians(0.6, 0.6)) == pytest.approx(0.6)
    assert measure_strength(gaussians(0.5, -0.1)) == pytest.approx(0.7 * 0.5 + 0.3 * 0.1)


def test_a_model_file_keeps_them():
    vine = rooted(boards(), gaussians(0.6, -0.5))
    pool = ArrayPool(distinct=True)
    again = decode(encode(vine, pool.keep), pool.arrays)
    assert np.array_equal(*(simulate_vine(v, 1_000, np.random.default_rng(3)) for v in (vine, again)))


@pytest.mark.parametrize("allowed", [{2: [False, True]}, {0: [False, True], 1: [True, False]}])
def test_conditions_are_met_by_class(allowed):
    """Weighted proposals follow the rows of the vine that meet the condition."""
    from sklar.model.axis import lay_out

    vine = rooted(gaussians(0.7, -0.6), gaussians(0.1, 0.3))
    shares = {0: (0.5, 0.5), 1: (0.4, 0.6), 2: (0.7, 0.3), 3: (0.5, 0.5)}
    scales = [lay_out(np.arange(2), np.array(shares[c]), 2, nominal=False) for c in range(4)]
    masks = {column: np.array(mask) for column, mask in allowed.items()}
    codes, logs = vine_proposals(vine, scales, NO_TILT, masks)(200_000, np.random.default_rng(8))
    weights = np.exp(logs)
    rows = simulate_vine(vine, 400_000, np.random.default_rng(9))
    plain = np.column_stack([interval_of(scale.edges, rows[:, c]) for c, scale in enumerate(scales)])
    met = np.all([mask[plain[:, column]] for column, mask in masks.items()], axis=0)
    assert weights.mean() == pytest.approx(met.mean(), rel=0.02)
    cell = 8 * codes[:, 0] + 4 * codes[:, 1] + 2 * codes[:, 2] + codes[:, 3]
    expected = np.bincount(plain[met] @ [8, 4, 2, 1], minlength=16) / met.sum()
    assert np.bincount(cell, weights, 16) / weights.sum() == pytest.approx(expected, abs=0.01)


def class_tables(vine, sigma, rng):
    """Tables of columns 0, 1 and 3 in all rows, and in each class, with noise."""
    particles = simulate_vine(vine, 400_000, rng, even=True)
    number = interval_of(CLASSES, particles[:, 2])

    def table(a, b, inside):
        counts = np.histogram2d(particles[inside, a], particles[inside, b], bins=[GRID, GRID])[0]
        noisy = counts * ROWS / len(particles) + rng.normal(0, sigma, counts.shape)
        return pair_table(noisy, sigma, GRID, GRID)

    pairs = [(0, 1), (0, 3), (1, 3)]
    pooled = {pair: table(*pair, np.ones(len(number), dtype=bool)) for pair in pairs}
    each = tuple({pair: table(*pair, number == c) for pair in pairs} for c in range(2))
    return pooled, ClassTables(column=2, edges=CLASSES, tables=each)


def grown(sigma, corrs, seed=4):
    rng = np.random.default_rng(seed)
    truth = rooted(GaussianPair(corr=0.3), gaussians(*corrs))
    pooled, classes = class_tables(truth, sigma, rng)
    start = Vine(size=4, trees=truth.trees[:2])
    return grow(start, pooled, frozenset(range(4)), ROWS, 3, rng, classes).trees


def test_correlations_of_classes_are_found():
    (found,) = grown(3.0, (0.5, -0.4))[2]
    assert found.copula.corrs == pytest.approx([0.5, -0.4], abs=0.06)
    assert found.family == "gaussian by class"
    assert found.tau == pytest.approx(2 / np.pi * np.arcsin(0.7 * 0.5 - 0.3 * 0.4), abs=0.05)


def test_noise_leaves_one_correlation_for_all_classes():
    (found,) = grown(30.0, (0.5, 0.5))[2]
    corrs = found.copula.corrs if isinstance(found.copula, ClassPairs) else np.repeat(found.copula.corr, 2)
    assert corrs == pytest.approx([0.5, 0.5], abs=0.12)
    assert abs(corrs[0] - corrs[1]) < 0.08
