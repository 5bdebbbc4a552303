"""Errors from tables that a model knows nothing of are unbiased, and their intervals hold as often as they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ncx2

from sklar.accounting.noise import Noise, NoiseKind
from sklar.inference.errors_of_tables import (
    SquaredError,
    estimate_noncentrality,
    score_table,
    score_together,
    squared_error,
)
from sklar.release.counts import Counts, Interaction
from sklar.release.measurements import Measurement
from sklar.sample.rng import generator

ROWS, SHAPE, SIGMA = 1_000.0, (4, 5), 10.0


def test_noncentrality_inverts_the_law() -> None:
    for statistic, freedom, level in ((30.0, 5, 0.025), (30.0, 5, 0.975), (900.0, 800, 0.5)):
        found = estimate_noncentrality(statistic, freedom, level)
        assert ncx2.cdf(statistic, freedom, found) == pytest.approx(level, abs=1e-6)
    assert estimate_noncentrality(1.0, 5, 0.975) == 0.0


def error_of(
    off: float, kind: NoiseKind, rng: np.random.Generator, *, interaction: bool = False, sigma: float = SIGMA
) -> SquaredError:
    """A model that is off by so many rows in each cell, against a noisy table it knows nothing of."""
    share = np.full(SHAPE, 1.0 / np.prod(SHAPE))
    signs = np.outer([1.0, -1.0, 1.0, -1.0], [1.0, -1.0, 0.0, 1.0, -1.0]) if interaction else rng.choice([-1, 1], SHAPE)
    scale = sigma if kind == "gaussian" else sigma / np.sqrt(2)
    noise = (rng.normal if kind == "gaussian" else rng.laplace)(0, scale, SHAPE)
    query = Interaction if interaction else Counts
    table = Measurement(
        query=query(columns=("a", "b"), partitions=tuple(np.arange(k) for k in SHAPE)),
        values=ROWS * share + off * signs + noise, noise=Noise(kind=kind, scale=scale), label="pairs",
    )  # fmt: skip
    return squared_error(table, share, ROWS)


@pytest.mark.parametrize(("kind", "interaction"), [("gaussian", False), ("gaussian", True), ("laplace", False)])
@pytest.mark.parametrize("off", [0.0, pytest.param(3.0, marks=pytest.mark.slow), 30.0])
def test_errors_are_unbiased_and_their_intervals_hold(kind: NoiseKind, interaction: bool, off: float) -> None:
    rng = generator(5)
    errors = [error_of(off, kind, rng, interaction=interaction) for _ in range(200)]
    cells = 16 if interaction else 20  # that differ
    spread = np.sqrt(5 * 20 * SIGMA**4 + 4 * SIGMA**2 * cells * off**2)
    excess = ROWS**2 * np.mean([error.excess for error in errors])
    assert excess == pytest.approx(cells * off**2, abs=4 * spread / np.sqrt(200))
    true = off / ROWS * np.sqrt(cells / 20)
    found = [score_table(error) for error in errors]
    held = np.mean([score.low <= true <= score.high for score in found])
    assert held >= 0.91 and (off < 30 or kind == "laplace" or held <= 0.99)  # Laplace's are longer than need be
    together = [score_together(errors[at : at + 10]) for at in range(0, 200, 10)]
    assert np.mean([part is not None and part.low <= true <= part.high for part in together]) >= 0.8


def test_more_noise_in_the_scored_fit_lowers_the_lower_end_alone() -> None:
    error = error_of(30.0, "gaussian", generator(1))
    plain, added = score_table(error), score_table(error, 0.5)
    assert added.low == pytest.approx(plain.low / np.sqrt(1.5)) and added.high == plain.high
    assert score_together([]) is None


def test_tables_of_unequal_noise_together_are_held() -> None:
    rng = generator(7)
    for off, sigmas in ((6.0, (4.0, 12.0)), (20.0, (4.0, 40.0))):
        errors = ([error_of(off, "gaussian", rng, sigma=sigma) for sigma in sigmas] for _ in range(120))
        found = [score_together(pair) for pair in errors]
        held = np.mean([one is not None and one.low <= off / ROWS <= one.high for one in found])
        assert held >= 0.9


def test_several_tables_of_one_noise_are_one_larger_table() -> None:
    errors = [error_of(off, "gaussian", generator(2)) for off in (3.0, 9.0)]
    table = replace(errors[0].table, values=np.stack([error.table.values for error in errors]))
    whole = SquaredError(table=table, distance=sum(error.distance for error in errors), rows=ROWS)
    one, both = score_table(whole), score_together(errors)
    assert both is not None and (both.low, both.high) == pytest.approx((one.low, one.high))
