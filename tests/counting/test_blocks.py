"""Block means: blocks that follow rows and not positions, estimates, and the sensitivity by brute force."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import sklar.counting.blocks as module
from sklar.accounting.unit import Unit
from sklar.counting.blocks import (
    assign_blocks,
    block_moments,
    estimate_block_correlations,
    estimate_block_likelihoods,
    exact_block_sums,
    exact_likelihood_sums,
    maximize_likelihood,
    pack_rows,
)
from sklar.errors import DoorError
from sklar.release.blocks import BlockLikelihoods, BlockMeans
from sklar.release.scores import Scores
from sklar.rows import open_rows
from sklar.schema import Integer, Schema

TOP = 6
NAMES = ("a", "b", "c")
SCHEMA = Schema({name: Integer(0, TOP) for name in NAMES})
LOOKUP = np.linspace(-3072, 3072, TOP + 1).astype(int)


def rounded_correlations(scores: np.ndarray, block: np.ndarray, blocks: int) -> np.ndarray:
    """Correlations of each block from the scores and blocks of all rows."""
    return estimate_block_correlations(*block_moments(scores, block, blocks))


def feature(blocks, seed=5):
    return BlockMeans(scores=Scores(columns=NAMES, lookups=(LOOKUP,) * 3), blocks=blocks, seed=seed)


def sums(rows, f):
    return exact_block_sums(f, open_rows(pa.table({n: rows[:, j] for j, n in enumerate(NAMES)}), SCHEMA))


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, TOP + 1, (n, 3))


def test_the_order_of_rows_does_not_matter():
    rows = people(400)
    np.testing.assert_array_equal(sums(rows, feature(20)), sums(rows[::-1], feature(20)))


def test_an_inserted_row_changes_one_block_only():
    rows, f = people(300), feature(15)
    extra = np.vstack([rows[:1], [[TOP, 0, TOP]], rows[1:]])
    one, two = (_by_block(r, f) for r in (rows, extra))
    assert (np.abs(one - two).max(axis=1) > 0).sum() <= 1


def test_blocks_are_even_and_equal_rows_are_spread_over_them():
    words = pack_rows(np.zeros((10_000, 3), dtype=np.int32), (7, 7, 7))
    counts = np.bincount(assign_blocks(words, 10, 1), minlength=10)
    assert counts.min() > 1_000 - 6 * 30 and counts.max() < 1_000 + 6 * 30
    other = assign_blocks(words, 10, 2)
    assert 0.05 < np.mean(other == assign_blocks(words, 10, 1)) < 0.15


def test_a_block_is_a_correlation_matrix_of_its_rows():
    rng = np.random.default_rng(3)
    scores, block = rng.integers(-3000, 3000, (500, 3)), rng.integers(0, 4, 500)
    found = rounded_correlations(scores, block, 5) * 2.0**-20
    for b in range(4):
        slow = np.corrcoef(scores[block == b].T)[np.triu_indices(3, 1)]
        np.testing.assert_allclose(found[b], slow, atol=2e-6)
    assert not found[4].any(), "a block without rows counts as uncorrelated"


def test_blocks_without_spread_or_with_one_row_are_no_trouble():
    assert not sums(np.full((50, 3), 2), feature(3)).any()
    assert not sums(people(1), feature(7)).any()
    assert not sums(people(0), feature(7)).any()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows_per_person", [1, 2])
def test_one_person_stays_within_the_bound(neighbours, rows_per_person):
    unit, f = Unit(neighbours=neighbours, rows_per_person=rows_per_person), feature(3)
    l1, l2 = f.sensitivity(unit)
    rng = np.random.default_rng(4)
    worst = 0.0
    for trial in range(60):
        rows = people(int(rng.integers(4, 9)), seed=trial)
        rest = rows[rows_per_person:]
        come = people(rows_per_person, seed=1000 + trial)
        other = np.vstack([come, rest]) if neighbours == "replace" else rest
        move = (sums(rows, f) - sums(other, f)) * f.resolution
        assert np.abs(move).sum() <= l1 and np.linalg.norm(move) <= l2
        worst = max(worst, float(np.linalg.norm(move)) / l2)
    assert worst > 0.15, "the trials come somewhat near the bound"


@pytest.mark.parametrize(
    ("sizes", "words"), [((7, 7), 1), ((2**31 - 1, 2**31 - 1, 4), 1), ((2**31 - 1, 2**31 - 1, 5), 2), ((1000,) * 40, 7)]
)
def test_different_rows_have_different_words(sizes, words):
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.integers(0, size, 5_000) for size in sizes]).astype(np.int32)
    rows[:10] = 0
    rows[np.arange(9), np.arange(9) % len(sizes)] = np.arange(9) // len(sizes) + 1
    rows = np.vstack([rows, np.array(sizes) - 1])
    found = pack_rows(rows, sizes)
    assert found.shape == (words, len(rows))
    assert len(np.unique(found, axis=1).T) == len(np.unique(rows, axis=0))


def test_rows_that_differ_are_numbered_apart_whatever_the_mixing(monkeypatch):
    """Even if all bits were mixed into one value, a row would be counted among its equals only, never among others."""
    seen = []
    monkeypatch.setattr(module, "mix_bits", lambda words: seen.append(words.copy()) or words & np.uint64(0))
    rows = people(500)
    assign_blocks(pack_rows(rows.astype(np.int32), (TOP + 1,) * 3), 10, 1)
    numbers = seen[-1] - np.uint64(0x9E3779B97F4A7C15)
    for row in np.unique(rows, axis=0):
        alike = np.sort(numbers[(rows == row).all(axis=1)])
        np.testing.assert_array_equal(alike, np.arange(len(alike)))


def test_two_blocks_of_two_rows_meet_the_bound():
    """In a block of two rows every correlation is -1 or +1: half the signs flip, and the change is nearly m."""
    m = 4
    signs = np.array([[-1, -1, -1, -1], [1, 1, 1, 1], [-1, -1, -1, -1], [1, 1, -1, -1]])
    a = rounded_correlations(100 * signs[:2], np.zeros(2, dtype=np.int64), 1)
    b = rounded_correlations(100 * np.array([[-1, -1, 1, 1], [1, 1, -1, -1]]), np.zeros(2, dtype=np.int64), 1)
    assert np.linalg.norm((a - b) * 2.0**-20) == pytest.approx(m, abs=1e-5)
    f = BlockMeans(scores=Scores(columns=tuple("abcd"), lookups=(LOOKUP,) * 4), blocks=1, seed=0)
    assert f.sensitivity(Unit(neighbours="add-remove"))[1] == pytest.approx(m, abs=1e-4)
    assert f.sensitivity(Unit(neighbours="replace"))[0] == pytest.approx(2 * m * math.sqrt(6), rel=1e-4)


def test_the_mutant_with_blocks_by_position_is_caught(monkeypatch):
    def positional(words, blocks, seed):
        return np.arange(words.shape[1]) // 2

    # Low, high, high, low, low, ...: every block of two is perfectly correlated, and none is after a shift by one.
    rows = np.repeat(np.array([0, TOP, TOP, 0] * 50)[:, None], 3, axis=1)
    assert not _exceeds(rows, feature(101))
    monkeypatch.setattr(module, "assign_blocks", positional)
    assert _exceeds(rows, feature(101))


def test_the_mutant_with_ranks_over_all_rows_is_caught(monkeypatch):
    def ranked(scores, codes, place):
        ranks = np.argsort(np.argsort(codes, axis=0, kind="stable"), axis=0)
        spread = np.sort(codes, axis=0).std() + 1e-9
        return (3000 * np.sin(ranks * spread)).astype(np.int64)

    monkeypatch.setattr(module, "_look_up_scores", ranked)
    assert _exceeds(people(600, 8), feature(60))


def test_without_a_mutant_nothing_is_caught():
    assert not _exceeds(people(600, 8), feature(60))


def _exceeds(rows, f):
    l2 = f.sensitivity(Unit(neighbours="add-remove"))[1]
    extra = np.vstack([[[0, 0, TOP]], rows])
    return np.linalg.norm((sums(rows, f) - sums(extra, f)) * f.resolution) > l2


def _by_block(rows, f):
    codes = rows.astype(np.int32)
    return rounded_correlations(LOOKUP[codes], assign_blocks(pack_rows(codes, f.sizes), f.blocks, f.seed), f.blocks)


@pytest.mark.parametrize("change", [{"blocks": 0}, {"blocks": 2.0}, {"seed": -1}, {"scores": None}])
def test_descriptions_outside_the_rules_are_refused(change):
    given = {"scores": Scores(columns=("a",), lookups=(LOOKUP,)), "blocks": 3, "seed": 1} | change
    if change.get("scores", 1) is not None:
        given["scores"] = Scores(columns=NAMES, lookups=(LOOKUP,) * 3)
    else:
        given["scores"] = Scores(columns=("a",), lookups=(LOOKUP,))
    with pytest.raises(DoorError):
        BlockMeans(**given)


def log_density(x, y, corr):
    """Logarithm of the density of a bivariate Gaussian copula (Li, Xiong, Jiang 2014, equation 1), summed over rows."""
    rest = 1 - corr**2
    return -len(x) * np.log(rest) / 2 - ((x @ x + y @ y) * corr**2 - 2 * (x @ y) * corr) / (2 * rest)


@pytest.mark.parametrize("spread", [0.2, 0.7, 1.0, 2.0])
def test_the_likeliest_correlation_is_where_the_likelihood_is_largest(spread):
    """Scores of little spread give likelihoods with two peaks."""
    rng, grid, peaks = np.random.default_rng(8), np.linspace(-0.9999, 0.9999, 20_001), 0
    for _ in range(40):
        x, y = spread * rng.normal(size=(2, 6))
        found = maximize_likelihood(np.array([(x @ x + y @ y) / 6]), np.array([(x @ y) / 6]))[0]
        heights = log_density(x, y, grid)
        peaks = max(peaks, int((np.diff(np.sign(np.diff(heights))) < 0).sum()))
        assert log_density(x, y, found) >= heights.max() - 1e-6 * abs(heights.max())
    assert peaks == (2 if spread < 0.5 else peaks)


def test_blocks_of_likelihoods_agree_with_pyvinecopulib():
    import pyvinecopulib as pv
    from scipy.special import ndtr

    rng = np.random.default_rng(9)
    z = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 4_000)
    scores = np.round(np.clip(z, -3, 3) * 1024).astype(np.int64)
    block = np.repeat(np.arange(2), 2_000)
    found = estimate_block_likelihoods(*block_moments(scores, block, 2))[:, 0] * 2.0**-20
    for b in range(2):
        copula = pv.Bicop(family=pv.BicopFamily.gaussian)
        copula.fit(ndtr(scores[block == b] / 1024))
        assert found[b] == pytest.approx(float(copula.parameters[0, 0]), abs=1e-4)


def test_likelihoods_of_blocks_of_twins_strangers_and_nobody():
    twin = np.column_stack([np.arange(-3, 4) * 900] * 2)
    found = estimate_block_likelihoods(
        *block_moments(np.vstack([twin, twin * [1, -1], [[0, 0]]]), np.repeat([0, 1, 2], [7, 7, 1]), 4)
    )
    assert (found[:2, 0] * 2.0**-20).round(4).tolist() == [1, -1] and not found[2:].any()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_likelihoods_stay_within_the_diameter_and_meet_it(neighbours):
    """The paper's bound: each of P estimates moves by at most 2 in a changed block."""
    unit = Unit(neighbours=neighbours)
    f = BlockLikelihoods(scores=Scores(columns=NAMES, lookups=(LOOKUP,) * 3), blocks=2, seed=5)
    assert f.sensitivity(unit)[0] == pytest.approx(unit.l1 * 3 * 2 / 2)
    assert f.sensitivity(unit)[1] == pytest.approx(unit.l1 * 2 * math.sqrt(3) / 2)
    for trial in range(40):
        rows = people(6, seed=trial)
        other = np.vstack([rows[1:], people(1, 99 + trial)]) if neighbours == "replace" else rows[1:]
        a, b = (
            exact_likelihood_sums(f, open_rows(pa.table({n: r[:, j] for j, n in enumerate(NAMES)}), SCHEMA))
            for r in (rows, other)
        )
        assert np.abs(a - b).sum() * f.resolution <= f.sensitivity(unit)[0]
    plus, minus = (
        estimate_block_likelihoods(*block_moments(np.array([[3000, s * 3000]] * 9), np.zeros(9, int), 1))
        for s in (1, -1)
    )
    assert (plus - minus)[0, 0] * 2.0**-20 == pytest.approx(2, abs=1e-3)
