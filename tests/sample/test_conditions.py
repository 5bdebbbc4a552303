from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pytest

from sklar.errors import UsageError
from sklar.sample.conditions import parse_given, read_conditions
from sklar.sample.draw import draw_sample
from sklar.schema import Boolean, Category, Datetime, Function, Id, Integer, Ordinal, Real, Schema

SCHEMA = Schema(
    {
        "key": Id(),
        "age": Integer(16, 100, nullable=True),
        "big": Integer(0, 2**62),
        "pay": Real(0, 1000, decimals=1, nullable=True),
        "city": Category(["Rome", "Paris", "a,b", "1..2"], nullable=True),
        "level": Ordinal(["low", "mid", "high"]),
        "code": Category([10, 20]),
        "sick": Boolean(nullable=True),
        "day": Datetime("2020-01-01", "2024-12-31"),
        "at": Datetime("2020-01-01T00:00:00", "2024-12-31T00:00:00"),
    }
)


def shown(table, name: str) -> set[object]:
    v = table[name]
    data = v.data if v.labels is None else np.array(v.labels, object)[v.data]
    return {None if null else x for x, null in zip(data.tolist(), v.null.tolist(), strict=True)}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"age": (30, 32)}, {30, 31, 32}),
        ({"age": (97.5, float("inf"))}, {98, 99, 100}),
        ({"age": None}, {None}),
        ({"age": [17, None, 20]}, {17, None, 20}),
        ({"age": np.int64(44)}, {44}),
        ({"big": (2**61, 2**61 + 1)}, {2**61, 2**61 + 1}),
        ({"pay": (3.01, 3.2)}, {3.1, 3.2}),
        ({"pay": 7}, {7.0}),
        ({"city": "Rome"}, {"Rome"}),
        ({"city": {"Rome", "other"}}, {"Rome", "other"}),
        ({"level": ("low", "mid")}, {"low", "mid"}),
        ({"code": [20]}, {20}),
        ({"sick": [None, True]}, {None, True}),
        ({"day": (date(2024, 2, 28), "2024-03-01")}, {19781, 19782, 19783}),
        ({"day": (datetime(2024, 2, 28, 12), datetime(2024, 2, 29, 12))}, {19782}),
        ({"day": np.datetime64("2020-01-01")}, {18262}),
    ],
)
def test_the_sample_has_all_of_what_was_asked_for_and_nothing_else(fake_model, given, expected):
    table, _ = draw_sample(fake_model(SCHEMA), SCHEMA, 600, seed=1, given=given)
    assert shown(table, next(iter(given))) == expected


def test_values_inside_a_cut_cell_stay_uniform(fake_model):
    table, _ = draw_sample(
        fake_model(SCHEMA), SCHEMA, 4000, seed=1, given={"at": ("2021-01-01T10:00", "2021-01-01T12:00")}
    )
    ticks = table["at"].data
    low = int(datetime(2021, 1, 1, 10).timestamp() - datetime(1970, 1, 1).timestamp())
    assert ticks.min() >= low and ticks.max() <= low + 7200
    assert abs(np.sort(ticks - low) - np.linspace(0, 7200, 4000)).max() / 7200 < 0.055


def test_cells_count_by_the_part_that_is_asked_for(fake_model):
    schema = Schema({"x": Integer(0, 99, bins=2), "y": Real(0, 1, bins=2)})  # the atoms 0 and 1 are cells of y
    mass = {"x": np.array([1, 3]), "y": np.array([0, 1, 1, 0])}
    table, _ = draw_sample(fake_model(schema, mass), schema, 40_000, seed=3, given={"x": (40, 59), "y": (0.4, 0.9)})
    assert abs((table["x"].data < 50).mean() - 0.25) < 0.011  # half of each cell, so the masses stay 1 to 3
    assert abs((table["y"].data < 0.5).mean() - 0.2) < 0.011  # a fifth and four fifths of equal masses


