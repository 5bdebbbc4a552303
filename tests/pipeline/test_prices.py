"""The price of measured facts, followed from the schema to the claim: added once, never dropped, never understated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.accounting.ledger import read_ledger
from sklar.errors import SchemaError
from sklar.pipeline.fit.pay import pay
from sklar.schema.table import schema_from_toml, schema_to_toml

BOTH = {"lower": "pay", "upper": "pay"}
SCHEMA = sklar.Schema({"age": sklar.Integer(0, 1, source=BOTH), "sex": sklar.Category(["F", "M"])})


def people(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    ages = rng.integers(18, 91, rows)
    return pd.DataFrame({"age": ages, "sex": rng.choice(["F", "M"], rows), "days": rng.integers(0, 40, rows) * 1.0})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    people().to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def fit(data: Any, schema: Any, epsilon: float = 0.1, **options: Any) -> sklar.Model:
    return sklar.fit(data, schema, method="independent", epsilon=epsilon, **options)


def first_sentence(claim: object) -> str:
    return str(claim).split(". ")[0]


@pytest.mark.parametrize("in_memory", [False, True])
def test_the_headline_is_the_sum(file: Path, tmp_path: Path, in_memory: bool) -> None:
    data = people() if in_memory else file
    pay(data, SCHEMA, epsilon=5.0).schema.write(tmp_path / "paid.toml")
    model = fit(data, tmp_path / "paid.toml")
    model.save(tmp_path / "m.sklar")
    for claim in (model.claim, sklar.load(tmp_path / "m.sklar").claim):
        assert (claim.epsilon, claim.delta) == (pytest.approx(5.1), pytest.approx(1.1e-9))
        assert claim.complete and claim.to_dict()["complete"] and claim.own == (0.1, 1e-9)
        assert "epsilon = 5.1 and delta = 1.1e-09" in first_sentence(claim)
        (price,) = claim.prices
        assert f"epsilon = 5, delta = 1e-10 in fit {price.fit}" in str(claim)
        assert price.charged_here != in_memory
    if not in_memory:
        totals = read_ledger(f"{file}.ledger").totals(1.1e-9)
        assert totals.fits == 2 and totals.epsilon <= model.claim.epsilon  # type: ignore[operator]
        assert totals.rho == pytest.approx(model.claim.rho)


def test_pure_prices_add_up_to_a_pure_claim() -> None:
    paid = pay(people(), SCHEMA, epsilon=2.0, delta=0.0).schema
    claim = fit(people(), paid, epsilon=1.0, delta=0.0).claim
    assert (claim.epsilon, claim.delta) == (pytest.approx(3.0), 0.0) and "budgets were set" not in str(claim)


def test_each_purchase_counts_once_whatever_it_bought() -> None:
    wide = sklar.Schema({**SCHEMA, "days": sklar.Real(0, 1, decimals=0, source=BOTH)})
    both = pay(people(), wide, epsilon=2.0).schema
    assert len(both.prices) == 1 and set(both.prices[0].facts) >= {"age.lower", "days.upper"}
    assert fit(people(), both).claim.epsilon == pytest.approx(2.1)
    first = pay(people(), SCHEMA, epsilon=2.0).schema
    more = sklar.Schema({**first, "days": wide["days"]}, prices=first.prices)
    twice = pay(people(), more, epsilon=1.0).schema
    assert [price.epsilon for price in twice.prices] == pytest.approx([2.0, 1.0])
    assert fit(people(), twice).claim.epsilon == pytest.approx(3.1)


def test_what_a_fit_pays_first_is_within_its_budget_and_has_a_price_afterwards(file: Path) -> None:
    model = fit(file, SCHEMA, epsilon=2.0, repair="clip")
    assert (model.claim.epsilon, model.claim.prices, model.claim.complete) == (2.0, (), True)
    (price,) = model.schema.prices
    assert price.fit == read_ledger(f"{file}.ledger").fits[0].id and 0 < price.epsilon < 2
    again = fit(file, model.schema).claim
    assert again.epsilon == pytest.approx(0.1 + price.epsilon) and again.complete


@pytest.mark.slow
@pytest.mark.parametrize("paid_too", [False, True])
def test_digits_that_a_fit_finds_are_paid_by_it_and_count_in_the_next(file: Path, paid_too: bool) -> None:
    """At epsilon 30 the counts of digits have noise below 10, and thresholds are hundreds away."""
    bounds = sklar.Real(0, 1, source=BOTH) if paid_too else sklar.Real(0, 50)
    model = fit(file, sklar.Schema({"days": bounds}), epsilon=30.0)
    assert "days.decimals" in model.claim.measured
    assert model.claim.complete and model.claim.epsilon == 30.0
    (price,) = model.schema.prices
    assert price.epsilon == 30.0 and set(price.facts) == {"days.decimals", *(["days.lower", "days.upper"] * paid_too)}
    assert price.fit == read_ledger(f"{file}.ledger").fits[-1].id
    assert fit(file, model.schema).claim.epsilon == pytest.approx(30.1)


def test_a_price_that_was_cut_out_is_missed_in_the_first_sentence() -> None:
    paid = pay(people(), SCHEMA, epsilon=5.0).schema
    text = schema_to_toml(paid)
    cut = schema_from_toml(text[: text.index("[[prices]]")])
    assert cut != paid and cut.fingerprint != paid.fingerprint
    by_hand = sklar.Schema({"age": sklar.Integer(18, 90, source={"lower": "measured"}), "sex": SCHEMA["sex"]})
    for schema, missed in ((cut, "age (lower, upper)"), (by_hand, "age (lower)")):
        claim = fit(people(), schema).claim
        assert not claim.complete and claim.epsilon == 0.1 and claim.to_dict()["complete"] is False
        assert f"NOT INCLUDED is what it cost to measure {missed}" in first_sentence(claim)
        assert "without the cost" in claim.label and "Measured and paid for" not in str(claim)


def test_a_price_below_what_the_ledger_knows_is_refused(file: Path) -> None:
    text = schema_to_toml(pay(file, SCHEMA, epsilon=5.0).schema)
    for old, new in (("epsilon = 5.0", "epsilon = 0.01"), ("delta = 1e-10", "delta = 0"), ("rho = 0.", "rho = 0.00")):
        assert old in text
        with pytest.raises(SchemaError, match="less than its cost in the ledger"):
            fit(file, schema_from_toml(text.replace(old, new)))
    assert len(read_ledger(f"{file}.ledger").fits) == 1
    dearer = schema_from_toml(text.replace("epsilon = 5.0", "epsilon = 6.0"))
    assert fit(file, dearer).claim.epsilon == pytest.approx(6.1)


def test_a_price_that_no_ledger_at_hand_knows_is_the_word_of_the_schema(file: Path, tmp_path: Path) -> None:
    paid = pay(file, SCHEMA, epsilon=5.0).schema
    claim = fit(people(), paid).claim
    assert claim.epsilon == pytest.approx(5.1) and "of the ledger 'people.csv', as the schema states" in str(claim)


@pytest.mark.parametrize("other", [{"neighbours": "replace"}, {"rows_per_person": 2}])
def test_prices_for_other_neighbours_do_not_add(other: dict[str, Any]) -> None:
    paid = pay(people(), SCHEMA, epsilon=5.0).schema
    with pytest.raises(SchemaError, match="cannot be added"):
        fit(people(), paid, **other)
    same = pay(people(), SCHEMA, epsilon=5.0, **other).schema
    assert fit(people(), same, **other).claim.epsilon == pytest.approx(5.1)


def test_facts_that_did_not_stand_out_were_bought_all_the_same() -> None:
    quiet = pay(people(20), SCHEMA, epsilon=0.01).schema
    assert quiet.prices[0].facts == ("age.lower", "age.upper")
    assert fit(people(20), quiet, epsilon=1.0, repair="clip").claim.epsilon == pytest.approx(1.01)
