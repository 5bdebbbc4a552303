"""dpc: the paper's noise, pairs that are recovered and decoded to valid values, and the planted faults."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import calibrate
from sklar.accounting.ledger import read_ledger
from sklar.accounting.unit import Unit
from sklar.errors import SklarError, UnsupportedConditionError, UsageError
from sklar.methods.dpc.fit import (
    DPC_GAUSS,
    DpcOptions,
    gaussian_noise,
    laplace_noise,
    plan_gauss,
)
from sklar.methods.dpc.tables import Counted, estimate_probabilities, fit_counted
from sklar.methods.dpc.textbook import advanced_composition_share, classic_gaussian_sigma
from sklar.model.codec import ArrayPool, decode, encode
from sklar.model.conditioning import simulate_given
from sklar.model.onehot.decoding import Decoding
from sklar.model.onehot.fit import PairBatch, batches_of, combined_margins, consistent_tables
from sklar.model.onehot.model import lay_out_scores
from sklar.pipeline.plan import plan

PAPER_DELTA = 2.0**-30
REPLACE = Unit(neighbours="replace")


def columns(m):
    return sklar.Schema({f"x{j}": sklar.Boolean() for j in range(m)})


@pytest.mark.parametrize(
    ("m", "sigma", "share"), [(14, 94.90, 0.0147829), (27, 180.07, 0.0077919), (9, 62.13, 0.0225793)]
)
def test_the_papers_noise_comes_out(m, sigma, share):
    allowance = Allowance(measure="rho", amount=1.0)
    classic = gaussian_noise(
        columns(m), DpcOptions(accounting="classic", budget=(0.99, PAPER_DELTA)), allowance, REPLACE
    )
    assert classic.scale == pytest.approx(sigma, rel=1e-3)
    options = DpcOptions(accounting="advanced", budget=(1.0, PAPER_DELTA))
    assert laplace_noise(columns(m), options, allowance, REPLACE).scale == pytest.approx(2 / share, rel=1e-4)
    options = DpcOptions(accounting="basic", budget=(1.0, 0.0))
    assert laplace_noise(columns(m), options, allowance, REPLACE).scale == pytest.approx(2 * (m + math.comb(m, 2)))


def test_exact_accounting_needs_less_noise_than_the_paper():
    budget, facts = Budget(epsilon=0.99, delta=PAPER_DELTA), columns(14)
    allowance = calibrate(budget, REPLACE, plan_gauss(facts, DpcOptions()))
    assert gaussian_noise(facts, DpcOptions(), allowance, REPLACE).scale < 0.86 * 94.90
    assert laplace_noise(facts, DpcOptions(), calibrate(budget, REPLACE), REPLACE).scale < 0.7 * 2 / 0.0147829


def people(rows, seed=0):
    rng = np.random.default_rng(seed)
    area = rng.choice(list("nesw"), rows, p=[0.4, 0.3, 0.2, 0.1])
    age = np.clip(rng.normal(40 + 15 * (area == "n"), 12), 0, 99).astype(int)
    smoker = rng.random(rows) < np.where(area == "w", 0.8, 0.2)
    return pd.DataFrame({"area": area, "age": age, "smoker": smoker})


FACTS = sklar.Schema({"area": sklar.Category(list("nesw")), "age": sklar.Integer(0, 99), "smoker": sklar.Boolean()})


def fitted(table=None, facts=FACTS, method="dpc-gauss", **options):
    settings = {"method": method, "epsilon": 30.0, "bins": 8} | options
    return sklar.fit(people(5_000) if table is None else table, facts, **settings)


@pytest.mark.parametrize("options", [{}, {"method": "dpc-laplace", "delta": 0.0}, {"neighbours": "add-remove"}])
def test_decoded_rows_are_valid_and_have_the_margins_and_pairs(options):
    real, model = people(5_000), fitted(**options)
    assert abs(model._stored.model.rows_estimate - 5_000) < 60
    made = model.sample(20_000, seed=1).to_pandas()
    assert set(made["area"]) <= set("nesw") | {model.schema["area"].other if hasattr(model, "schema") else "other"}
    for column in ("area", "smoker"):
        gap = real[column].value_counts(normalize=True).sub(made[column].value_counts(normalize=True), fill_value=0)
        assert gap.abs().max() < 0.03
    # Over 120 fits of the three kinds the rates of the four areas spread by at most 0.0085 (standard deviation) around
    # values at most 0.009 off: 0.08 is eight standard deviations away, a false alarm below 1e-12.
    gap = made.groupby("area")["smoker"].mean() - real.groupby("area")["smoker"].mean()
    assert gap[list("nesw")].abs().max() < 0.08


def test_the_binary_table_has_the_margins_but_not_one_value_a_column():
    model = fitted()._stored.model
    bits = model.simulate_binary(20_000, np.random.default_rng(0))
    real = people(5_000)["area"].value_counts(normalize=True)
    assert np.abs(bits[:, :4].mean(axis=0) - [real[x] for x in "nesw"]).max() < 0.02
    assert (bits[:, :5].sum(axis=1) != 1).mean() > 0.02
    assert (bits[:, -2:].sum(axis=1) == 1).all()


def test_conditions_hold_or_are_refused():
    model = fitted()._stored.model
    mask = np.array([False, True])
    rows, found = simulate_given(model, 500, {2: mask}, np.random.default_rng(0))
    assert rows.shape == (500, 3) and (rows[:, 2] == 1).all() and found >= 500
    with pytest.raises(UnsupportedConditionError):
        simulate_given(model, 5, {2: np.array([False, False])}, np.random.default_rng(0))


def test_the_model_survives_saving():
    model, pool = fitted()._stored.model, ArrayPool(distinct=False)
    again = decode(encode(model, pool.keep), pool.arrays)
    np.testing.assert_array_equal(
        again.simulate(100, np.random.default_rng(3)), model.simulate(100, np.random.default_rng(3))
    )


HOSTILE = {
    "constant": (pd.DataFrame({"area": ["n"] * 40, "age": [3] * 40, "smoker": [True] * 40}), {}),
    "collinear": (pd.DataFrame({"area": ["n", "e"] * 20, "age": [0, 99] * 20, "smoker": [True, False] * 20}), {}),
    "one row": (people(1), {}),
    "drowned": (people(30), {"epsilon": 0.01}),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("projection", ["weighted", "plain"])
def test_hostile_tables_still_give_rows(name, projection):
    table, options = HOSTILE[name]
    model = fitted(table, projection=projection, **options)._stored.model
    assert np.isfinite(model.corr).all() and np.isfinite(model.offsets).all()
    rows = model.simulate(200, np.random.default_rng(0))
    assert rows.min() >= 0 and (rows.max(axis=0) < [5, 100, 2]).all()


def test_more_columns_than_rows_and_one_category():
    facts = sklar.Schema({f"x{j}": sklar.Boolean() for j in range(30)} | {"one": sklar.Boolean()})
    table = pd.DataFrame(np.random.default_rng(0).random((10, 31)) < 0.5, columns=list(facts.modelled))
    assert fitted(table, facts)._stored.model.simulate(20, np.random.default_rng(0)).shape == (20, 31)
    alone = fitted(table[["one"]], sklar.Schema({"one": sklar.Boolean()}))
    assert alone.sample(10, seed=0).num_rows == 10


@pytest.mark.parametrize("margins", ["pooled", "raw"])
@pytest.mark.parametrize("rows", [None, 40.0])
def test_counts_that_are_all_negative_still_give_rows(margins, rows):
    sizes = (5, 100, 2)
    counted = Counted(
        schema=FACTS,
        bins=tuple(np.arange(size, dtype=np.int32) for size in sizes),
        histograms=tuple(np.full(size, -7.0) for size in sizes),
        counts=np.full(5 * 100 + 5 * 2 + 100 * 2, -9, dtype=np.int64),
        std=10.0,
        rows=rows,
    )
    model = fit_counted(
        counted, margins, 1.0, Decoding(rounds=1, rows=2_000, last_rows=2_000), np.random.default_rng(0)
    )
    assert np.isfinite(model.corr).all() and np.isfinite(model.offsets).all()
    made = model.simulate(200, np.random.default_rng(1))
    assert made.min() >= 0 and (made.max(axis=0) < sizes).all()


def test_raw_margins_are_those_of_the_paper():
    """Each from its own table: shares need not sum to one before they are decoded."""
    histograms = (np.array([30.0, -5.0, 90.0]), np.array([40.0, 60.0]))
    schema = sklar.Schema({"a": sklar.Category(["x", "y"]), "b": sklar.Boolean()})
    counts, bins = np.array([10, 20, -3, 1, 30, 60]), (np.arange(3, dtype=np.int32), np.arange(2, dtype=np.int32))
    counted = Counted(schema=schema, bins=bins, histograms=histograms, counts=counts, std=1.0, rows=100.0)
    found = estimate_probabilities(counted, lay_out_scores((3, 2)), "raw", 0.0)
    np.testing.assert_allclose(found.shares[0], [0.3, 0.0, 0.9])
    np.testing.assert_allclose(found.joint[:3, 3], [0.2, 0.01, 0.6])


@pytest.mark.parametrize(
    "options",
    [
        {"bins": 1},
        {"accounting": "hope"},
        {"budget": 0.5},
        {"shrink": -1},
        {"rounds": 0.5},
        {"margins": "x"},
        {"projection": "x"},
    ],
)
def test_options_outside_the_rules_are_refused(options):
    with pytest.raises(UsageError, match=r"bins|accounting|budget|shrink|rounds|margins|projection"):
        DPC_GAUSS.read_options(options)


@pytest.mark.parametrize(
    ("method", "settings", "scale"),
    [
        ("dpc-gauss", {"epsilon": 0.9, "accounting": "classic"}, classic_gaussian_sigma(0.9, 1e-9, math.sqrt(12))),
        ("dpc-laplace", {"epsilon": 2.0, "accounting": "advanced"}, 2 / advanced_composition_share(2.0, 6, 1e-9)),
        ("dpc-laplace", {"epsilon": 2.0, "accounting": "basic", "delta": 0.0}, 6.0),
    ],
)
def test_the_papers_formulas_take_the_budget_of_the_fit(method, settings, scale):
    model = fitted(people(300), method=method, rounds=0, **settings)
    noises = {release.noise.scale for step in model._stored.recorded for release in step.releases}
    assert list(noises) == [pytest.approx(scale)]
    assert (model.claim.epsilon, model.claim.delta) == (settings["epsilon"], settings.get("delta", 1e-9))
    budget = (settings["epsilon"], settings.get("delta", 1e-9))
    planned = plan(FACTS, method, *budget, options={"bins": 8, "accounting": settings["accounting"]})
    assert planned.lines[0].std == pytest.approx(model._stored.recorded[0].releases[0].noise.std)


def test_the_papers_formulas_take_what_facts_left_of_the_budget():
    facts = sklar.Schema({"area": sklar.Category(list("nesw")), "age": sklar.Integer(0, 99, source={"upper": "pay"})})
    model = fitted(people(3_000)[["area", "age"]], facts, epsilon=0.9, accounting="classic", rounds=0)
    noises = {release.noise.scale for release in model._stored.recorded[0].releases}
    assert min(noises) > classic_gaussian_sigma(0.9, 1e-9, math.sqrt(6))


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("dpc-gauss", {"epsilon": 1.5, "accounting": "classic"}),
        ("dpc-gauss", {"epsilon": 0.5, "accounting": "basic"}),
        ("dpc-laplace", {"epsilon": 0.5, "accounting": "classic"}),
        ("dpc-laplace", {"epsilon": 0.5, "delta": 0.0, "accounting": "advanced"}),
        ("dpc-laplace", {"epsilon": 0.5, "accounting": "basic"}),
        ("dpc-gauss", {"epsilon": 0.5, "accounting": "classic", "budget": (0.9, 1e-9)}),
    ],
)
def test_formulas_are_refused_where_they_prove_nothing(method, settings, tmp_path):
    """And, but for a budget beyond the fit's own, before anything is reserved."""
    ledger = tmp_path / "people.ledger"
    with pytest.raises(SklarError):
        fitted(people(50), method=method, rounds=0, ledger=ledger, new_ledger=True, **settings)
    assert not ledger.exists() or all(not fit.steps for fit in read_ledger(ledger).fits)
    assert "budget" in settings or not ledger.exists()


