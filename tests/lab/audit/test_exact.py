"""What the audit computes for itself is what the Door sums and scores; likelihoods of choices are those of the law."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from sklar.accounting.unit import Unit
from sklar.counting import evaluate
from sklar.counting import scores as counted_scores
from sklar.counting.code_table import CodeTable, CountedTable
from sklar.counting.evaluate import SUM_RULES
from sklar.counting.taus import exact_concordance
from sklar.lab.audit.exact import choice_scores, choice_terms, exact_scores, exact_sums, exact_values
from sklar.release.agreements import Agreements
from sklar.release.blocks import BlockMeans
from sklar.release.choices import Candidate, Score, SplitNorms, TableDistance, TailNorms
from sklar.release.coefficients import Coefficients
from sklar.release.counts import Counts, Interaction, PairCounts
from sklar.release.scores import Scores
from sklar.release.sphere import Contrasts, PairSums, StarSums
from sklar.release.taus import SampledTaus, TauVector
from sklar.schema import Integer, Schema

RNG = np.random.default_rng(5)
CODES = {name: RNG.integers(0, 6, 70) for name in "abc"}
SIX = Scores(columns=("a", "b", "a"), lookups=tuple(RNG.integers(-3000, 3000, 6) for _ in range(3)))
SIGNS = Contrasts(column="c", lookups=(np.array([-1, 1, 0, 0, 1, -1]),))
LEVELS = np.array([0, 0, 1, 2, 2, 1])


@pytest.mark.parametrize(
    "feature",
    [
        StarSums(scores=SIX, contrasts=SIGNS, nominal=("b", "c"), levels=(LEVELS, LEVELS)),
        StarSums(scores=Scores(columns=(), lookups=()), contrasts=SIGNS, nominal=("b",), levels=(LEVELS,)),
        PairSums(scores=SIX),
        PairSums(scores=SIX, contrasts=SIGNS),
        Coefficients(column="a", lookup=np.arange(6), basis="cosine", kept=4),
        Coefficients(column="a", lookup=np.arange(6), basis="haar", kept=8),
        Agreements(first=("a",), second=("b",), sizes=(6,)),
    ],
    ids=lambda feature: type(feature).__name__,
)
def test_sums_are_those_of_the_door(feature: Any) -> None:
    rule = SUM_RULES[type(feature)].exact_sums
    assert rule is not None
    rows = np.column_stack([CODES[name] for name in feature.columns])
    found = exact_sums(feature, CODES)
    assert found is not None and np.array_equal(found, rule(feature, rows))


def test_orders_are_those_of_the_door() -> None:
    feature = TauVector(columns=("a", "b", "c"), lookups=(np.arange(6), LEVELS, np.arange(6)[::-1]), rows=70)
    ranks = [lookup[CODES[name]] for name, lookup in zip(feature.columns, feature.lookups, strict=True)]
    expected = []
    for j, k in ((0, 1), (0, 2), (1, 2)):
        table = np.zeros((6, 6), dtype=np.int64)
        np.add.at(table, (ranks[j], ranks[k]), 1)
        expected.append(exact_concordance(table))
    found = exact_sums(feature, CODES)
    assert found is not None and found.tolist() == expected
    sampled = SampledTaus(columns=feature.columns, lookups=feature.lookups, rows=20, seed=1)
    assert exact_sums(sampled, CODES) is None and exact_sums(BlockMeans(scores=SIX, blocks=3, seed=1), CODES) is None


@pytest.mark.parametrize(
    "query",
    [
        Counts(columns=("a", "b"), partitions=(LEVELS, np.arange(6))),
        PairCounts(columns=("a", "b", "c"), partitions=(LEVELS, np.arange(6), LEVELS)),
        Interaction(columns=("a", "b", "c"), partitions=(LEVELS, np.arange(6), LEVELS)),
    ],
    ids=lambda query: type(query).__name__,
)
def test_tables_are_those_of_the_door(query: Counts | PairCounts | Interaction) -> None:
    schema = Schema({name: Integer(0, 5) for name in "abc"})
    (expected,) = evaluate.exact_values([query], CountedTable(schema, CodeTable(columns=CODES)))
    found = exact_values(query, CODES)
    assert found is not None and np.array_equal(found, expected.ravel())


BINS = np.array([0, 1, 2, 3, 4, 4], dtype=np.int32)
SCORES: list[Score] = [
    TableDistance(
        candidates=tuple(
            Candidate(columns=pair, partitions=(LEVELS.astype(np.int32), BINS), estimate=np.full((3, 5), 4.5))
            for pair in (("a", "b"), ("b", "c"), ("a", "c"))
        ),
        bonuses=(0.5, 0.0, -1.0),
    ),
    TailNorms(column="a", partition=BINS, penalties=np.array([1.0, 2.0, 3.5])),
    SplitNorms(column="b", partition=BINS, runs=3, end=5),
    SplitNorms(column="b", partition=BINS, runs=2, end=3),
]


@pytest.mark.parametrize("score", SCORES, ids=lambda score: type(score).__name__)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_scores_and_their_noise_are_those_of_the_door(score: Score, relation: Any) -> None:
    tables = []
    for asked in score.tables:
        table = np.zeros(asked.shape, dtype=np.int64)
        read = zip(asked.columns, asked.partitions, strict=True)
        np.add.at(table, tuple(partition[CODES[name]] for name, partition in read), 1)
        tables.append(table)
    expected = counted_scores.exact_scores(score, tables, Unit(neighbours="add-remove"))
    assert choice_scores(score, CODES) == pytest.approx(expected, abs=1e-4)
    assert exact_scores(score, [table.ravel().astype(float) for table in tables]) == pytest.approx(expected, abs=1e-4)
    # The audit and the Door scale the noise of a choice by the same function: here its values, written down once more.
    rows = 1.0 if relation == "add-remove" else 2.0
    stated = rows if isinstance(score, TableDistance) else rows**0.5 + 1e-3
    assert score.sensitivity(Unit(neighbours=relation)) == pytest.approx(stated, rel=1e-12)


def test_the_likelihood_of_a_choice_is_that_of_picking_one_after_the_other() -> None:
    one, other, scale = np.array([3.0, 1.0, 2.5, 0.0]), np.array([2.0, 2.0, 2.5, 1.0]), 1.5

    def chance(scores: np.ndarray, picked: tuple[int, ...]) -> float:
        weights = np.exp(scores / scale)
        return float(np.prod([weights[i] / (weights.sum() - weights[list(picked[:k])].sum())
                              for k, i in enumerate(picked)]))  # fmt: skip

    first = second = 0.0
    for picked in permutations(range(4), 2):
        ratio, variance = choice_terms(one, other, scale, picked)
        assert variance > 0
        assert ratio - variance / 2 == pytest.approx(np.log(chance(other, picked) / chance(one, picked)))
        first, second = first + chance(one, picked) * ratio, second + chance(one, picked) * variance
    assert abs(first) < 0.2 * second  # centred on the first table, to second order
    assert choice_terms(one, one + 5, scale, (0, 2)) == pytest.approx((0.0, 0.0), abs=1e-12)
