"""What the audit computes for itself is what the Door sums and scores; likelihoods of choices are those of the law."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from sklar.accounting.unit import Unit
from sklar.lab.audit.exact import choice_terms, exact_scores, exact_sums
from sklar.lab.audit.requests import choice_scale, choice_scores
from sklar.private import scores as private_scores
from sklar.counting.evaluate import FEATURES
from sklar.counting.taus import exact_order
from sklar.release.door import Candidate, Score, SplitNorms, TableDistance, TailNorms
from sklar.release.features import BlockMeans, Coefficients, Contrasts, PairSums, SampledTaus, StarSums, TauVector
from sklar.release.replay import AskedChoice
from sklar.release.scores import Scores

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
    ],
    ids=lambda feature: type(feature).__name__,
)
def test_sums_are_those_of_the_door(feature: Any) -> None:
    rule = FEATURES[type(feature)].exact_sums
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
        expected.append(exact_order(table))
    found = exact_sums(feature, CODES)
    assert found is not None and found.tolist() == expected
    sampled = SampledTaus(columns=feature.columns, lookups=feature.lookups, rows=20, seed=1)
    assert exact_sums(sampled, CODES) is None and exact_sums(BlockMeans(scores=SIX, blocks=3, seed=1), CODES) is None


BINS = np.array([0, 1, 2, 3, 4, 4], dtype=np.int32)
SCORES: list[Score] = [
    TableDistance(
        candidates=tuple(
            Candidate(columns=pair, lookups=(LEVELS.astype(np.int32), BINS), estimate=np.full((3, 5), 4.5))
            for pair in (("a", "b"), ("b", "c"), ("a", "c"))
        ),
        bonuses=(0.5, 0.0, -1.0),
    ),
    TailNorms(column="a", lookup=BINS, penalties=np.array([1.0, 2.0, 3.5])),
    SplitNorms(column="b", lookup=BINS, runs=3, end=5),
    SplitNorms(column="b", lookup=BINS, runs=2, end=3),
]


@pytest.mark.parametrize("score", SCORES, ids=lambda score: type(score).__name__)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_scores_and_their_noise_are_those_of_the_door(score: Score, relation: Any) -> None:
    tables = []
    for columns, lookups in private_scores.score_tables(score):
        assert lookups is not None
        table = np.zeros([int(lookup.max()) + 1 for lookup in lookups], dtype=np.int64)
        np.add.at(table, tuple(lookup[CODES[name]] for name, lookup in zip(columns, lookups, strict=True)), 1)
        tables.append(table)
    expected = private_scores.exact_scores(score, tables, Unit(neighbours="add-remove"))
    choice, unit = AskedChoice(score=score, epsilon=0.5, picks=1), Unit(neighbours=relation)
    assert choice_scores(choice, CODES) == pytest.approx(expected, abs=1e-4)
    assert exact_scores(score, [table.ravel().astype(float) for table in tables]) == pytest.approx(expected, abs=1e-4)
    assert choice_scale(choice, unit) == 2 * private_scores.score_sensitivity(score, unit) / 0.5


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
