"""Taus of a sample: the rows of least key, by brute force; neighbours have samples that are neighbours."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import sklar.counting.taus as module
from sklar.accounting.unit import Unit
from sklar.counting import plans as grouping
from sklar.counting.taus import exact_concordances, exact_sampled_concordances
from sklar.errors import DoorError
from sklar.release.taus import SampledTaus, TauVector
from sklar.rows import open_rows
from sklar.schema import Integer, Schema

TOP = 4
NAMES = ("a", "b", "c")
SCHEMA = Schema({name: Integer(0, TOP) for name in NAMES})
REPLACE = Unit(neighbours="replace")


def feature(size, seed=3):
    return SampledTaus(columns=NAMES, lookups=(np.arange(TOP + 1),) * 3, rows=size, seed=seed)


def opened(rows):
    return open_rows(pa.table({name: rows[:, j] for j, name in enumerate(NAMES)}), SCHEMA)


def people(n, seed=0):
    return np.random.default_rng(seed).integers(0, TOP + 1, (n, 3))


def taken(rows, f):
    """The sample by sorting all keys."""
    keys = module._make_keys(f, rows.astype(np.int32))
    return rows[np.lexsort(keys[::-1])[: f.rows]]


def orders_of(rows):
    signs = np.array([np.sign(a - b) for a, b in itertools.combinations(rows, 2)])
    return np.array([int((signs[:, j] * signs[:, k]).sum()) for j, k in itertools.combinations(range(3), 2)])


@pytest.mark.parametrize("digit", [2, 16])
@pytest.mark.parametrize("size", [2, 17, 80])
def test_the_rows_of_least_key_are_compared(monkeypatch, size, digit):
    """Few bits a pass need many passes, through all of the key."""
    monkeypatch.setattr(module, "DIGIT_BITS", digit)
    rows, f = people(80), feature(size)
    np.testing.assert_array_equal(exact_sampled_concordances(f, opened(rows)), orders_of(taken(rows, f)))
    np.testing.assert_array_equal(exact_sampled_concordances(f, opened(rows[::-1])), orders_of(taken(rows, f)))


def test_a_sample_of_all_rows_is_the_table():
    rows = people(60)
    whole = TauVector(columns=NAMES, lookups=(np.arange(TOP + 1),) * 3, rows=60)
    np.testing.assert_array_equal(
        exact_sampled_concordances(feature(60), opened(rows)), exact_concordances(whole, opened(rows))
    )


def test_parts_and_passes_do_not_matter(monkeypatch):
    rows, f = people(4_000), feature(500)
    whole = exact_sampled_concordances(f, opened(rows))
    monkeypatch.setattr(grouping, "GROUP_BYTES", 5_000)
    monkeypatch.setattr(module, "PASS_BYTES", 250)
    np.testing.assert_array_equal(exact_sampled_concordances(f, opened(rows)), whole)


@pytest.mark.parametrize("mixing", ["as it is", "none"])
def test_a_replaced_row_replaces_at_most_one_of_the_sample(monkeypatch, mixing):
    """Whatever the mixing does: if all bits were mixed into one value, the codes themselves would order the rows."""
    if mixing == "none":
        real = module.mix_row_keys
        monkeypatch.setattr(module, "mix_row_keys", lambda words, seed: (words[0] * np.uint64(0), real(words, seed)[1]))
    f = feature(9)
    l1, l2 = f.sensitivity(REPLACE)
    rng, worst = np.random.default_rng(5), 0.0
    for trial in range(150):
        rows = people(20, trial) if trial % 3 else np.repeat(people(4, trial), 5, axis=0)
        other = np.vstack([rows[1:], people(1, 1_000 + trial)])[rng.permutation(20)]
        one, two = (Counter(map(tuple, taken(x, f).tolist())) for x in (rows, other))
        assert (one - two).total() <= 1
        move = (
            exact_sampled_concordances(f, opened(rows)) - exact_sampled_concordances(f, opened(other))
        ) * f.resolution
        assert np.abs(move).sum() <= l1 + 1e-12 and np.linalg.norm(move) <= l2 + 1e-12
        worst = max(worst, float(np.linalg.norm(move)) / l2)
    assert worst > 0.4, "the trials come near the bound"


def test_the_mutant_that_samples_by_position_is_caught():
    """Every other row: a row moved to the end shifts all after it, and most of the sample is another."""
    rows = people(40)
    other = np.vstack([rows[1:], people(1, 7)])
    one, two = (Counter(map(tuple, x[::2].tolist())) for x in (rows, other))
    assert (one - two).total() > 1


def test_more_rows_than_there_are_and_private_sizes_are_refused():
    assert feature(10).sensitivity(REPLACE)[0] == pytest.approx(4 * 2 / 10)
    with pytest.raises(DoorError, match="private"):
        feature(10).sensitivity(Unit(neighbours="add-remove"))
    with pytest.raises(DoorError, match="seed"):
        feature(10, seed=-1)
