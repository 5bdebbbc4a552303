from __future__ import annotations

import numpy as np
import pytest

from sklar.errors import SklarWarning, UnsupportedConditionError
from sklar.sample.draw import draw_sample
from sklar.sample.rules import rules_hold
from sklar.schema import AtMost, Boolean, Category, Datetime, Function, Integer, Never, Real, Schema
from sklar.schema.rules import Expression


def test_at_most_keeps_the_law_of_the_model_given_the_rule(fake_model):
    schema = Schema({"a": Integer(0, 9), "b": Integer(0, 9)}, rules=[AtMost(low="a", high="b")])
    table, _ = draw_sample(fake_model(schema), schema, 55_000, seed=1)
    counts = np.zeros((10, 10))
    np.add.at(counts, (table["a"].data, table["b"].data), 1)
    assert counts[np.tril_indices(10, -1)].sum() == 0
    kept = counts[np.triu_indices(10)]  # 55 pairs, 1000 expected in each
    assert ((kept - 1000) ** 2 / 1000).sum() < 130  # chi-square with 54 degrees of freedom, p < 1e-7


def test_nulls_are_free(fake_model):
    schema = Schema(
        {"a": Integer(5, 9, nullable=True), "b": Integer(0, 4, nullable=True)}, rules=[AtMost(low="b", high="a")]
    )
    table, _ = draw_sample(fake_model(schema), schema, 2000, seed=1)
    assert table["a"].null.any() and table["b"].null.any()


ROUGH = {
    "low": Real(0, 10, decimals=1),
    "mid": Integer(0, 9),
    "high": Real(-5, 9.5, decimals=2),
    "start": Datetime("2020-01-01", "2020-12-31"),
    "end": Datetime("2020-01-01", "2020-06-30"),
    "sex": Category(["F", "M"], nullable=True),
    "pregnant": Boolean(nullable=True),
    "town": Category(["u", "v"]),
    "region": Category(["N", "S"]),
    "code": Integer(0, 10**9),
}
RULES = (
    AtMost(low="low", high="mid"),
    AtMost(low="mid", high="high"),
    AtMost(low="start", high="end"),
    Never(values={"sex": "M", "pregnant": True}),
    Never(values={"region": "N", "sex": "F"}),
    Function(column="region", of="town", table={"u": "N", "v": "S"}),
    Function(column="code", of="region", table={"N": 7, "S": 8}),
)


@pytest.mark.parametrize("rows", [1, 2, 5000])
def test_all_rules_hold_together(fake_model, rows: int):
    schema = Schema(ROUGH, rules=RULES)
    table, _ = draw_sample(fake_model(schema), schema, rows, seed=rows)
    assert rules_hold(schema, table).all()
    assert all(len(v.data) == rows for v in table.values())
    known = np.isin(table["town"].data, [0, 1])
    assert set(table["code"].data[known]) <= {7, 8}


def test_rules_that_the_model_almost_never_obeys_still_hold(fake_model):
    schema = Schema(
        {"a": Integer(0, 100), "b": Integer(0, 100), "c": Real(0, 100, decimals=1), "s": Category(["x", "y"])},
        rules=[AtMost(low="a", high="b"), AtMost(low="b", high="c"), Never(values={"s": "x"})],
    )
    mass = {"a": (np.arange(101) > 90) + 1e-12, "b": (np.arange(101) < 10) + 1e-12}
    with pytest.warns(SklarWarning, match="are copies of others"):
        table, _ = draw_sample(fake_model(schema, mass), schema, 3000, seed=3)
    assert rules_hold(schema, table).all()
    assert (table["a"].data > 90).all()  # mended by moving b and c, not by inventing a


def test_leftovers_are_copies_of_rows_that_hold(fake_model):
    schema = Schema(
        {"s": Category([f"v{i}" for i in range(40)]), "t": Integer(0, 999)},
        rules=[Never(values={"s": f"v{i}"}) for i in range(40)],
    )
    mass = np.ones(41)
    mass[40] = 1e-3  # only `other` is allowed
    with pytest.warns(SklarWarning, match="39,9.. of 40,000 are copies"):
        table, _ = draw_sample(fake_model(schema, {"s": mass}), schema, 40_000, seed=4)
    assert (table["s"].data == 40).all() and len(table["t"].data) == 40_000


def test_rules_that_cannot_hold_are_refused(fake_model):
    texts = ["s * t > 0.6", "s * s < 0.3"]  # too odd to be found before anything is drawn
    schema = Schema({"s": Real(0, 1), "t": Real(0, 1)}, rules=[Expression(text) for text in texts])
    with pytest.raises(UnsupportedConditionError, match="no row drawn"):
        draw_sample(fake_model(schema), schema, 50, seed=5)


@pytest.mark.parametrize(
    ("of", "key"),
    [
        (Integer(0, 3), "2"),
        (Boolean(), "True"),
        (Datetime("2020-01-01", "2020-01-04"), "2020-01-02"),
        (Real(0, 1, atoms=[0.5], bins=1), "0.5"),
        (Category([4, 5]), "5"),
    ],
)
def test_functions_of_every_kind_of_column(fake_model, of, key: str):
    schema = Schema(
        {"y": Category(["p", "q"]), "x": of},
        rules=[Function(column="y", of="x", table={key: "q"})],
    )
    table, _ = draw_sample(fake_model(schema), schema, 500, seed=6)
    value = {"2": 2, "True": True, "2020-01-02": 18263, "0.5": 0.5, "5": 5}[key]
    hit = table["x"].data == value
    assert 0 < hit.sum() < 500 and (table["y"].data[hit] == 1).all() and len(set(table["y"].data[~hit])) == 3


def test_keys_stay_fresh_when_rows_are_replaced(fake_model):
    from sklar.schema import Id

    schema = Schema({"k": Id(), "a": Integer(0, 9), "b": Integer(0, 9)}, rules=[AtMost(low="a", high="b")])
    assert draw_sample(fake_model(schema), schema, 300, seed=1)[0]["k"].data.tolist() == list(range(1, 301))
