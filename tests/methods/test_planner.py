"""What is planned after a first model: whole reserves, far tables first, and nothing where distances are noise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.methods.vine.estimate import pool_measurements
from sklar.methods.vine.options import VineShares
from sklar.methods.vine.planner import (
    CandidateTable,
    plan_budget,
    shrink_distances,
    split_reserve,
    weigh_workload,
)
from sklar.model.pairs.grouping import Groups
from sklar.release.counts import Counts
from sklar.release.measurements import Measurement

UNIT = Unit(neighbours="add-remove")
SHARES = VineShares(margins=2 / 7, pairs=4 / 7, tree=1 / 7)


def groups(count: int) -> Groups:
    return Groups(lookup=np.arange(count), edges=np.linspace(0.0, 1.0, count + 1))


def candidates(columns: int = 4, side: int = 4) -> list[CandidateTable]:
    """All pairs, and all triples at two resolutions."""
    pairs = [CandidateTable(columns=c, groups=(groups(side),) * 2, level=0) for c in combinations(range(columns), 2)]
    return pairs + [
        CandidateTable(columns=c, groups=(groups(k),) * 3, level=level)
        for c in combinations(range(columns), 3)
        for k, level in ((2, 50), (4, 200))
    ]


def spent(distances: np.ndarray, weights: dict[tuple[int, ...], float], reserve: float = 0.1) -> dict[int, float]:
    tables = candidates()
    return dict(split_reserve(tables, distances, np.ones(len(tables)), weights, reserve))


def test_the_whole_reserve_is_spent_and_each_set_is_measured_once() -> None:
    tables, everything = candidates(), weigh_workload("abcd", None)
    shares = spent(np.full(len(tables), 500.0), everything)
    assert sum(shares.values()) == pytest.approx(1.0)
    columns = [tables[number].columns for number in shares]
    assert len(columns) == len(set(columns))


def test_a_far_triple_gets_the_most_and_near_tables_get_nothing() -> None:
    tables = candidates()
    distances = np.array([5.0 if one.level == 0 else 8.0 for one in tables])
    far = next(k for k, one in enumerate(tables) if one.columns == (0, 1, 3) and one.level == 200)
    distances[far] = 3_000.0
    shares = spent(distances, weigh_workload("abcd", None))
    assert max(shares, key=shares.__getitem__) == far and shares[far] > 0.8


def test_what_no_workload_names_is_measured_only_as_a_part() -> None:
    tables = candidates()
    shares = spent(np.full(len(tables), 500.0), weigh_workload("abcd", ["a b *"]))
    assert all({0, 1} <= set(tables[number].columns) for number in shares if tables[number].level)
    assert all(tables[number].columns != (2, 3) for number in shares)  # in no triple of the workload


def test_workloads_are_patterns_of_names() -> None:
    everything = weigh_workload("abcd", None)
    assert len(everything) == 6 + 4
    assert set(weigh_workload("abcd", ["c *"])) == {(0, 2), (1, 2), (2, 3)}
    assert set(weigh_workload("abcd", ["c a d", "* b a"])) == {(0, 2, 3), (0, 1, 2), (0, 1, 3)}


def test_distances_that_are_noise_are_shrunk_to_those_of_their_kind() -> None:
    tables, rng = candidates(8), np.random.default_rng(1)
    cells = np.array([float(one.cells) for one in tables])
    truth = 30.0 * np.sqrt(cells)
    shrunk = shrink_distances(truth + rng.normal(0, 300.0, len(truth)), 300.0, tables)
    assert np.abs(shrunk - truth).mean() < 60.0
    clear = truth * rng.uniform(0.5, 2.0, len(truth))
    assert shrink_distances(clear, 1e-6, tables) == pytest.approx(clear)


def test_nothing_is_planned_where_distances_would_be_noise() -> None:
    weights, allowance = weigh_workload("abcdefgh", None), Allowance(measure="rho", amount=0.0118)
    assert plan_budget(weights, allowance, SHARES, 1_000, UNIT) is None
    assert plan_budget(weigh_workload("ab", None), allowance, SHARES, 1e9, UNIT) is None
    planned = plan_budget(weights, allowance, SHARES, 50_000, UNIT)
    assert planned is not None
    left = planned.shares.margins + planned.shares.pairs + planned.shares.tree
    assert left * 0.0118 + planned.distances.amount + planned.reserve.amount == pytest.approx(0.0118)
    assert planned.shares.margins == SHARES.margins
    named = plan_budget(weigh_workload("abcdefgh", ["a * *"]), allowance, SHARES, 50_000, UNIT)
    assert named is not None and named.reserve.amount > planned.reserve.amount


def test_measurements_of_one_query_are_pooled_by_precision() -> None:
    query = Counts(columns=("a",), partitions=(np.arange(2),))
    one, two = (
        Measurement(query=query, values=np.array(values), noise=Noise(kind="gaussian", scale=scale))
        for values, scale in (([10, 20], 2.0), ([13, 14], 1.0))
    )
    pooled = pool_measurements(one, two)
    assert pooled.values == pytest.approx([(10 + 4 * 13) / 5, (20 + 4 * 14) / 5])
    assert pooled.noise.scale == pytest.approx((1 / 4 + 1) ** -0.5)
    assert pool_measurements(one, None) is one
