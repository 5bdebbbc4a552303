"""The small regime through a Door: what it asks, what it spends, and that hostile tables give sane rows."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.accounting.allowance import Allowance
from sklar.accounting.unit import Unit
from sklar.methods.evidence import measure_all
from sklar.methods.few_rows.fit import FewRowsStage, few_rows_steps, fit_measured
from sklar.methods.few_rows.shares import FewRowsShares, closing_shares, correlation_noise, ease_in, opening_shares
from sklar.methods.margins import known_total
from sklar.schema.columns import Boolean, Category, Ordinal
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.table import Schema
from tests.methods.fits import make_setting, open_door

SCHEMA = Schema(
    {
        "age": Integer(0, 100, nullable=True),
        "income": Real(0, 1000, nullable=True),
        "level": Ordinal(("low", "mid", "high")),
        "town": Category(("a", "b", "c", "d"), nullable=True),
        "day": Datetime("2020-01-01", "2024-12-31"),
        "smokes": Boolean(nullable=True),
        "y": Category(("no", "yes")),
    }
)
SIZES = [SCHEMA.size(name) for name in SCHEMA.modelled]


def correlated(rows, rng):
    """Codes that all follow one latent, and the class."""
    y = rng.random(rows) < 0.4
    z = rng.normal(size=rows) + 1.2 * y
    out = np.empty((rows, len(SIZES)), np.int32)
    for j, name in enumerate(SCHEMA.modelled):
        noisy = 0.7 * z + 0.5 * rng.normal(size=rows)
        cells = SCHEMA[name].value_cells
        rank = np.argsort(np.argsort(noisy)) / max(rows, 1)
        out[:, j] = np.minimum((rank * cells).astype(int), cells - 1)
        null = SCHEMA[name].null_code
        if null is not None:
            out[rng.random(rows) < 0.1 + 0.3 * y, j] = null
    out[:, -1] = y
    return out


def fit(codes, amount, target="y", schema=SCHEMA, shares=None, measure="rho", unit=None, seed=5):
    """The model, and the Door; a hundredth of the allowance went to the number of rows before."""
    setting = make_setting(schema, None, amount, measure=measure, unit=unit, rows=len(codes), seed=seed)
    allowance = setting.allowance.part(0.99)
    sigma = setting.allowance.part(0.01).noise(setting.unit).std
    stage = FewRowsStage(
        setting=setting,
        allowance=allowance,
        total=known_total(setting, float(len(codes)) + 1, sigma),
        target=None if target is None else schema.modelled.index(target),
        shares=shares,
    )
    steps, door = few_rows_steps(lambda evidence: stage), open_door(schema, codes, setting.unit)
    model = fit_measured(steps.estimate(measure_all(steps.ask, setting, door)), setting.generator())
    assert door.spent(measure) <= 0.99 * amount * (1 + 1e-9)
    return model, door


def check_rows(model, schema=SCHEMA):
    for codes in (model.simulate(60, np.random.default_rng(0)), model.simulate_rounded(60, np.random.default_rng(1))):
        assert codes.shape == (60, len(schema.modelled)) and codes.dtype == np.int32
        assert (codes >= 0).all() and (codes < np.array([schema.size(n) for n in schema.modelled])).all()
    for margin in model.margins:
        assert np.isfinite(margin.dense()).all() and margin.dense().sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "unit", [Unit(neighbours=n, rows_per_person=k) for n, k in (("add-remove", 2), ("replace", 1))]
)
@pytest.mark.parametrize("measure", ["rho", "epsilon"])
def test_the_allowance_is_never_exceeded(unit, measure):
    codes = correlated(300, np.random.default_rng(0))
    shares = FewRowsShares(margins=0.4, star=0.2, pairs=0.2, class_pairs=0.2)
    check_rows(fit(codes, 0.3, measure=measure, unit=unit, shares=shares)[0])


def test_the_budget_is_spent_in_a_few_requests():
    codes = correlated(500, np.random.default_rng(0))
    for target, amount in (("y", 0.02), (None, 5.0)):
        _, door = fit(codes, amount, target=target)
        assert door.spent() == pytest.approx(0.99 * amount, rel=1e-6)
        assert len(door.labels) == len(set(door.labels)) <= 5


def test_dependence_is_learned_when_the_budget_allows():
    codes = correlated(2000, np.random.default_rng(1))
    model, door = fit(codes, 1e4, shares=FewRowsShares(margins=0.6, star=0.1, pairs=0.15, class_pairs=0.15))
    assert door.labels == ["margins", "finer margins", "star", "pairs", "class pairs"]
    synthetic = model.simulate(50_000, np.random.default_rng(0))
    for a, b in ((2, 4), (1, 4), (2, 6), (4, 6)):
        keep, kept = [x[(x[:, 1] != SIZES[1] - 1)] if 1 in (a, b) else x for x in (codes, synthetic)]
        real = np.corrcoef(keep[:, a], keep[:, b])[0, 1]
        assert np.corrcoef(kept[:, a], kept[:, b])[0, 1] == pytest.approx(real, abs=0.1)
    null = SCHEMA["income"].null_code
    for y in (0, 1):
        real = np.mean(codes[codes[:, 6] == y, 1] == null)
        assert np.mean(synthetic[synthetic[:, 6] == y, 1] == null) == pytest.approx(real, abs=0.06)


def test_levels_of_a_nominal_column_follow_the_target():
    rng = np.random.default_rng(2)
    codes = correlated(2000, rng)
    y = codes[:, 6] == 1
    codes[:, 3] = np.where(rng.random(2000) < 0.5, np.where(y, 1, 2), rng.integers(0, 4, 2000))
    model, _ = fit(codes, 1e4, shares=FewRowsShares(margins=0.8, star=0.2))
    synthetic = model.simulate(50_000, rng)
    for level in (1, 2):
        real = np.mean(y[codes[:, 3] == level])
        assert np.mean(synthetic[synthetic[:, 3] == level, 6] == 1) == pytest.approx(real, abs=0.12)


@pytest.mark.parametrize("target", ["town", "day", "income"])
def test_any_column_can_be_the_target(target):
    codes = correlated(400, np.random.default_rng(3))
    model, _ = fit(codes, 1.0, target=target, shares=FewRowsShares(margins=0.5, star=0.2, pairs=0.1, class_pairs=0.2))
    check_rows(model)


NULLS = np.array([SCHEMA[n].null_code if SCHEMA[n].null_code is not None else 0 for n in SCHEMA.modelled])


@pytest.mark.parametrize(
    ("row", "rows", "amount"),
    [(0 * NULLS, 1, 1e-9), (NULLS, 50, 1e7), (np.array(SIZES) - 1, 50, 1e-3), (NULLS, 1, 1.0)],
)
def test_hostile_tables_give_sane_rows(row, rows, amount):
    check_rows(fit(np.tile(row, (rows, 1)), amount)[0])


@pytest.mark.parametrize(
    "columns", [{"x": Real(0, 1)}, {"x": Category(("a",))}, {"x": Integer(3, 3)}, {"x": Real(0, 1), "z": Real(0, 1)}]
)
def test_one_or_two_columns(columns):
    schema = Schema(columns)
    codes = np.zeros((40, len(columns)), np.int32)
    for target in (None, "x"):
        check_rows(fit(codes, 0.5, target=target, schema=schema)[0], schema)


def test_requests_depend_on_releases_only():
    """Two tables that give the same releases lead to the same requests: the generator of the fit is not consulted."""
    codes = correlated(300, np.random.default_rng(4))
    first, second = (fit(codes, 0.5, seed=seed)[1] for seed in (1, 2))
    assert first.labels == second.labels
    assert [step.request for step in first.recorded] == [step.request for step in second.recorded]


def test_shares_sum_to_one_and_follow_the_noise():
    for noise in (1e-6, 0.02, 0.05, 0.1, 10.0):
        alone = opening_shares(noise, target=False)
        assert alone.rest == pytest.approx(0) and alone.margins >= 0.7
        for strength in (0.0, 2.0):
            opened = opening_shares(noise, target=True)
            closed = closing_shares(opened, strength, noise)
            assert closed.rest == pytest.approx(0, abs=1e-12) and closed.star >= opened.star - 1e-12
    assert opening_shares(1.0, target=False).pairs == 0
    assert opening_shares(0.01, False, scored_share=0.25).pairs == pytest.approx(opening_shares(0.04, False).pairs / 4)
    assert (
        opening_shares(0.1, False, scored_share=0.25).pairs == opening_shares(0.1, False, scored_share=0.0).pairs == 0
    )
    for noise in (0.01, 0.1, 1.0):
        assert closing_shares(opening_shares(noise, target=True), 0.0, noise).class_pairs > 0
        assert closing_shares(opening_shares(noise, target=True), 1.0, noise).class_pairs == 0
    strong = opening_shares(0.05, target=True)  # pairs that sums tell are not left out for the target alone
    assert closing_shares(strong, 1.0, 0.05).pairs > 0
    assert closing_shares(strong, 1.0, 0.05, scored_share=0.3).pairs == 0
    assert ease_in(0.2, 0.1, 0.05) == 0 and ease_in(0.01, 0.1, 0.05) == 1
    add, replace = (Unit(neighbours=n) for n in ("add-remove", "replace"))
    allowance = Allowance(measure="rho", amount=0.5)
    assert correlation_noise(allowance, add, 100.0, 3) == pytest.approx(np.sqrt(3) / 100)
    assert correlation_noise(allowance, replace, 100.0, 3) == pytest.approx(2 * np.sqrt(3) / 100)