def test_accounting_of_the_other_noise_is_refused():
    allowance = Allowance(measure="rho", amount=1.0)
    with pytest.raises(UsageError):
        gaussian_noise(FACTS, DpcOptions(accounting="advanced", budget=(1.0, 1e-9)), allowance, REPLACE)
    with pytest.raises(UsageError):
        laplace_noise(FACTS, DpcOptions(accounting="classic", budget=(0.9, 1e-9)), allowance, REPLACE)


def exact_pairs(codes, sizes):
    tables = []
    for j in range(len(sizes)):
        for k in range(j + 1, len(sizes)):
            table = np.zeros((sizes[j], sizes[k]), dtype=np.int64)
            np.add.at(table, (codes[:, j], codes[:, k]), 1)
            tables.append(table)
    return tables


def test_tables_are_gathered_by_shape_and_made_consistent():
    rng, sizes = np.random.default_rng(0), (2, 3, 2, 4)
    codes = np.column_stack([rng.integers(0, s, 500) for s in sizes])
    tables = exact_pairs(codes, sizes)
    flat = np.concatenate([t.ravel() for t in tables])
    seen = {}
    for batch in batches_of(sizes, flat):
        for j, k, table in zip(batch.first, batch.second, batch.tables, strict=True):
            seen[int(j), int(k)] = table
    pairs = [(j, k) for j in range(4) for k in range(j + 1, 4)]
    for (j, k), table in zip(pairs, tables, strict=True):
        np.testing.assert_array_equal(seen[j, k], table)
    histograms = [np.bincount(codes[:, j], minlength=s).astype(float) for j, s in enumerate(sizes)]
    shares, rows = combined_margins(histograms, sizes, flat, None)
    assert rows == pytest.approx(500)
    for share, histogram in zip(shares, histograms, strict=True):
        np.testing.assert_allclose(share, histogram / 500)
    noisy = PairBatch(first=np.array([1]), second=np.array([3]), tables=tables[4][None] + rng.normal(0, 20, (1, 3, 4)))
    fixed = consistent_tables(noisy, shares, rows)
    np.testing.assert_allclose(fixed.sum(axis=2)[0], shares[1])
    np.testing.assert_allclose(fixed.sum(axis=1)[0], shares[3])
    assert np.abs(fixed[0] - tables[4] / 500).mean() < np.abs(noisy.tables[0] / 500 - tables[4] / 500).mean()
