"""Sums over synthetic codes are those that the wall computes exactly, and a simulated Door adds noise of the scale."""

from __future__ import annotations

import numpy as np
import pytest

import sklar
from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import DoorError
from sklar.inference.mechanism import sums
from sklar.inference.mechanism.simulated import SimulatedDoor
from sklar.inference.mechanism.sums import CodeTable, feature_sums, table_scores
from sklar.counting.blocks import block_moments, correlations_of, likelihoods_of
from sklar.counting.coefficients import exact_coefficients
from sklar.counting.sphere import exact_pair_sums, exact_star_sums
from sklar.counting.taus import exact_order
from sklar.counting.interactions import exact_interactions
from sklar.counting.scores import exact_scores
from sklar.release.door import (
    Candidate,
    Discovery,
    Interaction,
    PairTables,
    RecodedTable,
    SplitNorms,
    Table,
    TableDistance,
    TailNorms,
)
from sklar.release.features import (
    BlockLikelihoods,
    BlockMeans,
    Coefficients,
    Contrasts,
    PairSums,
    SampledTaus,
    StarSums,
    TauVector,
)
from sklar.release.scores import Scores
from sklar.sample.rng import generator

SIZES = {"a": 9, "b": 5, "c": 3}
ROWS = 700
RNG = generator(11)
CODES = CodeTable(columns={name: RNG.integers(0, size, ROWS).astype(np.int32) for name, size in SIZES.items()})
MATRIX = np.column_stack(list(CODES.columns.values()))
SCORES = Scores(columns=("a", "b"), lookups=(np.arange(-4, 5) * 300, np.array([-900, -100, 5, 700, 1300])))
CONTRASTS = Contrasts(column="c", lookups=(np.array([1, -1, 0]), np.array([0, 0, 1])))
RANKS = (np.arange(9), np.arange(5))


def lookup(name: str, groups: int) -> np.ndarray:
    return np.minimum(np.arange(SIZES[name]), groups - 1).astype(np.int32)


def columns_of(feature: StarSums | PairSums) -> np.ndarray:
    return np.column_stack([CODES.columns[name] for name in feature.columns])


def test_sums_on_a_sphere_are_the_exact_ones() -> None:
    star = StarSums(scores=SCORES, contrasts=CONTRASTS, nominal=("b",), levels=(np.arange(5),))
    for feature, exact in ((star, exact_star_sums), (PairSums(scores=SCORES), exact_pair_sums)):
        found = feature_sums(feature, CODES)
        assert np.allclose(found, exact(feature, columns_of(feature)) * feature.resolution, atol=ROWS * 2e-3)
    assert np.abs(feature_sums(star, CODES)).max() > 20
    with_contrasts = PairSums(scores=SCORES, contrasts=CONTRASTS)
    exact = exact_pair_sums(with_contrasts, columns_of(with_contrasts)) * with_contrasts.resolution
    assert np.allclose(feature_sums(with_contrasts, CODES), exact, atol=ROWS * 2e-3)


@pytest.mark.parametrize(("basis", "kept"), [("cosine", 4), ("haar", 16)])
def test_coefficients_are_the_exact_ones(basis: str, kept: int) -> None:
    feature = Coefficients(column="a", lookup=np.arange(9), basis=basis, kept=kept)
    exact = exact_coefficients(feature, CODES.columns["a"][:, None]) * feature.resolution
    assert np.allclose(feature_sums(feature, CODES), exact, atol=ROWS * 2**-15)


def test_taus_are_the_exact_ones_also_of_some_rows() -> None:
    whole = TauVector(columns=("a", "b"), lookups=RANKS, rows=ROWS)
    exact = exact_order(CODES.counts(("a", "b"), RANKS)) * whole.resolution
    assert feature_sums(whole, CODES) == pytest.approx([exact])
    some = SampledTaus(columns=("a", "b"), lookups=RANKS, rows=100, seed=3)
    first = exact_order(CODES.first(100).counts(("a", "b"), RANKS)) * some.resolution
    assert feature_sums(some, CODES) == pytest.approx([first])


@pytest.mark.parametrize(("kind", "exact"), [(BlockMeans, correlations_of), (BlockLikelihoods, likelihoods_of)])
def test_means_over_blocks_are_the_exact_ones_of_the_same_blocks(kind: type[BlockMeans], exact: object) -> None:
    feature = kind(scores=SCORES, blocks=7, seed=1)
    points = np.column_stack([SCORES.lookups[0][CODES.columns["a"]], SCORES.lookups[1][CODES.columns["b"]]])
    moments = block_moments(points.astype(np.int64), np.arange(ROWS) % 7, 7)
    told = exact(*moments).sum(axis=0) * feature.resolution  # type: ignore[operator]
    assert feature_sums(feature, CODES) == pytest.approx(told, abs=1.0 / sums.CORR_STEPS)


