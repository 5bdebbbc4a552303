"""Vines: proximity, sampling order, simulation."""

from itertools import combinations

import numpy as np
import pytest
import pyvinecopulib as pv
from scipy.special import ndtri

from sklar.model.pairs.copula import GaussianPair, IndependentPair
from sklar.model.vine.sampling import draw_levels, simulate_vine, transform
from sklar.model.vine.vine import Edge, Vine, list_candidate_edges, sampling_order


def edge(first, second, given=(), corr=0.0):
    copula = GaussianPair(corr=corr) if corr else IndependentPair()
    return Edge(first=first, second=second, given=tuple(given), copula=copula, family="", tau=0.0)


def random_vine(size, depth, rng, corr=0.5):
    """A random regular vine: a random recursive tree, then random spanning trees of the candidates."""
    tree = tuple(edge(int(rng.integers(0, j)), j, (), rng.uniform(-corr, corr)) for j in range(1, size))
    trees = [tree]
    from sklar.model.vine.vine import maximum_spanning_tree

    while len(trees) < min(depth, size - 1):
        allowed = list(list_candidate_edges(trees[-1]))
        kept = maximum_spanning_tree(len(trees[-1]), [(c.left, c.right) for c in allowed], rng.random(len(allowed)))
        trees.append(
            tuple(edge(allowed[i].first, allowed[i].second, allowed[i].given, rng.uniform(-corr, corr)) for i in kept)
        )
    return Vine(size=size, trees=tuple(trees))


def test_candidates_satisfy_proximity():
    tree = (edge(0, 1), edge(1, 2), edge(2, 3))
    found = {(c.first, c.second, c.given) for c in list_candidate_edges(tree)}
    assert found == {(0, 2, (1,)), (1, 3, (2,))}


@pytest.mark.parametrize("size, depth", [(2, 1), (5, 4), (9, 3), (12, 11), (30, 5)])
def test_each_column_is_sampled_once_given_earlier_ones_only(size, depth):
    vine = random_vine(size, depth, np.random.default_rng(size))
    steps = sampling_order(vine)
    seen: set[int] = set()
    used = 0
    for step in steps:
        assert all(e.columns - {step.column} <= seen for e in step.chain)
        assert [len(e.given) for e in step.chain] == list(range(len(step.chain)))
        seen.add(step.column)
        used += len(step.chain)
    assert seen == set(range(size))
    assert used == sum(len(tree) for tree in vine.trees)


@pytest.mark.parametrize("column", range(8))
def test_any_column_can_come_first(column):
    vine = random_vine(8, 7, np.random.default_rng(3))
    assert sampling_order(vine, first=[column])[0].column == column


def test_gaussian_vine_has_the_correlation_of_its_partial_correlations():
    vine = Vine(size=3, trees=((edge(0, 1, (), 0.6), edge(1, 2, (), -0.4)), (edge(0, 2, (1,), 0.5),)))
    from scipy.special import ndtri

    z = ndtri(simulate_vine(vine, 200_000, np.random.default_rng(1)))
    implied = 0.6 * -0.4 + 0.5 * np.sqrt(1 - 0.36) * np.sqrt(1 - 0.16)
    assert np.allclose(np.corrcoef(z.T), [[1, 0.6, implied], [0.6, 1, -0.4], [implied, -0.4, 1]], atol=0.015)


def test_simulation_agrees_with_pyvinecopulib():
    corr = {(0, 1): 0.7, (1, 2): 0.5, (2, 3): -0.6, (0, 2): 0.3, (1, 3): 0.4, (0, 3): -0.5}
    vine = Vine(
        size=4,
        trees=(
            tuple(edge(a, b, (), corr[a, b]) for a, b in ((0, 1), (1, 2), (2, 3))),
            (edge(0, 2, (1,), corr[0, 2]), edge(1, 3, (2,), corr[1, 3])),
            (edge(0, 3, (1, 2), corr[0, 3]),),
        ),
    )
    bicop = lambda r: pv.Bicop(pv.BicopFamily.gaussian, 0, np.array([[r]]))  # noqa: E731
    structure = pv.DVineStructure([1, 2, 3, 4])
    theirs = pv.Vinecop.from_structure(
        structure=structure,
        pair_copulas=[
            [bicop(0.7), bicop(0.5), bicop(-0.6)],
            [bicop(0.3), bicop(0.4)],
            [bicop(-0.5)],
        ],
    )
    ours = simulate_vine(vine, 100_000, np.random.default_rng(2))
    reference = theirs.sample(100_000, seeds=[5])
    assert np.allclose(np.corrcoef(ours.T), np.corrcoef(reference.T), atol=0.02)


def test_conditional_uniforms_are_uniform_and_independent_of_the_condition():
    vine = random_vine(6, 5, np.random.default_rng(7), corr=0.9)
    uniforms = transform(vine, sampling_order(vine), draw_levels(6, 50_000, np.random.default_rng(8)))
    for tree in vine.trees:
        for e in tree:
            given = tuple(sorted((*e.given, e.second)))
            u = uniforms.get(e.first, given)
            assert abs(u.mean() - 0.5) < 0.01
            assert abs(np.corrcoef(u, uniforms.get(e.second))[0, 1]) < 0.03


def test_blocks_do_not_change_the_result(monkeypatch):
    vine = random_vine(5, 3, np.random.default_rng(9))
    whole = simulate_vine(vine, 1_000, np.random.default_rng(10), even=True)
    monkeypatch.setattr("sklar.model.vine.sampling.BLOCK_PARTICLES", 77)
    assert np.allclose(simulate_vine(vine, 1_000, np.random.default_rng(10), even=True), whole)


def test_even_levels_fill_columns_pairs_and_parts():
    levels = draw_levels(6, 4_096, np.random.default_rng(11), even=True)
    assert levels.flags.f_contiguous
    for column in levels.T:
        assert np.array_equal(np.sort((column * 4_096).astype(int)), np.arange(4_096))
    for a, b in combinations(range(6), 2):
        boxes = np.bincount((levels[:, a] * 16).astype(int) * 16 + (levels[:, b] * 16).astype(int), minlength=256)
        assert boxes.min() >= 8  # 16 each; of independent ones some would have 4
        assert boxes.max() <= 24
    some = np.bincount((levels[::8, 0] * 8).astype(int), minlength=8)
    assert some.min() > 30  # 64 each: rows may be picked at regular steps


def test_even_levels_tell_moments_that_independent_ones_do_not():
    z = ndtri(draw_levels(8, 2**14, np.random.default_rng(12), even=True))
    assert np.abs(np.corrcoef(z.T) - np.eye(8)).max() < 0.002  # of independent ones .02


def test_one_column():
    assert simulate_vine(Vine(size=1, trees=()), 10, np.random.default_rng(12)).shape == (10, 1)
