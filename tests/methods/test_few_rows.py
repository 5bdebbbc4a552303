"""The small regime through a Door: what it asks, what it spends, and that hostile tables give sane rows."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.accounting.allowance import Allowance
from sklar.accounting.unit import Unit
from sklar.methods.few_rows.fit import FewRowsOptions, fit_measured, measure_few_rows
from sklar.methods.few_rows.shares import FewRowsShares, closing_shares, correlation_noise, ease, opening_shares
from sklar.counting.evaluate import FEATURES
from sklar.release.values import NoisyCounts, NoisySums
from sklar.schema.columns import Boolean, Category, Ordinal
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.table import Schema


class NumpyDoor:
    """A Door over a matrix of base codes with seeded noise, which adds up what every request costs."""

    prior = None

    def __init__(self, codes, schema, amount, measure="rho", unit=None, seed=0):
        self.codes, self.schema = codes, schema
        self.allowance = Allowance(measure=measure, amount=amount)
        self.unit = unit or Unit(neighbours="add-remove")
        self.rows = len(codes) if self.unit.neighbours == "replace" else None
        self.rng = np.random.default_rng(seed)
        self.spent, self.labels = 0.0, []

    def _noisy(self, exact, noise, l1, l2):
        gaussian = noise.kind == "gaussian"
        self.spent += l2**2 / (2 * noise.scale**2) if gaussian else l1 / noise.scale
        draw = self.rng.normal if gaussian else self.rng.laplace
        return exact + draw(0, noise.scale, exact.shape)

    def count_recoded(self, tables, label):
        self.labels.append(label)
        out = []
        for table in tables:
            (name,), (lookup,) = table.columns, table.lookups
            exact = np.bincount(lookup[self._column(name)], minlength=table.shape[0])
            noisy = self._noisy(exact, table.noise, self.unit.l1, self.unit.l2)
            out.append(NoisyCounts(columns=table.columns, counts=np.rint(noisy).astype(np.int64), noise=table.noise))
        return tuple(out)

    def sum(self, feature, noise, label):
        self.labels.append(label)
        rule = FEATURES[type(feature)]
        for name, size in feature.read:
            assert size == self.schema.size(name)
        exact = rule.exact_sums(feature, np.column_stack([self._column(c) for c in feature.columns]))
        values = self._noisy(exact * feature.resolution, noise, *feature.norms(self.unit))
        return NoisySums(values=values, noise=noise, resolution=feature.resolution)

    def _column(self, name):
        return self.codes[:, self.schema.modelled.index(name)]


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


def fit(codes, amount, target="y", schema=SCHEMA, shares=None, **given):
    door = NumpyDoor(codes, schema, amount, **given)
    options = FewRowsOptions(target=target, small_shares=shares)
    measured = measure_few_rows(door, door.allowance.part(0.99), float(len(codes)) + 1, options)
    model = fit_measured(measured, np.random.default_rng(5))
    assert door.spent <= 0.99 * amount * (1 + 1e-9)
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
        assert door.spent == pytest.approx(0.99 * amount, rel=1e-6)
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
    labels, scales = [], []
    for seed in (1, 2):
        door = NumpyDoor(codes, SCHEMA, 0.5)
        measured = measure_few_rows(door, door.allowance.part(0.99), 300.0, FewRowsOptions(target="y"))
        fit_measured(measured, np.random.default_rng(seed))
        labels.append(door.labels)
        scales.append(door.spent)
    assert labels[0] == labels[1] and scales[0] == scales[1]


def test_shares_sum_to_one_and_follow_the_noise():
    for noise in (1e-6, 0.02, 0.05, 0.1, 10.0):
        alone = opening_shares(noise, target=False)
        assert alone.rest == pytest.approx(0) and alone.margins >= 0.7
        for strength in (0.0, 2.0):
            opened = opening_shares(noise, target=True)
            closed = closing_shares(opened, strength, noise)
            assert closed.rest == pytest.approx(0, abs=1e-12) and closed.star >= opened.star - 1e-12
    assert opening_shares(1.0, target=False).pairs == 0
    assert opening_shares(0.01, False, told=0.25).pairs == pytest.approx(opening_shares(0.04, False).pairs / 4)
    assert opening_shares(0.1, False, told=0.25).pairs == opening_shares(0.1, False, told=0.0).pairs == 0
    for noise in (0.01, 0.1, 1.0):
        assert closing_shares(opening_shares(noise, target=True), 0.0, noise).class_pairs > 0
        assert closing_shares(opening_shares(noise, target=True), 1.0, noise).class_pairs == 0
    strong = opening_shares(0.05, target=True)  # pairs that sums tell are not left out for the target alone
    assert closing_shares(strong, 1.0, 0.05).pairs > 0
    assert closing_shares(strong, 1.0, 0.05, told=0.3).pairs == 0
    assert ease(0.2, 0.1, 0.05) == 0 and ease(0.01, 0.1, 0.05) == 1
    add, replace = (Unit(neighbours=n) for n in ("add-remove", "replace"))
    allowance = Allowance(measure="rho", amount=0.5)
    assert correlation_noise(allowance, add, 100.0, 3) == pytest.approx(np.sqrt(3) / 100)
    assert correlation_noise(allowance, replace, 100.0, 3) == pytest.approx(2 * np.sqrt(3) / 100)
