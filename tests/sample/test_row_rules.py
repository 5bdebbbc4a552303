"""Expressions hold in every row and totals in every sample: in memory, streams and conditional samples."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import sklar
from sklar.errors import UnsupportedConditionError
from sklar.sample.decode import concatenate
from sklar.sample.draw import draw_sample, stream_tables
from sklar.sample.rules.totals import compute_quotas
from sklar.schema import Boolean, Category, Datetime, Integer, Ordinal, Real, Schema
from sklar.schema.rules import AtMost, Expression, Never, Totals

COLUMNS = {
    "age": Integer(0, 90, nullable=True),
    "married": Boolean(),
    "school": Ordinal(["none", "low", "high"]),
    "region": Category(["N", "S", "W"]),
    "income": Real(0, 1_000, decimals=0),
    "tax": Real(0, 1_000, decimals=0),
    "born": Datetime("1950-01-01", "2010-12-31"),
    "seen": Datetime("1950-01-01", "2020-12-31"),
}
RULES = [
    Expression("age >= 18 or married == false"),
    Expression("tax <= 0.5 * income + 10"),
    Expression("seen - born >= 365 and seen > '1960-06-01'"),
    Expression("school >= 'low' or age < 12 or age is null"),
    Expression("age is not null or region != 'W'"),
]


def frame(table):
    return {name: np.where(v.null, np.nan, v.data.astype(float)) for name, v in table.items()}


def check(table) -> None:
    x = frame(table)
    assert (~(x["age"] < 18) | (x["married"] == 0)).all()
    assert (x["tax"] <= 0.5 * x["income"] + 10).all()
    assert (x["seen"] - x["born"] >= 365).all() and (x["seen"] > -3501).all()
    assert (np.isin(x["school"], [1, 2, 3]) | ~(x["age"] >= 12)).all()
    assert (~np.isnan(x["age"]) | (x["region"] != 2)).all()


def test_expressions_hold_in_all_rows(fake_model):
    schema = Schema(COLUMNS, rules=RULES)
    model = fake_model(schema)
    check(draw_sample(model, schema, 20_000, seed=1)[0])
    check(draw_sample(model, schema, 2_000, seed=1, given={"age": (10, 30), "region": "N"})[0])
    check(concatenate(stream_tables(model, schema, 5_000, seed=2, batch_rows=700)))
    free = draw_sample(fake_model(Schema(COLUMNS)), Schema(COLUMNS), 5_000, seed=1)[0]
    with pytest.raises(AssertionError):
        check(free)


def counts(table, name: str) -> Counter:
    values = table[name]
    data = values.data if values.labels is None else np.array(values.labels)[values.data]
    return Counter(data[~values.null].tolist())


TOTALS = [
    Totals(column="region", counts={"N": 900, "S": 90, "W": 10}),
    Totals(column="married", counts={"true": 700, "false": 300}),
]


@pytest.mark.parametrize("rules", [TOTALS[:1], TOTALS], ids=["one column", "two columns"])
def test_totals_are_met_exactly_and_in_proportion(fake_model, rules):
    schema = Schema(COLUMNS, rules=[*rules, *RULES[:2]])
    model = fake_model(schema)
    table = draw_sample(model, schema, 1_000, seed=3)[0]
    assert counts(table, "region") == {"N": 900, "S": 90, "W": 10}
    if len(rules) == 2:
        assert counts(table, "married") == {True: 700, False: 300}
    x = frame(table)
    assert (~(x["age"] < 18) | (x["married"] == 0)).all() and (x["tax"] <= 0.5 * x["income"] + 10).all()
    assert counts(draw_sample(model, schema, 333, seed=3)[0], "region") == {"N": 300, "S": 30, "W": 3}
    blocks = list(stream_tables(model, schema, 2_000, seed=4, batch_rows=2_000))
    assert counts(blocks[0], "region") == {"N": 1_800, "S": 180, "W": 20}
    again = draw_sample(model, schema, 1_000, seed=3)[0]
    assert all(np.array_equal(again[name].data, table[name].data) for name in table)


def test_conditional_samples_keep_to_listed_values_alone(fake_model):
    schema = Schema(COLUMNS, rules=[Totals(column="region", counts={"N": 500, "S": 500, "W": 0})])
    model = fake_model(schema)
    given = draw_sample(model, schema, 600, seed=5, given={"married": True})[0]
    assert set(counts(given, "region")) == {"N", "S"} and counts(given, "married") == {True: 600}
    alone = draw_sample(model, schema, 600, seed=5, given={"region": "S"})[0]
    assert counts(alone, "region") == {"S": 600}


def test_rare_values_are_asked_for(fake_model):
    """One in a million by the model, half of the rows by the totals."""
    schema = Schema(COLUMNS, rules=[Totals(column="region", counts={"N": 1, "W": 1})])
    model = fake_model(schema, {"region": np.array([1.0, 1.0, 1e-6, 0.0])})
    assert counts(draw_sample(model, schema, 500, seed=6)[0], "region") == {"N": 250, "W": 250}
    lost = fake_model(schema, {"region": np.array([1.0, 1.0, 0.0, 0.0])})
    with pytest.raises(UnsupportedConditionError, match="totals require"):
        draw_sample(lost, schema, 500, seed=6)


def test_totals_against_other_rules_are_told(fake_model):
    columns = {"a": Integer(0, 3), "b": Integer(0, 3), "sex": Boolean()}
    rules = [
        Totals(column="a", counts={"3": 5, "0": 5}),
        Never(values={"a": 3, "sex": True}),
        AtMost(low="a", high="b"),
    ]
    schema = Schema(columns, rules=rules)
    table = draw_sample(fake_model(schema), schema, 1_000, seed=7)[0]
    assert counts(table, "a") == {3: 500, 0: 500} and not table["sex"].data[table["a"].data == 3].any()
    never = Schema(columns, rules=[*rules[:2], Totals(column="sex", counts={"true": 10})])
    with pytest.raises(UnsupportedConditionError, match="totals require"):
        draw_sample(fake_model(never), never, 100, seed=7)


def test_largest_remainders():
    schema = Schema(COLUMNS)
    rule = Totals(column="region", counts={"N": 5, "S": 3, "W": 2})
    for rows in (1, 2, 3, 7, 9, 10, 101):
        found = compute_quotas(schema, rule, rows)
        assert sum(found.values()) == rows
        assert all(abs(found[v] - rows * c / 10) < 1 for v, c in (("N", 5), ("S", 3), ("W", 2)))


def test_a_private_fit_keeps_them_at_no_cost():
    rng = np.random.default_rng(8)
    data = {"age": rng.integers(0, 90, 2_000), "region": rng.choice(["N", "S"], 2_000), "m": rng.random(2_000) < 0.4}
    plain = {"age": sklar.Integer(0, 90), "region": sklar.Category(["N", "S"]), "m": sklar.Boolean()}
    rules = [
        sklar.rules.Totals(column="region", counts={"N": 30, "S": 70}),
        sklar.rules.Expression("age >= 18 or m == false"),
    ]
    with_rules, without = sklar.Schema(plain, rules=rules), sklar.Schema(plain)
    fits = [sklar.fit(data, schema, epsilon=1.0, delta=1e-9) for schema in (with_rules, without)]
    assert fits[0].claim.epsilon == fits[1].claim.epsilon
    table = fits[0].sample(1_000, seed=1).to_pandas()
    assert (table.region == "N").sum() == 300 and not ((table.age < 18) & table.m).any()
