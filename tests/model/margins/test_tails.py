"""Tails: noise alone gives no mass far out, a real tail stays, and the rest of the density keeps its shape."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sklar.model.margins import tails
from sklar.model.margins.density import fit_density
from sklar.model.margins.likelihood import CellSupport, KnownTotal, Observation
from sklar.model.margins.tails import clearly_occupied, continued_curve, expected_tail, with_tails

CELLS, ROWS, SIGMA = 32, 6_000, 40.0
SUPPORT = CellSupport(width=np.full(CELLS, 1 / CELLS), position=np.arange(CELLS) + 0.5, chained=np.ones(CELLS, bool))
TOTAL = KnownTotal(rows=ROWS, sigma=20.0)
NARROW = np.array([1500.0, 2500.0, 1400.0, 450.0, 150.0])
"""All rows in the first five cells; the others are empty."""
BULK = tails.Beside(bulk=np.arange(5), sigma=20.0)


def noisy(exact: np.ndarray, seed: int) -> Observation:
    counts = exact + np.random.default_rng(seed).normal(0, SIGMA, CELLS)
    return Observation(parent=np.arange(CELLS), counts=counts, sigma=np.full(CELLS, SIGMA))


def narrow() -> np.ndarray:
    return np.concatenate([NARROW, np.zeros(CELLS - len(NARROW))])


def test_an_empty_tail_stays_nearly_empty_whatever_the_noise_did():
    """27 empty cells have a noise of 208 rows in sum: half of it would be 1.7% of all rows, spread up to the bound."""
    beyond = [fit_density(SUPPORT, [noisy(narrow(), seed)], TOTAL).mass[8:].sum() for seed in range(40)]
    assert np.sort(beyond)[-2] < 0.01 and np.mean(beyond) < 0.003


def test_a_tail_that_stands_out_is_kept():
    exact = ROWS * np.exp(-0.25 * np.arange(CELLS)) * (1 - np.exp(-0.25))
    found = [fit_density(SUPPORT, [noisy(exact, seed)], TOTAL).mass[12:].sum() for seed in range(20)]
    assert np.mean(found) == pytest.approx(exact[12:].sum() / ROWS, rel=0.15)


def test_the_flat_mode_is_given_up_and_the_bulk_makes_room():
    flat = narrow() + 8.0  # what Laplace's method returns when it stands on the wrong mode
    mass = flat / flat.sum()
    after = with_tails(SUPPORT, [noisy(narrow(), 3)], TOTAL, mass)
    assert after.sum() == pytest.approx(1.0)
    assert after[10:].sum() < 0.4 * mass[10:].sum()
    np.testing.assert_allclose(after[:4] / after[0], mass[:4] / mass[0])


def tail_of(near: float, far: float) -> np.ndarray:
    """The expected tail where 6,000 rows of the bulk, and these beyond, were seen; the smooth tail has 30 a cell."""
    total = float(NARROW.sum()) + near + far
    smooth = np.concatenate([NARROW * (total - 30.0 * (CELLS - 5)) / NARROW.sum(), np.full(CELLS - 5, 30.0)])
    counts = np.array([6e3, near, far])
    seen = Observation(parent=np.repeat([0, 1, 2], [5, 7, 20]), counts=counts, sigma=np.full(3, 9.0))
    return expected_tail(SUPPORT, [seen], smooth, np.arange(CELLS), 4, BULK)


def test_what_is_seen_decides_where_a_tail_ends():
    empty, near, full = tail_of(0.0, 0.0), tail_of(210.0, 0.0), tail_of(210.0, 600.0)
    assert empty.sum() < 60 < near[:7].sum() and near[7:].sum() < 60
    np.testing.assert_allclose(full, 30.0, rtol=0.05)


def test_a_bulk_without_width_has_an_empty_tail():
    """All rows have the first value, a cell of no width: every other is infinitely far, in extents."""
    point = replace(SUPPORT, width=np.concatenate([[0.0], np.full(CELLS - 1, 1.0)]))
    exact = np.concatenate([[6e3], np.zeros(CELLS - 1)])
    seen = Observation(parent=np.arange(CELLS), counts=exact, sigma=np.full(CELLS, 9.0))
    smooth, one = exact + 1.0 - CELLS * (exact > 0), tails.Beside(bulk=np.arange(1), sigma=0.0)
    assert 0 <= expected_tail(point, [seen], smooth, np.arange(CELLS), 0, one).sum() < 6


def test_both_tails_are_treated_alike():
    one = noisy(narrow(), 5)
    other = Observation(parent=one.parent, counts=one.counts[::-1].copy(), sigma=one.sigma)
    mass = (narrow() + 8.0) / (narrow() + 8.0).sum()
    np.testing.assert_allclose(
        with_tails(SUPPORT, [one], TOTAL, mass), with_tails(SUPPORT, [other], TOTAL, mass[::-1])[::-1]
    )


def test_a_bin_of_several_cells_marks_its_best():
    alone = Observation(parent=np.arange(CELLS), counts=np.zeros(CELLS), sigma=np.full(CELLS, SIGMA))
    alone.counts[20] = 2 * SIGMA
    block = Observation(parent=np.arange(CELLS) // 8, counts=np.array([0, 0, 300.0, 0]), sigma=np.full(4, SIGMA))
    assert np.flatnonzero(clearly_occupied(SUPPORT, [alone, block], np.arange(CELLS))).tolist() == [20]
    assert not clearly_occupied(SUPPORT, [alone], np.arange(CELLS)).any()


def test_a_heavy_value_does_not_mark_its_neighbours():
    """Zero, a cell of its own, holds all rows of a bin that it shares with the first cell of the chain."""
    support = replace(SUPPORT, chained=np.arange(CELLS) > 0)
    shared = Observation(parent=np.arange(CELLS) // 2, counts=np.zeros(16), sigma=np.full(16, SIGMA))
    alone = noisy(np.where(np.arange(CELLS) == 0, 5_000.0, 0.0), 5)
    for more, marked in ((0.0, False), (400.0, True)):
        shared.counts[0] = 5_000.0 + more
        assert clearly_occupied(support, [shared, alone], np.arange(1, CELLS))[0] == marked


def test_without_an_occupied_cell_nothing_changes():
    mass = np.full(CELLS, 1 / CELLS)
    assert with_tails(SUPPORT, [noisy(np.zeros(CELLS), 0)], TOTAL, mass) is mass


@pytest.mark.parametrize("sigma", [0.5, 0.8])
def test_the_curve_of_a_lognormal_goes_on_beyond_its_edge(sigma):
    edges = np.linspace(0.0, 16.0, 65)
    share = np.diff(stats.lognorm(sigma).cdf(edges))
    edge = int(np.searchsorted(np.cumsum(share), 0.98))
    curve = continued_curve(np.diff(edges), ROWS * share, edge)
    assert curve is not None
    assert curve.sum() == pytest.approx(ROWS * share[edge + 1 :].sum(), rel=0.2)
    middle = (edges[1:] + edges[:-1])[edge + 1 :] / 2
    assert curve @ middle**2 == pytest.approx(ROWS * share[edge + 1 :] @ middle**2, rel=0.3)


def test_a_curve_falls_steeply_enough_to_have_a_variance_and_is_none_where_the_bulk_just_ends():
    width, at = np.full(CELLS, 1.0), np.arange(CELLS) + 0.5
    assert continued_curve(width, np.full(CELLS, 100.0), 15) is None
    slow = continued_curve(width, 100.0 * (at / 15.5) ** -1.5, 15)
    assert slow is not None
    np.testing.assert_allclose(slow, 100.0 * (at[16:] / 15.5) ** -3.0)


def test_a_value_alone_in_front_changes_no_curve():
    """It has no width, so the curve starts at no distance from it."""
    width, at = np.full(CELLS, 1.0), np.arange(CELLS) + 0.5
    counts = 100.0 * (at / 15.5) ** -3.5
    plain = continued_curve(width, counts, 15)
    led = continued_curve(np.append(0.0, width), np.append(0.0, counts), 16)
    assert plain is not None and led is not None
    np.testing.assert_allclose(led, plain)


def test_two_even_cells_tell_of_a_curve_and_of_uneven_ones_eight():
    width, counts = np.full(CELLS, 1.0), 900.0 * (2 * np.arange(CELLS) + 1.0) ** -3.5
    line = continued_curve(width, counts, 1)
    assert line is not None
    np.testing.assert_allclose(line, counts[2:])
    assert continued_curve(width, counts, 0) is None
    wider = np.where(np.arange(CELLS) < 20, 1.0, 2.0)
    assert continued_curve(wider, counts, 6) is None and continued_curve(wider, counts, 7) is not None


def test_counts_that_are_mostly_zero_keep_more_of_their_deviation(monkeypatch):
    """Of 3,600 zeros, 120 ones, 35 twos, ... only zero and one stand out of a noise of 30."""
    number = np.arange(25)
    exact = 3_600.0 * (2 * number + 1.0) ** -3.1
    support = CellSupport(width=np.full(25, 0.04), position=number * 32 / 25, chained=np.ones(25, bool))
    total, real = KnownTotal(rows=float(exact.sum()), sigma=3.0), exact @ number**2

    def log_ratios() -> np.ndarray:
        found: list[float] = []
        for seed in range(20):
            counts = exact + np.random.default_rng(seed).normal(0, 30, 25)
            seen = Observation(parent=number, counts=counts, sigma=np.full(25, 30.0))
            found.append(exact.sum() * fit_density(support, [seen], total).mass @ number**2)
        return 0.5 * np.log(np.array(found) / real)

    curved = log_ratios()
    monkeypatch.setattr(tails, "MIN_EQUAL_CELLS", 1_000)
    assert np.abs(curved).mean() < 0.7 * np.abs(log_ratios()).mean()


@pytest.mark.slow
def test_tails_of_lognormal_columns_keep_more_of_their_second_moment(monkeypatch):
    """Some 30 of 6,000 rows lie beyond the last clear cell: below its noise, and a third of the variance."""
    edges = np.linspace(0.0, 24.0, 97)
    exact = ROWS * np.diff(stats.lognorm(0.8).cdf(edges))
    support = CellSupport(width=np.diff(edges), position=np.arange(96) / 3, chained=np.ones(96, bool))
    middle = (edges[1:] + edges[:-1]) / 2

    def log_ratios() -> np.ndarray:
        found: list[float] = []
        for seed in range(12):
            counts = exact + np.random.default_rng(seed).normal(0, SIGMA / 2, 96)
            mass = fit_density(support, [replace(noisy_base, counts=counts)], TOTAL).mass
            found.append(mass @ middle**2 - (mass @ middle) ** 2)
        real = exact @ middle**2 / ROWS - (exact @ middle / ROWS) ** 2
        return 0.5 * np.log(np.array(found) / real)

    noisy_base = Observation(parent=np.arange(96), counts=exact, sigma=np.full(96, SIGMA / 2))
    curved = np.abs(log_ratios()).mean()
    monkeypatch.setattr(tails, "MIN_EQUAL_CELLS", 1_000)
    without = np.abs(log_ratios()).mean()
    assert curved < 0.9 * without


@pytest.mark.parametrize("sigma", [7.0, 12.0])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_spike_does_not_swallow_the_rows_around_it(mirrored: bool, sigma: float) -> None:
    """A quarter of 432 rows is spread over 52 cells, each below its noise: the total and the spike show them."""
    rng = np.random.default_rng(4)
    counts = np.concatenate([np.full(52, 110 / 52), [322.0], np.zeros(8)])
    counts = counts[::-1] if mirrored else counts
    support = CellSupport(width=np.ones(61), position=32 * (np.arange(61) + 0.5) / 61, chained=np.ones(61, dtype=bool))
    shares = []
    for _ in range(20):
        noisy = counts + rng.normal(0.0, sigma, 61)
        seen = Observation(parent=np.arange(61), counts=noisy, sigma=np.full(61, sigma))
        shares.append(fit_density(support, [seen], KnownTotal(rows=432.0, sigma=sigma)).mass[np.argmax(counts)])
    assert abs(np.mean(shares) - 322 / 432) < 0.04
