"""Noise fission: two halves without covariance, errors without bias, intervals that hold, and the same questions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ncx2

import sklar
from sklar.accounting.noise import Noise
from sklar.inference.fission import (
    ADDED,
    ErrorScore,
    _error,  # pyright: ignore[reportPrivateUsage]
    _score,  # pyright: ignore[reportPrivateUsage]
    _split,  # pyright: ignore[reportPrivateUsage]
    _together,  # pyright: ignore[reportPrivateUsage]
    fission,
    noncentrality,
)
from sklar.inference.fitted import Fitted
from sklar.inference.released_tables import ReleasedTable, design_of, released_tables
from sklar.pipeline.bundle.bundle import stored_of
from sklar.release.values import NoisyChoice, NoisyCounts, NoisySums
from sklar.sample.rng import generator
from tests.contracts.tables import people, schema

CELLS = 400_000


def test_halves_have_the_stated_noise_and_nothing_in_common() -> None:
    rng = generator(3)
    for scale in (1.0, 7.3):
        noise = np.rint(rng.normal(0.0, scale, CELLS)).astype(np.int64)
        scale = float(np.sqrt(scale**2 + 1 / 12))  # of the rounded noise
        halves = _split(NoisyCounts(columns=("x",), counts=noise, noise=Noise(kind="gaussian", scale=scale)), rng)
        assert halves is not None
        fit, score = (half.counts for half in halves if isinstance(half, NoisyCounts))
        for half, values in zip(halves, (fit, score), strict=True):
            assert isinstance(half, NoisyCounts)
            assert np.var(values) == pytest.approx(half.noise.variance, rel=5 * np.sqrt(2 / CELLS) + 1e-3)
        assert fit.dtype == np.int64 and np.var(fit) > (1 + 0.9 * ADDED) * np.var(noise)
        assert abs(np.corrcoef(fit, score)[0, 1]) < 5 / np.sqrt(CELLS)
        assert abs(np.corrcoef(fit**2, score**2)[0, 1]) < 6 / np.sqrt(CELLS) + 2e-3


def test_halves_weighted_by_their_precision_are_the_release_again() -> None:
    release = NoisySums(values=np.arange(6.0) / 8, noise=Noise(kind="gaussian", scale=2.0), resolution=1 / 8)
    halves = _split(release, generator(4))
    assert halves is not None
    weights = [1 / half.noise.scale**2 for half in halves if isinstance(half, NoisySums)]
    values = [half.values for half in halves if isinstance(half, NoisySums)]
    assert np.allclose(np.average(values, axis=0, weights=weights), release.values)
    assert np.allclose(values[0] * 8, np.rint(values[0] * 8))


@pytest.mark.parametrize(
    "release",
    [
        NoisyChoice(indices=(1,)),
        NoisyCounts(columns=("x",), counts=np.arange(5), noise=Noise(kind="laplace", scale=9.0)),
        NoisyCounts(columns=("x",), counts=np.arange(5), noise=Noise(kind="gaussian", scale=0.5)),
        NoisyCounts(columns=("x",), counts=np.arange(1), noise=Noise(kind="gaussian", scale=9.0)),
    ],
)
def test_what_cannot_be_split_stays_whole(release: NoisyChoice | NoisyCounts) -> None:
    assert _split(release, generator(0)) is None


def test_noncentrality_inverts_the_law() -> None:
    for statistic, freedom, level in ((30.0, 5, 0.025), (30.0, 5, 0.975), (900.0, 800, 0.5)):
        found = noncentrality(statistic, freedom, level)
        assert ncx2.cdf(statistic, freedom, found) == pytest.approx(level, abs=1e-6)
    assert noncentrality(1.0, 5, 0.975) == 0.0


def scored(shape: tuple[int, ...], rng: np.random.Generator, off: float) -> tuple[Fitted, ReleasedTable, np.ndarray]:
    """A table of 1,000 rows whose model is off by so much in each cell, and its half to score on."""
    model = _fitted_of_a_thousand()
    share = np.full(shape, 1.0 / np.prod(shape))
    truth = 1_000 * share + off * rng.choice([-1.0, 1.0], shape)
    observed = truth + rng.normal(0.0, 10.0, shape)
    noise = Noise(kind="gaussian", scale=10.0)
    lookups = tuple(np.arange(k, dtype=np.int32) for k in shape)
    columns = tuple(range(len(shape)))
    return model, ReleasedTable(
        label="pairs", columns=columns, lookups=lookups, observed=observed, noise=noise, sigma=10.0
    ), share  # fmt: skip


def _fitted_of_a_thousand() -> Fitted:
    model = sklar.fit(
        {"x": [0, 1] * 500}, sklar.Schema({"x": sklar.Integer(0, 1)}), method="independent", epsilon=1.0,
        neighbours="replace",
    )  # fmt: skip
    fitted = stored_of(model).fitted
    assert fitted.rows == 1_000
    return fitted


def test_errors_are_unbiased_and_their_intervals_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of a model that knows nothing of the noise, as the refit does: exact, so that 95% is 95%."""
    rng = generator(5)
    fitted = _fitted_of_a_thousand()
    monkeypatch.setitem(globals(), "_fitted_of_a_thousand", lambda: fitted)
    for off in (0.0, 3.0, 30.0):
        errors = [_error(*scored((4, 5), rng, off)) for _ in range(200)]
        assert np.mean([error.excess for error in errors]) == pytest.approx(20 * off**2, abs=150 + 20 * off)
        found = [_score(("a", "b"), error) for error in errors]
        true = off / 1_000
        held = np.mean([score.low <= true <= score.high for score in found])
        tight = np.mean([score.low * np.sqrt(1 + ADDED) <= true <= score.high for score in found])
        assert held >= 0.91 and (off == 0.0 or tight == pytest.approx(0.95, abs=0.05))
        together = [_together(errors[at : at + 10]) for at in range(0, 200, 10)]
        inside = [part.low <= true <= part.high for part in together if isinstance(part, ErrorScore)]
        assert len(inside) == 20 and np.mean(inside) >= 0.8


@pytest.mark.parametrize(
    ("method", "rows", "options"),
    [
        ("vine", 2_000, {}),
        ("vine", 2_000, {"look": True}),
        ("vine", 40, {}),
        ("independent", 300, {}),
        ("dpc-gauss", 300, {}),
    ],
)
def test_a_method_asks_on_one_half_what_it_asked_before(method: str, rows: int, options: dict[str, bool]) -> None:
    names = ["age", "income", "sex", "region"]
    few = sklar.Schema({name: schema()[name] for name in names})
    fitted = stored_of(sklar.fit(people(rows)[names], few, method=method, epsilon=1.0, **options)).fitted
    design = design_of(fitted)
    tables = released_tables(fitted.schema, design, fitted.recorded)
    found = fission(fitted, design, 2_000, generator(6))
    assert found is not None and tables
    assert sorted((score.label, score.names) for score in found.tables) == sorted(
        (table.label, tuple(fitted.schema.modelled[column] for column in table.columns)) for table in tables
    )
    assert all(0 <= score.low <= score.high and score.value <= score.high for score in found.tables)
    assert fission(fitted, design, 2_000, generator(6)) == found


def test_laplace_noise_is_not_split() -> None:
    fitted = stored_of(sklar.fit(people(300), schema(), method="independent", epsilon=1.0, delta=0.0)).fitted
    assert fission(fitted, design_of(fitted), 1_000, generator(0)) is None