def test_scores_of_choices_are_the_exact_ones() -> None:
    table = CODES.counts(("a", "b"), RANKS)
    near = Candidate(columns=("a", "b"), lookups=RANKS, estimate=table + 0.5)
    tails = TailNorms(column="a", lookup=np.arange(9), penalties=np.arange(5) / 3.0)
    splits = SplitNorms(column="a", lookup=np.arange(9), runs=3, end=8)
    for score, tables in (
        (TableDistance(candidates=(near,), bonuses=(2.0,)), [table]),
        (tails, [CODES.counts(("a",), (np.arange(9),))]),
        (splits, [CODES.counts(("a",), (np.arange(9),))]),
    ):
        exact = exact_scores(score, tables, Unit(neighbours="add-remove"))
        assert table_scores(score, CODES) == pytest.approx(exact, abs=1e-6)


SCHEMA = sklar.Schema({name: sklar.Category([f"v{i}" for i in range(size - 1)]) for name, size in SIZES.items()})


def door(scale: float, seed: int = 0, kind: str = "gaussian", neighbours: str = "add-remove") -> SimulatedDoor:
    allowance = Allowance(measure="rho", amount=1.0)
    unit = Unit(neighbours=neighbours)  # type: ignore[arg-type]
    return SimulatedDoor(schema=SCHEMA, allowance=allowance, unit=unit, codes=CODES, rng=generator(seed))


TINY = Noise(kind="gaussian", scale=1e-3)


def test_a_simulated_door_counts_what_was_asked_for() -> None:
    simulated = door(1e-3)
    groups = (lookup("a", 4), lookup("b", 3))
    exact = CODES.counts(("a", "b"), groups)
    (plain,) = simulated.count([Table(columns=("a", "b"), noise=TINY)], "x")
    assert np.array_equal(plain.counts, CODES.counts(("a", "b"), RANKS))
    (recoded,) = simulated.count_recoded([RecodedTable(columns=("a", "b"), lookups=groups, noise=TINY)], "x")
    assert np.array_equal(recoded.counts, exact)
    pairs = simulated.count_pairs(PairTables(columns=("a", "b"), lookups=groups, noise=TINY), "x")
    assert np.array_equal(pairs.counts, exact.ravel())
    (left,) = simulated.count_interactions([Interaction(columns=("a", "b"), lookups=groups, noise=TINY)], "x")
    assert left.values == pytest.approx(exact_interactions(exact) / 12, abs=0.01)
    summed = simulated.sum(PairSums(scores=SCORES), TINY, "x")
    assert summed.values == pytest.approx(feature_sums(PairSums(scores=SCORES), CODES), abs=0.01)
    candidates = tuple(
        Candidate(columns=("a",), lookups=(np.arange(9),), estimate=np.full(9, x)) for x in (70.0, 900.0)
    )
    assert simulated.choose(TableDistance(candidates=candidates), 5.0, "x").indices == (1,)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_its_noise_has_the_scale_that_was_asked_for_and_follows_the_seed(kind: str) -> None:
    noise = Noise(kind=kind, scale=6.0)  # type: ignore[arg-type]
    asked = [Table(columns=("a", "b"), noise=noise)] * 400
    first, again, other = (door(6.0, seed).count(asked, "x") for seed in (1, 1, 2))
    drawn = np.stack([release.counts for release in first]) - CODES.counts(("a", "b"), RANKS)
    assert drawn.std() == pytest.approx(noise.std, rel=0.03)  # 18,000 draws of a fixed seed
    assert abs(drawn.mean()) < 0.2
    assert all(np.array_equal(x.counts, y.counts) for x, y in zip(first, again, strict=True))
    assert not np.array_equal(first[0].counts, other[0].counts)


def test_rows_are_known_only_where_they_are_public_and_labels_are_never_found() -> None:
    assert door(1.0).rows is None
    assert door(1.0, neighbours="replace").rows == ROWS
    with pytest.raises(DoorError, match="cannot be discovered"):
        door(1.0).discover([Discovery(column="a", noise=TINY, threshold=3, floor=1)], "x")
