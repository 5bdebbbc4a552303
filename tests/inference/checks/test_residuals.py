"""A table that the model contradicts is named; noise, chance and many tables alone name none."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.accounting.noise import Noise, NoiseKind
from sklar.arrays import Floats
from sklar.inference.checks.residuals import compute_residuals, reject_by_holm
from sklar.inference.columns import RowCount
from sklar.model.pairs.interactions import centre
from sklar.release.counts import Counts, Interaction
from sklar.release.measurements import Measurement
from sklar.sample.rng import generator

ROWS, SIGMA, DRAWN = 5_000.0, 20.0, 50_000
KNOWN = RowCount(rows=ROWS, sigma=0.0)


def released(share: Floats, rng: np.random.Generator, *, interaction: bool = False) -> Measurement:
    """A noisy table of rows whose cells have these shares."""
    counts = rng.multinomial(int(ROWS), share.ravel()).reshape(share.shape).astype(float)
    query = (Interaction if interaction else Counts)(
        columns=("a", "b"), partitions=tuple(np.arange(k) for k in share.shape)
    )
    values = (centre(counts) if interaction else counts) + rng.normal(0.0, SIGMA, share.shape)
    return Measurement(query=query, values=values, noise=Noise(kind="gaussian", scale=SIGMA), label="pairs")


def law(rng: np.random.Generator, shape: tuple[int, ...] = (6, 5)) -> Floats:
    return rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)


@pytest.mark.parametrize("interaction", [False, True])
def test_p_values_of_the_true_model_are_uniform(interaction: bool) -> None:
    rng = generator(1)
    share = law(rng)
    tables = [released(share, rng, interaction=interaction) for _ in range(2_000)]
    p_values = np.array(
        [check.p_value for check in compute_residuals(tables, [share] * 2_000, [KNOWN] * 2_000, np.inf)]
    )
    for level in (0.01, 0.05, 0.5):
        by_cells = 0.0 if interaction else level / 2  # half of the level is for the largest cell, whose bound is wide
        assert np.mean(p_values < level) == pytest.approx(
            level - by_cells / 2, abs=4 * np.sqrt(level / 2_000) + by_cells / 2
        )
    statistics = [check.statistic for check in compute_residuals(tables, [share] * 2_000, [KNOWN] * 2_000, np.inf)]
    assert np.mean(statistics) == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("interaction", [False, True])
def test_the_table_that_the_model_contradicts_is_named_among_many(interaction: bool) -> None:
    rng = generator(2)
    laws = [law(rng) for _ in range(40)]
    tables = [released(share, rng, interaction=interaction) for share in laws]
    told = [*laws[:7], laws[8], *laws[8:]]
    checks = compute_residuals(tables, told, [KNOWN] * len(tables), DRAWN)
    assert [check.at for check in checks if check.contradicts] == [7]


def test_holm_rejects_step_by_step() -> None:
    assert reject_by_holm([0.001, 0.004, 0.9], 0.01) == {0, 1}
    assert reject_by_holm([0.004, 0.9, 0.004], 0.01) == set()
    assert reject_by_holm([], 0.01) == set()


def margin(counts: Floats, kind: NoiseKind, scale: float, rng: np.random.Generator) -> Measurement:
    """A noisy histogram of one column."""
    if kind == "gaussian":
        noise = np.rint(rng.normal(0.0, scale, counts.shape))
    else:
        q = np.exp(-1.0 / scale)
        noise = (rng.geometric(1 - q, counts.shape) - rng.geometric(1 - q, counts.shape)).astype(float)
    query = Counts(columns=("a",), partitions=(np.arange(len(counts)),))
    return Measurement(query=query, values=counts + noise, noise=Noise(kind=kind, scale=scale), label="margins")


SMALL = RowCount(rows=432.0, sigma=6.0)
"""A table of few rows, whose number is known with noise."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "scale"), [("gaussian", 13.0), ("gaussian", 0.7), ("laplace", 40.0), ("laplace", 2.0)]
)
def test_few_releases_of_a_true_model_name_any_table(kind: NoiseKind, scale: float) -> None:
    """Of 300 releases of 30 margins each, with cells of all sizes, at most 0.5% name a table: 8 by chance at most."""
    rng, alarms = generator(3), 0
    for _ in range(300):
        laws = [rng.dirichlet(np.full(int(size), 0.1)) for size in rng.choice([2, 8, 60], 30)]
        tables = [margin(rng.multinomial(432, share).astype(float), kind, scale, rng) for share in laws]
        shares = [rng.multinomial(20_000, share) / 20_000 for share in laws]
        known = [RowCount(rows=432.0 + 6.0 * rng.standard_normal(), sigma=6.0)] * 30
        alarms += any(check.contradicts for check in compute_residuals(tables, shares, known, 20_000))
    assert alarms <= 8


def test_one_cell_that_lost_a_fifth_of_a_small_table_is_found_among_many() -> None:
    """Three quarters of 432 rows have one value, and 96% of the model's; 60 cells hide that from chi-square alone."""
    rng, found = generator(4), 0
    real, model = (np.append(np.full(60, (1 - top) / 60), top) for top in (0.745, 0.96))
    other = rng.dirichlet(np.ones(8))
    for _ in range(100):
        tables = [margin(rng.multinomial(432, real).astype(float), "gaussian", 13.0, rng)]
        tables += [margin(rng.multinomial(432, other).astype(float), "gaussian", 13.0, rng) for _ in range(43)]
        checks = compute_residuals(tables, [model, *[other] * 43], [SMALL] * 44, 20_000)
        found += checks[0].contradicts
    assert found >= 70  # chi-square alone finds none


def test_the_bound_for_the_largest_cell_holds() -> None:
    """P-values of cells are never smaller than how often such residuals occur."""
    rng = generator(5)
    share = np.append(np.full(20, 0.002), 0.96)
    for kind, scale in (("gaussian", 3.0), ("laplace", 3.0)):
        tables = [margin(rng.multinomial(432, share).astype(float), kind, scale, rng) for _ in range(4_000)]
        known = [RowCount(rows=432.0, sigma=0.0)] * len(tables)
        p_values = np.array(
            [check.p_value for check in compute_residuals(tables, [share] * len(tables), known, np.inf)]
        )
        for level in (0.002, 0.01, 0.1):
            assert np.mean(p_values < level) < level + 4 * np.sqrt(level / len(tables))
