"""Means of columns from noisy histograms: exact without noise, unbiased with it, and honest about hidden tails."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sklar.accounting.noise import Noise
from sklar.arrays import Floats, Ints
from sklar.inference.columns import RowCount, estimate_row_count, fit_column_estimator
from sklar.release.counts import Counts
from sklar.release.measurements import Measurement
from sklar.sample.rng import generator

CODES = 120
VALUES = np.arange(CODES) / 4
COARSE, FINE = np.arange(CODES) // 4, np.minimum(np.arange(CODES) // 2, 20)
"""Thirty cells of four codes; and of two codes, with the last hundred codes in a few."""


def histogram(counts: Ints, partition: Ints, sigma: float, rng: np.random.Generator, column: str = "x") -> Measurement:
    exact = np.bincount(partition, counts, int(partition.max()) + 1)
    return Measurement(
        query=Counts(columns=(column,), partitions=(partition,)), values=exact + rng.normal(0.0, sigma, exact.size),
        noise=Noise(kind="gaussian", scale=sigma), label="margins",
    )  # fmt: skip


def lognormal() -> Floats:
    """Shares of the codes: a mean of about 1.7, with room up to 30."""
    upto = np.array([0.5 * (1 + math.erf(math.log(v) / math.sqrt(2))) if v > 0 else 0.0 for v in np.arange(121) / 4])
    return np.diff(upto) / upto[-1]


def standardized_errors(tails: bool, sigma: float, rows: int, count: int) -> Floats:
    """Errors of the mean over their standard errors, for tables of a lognormal law, the model being that law."""
    mass, rng, found = lognormal(), generator(5), []
    truth = float(mass @ VALUES)
    widths = np.full(CODES, 0.25) if tails else np.zeros(0)
    for _ in range(count):
        counts = rng.multinomial(rows, mass)
        tables = [histogram(counts, COARSE, sigma, rng), histogram(counts, FINE, 1.5 * sigma, rng)]
        known = RowCount(rows=rows + rng.normal(0.0, 10.0), sigma=10.0)
        sums = fit_column_estimator(tables, mass, widths, known, rows)
        assert sums is not None
        mean, variance, _ = sums.estimate_means((VALUES - truth)[None])
        chance = float(mass @ (VALUES - truth) ** 2) / rows
        found.append(mean[0] / math.sqrt(variance[0] + chance))
    return np.array(found)


def test_without_noise_means_are_those_of_the_rows() -> None:
    rng = generator(1)
    counts = rng.integers(0, 50, CODES)
    tables = [histogram(counts, np.arange(CODES), 1e-9, rng)]
    functions = np.stack([VALUES, VALUES**2, VALUES > 7])
    for widths in (np.zeros(0), np.full(CODES, 0.25)):
        sums = fit_column_estimator(
            tables, counts / counts.sum(), widths, RowCount(rows=0, sigma=math.inf), counts.sum()
        )
        assert sums is not None
        mean, variance, third = sums.estimate_means(functions)
        np.testing.assert_allclose(mean, functions @ counts / counts.sum(), rtol=1e-6)
        assert variance.max() < 1e-6 and np.abs(third).max() < 1e-6


def test_counts_alone_tell_means_without_bias_and_with_their_own_variance() -> None:
    errors = standardized_errors(tails=False, sigma=15.0, rows=2000, count=250)
    assert abs(errors.mean()) < 0.2
    assert 0.8 < errors.var() < 1.25  # noise that is left out, or twice in, would show


def test_hidden_tails_make_intervals_that_hold_and_are_narrower_than_those_of_counts_alone() -> None:
    errors = standardized_errors(tails=True, sigma=15.0, rows=1000, count=80)
    assert np.mean(np.abs(errors) < 1.96) > 0.92 and errors.var() > 0.4  # neither too short nor far too long
    rng, mass = generator(2), lognormal()
    tables = [histogram(rng.multinomial(1000, mass), COARSE, 15.0, rng)]
    wide, narrow = (
        fit_column_estimator(tables, mass, widths, RowCount(rows=1000, sigma=5.0), 1000)
        for widths in (np.zeros(0), np.full(CODES, 0.25))
    )
    assert wide is not None and narrow is not None
    assert not wide.tails and len(narrow.tails) == 1
    of_counts, of_tail = (one.estimate_means(VALUES[None])[1][0] for one in (wide, narrow))
    assert of_tail < 0.25 * of_counts
    body = narrow.solved.T @ VALUES[::4][narrow.body]
    assert of_tail > 1.2 * body**2 @ narrow.sigma**2 / 1000**2  # the tail has a share in the error
    assert narrow.estimate_means(VALUES[None])[2][0] > 0  # which is longer upwards


def test_missing_values_after_the_numbers_are_no_tail() -> None:
    rng = generator(3)
    mass = np.append(0.8 * lognormal(), 0.2)
    lookup = np.append(COARSE, 30)
    tables = [histogram(rng.multinomial(5000, mass), lookup, 10.0, rng)]
    sums = fit_column_estimator(tables, mass, np.full(CODES, 0.25), RowCount(rows=5000, sigma=1.0), 5000)
    assert sums is not None
    assert 30 in sums.body and 29 not in sums.body
    missing, variance, _ = sums.estimate_means(np.append(np.zeros(CODES), 1.0)[None])
    assert abs(missing[0] - 0.2) < 8 * math.sqrt(variance[0] + 0.16 / 5000)


def test_a_column_in_which_nothing_stands_out_has_no_body() -> None:
    rng = generator(4)
    tables = [histogram(rng.multinomial(20, lognormal()), COARSE, 50.0, rng)]
    assert fit_column_estimator(tables, lognormal(), np.full(CODES, 0.25), RowCount(rows=20, sigma=9.0), 20) is None
    assert fit_column_estimator([], lognormal(), np.zeros(0), RowCount(rows=20, sigma=9.0), 20) is None


def test_single_values_at_the_end_of_the_body_have_no_tail() -> None:
    rng = generator(6)
    mass = np.zeros(CODES)
    mass[[0, 40]] = 0.5
    widths = np.where(mass > 0, 0.0, 0.25)
    tables = [histogram(rng.multinomial(5000, mass), np.arange(CODES), 10.0, rng)]
    sums = fit_column_estimator(tables, mass, widths, RowCount(rows=5000, sigma=1.0), 5000)
    assert sums is not None
    assert abs(sums.estimate_means(VALUES[None])[0][0] - 5.0) < 1.5


@pytest.mark.parametrize(("public", "sigma"), [(500, 0.0), (None, 1 / math.sqrt(1 / 100 + 1 / 3600))])
def test_the_number_of_rows_is_told_by_other_columns(public: int | None, sigma: float) -> None:
    rng = generator(7)
    counts = rng.multinomial(500, lognormal())
    own, other = histogram(counts, COARSE, 1.0, rng), histogram(counts, np.arange(CODES) // 30, 30.0, rng, column="y")
    total = histogram(counts, np.zeros(CODES, dtype=np.int64), 10.0, rng, column="y")
    found = estimate_row_count([own, other, total], "x", public)
    assert found.sigma == pytest.approx(sigma)
    assert abs(found.rows - 500) <= 8 * sigma
    assert estimate_row_count([own], "x", None).sigma == math.inf


def test_what_a_range_has_clipped_is_thought_possible() -> None:
    """A tail that goes on beyond the range lies in its last cell, where noise hides it."""
    mass, rng, sigma, rows = lognormal(), generator(9), 12.0, 20_000
    beyond = 0.5 * math.erfc(math.log(30) / math.sqrt(2))
    clipped = np.append(mass[:-1], mass[-1] + beyond / (1 - beyond)) * (1 - beyond)
    counts = np.rint(rows * clipped).astype(int)
    sums = fit_column_estimator(
        [histogram(counts, COARSE, sigma, rng)], mass, np.full(CODES, 0.25), RowCount(rows=rows, sigma=1.0), rows
    )
    assert sums is not None
    (tail,) = (tail for tail in sums.tails if tail.cells[-1] == COARSE[-1])
    last = tail.tables[:, -1]
    held = (tail.tables * tail.weight[:, None]).sum(axis=0)
    assert tail.weight[last > 0.5 * rows * beyond].sum() > 0.05  # about seven rows
    assert held[-1] > held[-2]


@pytest.mark.parametrize("share", [0.02, 0.1, 0.6])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_spike_at_the_end_of_the_support_has_no_tail_beyond_it(share: float, mirrored: bool) -> None:
    """Values may be top-coded or censored inside the bounds: the density of the spike does not go on outwards."""
    rng, place = generator(3), np.arange(CODES)
    mass = np.exp(-0.5 * ((place - 60) / 12) ** 2) * (place < 80)
    mass = (1 - share) * mass / mass.sum() + share * (place == 80)
    mass = mass[::-1] if mirrored else mass
    for _ in range(10):
        counts = rng.multinomial(20_000, mass)
        tables = [histogram(counts, COARSE, 20.0, rng), histogram(counts, FINE, 30.0, rng)]
        known = RowCount(rows=20_000.0, sigma=30.0)
        sums = fit_column_estimator(tables, mass, np.full(CODES, 0.25), known, 20_000)
        assert sums is not None
        mean, variance, _ = sums.estimate_means(VALUES[None])
        assert abs(mean[0] - counts @ VALUES / 20_000) < 4 * math.sqrt(variance[0]) < 0.4


@pytest.mark.parametrize("size", [100, 300])
def test_intervals_of_single_values_allow_for_a_point_mass_of_unknown_place(size: int) -> None:
    """The cell of four codes is known; which code holds the point mass is not, and the interval is longer upwards."""
    rng, mass, rows = generator(8), np.full(CODES, 1 / CODES), 1_000
    code, held = 61, 0
    for _ in range(40):
        counts = rng.multinomial(rows - size, mass)
        counts[code] += size
        tables = [histogram(counts, COARSE, 12.0, rng)]
        sums = fit_column_estimator(tables, mass, np.full(CODES, 0.25), RowCount(rows=rows, sigma=5.0), rows)
        assert sums is not None
        mean, variance, third = sums.estimate_means((np.arange(CODES) == code).astype(float)[None])
        skewness = float(third[0] / variance[0] ** 1.5)
        assert skewness > 0  # three codes without the point mass, one with all of it
        held += abs(mean[0] - counts[code] / rows) < (1.96 + skewness * (1.96**2 - 1) / 6) * math.sqrt(variance[0])
    assert held >= 30
