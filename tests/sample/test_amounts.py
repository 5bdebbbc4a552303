"""Ratios, multiples and differences: rows are put together so that they hold, and read back to what they came from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import ks_2samp

import sklar
from sklar.errors import SchemaError
from sklar.rows.encode.coordinates import coordinate_encoder
from sklar.sample.assemble import assemble
from sklar.sample.conditions import conditions_hold, read_conditions
from sklar.sample.decode import decode, take
from sklar.sample.draw import draw_sample
from sklar.sample.rules import rules_hold
from sklar.sample.translate import on_coordinates
from sklar.schema import AtMost, Category, Column, Datetime, Integer, Never, Ratio, Real, Rule, Schema, Sum
from sklar.schema.coordinates import coordinates
from sklar.schema.rules import Expression

PAIRS: dict[str, tuple[Column, Column]] = {
    "reals": (Real(0, 900), Real(10, 1_000)),
    "from zero on": (Real(0, 900), Real(0, 1_000)),
    "decimals": (Real(0, 900, decimals=2), Real(0, 1_000, decimals=2)),
    "integers": (Integer(0, 900), Integer(0, 1_000)),
    "a step": (Integer(0, 900_000, step=100), Integer(0, 1_000_000, step=1_000)),
    "a nullable column": (Real(0, 900, nullable=True), Real(10, 1_000)),
    "both nullable": (Integer(0, 900, nullable=True), Real(10, 1_000, nullable=True)),
}
LIMITS = [{"lower": 0.3, "upper": 0.9}, {"upper": 1}, {"lower": 0.2}, {"lower": -0.5, "upper": 70}]


def ratio_schema(kind: str, limits: dict[str, float]) -> Schema:
    price, listed = PAIRS[kind]
    return Schema({"listed": listed, "price": price}, [Ratio(column="price", of="listed", **limits)])


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("kind", PAIRS)
def test_ratios_hold_and_rows_read_back_to_their_codes(kind: str, limits: dict[str, float]) -> None:
    by = coordinates(ratio_schema(kind, limits))
    if limits == {"lower": 0.2} and by.declared["listed"].span[0] == 0:  # type: ignore[attr-defined]
        assert by.plain  # no largest ratio follows from such bounds
        return
    assert by.schema.modelled == ("listed", "price / listed")
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, by.schema.size(name), 4_000) for name in by.schema.modelled], axis=1)
    table, bent = assemble(by, decode(by.schema, codes, rng), rng)
    held = rules_hold(by.declared, table)
    # Of whole numbers and steps some have no multiple between the two, as 0.3 to 0.9 times 1.
    assert (~bent).mean() > 0.01 and held[~bent].mean() > (0.99 if kind == "a step" else 0.995)
    assert held[~bent].all() or not kind.startswith(("reals", "from"))
    arrow = {name: pa.array(v.data, mask=v.null) for name, v in table.items()}
    found = coordinate_encoder(by, by.parts[1])(arrow["listed"], arrow["price"])
    fine = ~bent & ~(table["listed"].data == 0)
    off = np.abs(found[fine].astype(int) - codes[fine, 1])
    # A product is rounded, by a whole number or by a hair, and may come back as a neighbouring cell.
    assert np.median(off) <= 1 if kind in ("reals", "decimals", "from zero on") else np.median(off) <= 60
    if by.schema["price / listed"].null_code is not None:
        null = by.schema["price / listed"].null_code
        assert ((found == null) == (codes[:, 1] == null)).all()


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("kind", PAIRS)
def test_ratios_hold_in_all_rows(fake_model, kind: str, limits: dict[str, float]) -> None:
    schema = ratio_schema(kind, limits)
    table = draw_sample(fake_model(coordinates(schema).schema), schema, 5_000, seed=1)[0]
    listed, price = table["listed"], table["price"]
    free = listed.null | price.null
    assert ((price.data >= limits.get("lower", 0) * listed.data) | free).all()
    assert ((price.data <= limits.get("upper", np.inf) * np.maximum(listed.data, 1e-300)) | free).all()


def test_ratios_chain_and_stand_beside_differences(fake_model) -> None:
    columns = {name: Real(0, 1_000, decimals=2) for name in ("gross", "net", "fee", "base")}
    rules: list[Rule] = [
        Ratio(column="fee", of="net", lower=0.01, upper=0.1), Ratio(column="net", of="gross", lower=0.5, upper=1),
        AtMost(low="base", high="gross"), Ratio(column="gross", of="fee", lower=0, upper=1_000),
    ]  # fmt: skip
    schema = Schema(columns, rules)
    assert coordinates(schema).schema.modelled == ("gross", "net / gross", "fee / net", "gross - base")
    table = draw_sample(fake_model(coordinates(schema).schema), schema, 5_000, seed=1)[0]
    assert rules_hold(schema, table).all() and (table["fee"].data <= 0.1 * table["net"].data).all()


def test_sums_have_factors_and_offsets(fake_model) -> None:
    columns = {
        "year": Integer(2_000, 2_020), "born": Integer(1_900, 2_020), "age": Integer(0, 110),
        "retires": Integer(1_965, 2_085),
        "net": Real(0, 500, decimals=2), "tax": Real(0, 100, decimals=2), "gross": Real(0, 600, decimals=2),
        "euros": Integer(0, 600),
    }  # fmt: skip
    rules = [
        Sum(total="age", parts={"year": 1, "born": -1}), Sum(total="retires", parts=["born"], offset=65),
        Sum(total="tax", parts={"net": 0.19}), Sum(total="gross", parts=["net", "tax"], offset=0.01),
        Sum(total="euros", parts={"gross": 0.5}),
    ]  # fmt: skip
    schema = Schema(columns, rules)
    assert coordinates(schema).schema.modelled == ("year", "born", "net")
    x = {n: v.data for n, v in draw_sample(fake_model(coordinates(schema).schema), schema, 5_000, seed=1)[0].items()}
    assert (x["age"] == x["year"] - x["born"]).all() and x["age"].min() >= 0 and x["age"].max() <= 110
    assert (x["retires"] == x["born"] + 65).all() and x["retires"].dtype == np.int64
    assert (np.abs(x["tax"] - 0.19 * x["net"]) <= 0.005 + 1e-9).all() and (x["tax"] == np.round(x["tax"], 2)).all()
    cents = {name: np.rint(100 * x[name]).astype(int) for name in ("net", "tax", "gross")}
    assert (cents["gross"] == cents["net"] + cents["tax"] + 1).all() and (x["gross"] == cents["gross"] / 100).all()
    assert (np.abs(x["euros"] - x["gross"] / 2) <= 0.5 + 1e-9).all() and x["euros"].dtype == np.int64
    assert rules[0].describe() == "age is year + -1 born" and "0.01" in rules[3].describe()


COLUMNS = {
    "a": Real(0, 100), "b": Real(0, 100), "c": Real(50, 80), "d": Integer(-5, 5), "e": Integer(0, 5),
    "x": Category(["u"]),
}  # fmt: skip
BAD: list[tuple[list[Rule], str]] = [
    ([Ratio(column="a", of="a")], "two different columns"),
    ([Ratio(column="a", of="x")], "integers or reals"),
    ([Ratio(column="a", of="d", upper=1)], "must not be below 0"),
    ([Ratio(column="a", of="b", lower=1, upper=1)], "the first below the second"),
    ([Ratio(column="a", of="b", lower=float("nan"))], "finite numbers"),
    ([Ratio(column="c", of="e", upper=2)], "can never hold"),
    ([Ratio(column="e", of="c", lower=1)], "can never hold"),
    ([Sum(total="a", parts=["b"])], "two or more different parts"),
    ([Sum(total="a", parts={"b": 0})], "other than 0"),
    ([Sum(total="a", parts={"b": 1}, offset=float("inf"))], "finite number"),
    ([Sum(total="e", parts=["d"], offset=0.5)], "decimals of the offset"),
    ([Sum(total="a", parts={"c": 3})], "never to a value"),
    ([Ratio(column="a", of="b", lower=2), AtMost(low="a", high="b", at_least=1)], "rule 2 (at-most): it cannot"),
    ([Ratio(column="a", of="c", lower=1.2), Sum(total="b", parts=["a", "c"])], "rule 2 (sum): it cannot hold together"),
    ([Sum(total="a", parts=["b", "c"]), AtMost(low="a", high="b")], "rule 2 (at-most): it cannot hold together"),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "words"), BAD)
def test_what_cannot_hold_is_a_plain_error(rules: list[Rule], words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema(COLUMNS, rules)
    assert len(caught.value.faults) == 1 and words in caught.value.faults[0], caught.value.faults


def test_rules_about_amounts_survive_the_file(tmp_path) -> None:
    rules: list[Rule] = [
        Ratio(column="a", of="b", lower=0.5), Ratio(column="e", of="b", upper=2),
        Sum(total="c", parts={"b": 0.5}, offset=40),
    ]  # fmt: skip
    schema = Schema(COLUMNS, [*rules, Never(values={"x": "u", "e": 5})])
    schema.write(tmp_path / "s.toml")
    assert Schema.read(tmp_path / "s.toml") == schema


def test_a_fit_keeps_the_law_of_a_ratio_and_breaks_no_row() -> None:
    """Discounts of 0 to 60%, none at all in every third row: both come back, and so does the heap at the list price."""
    rng = np.random.default_rng(0)
    listed = np.round(rng.lognormal(5, 0.8, 20_000).clip(1, 5_000), 2)
    off = np.where(rng.random(20_000) < 1 / 3, 0.0, rng.beta(2, 4, 20_000) * 0.6)
    frame = pd.DataFrame({"listed": listed, "price": np.floor(100 * listed * (1 - off)) / 100})
    schema = Schema(
        {"listed": Real(1, 5_000, decimals=2), "price": Real(0, 5_000, decimals=2)},
        [Ratio(column="price", of="listed", lower=0.4, upper=1)],
    )
    made = sklar.fit(frame, schema, method="independent", epsilon=2.0).sample(100_000, seed=1).to_pandas()
    assert ((made["price"] <= made["listed"]) & (made["price"] >= 0.4 * made["listed"])).all()
    real, got = (frame["price"] / frame["listed"]), (made["price"] / made["listed"])
    assert abs((got > 0.99999).mean() - (real > 0.99999).mean()) < 0.03
    assert np.abs(got.quantile([0.1, 0.3, 0.5]) - real.quantile([0.1, 0.3, 0.5])).max() < 0.03


RARE: list[tuple[dict[str, object], str]] = [
    ({"bill": (0, 3)}, "bill"), ({"age": (109, 110)}, "age"), ({"tax": [1.0]}, "tax"),
    ({"bill": (1_190, 1_200)}, "bill"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "name"), RARE, ids=str)
def test_a_rare_range_of_a_sum_is_found_and_not_copied(fake_model, given: dict[str, object], name: str) -> None:
    """Each of them holds in one row of 10,000 or fewer of those drawn without a thought of the parts."""
    columns = {
        "room": Real(0, 900, decimals=2), "meals": Real(0, 300, decimals=2), "bill": Real(0, 1_200, decimals=2),
        "tax": Real(0, 240, decimals=2), "year": Integer(1_900, 2_020), "born": Integer(1_900, 2_020),
        "age": Integer(0, 120),
    }  # fmt: skip
    rules = [
        Sum(total="bill", parts=["room", "meals"]), Sum(total="tax", parts={"bill": 0.2}),
        Sum(total="age", parts={"year": 1, "born": -1}),
    ]  # fmt: skip
    schema = Schema(columns, rules)
    table = draw_sample(fake_model(coordinates(schema).schema), schema, 400, seed=1, given=given)[0]
    assert rules_hold(schema, table).all()
    wanted = given[name]
    low, high = wanted if isinstance(wanted, tuple) else (wanted[0], wanted[0])  # type: ignore[index]
    assert ((table[name].data >= low) & (table[name].data <= high)).all()
    if name != "age":  # of which there are few pairs of years
        assert len(set(zip(table["room"].data.tolist(), table["meals"].data.tolist(), strict=True))) > 300


WHOLE, DAYS = Integer(0, 9_000), Datetime("1990-01-01", "2019-12-31")
TOLD: dict[str, tuple[Column, Rule]] = {
    "ratio": (Real(0, 9_000, decimals=2), Ratio(column="x", of="of", lower=0.5, upper=1)),
    "above": (WHOLE, AtMost(low="of", high="x", at_least=2, at_most=40)),
    "below": (Real(0, 9_000), AtMost(low="x", high="of", at_most=40)),
    "dates": (DAYS, AtMost(low="of", high="x", at_most=40)),
    "a step": (Integer(0, 9_000, step=5), AtMost(low="of", high="x", at_most=40)),
    "nulls": (Integer(0, 9_000, nullable=True), AtMost(low="of", high="x", at_most=40)),
}


@pytest.mark.parametrize("case", TOLD)
def test_a_range_of_what_a_difference_or_ratio_tells_bounds_its_anchor(fake_model, case: str) -> None:
    """What one row of hundreds is in fills a sample with different rows, whose law is that of filtered rows."""
    column, rule = TOLD[case]
    schema = Schema({"of": column, "x": column}, [rule])
    by, limits = coordinates(schema), ("2003-05-01", "2003-05-20") if column is DAYS else (3_000, 3_020)
    asked = read_conditions(schema, {"x": limits})
    anchor = on_coordinates(by, asked)["of (year)" if column is DAYS else "of"]
    assert anchor.allowed.mean() < 0.4
    unknown = np.ones(column.size)
    unknown[-1] = 1_000.0 if case == "nulls" else 1.0
    model = fake_model(by.schema, {} if column is DAYS else {"of": unknown})
    found = draw_sample(model, schema, 2_000, seed=1, given={"x": limits})[0]
    assert (rules_hold(schema, found) & conditions_hold(schema, asked, found)).all()
    free = draw_sample(model, schema, 400_000, seed=2)[0]
    free = take(free, np.flatnonzero(conditions_hold(schema, asked, free)))
    wanted, got = (np.where(one["of"].null, -1, one["of"].data) for one in (free, found))
    assert 300 < len(wanted) < 4_000 and ks_2samp(wanted, got).pvalue > 1e-3
    assert (case == "nulls") == ((got == -1).mean() > 0.01)


def test_rows_that_had_to_be_copied_are_told(fake_model) -> None:
    columns = {"a": Real(0, 1), "b": Real(0, 1)}
    schema = Schema(columns, [Expression("a * b >= 0.99")])
    with pytest.warns(sklar.errors.SklarWarning, match="are copies of others"):
        draw_sample(fake_model(coordinates(schema).schema), schema, 10_000, seed=1)
