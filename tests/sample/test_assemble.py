"""Declared columns from coordinates: reading the rows that were put together gives the codes they came from."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sklar.rows.encode.coordinates import coordinate_encoder
from sklar.sample.assemble import assemble
from sklar.sample.conditions import read_conditions
from sklar.sample.decode import decode
from sklar.sample.draw import draw_block, draw_sample
from sklar.sample.rng import generator
from sklar.sample.rules import rules_hold
from sklar.schema import (
    AtMost,
    Boolean,
    Category,
    Column,
    Datetime,
    Function,
    Integer,
    OneHot,
    Real,
    Schema,
    Sum,
    Together,
)
from sklar.schema.coordinates import coordinates
from sklar.schema.grid import has_multiples

ENDS: dict[str, tuple[Column, Column]] = {
    "integers": (Integer(0, 300), Integer(0, 500)),
    "a nullable end": (Integer(0, 300), Integer(0, 500, nullable=True)),
    "a nullable start": (Integer(0, 300, nullable=True), Integer(0, 500)),
    "both nullable": (Integer(-50, 300, nullable=True), Integer(0, 500, nullable=True)),
    "days": (Datetime("2020-01-01", "2024-12-31"), Datetime("2020-01-01", "2024-12-31")),
    "seconds": (Datetime("2020-01-01T00:00:00", "2024-12-31T00:00:00"),) * 2,
    "a step": (Integer(0, 30_000, step=100), Integer(0, 50_000, step=100)),
    "reals": (Real(0, 100), Real(0, 200)),
    "decimals": (Real(0, 100, decimals=2), Real(0, 200, decimals=2)),
    "other decimals": (Real(0, 100, decimals=1), Real(0, 200, decimals=3)),
    "an integer and a real": (Integer(0, 100), Real(0, 200, decimals=2)),
    "a real and an integer": (Real(0, 100, decimals=2, nullable=True), Integer(0, 200, nullable=True)),
}  # type: ignore[dict-item]
LIMITS = [{}, {"at_least": 2}, {"at_least": -3, "at_most": 40}]


def _used(column: Column) -> np.ndarray:
    """Codes that a value can have: some cells between two decimals hold none."""
    codes = np.arange(column.size)
    if not isinstance(column, Real) or column.decimals is None:
        return codes
    return codes[np.append(has_multiples(column.grid, column.decimals), np.ones(column.size - column.grid.cells, bool))]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("kind", ENDS)
def test_rows_read_back_to_the_codes_they_came_from(kind: str, limits: dict[str, int]) -> None:
    low, high = ENDS[kind]
    limits = {name: 100 * limit for name, limit in limits.items()} if kind == "a step" else limits
    by = coordinates(Schema({"low": low, "high": high}, [AtMost(low="low", high="high", **limits)]))
    rng = np.random.default_rng(1)
    codes = np.stack([rng.choice(_used(by.schema[name]), 4000) for name in by.schema.modelled], axis=1)
    table, bent = assemble(by, decode(by.schema, codes, rng), rng)
    straight = ~bent
    assert straight.any() and rules_hold(by.declared, table)[straight].all()
    arrow = {name: pa.array(v.data, mask=v.null) for name, v in table.items()}
    if isinstance(low, Datetime):
        whole, unit = (pa.int32(), pa.date32()) if low.resolution == "day" else (pa.int64(), pa.timestamp("s"))
        arrow = {name: ticks.cast(whole).cast(unit) for name, ticks in arrow.items()}
    for j, part in enumerate(by.parts):
        found = coordinate_encoder(by, part)(*(arrow[name] for name in part.sources))
        same = found[straight] == codes[straight, j]
        # A sum of two reals is rounded, and may come back as the neighbour of an edge; a real that is added up to a
        # whole number is rounded more.
        least = {"reals": 0.99, "a real and an integer": 0.4 if j else 1 - 1e-9}.get(kind, 1 - 1e-9)
        assert same.mean() > least, (part, found[straight][~same][:5])


@pytest.mark.parametrize("kind", ENDS)
def test_every_pattern_of_nulls_can_be_drawn(fake_model, kind: str) -> None:
    low, high = ENDS[kind]
    schema = Schema({"low": low, "high": high}, [AtMost(low="low", high="high")])
    by = coordinates(schema)
    mass = {name: np.ones(by.schema.size(name)) for name in by.schema.modelled}
    for name, column in by.schema.items():
        if column.null_code is not None:
            mass[name][column.null_code] = column.size  # half of the rows are null
    table, _ = draw_sample(fake_model(by.schema, mass), schema, 3000, seed=2)
    assert rules_hold(schema, table).all()
    seen = set(zip(table["low"].null.tolist(), table["high"].null.tolist(), strict=True))
    nulls = [{False, True} if c.null_code is not None else {False} for c in (low, high)]
    assert seen == {(a, b) for a in nulls[0] for b in nulls[1]}
    for name, column in (("low", low), ("high", high)):
        values = table[name].data[~table[name].null]
        assert (values >= column.span[0]).all() and (values <= column.span[1]).all()  # type: ignore[attr-defined]


REGIONS = Schema(
    {
        "region": Category(["N", "S"]),
        "town": Category(["u", "v", "w"], nullable=True),
        "rural": Boolean(nullable=True),
        "code": Integer(0, 99, missing_value=7),
    },
    rules=[
        Function(column="rural", of="region", table={"N": True, "S": False}),
        Function(column="region", of="town", table={"u": "N", "v": "S", "w": "S"}),
        Function(column="code", of="town", table={"u": 1, "v": 2, "w": 3, "other": 4}),
    ],
)


def test_functions_are_computed_and_say_what_they_are_where_there_is_no_argument(fake_model) -> None:
    by = coordinates(REGIONS)
    assert by.schema.modelled == ("town", "rural")  # rural may be null where its region is not
    table, _ = draw_sample(fake_model(by.schema), REGIONS, 4000, seed=3)
    assert rules_hold(REGIONS, table).all()
    town = np.where(table["town"].null, 4, table["town"].data)
    assert np.array_equal(np.array([0, 1, 1, 2, 2])[town], table["region"].data) and not table["region"].null.any()
    assert np.array_equal(np.array([1, 2, 3, 4, 7])[town], table["code"].data)


@pytest.mark.parametrize(
    ("given", "towns"),
    [
        ({"region": "S"}, {1, 2}),
        ({"region": ["N", "other"]}, {0, 3, 4}),
        ({"code": (2, 4)}, {1, 2, 3}),
        ({"region": "S", "code": [1, 3]}, {2}),
        ({"region": "S", "town": ["u", "w"]}, {2}),
        ({"code": 7}, {4}),
    ],
)
def test_a_condition_on_a_function_is_one_on_its_argument(fake_model, given, towns: set[int]) -> None:
    by = coordinates(REGIONS)
    rare = np.array([1, 1, 1, 1, 1, 1e6])  # what is asked for is rare, so rejection alone would not find it
    rare = rare[: by.schema.size("town")] if 4 in towns else np.array([1e-4, 1e-4, 1e-4, 1e-4, 1.0])
    mass = {"town": rare[: by.schema.size("town")]}
    table, worth = draw_block(fake_model(by.schema, mass), REGIONS, 300, generator(4), read_conditions(REGIONS, given))
    found = np.where(table["town"].null, 4, table["town"].data)
    assert set(found.tolist()) == towns and worth > 100


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("at_most_one", [False, True])
def test_dummies_agree_in_every_row(fake_model, nullable: bool, at_most_one: bool) -> None:
    columns = {"x": Boolean(nullable=nullable), "y": Integer(0, 1, nullable=nullable), "z": Category([1, 0], nullable=nullable)}  # noqa: E501  # fmt: skip
    schema = Schema(columns, [OneHot(columns=["x", "y", "z"], at_most_one=at_most_one)])
    for known in (coordinates(schema).schema, schema):  # of a model over one category, and over the columns themselves
        table, _ = draw_sample(fake_model(known), schema, 4000, seed=5)
        on = np.array([table["x"].data, table["y"].data == 1, table["z"].data == 1]) & ~table["x"].null
        assert rules_hold(schema, table).all() and table["x"].null.any() == nullable
        assert set(on.sum(axis=0)[~table["x"].null].tolist()) == ({0, 1} if at_most_one else {1})
        assert on.any(axis=1).all()


@pytest.mark.parametrize(
    ("parts", "total"),
    [
        ((Integer(0, 9), Integer(0, 9, nullable=True)), Integer(0, 18, nullable=True)),
        ((Integer(0, 9), Integer(0, 9)), Integer(5, 12)),  # a total that not all parts reach
        ((Real(0, 10, decimals=2), Real(0, 10, decimals=1)), Real(0, 20, decimals=2)),
        ((Real(0, 10, decimals=2), Integer(0, 9)), Real(0, 20)),
        ((Real(0, 10), Real(-10, 0)), Real(-10, 10)),
    ],
)
def test_a_total_is_the_sum_of_its_parts(fake_model, parts: tuple[Column, Column], total: Column) -> None:
    schema = Schema({"t": total, "a": parts[0], "b": parts[1]}, [Sum(total="t", parts=["a", "b"])])
    for known in (coordinates(schema).schema, schema):
        table, _ = draw_sample(fake_model(known), schema, 4000, seed=6)
        assert rules_hold(schema, table).all()
        null = table["a"].null | table["b"].null
        assert np.array_equal(table["t"].null, null) and null.any() == (parts[1].null_code is not None)
        if all(getattr(part, "decimals", 0) is not None for part in parts):
            a, b, t = (np.array([Decimal(repr(x)) for x in table[name].data[~null].tolist()]) for name in "abt")
            assert (a + b == t).all()


FILLED = Schema(
    {"asked": Category(["yes", "no"]), "p": Integer(0, 9, nullable=True), "q": Category(["u", "v"], nullable=True)},
    rules=[Together(columns=["p", "q"], only_if={"asked": ["yes", "other"]})],
)


def test_columns_are_null_together_and_filled_where_they_may_be(fake_model) -> None:
    mass = {"asked": np.array([0.3, 0.6, 0.1]), "p": np.append(np.full(10, 0.03), 0.7)}
    mass["q"] = np.array([0.2, 0.1, 0.1, 0.6])
    table, _ = draw_sample(fake_model(FILLED, mass), FILLED, 40_000, seed=7)
    assert rules_hold(FILLED, table).all()
    assert abs((~table["p"].null).mean() - 0.3) < 0.02  # the share of the first column, all of it where it may be
    assert abs((table["asked"].data == 1).mean() - 0.6) < 0.02
    filled = table["q"].data[~table["q"].null]
    assert abs((filled == 0).mean() - 0.5) < 0.03  # the law of the second one, given that it is filled


@pytest.mark.parametrize(("given", "null"), [({"q": "u"}, False), ({"q": None}, True), ({"p": (2, 4)}, False)])
def test_asking_for_one_asks_for_all(fake_model, given, null: bool) -> None:
    mass = {"asked": np.array([0.01, 0.98, 0.01]), "p": np.append(np.full(10, 0.001), 0.99)}
    conditions = read_conditions(FILLED, given)
    table, _ = draw_block(fake_model(FILLED, mass), FILLED, 300, generator(8), conditions)
    assert rules_hold(FILLED, table).all() and (table["p"].null == null).all() and (table["q"].null == null).all()
