"""NoiseFirst and StructureFirst: the best runs by brute force, what they cost, and histograms that are recovered."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.accounting.unit import Unit
from sklar.counting.scores import exact_split_norms, squared_errors
from sklar.errors import DoorError
from sklar.model.margins.transforms import merge_runs
from sklar.release.choices import SplitNorms


def partitions(bins, runs):
    """Every way to cut bins into runs, as lists of (start, end)."""
    for inner in itertools.combinations(range(1, bins), runs - 1):
        edges = (0, *inner, bins)
        yield list(itertools.pairwise(edges))


def even(counts, cut):
    return np.concatenate([np.full(b - a, counts[a:b].mean()) for a, b in cut])


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 2.0])
def test_noise_first_finds_the_runs_of_least_expected_error(epsilon):
    """SSE - 2 (n - 2 k) / epsilon^2 over all partitions of 9 bins, with the Laplace noise of the paper."""
    noisy = np.random.default_rng(4).normal(20, 8, 9)
    variance = 2 / epsilon**2
    cuts = [(cut, k) for k in range(1, 10) for cut in partitions(9, k)]
    errors = [((noisy - even(noisy, cut)) ** 2).sum() - 2 * (9 - 2 * k) / epsilon**2 for cut, k in cuts]
    np.testing.assert_allclose(merge_runs(noisy, variance), even(noisy, cuts[int(np.argmin(errors))][0]))


def test_the_expected_error_of_merged_runs_is_as_stated():
    """Unbiased: over 4,000 draws of noise the estimate of the error has the mean of the error itself."""
    rng, exact, v = np.random.default_rng(5), np.array([10.0, 12, 11, 40, 43, 41]), 9.0
    cut = [(0, 3), (3, 6)]
    noisy = exact + rng.normal(0, 3, (4_000, 6))
    told = [((x - even(x, cut)) ** 2).sum() - (6 - 2 * 2) * v for x in noisy]
    true = [((exact - even(x, cut)) ** 2).sum() for x in noisy]
    assert np.mean(told) == pytest.approx(np.mean(true), abs=6 * np.std(np.subtract(told, true)) / np.sqrt(4_000))


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_split_scores_are_distances_from_the_best_runs(runs):
    counts = np.random.default_rng(runs).integers(0, 60, 8)
    score = SplitNorms(column="x", partition=np.arange(8), runs=runs, end=7)
    slow = []
    for start in range(runs - 1, 7):
        cuts = [[*cut, (start, 7)] for cut in partitions(start, runs - 1)]
        slow.append(-min(np.linalg.norm(counts[:7] - even(counts, cut)) for cut in cuts))
    found = exact_split_norms(score, counts)
    np.testing.assert_allclose(found, slow, atol=1e-9)
    assert len(found) == score.count


def test_large_counts_do_not_lose_their_errors():
    """w s2 - s1^2 is taken in whole numbers: of two counts near 2^32 the squared error is exactly 1/2."""
    counts = np.array([2**32, 2**32 + 1, 5])
    assert squared_errors(counts)[0, 2] == 0.5


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows", [1, 3])
def test_split_scores_move_by_no_more_than_declared(neighbours, rows):
    unit = Unit(neighbours=neighbours, rows_per_person=rows)
    rng, worst, squared = np.random.default_rng(6), 0.0, 0.0
    for _ in range(300):
        runs = int(rng.integers(2, 6))
        score = SplitNorms(column="x", partition=np.arange(9), runs=runs, end=9)
        counts = rng.integers(rows, 4 + rows, 9)
        if rng.random() < 0.5:
            counts[rng.integers(9)] += 1_000
        other = counts.copy()
        i, j = rng.choice(9, 2, replace=False)
        other[i] += rows
        other[j] -= rows * (neighbours == "replace")
        one, two = exact_split_norms(score, counts), exact_split_norms(score, other)
        worst, squared = max(worst, np.abs(one - two).max()), max(squared, np.abs(one**2 - two**2).max())
    assert 0.8 * unit.l2 < worst <= score.sensitivity(unit)
    assert squared > 100 * unit.l2, "the square of it, as in the paper, moves with the largest count"


@pytest.mark.parametrize("change", [{"runs": 1}, {"runs": 9}, {"end": 5_000}, {"runs": 70, "end": 200}, {"runs": 2.0}])
def test_descriptions_outside_the_rules_are_refused(change):
    with pytest.raises(DoorError):
        SplitNorms(**({"column": "x", "partition": np.arange(8), "runs": 3, "end": 8} | change))


@pytest.mark.parametrize("name", ["noisefirst", "structurefirst"])
def test_steps_are_found_and_lonely_codes_stay_alone(name):
    """A histogram of steps, with nulls."""
    rng = np.random.default_rng(7)
    x = np.where(rng.random(20_000) < 0.7, rng.integers(0, 30, 20_000), rng.integers(80, 100, 20_000)).astype(float)
    x[:3_000] = np.nan
    facts = sklar.Schema({"x": sklar.Integer(0, 99, nullable=True), "y": sklar.Boolean()})
    table = pd.DataFrame({"x": pd.array(x, dtype="Int64"), "y": x > 50})
    model = sklar.fit(table, facts, method="dpcopula-kendall", margins=name, epsilon=20.0, delta=0.0)._stored.model
    mass = model.margins[0].dense()
    assert mass[-1] == pytest.approx(0.15, abs=0.01)
    assert mass[30:80].sum() < 0.02 and mass[:30].sum() == pytest.approx(0.85 * 0.7, abs=0.02)
    assert name == "noisefirst" or len(np.unique(mass[:100].round(12))) <= 16, "runs are told by their means"
