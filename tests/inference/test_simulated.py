"""A simulated Door answers every kind of query with its exact values plus noise of the stated scale."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.fft import dct

import sklar
from sklar.accounting.noise import Noise, NoiseKind
from sklar.accounting.unit import Unit
from sklar.arrays import Floats, Ints
from sklar.counting.blocks import (
    block_moments,
    estimate_block_correlations,
    estimate_block_likelihoods,
    mix_row_keys,
    pack_rows,
)
from sklar.counting.code_table import CodeTable, CountedTable
from sklar.counting.evaluate import exact_values
from sklar.errors import DoorError
from sklar.inference.simulated import SimulatedDoor
from sklar.release.blocks import BlockLikelihoods, BlockMeans
from sklar.release.choices import Candidate, Discovery, Score, SplitNorms, TableDistance, TailNorms
from sklar.release.coefficients import Coefficients
from sklar.release.counts import Counts, Interaction, PairCounts
from sklar.release.measurements import Measurement, Query, Request
from sklar.release.scores import SCORE_BITS, Scores
from sklar.release.sphere import Contrasts, PairSums, StarSums
from sklar.release.taus import SampledTaus, TauVector
from sklar.sample.rng import generator

SIZES = {"a": 9, "b": 5, "c": 3}
ROWS = 700
RNG = generator(11)
CODES = {name: RNG.integers(0, size, ROWS).astype(np.int32) for name, size in SIZES.items()}
SCHEMA = sklar.Schema({name: sklar.Category([f"v{i}" for i in range(size - 1)]) for name, size in SIZES.items()})
TABLE = CountedTable(SCHEMA, CodeTable(columns=CODES))
SCORES = Scores(columns=("a", "b"), lookups=(np.arange(-4, 5) * 300, np.array([-900, -100, 5, 700, 1300])))
CONTRASTS = Contrasts(column="c", lookups=(np.array([1, -1, 0]), np.array([0, 0, 1])))
CODES_OF_A, CODES_OF_B = np.arange(9), np.arange(5)
TINY = 1e-12
"""A scale of noise that is zero at every resolution."""


def door(seed: int = 0) -> SimulatedDoor:
    return SimulatedDoor(rows=TABLE, unit=Unit(neighbours="add-remove"), rng=generator(seed))


def measure(query: Query, scale: float = TINY, seed: int = 0) -> Measurement:
    (found,) = door(seed).measure([Request(query=query, noise=Noise(kind="gaussian", scale=scale))], "step")
    return found


def partition(name: str, groups: int) -> np.ndarray:
    return np.minimum(np.arange(SIZES[name]), groups - 1).astype(np.int32)


def count(columns: tuple[str, ...], partitions: tuple[np.ndarray, ...], rows: Ints | slice = slice(None)) -> Ints:
    """The contingency table of some rows, one row at a time."""
    table = np.zeros([int(one.max()) + 1 for one in partitions], dtype=np.int64)
    np.add.at(table, tuple(one[CODES[name][rows]] for name, one in zip(columns, partitions, strict=True)), 1)
    return table


def points() -> Floats:
    """Scores of each row, scaled to the length sqrt(2)."""
    scores = np.column_stack([SCORES.lookups[0][CODES["a"]], SCORES.lookups[1][CODES["b"]]]) / 2.0**SCORE_BITS
    norm = np.sqrt((scores**2).sum(axis=1, keepdims=True))
    return scores * np.sqrt(2) / np.where(norm > 0, norm, 1.0)


def weights() -> Floats:
    return np.stack([lookup[CODES["c"]] for lookup in CONTRASTS.lookups]) / 2.0**CONTRASTS.bits


def concordance(rows: Ints | slice) -> int:
    """Concordant minus discordant pairs of rows."""
    a, b = (CODES[name][rows].astype(np.int64) for name in ("a", "b"))
    return int((np.sign(a[:, None] - a) * np.sign(b[:, None] - b)).sum()) // 2


GROUPS = (partition("a", 4), partition("b", 3))


def test_a_table_of_counts_is_that_of_the_rows() -> None:
    found = measure(Counts(columns=("a", "b"), partitions=GROUPS))
    assert np.array_equal(found.values, count(("a", "b"), GROUPS))
    assert found.values.dtype == np.int64 and found.resolution == 1.0 and found.label == "step"


def test_tables_of_all_pairs_are_those_of_the_rows() -> None:
    partitions = (*GROUPS, np.arange(3, dtype=np.int32))
    found = measure(PairCounts(columns=("a", "b", "c"), partitions=partitions))
    whole = zip("abc", partitions, strict=True)
    tables = [count((x[0], y[0]), (x[1], y[1])).ravel() for x, y in combinations(whole, 2)]
    assert np.array_equal(found.values, np.concatenate(tables)) and found.values.dtype == np.int64


def test_an_interaction_is_the_table_without_its_margins() -> None:
    found = measure(Interaction(columns=("a", "b"), partitions=GROUPS))
    table = count(("a", "b"), GROUPS).astype(float)
    centred = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    assert found.values == pytest.approx(centred, abs=1e-9) and found.resolution == 1 / 12


def test_sums_on_a_sphere_are_those_of_the_rows() -> None:
    """Scores of single rows are rounded to 2^-10, so sums over 700 rows agree to about one."""
    star = StarSums(scores=SCORES, contrasts=CONTRASTS, nominal=("b",), levels=(CODES_OF_B,))
    levels = np.stack([np.bincount(CODES["b"], line, minlength=5) for line in weights()])
    expected = np.concatenate([weights() @ points(), levels], axis=1).ravel()
    assert measure(star).values == pytest.approx(expected, abs=ROWS * 2e-3)
    assert np.abs(measure(star).values).max() > 20
    product = points().prod(axis=1)
    assert measure(PairSums(scores=SCORES)).values == pytest.approx([product.sum()], abs=ROWS * 2e-3)
    contrasted = PairSums(scores=SCORES, contrasts=CONTRASTS)
    assert measure(contrasted).values == pytest.approx(weights() @ product, abs=ROWS * 2e-3)


@pytest.mark.parametrize(("basis", "kept"), [("cosine", 4), ("haar", 16)])
def test_coefficients_are_those_of_the_histogram(basis: str, kept: int) -> None:
    counts = count(("a",), (CODES_OF_A,)).astype(float)
    expected = np.asarray(dct(counts, norm="ortho"))[:kept]
    if basis == "haar":
        level, differences = np.append(counts, np.zeros(7)), list[Floats]()
        while len(level) > 1:
            differences.append(level[0::2] - level[1::2])
            level = level[0::2] + level[1::2]
        expected = np.concatenate([level, *differences[::-1]])
    found = measure(Coefficients(column="a", lookup=CODES_OF_A, basis=basis, kept=kept))
    assert found.values == pytest.approx(expected, abs=ROWS * 2**-15)


def test_taus_are_those_of_all_pairs_of_rows() -> None:
    query = TauVector(columns=("a", "b"), lookups=(CODES_OF_A, CODES_OF_B), rows=ROWS)
    assert measure(query).values == pytest.approx([concordance(slice(None)) * 2 / (ROWS * (ROWS - 1))], rel=1e-9)


def test_sampled_taus_are_those_of_the_rows_with_the_smallest_keys() -> None:
    query = SampledTaus(columns=("a", "b"), lookups=(CODES_OF_A, CODES_OF_B), rows=100, seed=3)
    words = pack_rows(np.column_stack([CODES["a"], CODES["b"]]).astype(np.int32), [9, 5])
    mixed, number = mix_row_keys(words, 3)
    order = np.lexsort(np.vstack([mixed, words, number])[::-1])
    assert measure(query).values == pytest.approx([concordance(order[:100]) * 2 / (100 * 99)], rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "exact"), [(BlockMeans, estimate_block_correlations), (BlockLikelihoods, estimate_block_likelihoods)]
)
def test_means_over_blocks_are_near_those_of_rows_dealt_in_turn(kind: type[BlockMeans], exact: object) -> None:
    """Blocks follow from the codes of rows; with seven blocks of 100 rows other blocks give nearly the same mean."""
    query = kind(scores=SCORES, blocks=7, seed=1)
    scores = np.column_stack([SCORES.lookups[0][CODES["a"]], SCORES.lookups[1][CODES["b"]]]).astype(np.int64)
    dealt = exact(*block_moments(scores, np.arange(ROWS) % 7, 7)).sum(axis=0)  # type: ignore[operator]
    found = measure(query).values
    assert found == pytest.approx(dealt * query.resolution, abs=0.02)
    assert found == pytest.approx(exact_values([query], TABLE)[0] * query.resolution, rel=1e-9)


def test_choices_pick_the_candidates_with_the_best_scores() -> None:
    """Scores are worked out here in plain floating point; a large epsilon picks the best of them, in order."""
    table, histogram = count(("a", "b"), (CODES_OF_A, CODES_OF_B)), count(("a",), (CODES_OF_A,))
    offsets = (0.5, 2.0, 1.0)
    candidates = tuple(
        Candidate(columns=("a", "b"), partitions=(CODES_OF_A, CODES_OF_B), estimate=table + off) for off in offsets
    )
    power = np.asarray(dct(histogram.astype(float), norm="ortho")) ** 2
    penalties = np.array([9.0, 1.0, 4.0])
    tails = -np.sqrt([power[kept:].sum() for kept in (1, 2, 3)]) - penalties
    splits = [-np.sqrt(_run_errors(histogram[:8], last)) for last in range(2, 8)]
    for score, expected in (
        (TableDistance(candidates=candidates, bonuses=(100.0, 0.0, 0.0)), 45 * np.array(offsets) + [100, 0, 0]),
        (TailNorms(column="a", partition=CODES_OF_A, penalties=penalties), tails),
        (SplitNorms(column="a", partition=CODES_OF_A, runs=3, end=8), np.array(splits)),
    ):
        _require_order(score, expected)


def _run_errors(bins: Ints, last: int) -> float:
    """Least squared distance from the means of three runs, the last of which begins at bin `last`."""

    def spread(part: Ints) -> float:
        return float(((part - part.mean()) ** 2).sum())

    return min(spread(bins[:cut]) + spread(bins[cut:last]) for cut in range(1, last)) + spread(bins[last:])


def _require_order(score: Score, expected: Floats) -> None:
    found = door().choose(score, 1e9, "choice", picks=len(expected))
    assert found.indices == tuple(np.argsort(-expected).tolist())
    assert found.score is score and found.epsilon == 1e9
    picked = {door(seed).choose(score, 1e-9, "choice").indices for seed in range(40)}
    assert len(picked) > 1  # with no epsilon to speak of, any of them


QUERIES: list[Query] = [
    Counts(columns=("a", "b"), partitions=GROUPS),
    PairCounts(columns=("a", "b"), partitions=GROUPS),
    Interaction(columns=("a", "b"), partitions=GROUPS),
    StarSums(scores=SCORES, contrasts=CONTRASTS),
    PairSums(scores=SCORES),
    TauVector(columns=("a", "b"), lookups=(CODES_OF_A, CODES_OF_B), rows=ROWS),
    SampledTaus(columns=("a", "b"), lookups=(CODES_OF_A, CODES_OF_B), rows=100, seed=3),
    BlockMeans(scores=SCORES, blocks=7, seed=1),
    BlockLikelihoods(scores=SCORES, blocks=7, seed=1),
    Coefficients(column="a", lookup=CODES_OF_A, basis="cosine", kept=4),
]


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)
def test_noise_has_the_stated_scale_and_follows_the_seed(query: Query, kind: NoiseKind) -> None:
    noise = Noise(kind=kind, scale=6.0)
    exact = measure(query).values
    asked = [Request(query=query, noise=noise)] * (500 if isinstance(query, Counts | PairCounts | Interaction) else 200)
    first, again, other = (door(seed).measure(asked, "step") for seed in (1, 1, 2))
    drawn = np.stack([one.values for one in first]) - exact
    assert drawn.std() == pytest.approx(first[0].sigma, rel=4 / np.sqrt(drawn.size))
    assert abs(drawn.mean()) < 4 * first[0].sigma / np.sqrt(drawn.size)
    assert all(one.noise == noise and one.query is query for one in first)
    assert all(np.array_equal(x.values, y.values) for x, y in zip(first, again, strict=True))
    assert not np.array_equal(first[0].values, other[0].values)
    steps = drawn / query.resolution
    assert steps == pytest.approx(np.rint(steps), abs=1e-3 if query.resolution > 1e-7 else 0.5)


def test_labels_are_never_discovered_in_synthetic_rows() -> None:
    search = Discovery(column="a", noise=Noise(kind="gaussian", scale=1.0), threshold=3, floor=1)
    with pytest.raises(DoorError, match="cannot be discovered"):
        door().discover([search], "step")
