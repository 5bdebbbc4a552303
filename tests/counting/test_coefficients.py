"""Cosine and Haar coefficients: inversion, batches, sensitivity by brute force, and the score that picks how many."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.fft import dct

from sklar.accounting.unit import Unit
from sklar.counting.coefficients import cosine_basis, exact_coefficients
from sklar.counting.scores import exact_tail_norms
from sklar.errors import DoorError
from sklar.release.choices import TailNorms
from sklar.release.coefficients import Coefficients

UNITS = [Unit(neighbours=n, rows_per_person=k) for n in ("add-remove", "replace") for k in (1, 2)]


def cases():
    for bins in (1, 2, 5, 8, 13):
        yield Coefficients(column="x", lookup=np.arange(bins), basis="cosine", kept=max(1, bins // 2))
        yield Coefficients(column="x", lookup=np.arange(bins), basis="cosine", kept=bins)
        yield Coefficients(column="x", lookup=np.arange(bins), basis="haar", kept=1 << (bins - 1).bit_length())


def vector(feature, codes):
    return exact_coefficients(feature, np.asarray(codes)[:, None])


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_one_person_stays_within_the_bound_which_is_tight(unit):
    for feature in cases():
        l1, l2 = feature.sensitivity(unit)
        rows = [vector(feature, [b]) * feature.resolution for b in range(feature.bins)]
        k = unit.rows_per_person
        if unit.neighbours == "add-remove":
            moves = [k * x for x in rows]
        else:
            moves = [k * (x - y) for x, y in itertools.product(rows, repeat=2)]
        norms = [float(np.linalg.norm(x)) for x in moves]
        assert max(np.abs(x).sum() for x in moves) <= l1 + 1e-12 and max(norms) <= l2
        if feature.kept == feature.bins > 1:
            assert max(norms) > 0.99 * l2


def test_the_basis_is_orthonormal_up_to_rounding():
    basis = cosine_basis(40, 40) * 2.0**-16
    np.testing.assert_allclose(basis @ basis.T, np.eye(40), atol=3e-4)
    counts = np.random.default_rng(0).integers(0, 9, 40)
    np.testing.assert_allclose(basis @ counts, dct(counts.astype(float), norm="ortho"), atol=0.02)


def test_batches_add_up():
    codes = np.random.default_rng(1).integers(0, 13, 300)
    for feature in cases():
        if feature.bins == 13:
            whole = vector(feature, codes)
            np.testing.assert_array_equal(whole, vector(feature, codes[:7]) + vector(feature, codes[7:]))
            assert len(whole) == feature.size


def test_haar_differences_are_left_minus_right():
    feature = Coefficients(column="x", lookup=np.arange(3), basis="haar", kept=4)
    np.testing.assert_array_equal(vector(feature, [0, 0, 0, 1, 2, 2]), [6, 4 - 2, 3 - 1, 2])


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_tail_norms_move_by_no_more_than_declared(unit):
    rng = np.random.default_rng(2)
    score = TailNorms(column="x", partition=np.arange(9), penalties=np.arange(9.0))
    allowed = score.sensitivity(unit)
    for _ in range(200):
        table = rng.integers(0, 4, 9)
        other = table.copy()
        other[rng.integers(9)] += unit.rows_per_person
        if unit.neighbours == "replace":
            table = table + unit.rows_per_person
            other = table.copy()
            i, j = rng.choice(9, 2, replace=False)
            other[i] += unit.rows_per_person
            other[j] -= unit.rows_per_person
        change = np.abs(exact_tail_norms(score, table) - exact_tail_norms(score, other))
        assert change.max() <= allowed


def test_tail_norms_are_the_error_of_dropping_frequencies():
    table = np.random.default_rng(3).integers(0, 50, 8)
    score = TailNorms(column="x", partition=np.arange(8), penalties=np.zeros(8))
    found = -exact_tail_norms(score, table)
    transformed = dct(table.astype(float), norm="ortho")
    np.testing.assert_allclose(found, [np.linalg.norm(transformed[k:]) for k in range(1, 9)], atol=1e-9)
    assert found[-1] == 0


def test_the_mutant_that_leaves_the_phase_exact_is_caught():
    """Magnitudes alone, noised, with exact signs beside them: one row more changes a sign without any noise."""
    feature = Coefficients(column="x", lookup=np.arange(8), basis="cosine", kept=8)
    base = vector(feature, [0, 1, 2, 3, 4, 5, 6, 7])
    more = vector(feature, [0, 1, 2, 3, 4, 5, 6, 7, 7])
    assert (np.sign(base) != np.sign(more)).any(), "signs (phases) tell the tables apart"
    # What the Door noises is the signed vector itself: as many real numbers as coefficients, no phase beside them.
    assert base.shape == (8,) and base.dtype == np.int64


@pytest.mark.parametrize(
    "change", [{"basis": "fourier"}, {"kept": 0}, {"kept": 9}, {"basis": "haar", "kept": 4}, {"lookup": np.array([-1])}]
)
def test_descriptions_outside_the_rules_are_refused(change):
    with pytest.raises(DoorError):
        Coefficients(**({"column": "x", "lookup": np.arange(8), "basis": "cosine", "kept": 8} | change))


def test_a_cosine_transform_keeps_lengths():
    assert math.isclose(np.linalg.norm(dct(np.eye(9), norm="ortho")[:, 3]), 1.0)