def test_a_part_too_small_to_wait_for_is_picked_by_weight(fake_model):
    schema = Schema({"x": Integer(0, 10**6 - 1, bins=2), "y": Integer(0, 1)})
    mass = {"x": np.array([1, 0])}  # the model has no mass where most of the range lies
    table, _ = draw_sample(fake_model(schema, mass), schema, 2000, seed=3, given={"x": (499_999, 10**6 - 1)})
    assert (table["x"].data == 499_999).all() and 800 < table["y"].data.sum() < 1200


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"height": 3}, "not a modelled column"),
        ({"key": 3}, "not a modelled column"),
        ({"city": "London"}, "not a value of 'city'"),
        ({"city": ("Rome", "Paris")}, "no order"),
        ({"city": []}, "empty"),
        ({"code": "ten"}, "not a value of 'code'"),
        ({"age": (40, 30)}, "empty"),
        ({"age": (30, 31, 32)}, "two ends"),
        ({"age": 101}, "from 16 to 100"),
        ({"age": (101, 120)}, "from 16 to 100"),
        ({"age": "old"}, "must be a number"),
        ({"age": True}, "must be a number"),
        ({"age": 30.5}, "empty"),
        ({"age": float("nan")}, "null"),
        ({"pay": (3.01, 3.09)}, "1 decimals"),
        ({"big": None}, "never null"),
        ({"level": ("high", "low")}, "empty"),
        ({"level": ("low", "other")}, "not a value of 'level'"),
        ({"sick": 2}, "true or false"),
        ({"day": "31.12.2024"}, "dates or times"),
        ({"day": "2024-01-01T00:00:00+01:00"}, "without a zone"),
        ({"day": 3}, "dates or times"),
        ({"day": ("2019-01-01", "2019-02-01")}, "from 2020-01-01 to 2024-12-31"),
    ],
)
def test_what_cannot_be_asked_is_refused(given, says: str):
    with pytest.raises(UsageError, match=says):
        read_conditions(SCHEMA, given)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("age=30", 30),
        ("age=30..40", (30, 40)),
        ("age=..40", (None, 40)),
        ("age=30,31,null", [30, 31, None]),
        ("pay=1.5..2", (1.5, 2.0)),
        ("city=Rome,Paris", ["Rome", "Paris"]),
        ("city=a,b", "a,b"),
        ("city=1..2", "1..2"),
        ("city=null", None),
        ("level=mid..", ("mid", "high")),
        ("code=10", 10),
        ("sick=TRUE", True),
        ("day=2020-01-01..2020-02-01", ("2020-01-01", "2020-02-01")),
    ],
)
def test_conditions_as_text(text: str, given):
    assert parse_given(SCHEMA, [text]) == {text.split("=")[0]: given}
    read_conditions(SCHEMA, parse_given(SCHEMA, [text]))


@pytest.mark.parametrize("texts", [["age"], ["nope=1"], ["age=x"], ["sick=maybe"], ["age=1", "age=2"]])
def test_bad_text_is_refused(texts: list[str]):
    with pytest.raises(UsageError, match="given"):
        parse_given(SCHEMA, texts)


def test_a_name_with_an_equals_sign_is_found():
    schema = Schema({"a": Integer(0, 9), "a=b": Integer(0, 9)})
    assert parse_given(schema, ["a=b=3"]) == {"a=b": 3}


def test_a_condition_on_a_column_that_a_function_overwrites_still_holds(fake_model):
    schema = Schema(
        {"town": Category(["u", "v", "w"]), "region": Category(["N", "S"])},
        rules=[Function(column="region", of="town", table={"u": "N", "v": "S"})],
    )
    table, _ = draw_sample(fake_model(schema), schema, 500, seed=2, given={"region": "N"})
    assert shown(table, "region") == {"N"} and shown(table, "town") == {"u", "w", "other"}
