"""A table that the model contradicts is named; noise, chance and many tables alone name none."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.accounting.noise import Noise
from sklar.arrays import Floats
from sklar.inference.checks.residuals import FALSE_ALARMS, holm, residuals
from sklar.inference.columns import KnownRows
from sklar.model.pairs.interactions import centred
from sklar.release.counts import Counts, Interaction
from sklar.release.measurements import Measurement
from sklar.sample.rng import generator

ROWS, SIGMA, DRAWN = 5_000.0, 20.0, 50_000
KNOWN = KnownRows(rows=ROWS, sigma=0.0)


def released(share: Floats, rng: np.random.Generator, *, interaction: bool = False) -> Measurement:
    """A noisy table of rows whose cells have these shares."""
    counts = rng.multinomial(int(ROWS), share.ravel()).reshape(share.shape).astype(float)
    query = (Interaction if interaction else Counts)(
        columns=("a", "b"), partitions=tuple(np.arange(k) for k in share.shape)
    )
    values = (centred(counts) if interaction else counts) + rng.normal(0.0, SIGMA, share.shape)
    return Measurement(query=query, values=values, noise=Noise(kind="gaussian", scale=SIGMA), label="pairs")


def law(rng: np.random.Generator, shape: tuple[int, ...] = (6, 5)) -> Floats:
    return rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)


@pytest.mark.parametrize("interaction", [False, True])
def test_p_values_of_the_true_model_are_uniform(interaction: bool) -> None:
    rng = generator(1)
    share = law(rng)
    tables = [released(share, rng, interaction=interaction) for _ in range(2_000)]
    p_values = np.array([check.p_value for check in residuals(tables, [share] * 2_000, [KNOWN] * 2_000, np.inf)])
    for level in (0.01, 0.05, 0.5):
        by_cells = 0.0 if interaction else level / 2  # half of the level is for the largest cell, whose bound is wide
        assert np.mean(p_values < level) == pytest.approx(
            level - by_cells / 2, abs=4 * np.sqrt(level / 2_000) + by_cells / 2
        )
    statistics = [check.statistic for check in residuals(tables, [share] * 2_000, [KNOWN] * 2_000, np.inf)]
    assert np.mean(statistics) == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("interaction", [False, True])
def test_the_table_that_the_model_contradicts_is_named_among_many(interaction: bool) -> None:
    rng = generator(2)
    laws = [law(rng) for _ in range(40)]
    tables = [released(share, rng, interaction=interaction) for share in laws]
    told = [*laws[:7], laws[8], *laws[8:]]
    checks = residuals(tables, told, [KNOWN] * len(tables), DRAWN)
    assert [check.at for check in checks if check.contradicts] == [7]


def test_holm_rejects_step_by_step() -> None:
    assert holm([0.001, 0.004, 0.9], FALSE_ALARMS) == {0, 1}
    assert holm([0.004, 0.9, 0.004], FALSE_ALARMS) == set()
    assert holm([], FALSE_ALARMS) == set()
