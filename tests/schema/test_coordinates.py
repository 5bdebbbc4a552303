"""Coordinates follow from the schema alone: what is computed is not measured, and lengths stand for ends."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.errors import SchemaError
from sklar.schema import (
    AtMost,
    Boolean,
    Category,
    Column,
    Datetime,
    Function,
    Id,
    Integer,
    Never,
    OneHot,
    Real,
    Rule,
    Schema,
    Sum,
    Together,
)
from sklar.schema.coordinates import Difference, coordinates, fitted_coordinates
from sklar.schema.coordinates.lengths import MAX_LENGTH_CELLS, make_growing_edges
from sklar.schema.rules import Expression

DAYS = Datetime("2020-01-01", "2029-12-31", calendar=[])


def names(columns: dict[str, Column], *rules: Rule) -> list[str]:
    return list(coordinates(Schema(columns, rules)).schema.modelled)


def test_without_such_rules_the_coordinates_are_the_schema() -> None:
    schema = Schema({"key": Id(), "a": Integer(0, 9), "b": Integer(0, 9)}, [Never(values={"a": 1, "b": 2})])
    by = coordinates(schema)
    assert by.plain and by.schema is schema and [part.name for part in by.parts] == ["a", "b"]


def test_an_end_is_a_length() -> None:
    assert names({"to": DAYS, "from": DAYS}, AtMost(low="from", high="to")) == ["to", "to - from"]
    assert names({"from": DAYS, "to": DAYS}, AtMost(low="from", high="to")) == ["from", "to - from"]


def test_chains_and_forks_are_trees_of_lengths() -> None:
    columns = {name: Integer(0, 1000) for name in "abcd"}
    chain = [AtMost(low="a", high="b"), AtMost(low="b", high="c")]
    assert names(columns, *chain) == ["a", "b - a", "c - b", "d"]
    assert names(columns, *chain, AtMost(low="d", high="b")) == ["a", "b - a", "c - b", "b - d"]
    # A rule that closes a circle is left to rejection.
    assert names(columns, *chain, AtMost(low="a", high="c")) == ["a", "b - a", "c - b", "d"]


def test_lengths_are_told_from_a_column_that_is_never_null() -> None:
    by = coordinates(Schema({"a": Integer(0, 9, nullable=True), "b": Integer(0, 9)}, [AtMost(low="a", high="b")]))
    assert by.schema.modelled == ("b - a", "b")
    assert isinstance(by.parts[0], Difference) and not by.parts[0].above and by.schema["b - a"].null_code is not None


@pytest.mark.parametrize(
    ("low", "high"),
    [(Integer(0, 9), Real(0, 9, step=0.5)), (Integer(-(2**62), 0), Integer(0, 9)), (Integer(0, 5), Integer(-5, 0))],
)
def test_what_cannot_be_subtracted_stays(low: Column, high: Column) -> None:
    assert names({"a": low, "b": high}, AtMost(low="a", high="b")) == ["a", "b"]


def test_a_fixed_difference_is_a_coordinate_of_one_value() -> None:
    columns = {"a": Integer(0, 9), "b": Integer(0, 10)}
    by = coordinates(Schema(columns, [AtMost(low="a", high="b", at_least=1, at_most=1)]))
    assert by.schema.modelled == ("a", "b - a") and by.schema.size("b - a") == 1


def test_a_length_gets_a_name_of_its_own() -> None:
    columns = {"a": Integer(0, 9), "b": Integer(0, 9), "b - a": Boolean()}
    assert names(columns, AtMost(low="a", high="b")) == ["a", "(b - a)", "b - a"]


@given(st.integers(0, 2**62))
def test_cells_grow_outwards_and_never_shrink(last: int) -> None:
    edges = make_growing_edges(last)
    widths = [b - a for a, b in pairwise(edges)]
    assert edges[0] == 0 and edges[-1] == last + 1 and len(widths) <= MAX_LENGTH_CELLS
    assert all(width >= 1 for width in widths) and widths[:-1] == sorted(widths[:-1])
    assert len(widths) > MAX_LENGTH_CELLS // 3 or last < MAX_LENGTH_CELLS


def test_lengths_are_exact_near_zero() -> None:
    columns = {"from": DAYS, "to": DAYS}
    grid = coordinates(Schema(columns, [AtMost(low="from", high="to")])).schema["to - from"].grid  # type: ignore[attr-defined]
    assert grid.starts[:14].tolist() == list(range(14)) and grid.stop == 3653


@pytest.mark.parametrize("decimals", [None, 0, 2])
def test_lengths_of_reals_have_zero_as_a_value_of_its_own(decimals: int | None) -> None:
    real = Real(0, 1000, decimals=decimals)
    column = coordinates(Schema({"a": real, "b": real}, [AtMost(low="a", high="b")])).schema["b - a"]
    assert isinstance(column, Real) and column.grid.is_atom[0] and column.grid.starts[0] == 0.0
    assert column.decimals == decimals and column.size <= MAX_LENGTH_CELLS + 4


def test_limits_of_a_difference_are_those_of_its_grid() -> None:
    columns = {"a": Integer(0, 1000), "b": Integer(0, 1000)}
    column = coordinates(Schema(columns, [AtMost(low="a", high="b", at_least=3, at_most=17)])).schema["b - a"]
    assert isinstance(column, Integer) and (column.lower, column.upper) == (3, 17)


TOWNS = {"town": Category(["u", "v"]), "region": Category(["N", "S"])}
REGION = Function(column="region", of="town", table={"u": "N", "v": "S"})


def test_a_function_of_every_value_is_not_measured() -> None:
    assert names(TOWNS, REGION) == ["town"]
    assert names({"m": Integer(1, 4), "q": Integer(1, 2)},
                 Function(column="q", of="m", table={1: 1, 2: 1, 3: 2, 4: 2})) == ["m"]  # type: ignore[dict-item]  # fmt: skip
    assert names({"s": Boolean(), "q": Boolean()}, Function(column="q", of="s", table={"True": False, "false": True})) == ["s"]  # noqa: E501  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        (TOWNS, Function(column="region", of="town", table={"u": "N"})),
        ({**TOWNS, "region": Category(["N", "S"], nullable=True)}, REGION),
        ({"x": Integer(0, 10**9), "y": Boolean()}, Function(column="y", of="x", table={"7": True})),
        ({"x": Real(0, 1), "y": Boolean()}, Function(column="y", of="x", table={"0.5": True})),
    ],
)
def test_a_function_that_leaves_something_open_is_measured(columns: dict[str, Column], rule: Function) -> None:
    assert names(columns, rule) == list(columns)


def test_the_coordinate_that_tells_a_column() -> None:
    columns = {**TOWNS, "land": Category(["L"]), "from": DAYS, "to": DAYS, "x": Boolean()}
    land = Function(column="land", of="region", table={"N": "L", "S": "L"})
    by = coordinates(Schema(columns, [land, REGION, AtMost(low="from", high="to")]))
    assert by.schema.modelled == ("town", "from", "to - from", "x")
    told = {name: by.find_coordinate(name) for name in columns}
    assert told == {"town": "town", "region": "town", "land": "town", "from": "from", "to": "to - from", "x": "x"}


def test_a_model_over_declared_columns_is_known_by_its_margins() -> None:
    schema = Schema(TOWNS, [REGION])
    assert fitted_coordinates(schema, ["town", "region"]).plain and not fitted_coordinates(schema, ["town"]).plain


@pytest.mark.parametrize(
    "rules",
    [
        [AtMost(low="a", high="b", at_least=5), AtMost(low="b", high="a")],
        [AtMost(low="a", high="b", at_least=500), AtMost(low="b", high="c", at_least=501)],
        [AtMost(low="a", high="b", at_most=3), AtMost(low="b", high="c", at_most=3),
         AtMost(low="a", high="c", at_least=7)],
    ],
)  # fmt: skip
def test_orders_that_cannot_hold_together_are_refused(rules: list[AtMost]) -> None:
    columns = {name: Integer(0, 1000) for name in "abc"}
    for rule in rules:
        Schema(columns, [rule])
    with pytest.raises(SchemaError, match=rf"rule {len(rules)} \(at-most\): it cannot hold together"):
        Schema(columns, rules)


@pytest.mark.parametrize("limits", [{"at_least": 2, "at_most": 1}, {"at_least": 0.5}, {"at_most": float("nan")}])
def test_limits_are_numbers_in_order(limits: dict[str, float]) -> None:
    with pytest.raises(SchemaError, match="at_least and at_most must be"):
        Schema({"a": Integer(0, 9), "b": Integer(0, 9)}, [AtMost(low="a", high="b", **limits)])  # type: ignore[arg-type]


def test_codes_are_few_enough_to_be_counted_one_by_one() -> None:
    from sklar.model.margins.bins import lay_out_column

    seconds = Datetime("2020-01-01T00:00:00", "2029-12-31T00:00:00")
    for column in (DAYS, seconds, Integer(0, 10**15), Real(-1e9, 1e9), Real(0, 100, decimals=2)):
        by = coordinates(Schema({"a": column, "b": column}, [AtMost(low="a", high="b")]))
        assert not lay_out_column(by.schema["b - a"]).refined
        assert np.all(np.diff(by.schema["b - a"].grid.starts) > 0)  # type: ignore[attr-defined]


DUMMIES = {"x": Boolean(), "y": Integer(0, 1), "z": Category([0, 1])}


def test_dummies_are_one_category() -> None:
    by = coordinates(Schema({**DUMMIES, "w": Boolean()}, [OneHot(columns=["x", "y", "z"])]))
    assert by.schema.modelled == ("x | y | z", "w") and by.schema["x | y | z"] == Category(
        ["x", "y", "z"], other="none"
    )
    assert by.find_coordinate("z") == "x | y | z"


def test_a_total_is_not_measured() -> None:
    columns = {"all": Integer(0, 300), "a": Integer(0, 100), "b": Integer(0, 100), "c": Integer(0, 300)}
    by = coordinates(Schema(columns, [Sum(total="all", parts=["a", "b"]), AtMost(low="all", high="c")]))
    assert by.schema.modelled == ("a", "b", "c") and by.find_coordinate("all") == "a"  # c >= all is left to rejection


NULLS = {"smoker": Boolean(), "cigs": Integer(0, 50, nullable=True), "since": Integer(0, 80, nullable=True)}
MORE = {**DUMMIES, **NULLS, "all": Real(0, 50, decimals=1), "part": Real(0, 20, decimals=1), "rest": Integer(0, 20)}
GOOD: list[Rule] = [
    AtMost(low="part", high="all", at_least=1.5, at_most=20),
    Sum(total="all", parts=["part", "rest"]),
    OneHot(columns=["x", "y"], at_most_one=True),
    Together(columns=["cigs", "since"]),
    Together(columns=["cigs"], only_if={"smoker": True, "z": [0, 1]}),
    Expression("rest > part and not (rest < 3 or rest * rest > 200) and part / rest < 2"),
    Expression("all > part + rest and part < rest"),
]
BAD: list[tuple[list[Rule], str]] = [
    ([Sum(total="all", parts=["part"])], "two or more different parts"),
    ([Sum(total="all", parts=["part", "x"])], "must be integers or reals"),
    ([Sum(total="rest", parts=["part", "y"])], "'rest' is an integer"),
    ([Sum(total="all", parts=["part", "cigs"])], "a part may be null, so 'all' must be nullable"),
    ([Sum(total="far", parts=["part", "rest"])], "add up to 0 at least and 40 at most, never to a value of 'far'"),
    ([Sum(total="all", parts=["far", "rest"])], "every part must declare decimals"),
    ([OneHot(columns=["x"])], "two or more different columns"),
    ([OneHot(columns=["x", "rest"])], "'rest' must be a boolean, or have the values 0 and 1"),
    ([OneHot(columns=["x", "maybe"])], "all of its columns may be null, or none"),
    ([Together(columns=["cigs"])], "two or more different columns"),
    ([Together(columns=["cigs", "x"])], "'x' must be nullable"),
    ([Together(columns=["cigs"], only_if={"nobody": 1})], "'nobody' is not another modelled column"),
    ([Together(columns=["cigs"], only_if={"smoker": "yes"})], "'yes' is not a value of 'smoker'"),
    ([Together(columns=["cigs"], only_if={"smoker": []})], "names no value of 'smoker'"),
    ([Together(columns=["cigs", "since"]), Together(columns=["since"], only_if={"smoker": True})], "nulls of 'since'"),
    ([OneHot(columns=["x", "y"]), OneHot(columns=["y", "z"])], "'y' is given by two rules"),
    ([Sum(total="all", parts=["part", "rest"]), Sum(total="rest", parts=["y", "half"]),
      Sum(total="half", parts=["y", "rest"])], "'half', 'rest' form a cycle"),
    ([Never(values={"x": True}), Never(values={"x": False})], "leaves no value of 'x'"),
    ([Never(values={"x": a, "y": b}) for a in (True, False) for b in (0, 1)], "rule 4 (never): with the rules before"),
    ([Never(values={"y": 0}), Never(values={"y": 1, "x": True}), Expression("x or y == 0")], "rule 3 (expression)"),
    ([OneHot(columns=["x", "y"]), Never(values={"x": True}), Never(values={"y": 1})], "rule 3 (never)"),
    ([Function(column="x", of="smoker", table={"true": True, "false": True}), Never(values={"x": True})], "rule 2"),
    ([Expression("not (cigs is null)"), Together(columns=["cigs"], only_if={"smoker": True}),
      Never(values={"smoker": True})], "leaves no value of 'smoker'"),
    ([Expression("rest > half"), Expression("half >= rest")], "rule 2 (expression): it cannot hold together"),
    ([Expression("rest > half and half > 20 - 0")], "it cannot hold together"),
    ([Expression("2 * rest - half / 2 >= 41")], "it cannot hold together"),
    ([AtMost(low="rest", high="half"), Expression("part > all"), Expression("part <= all")], "rule 3 (expression)"),
]  # fmt: skip
ALL = {**MORE, "far": Real(100, 200), "maybe": Boolean(nullable=True), "half": Integer(0, 20)}


@pytest.mark.parametrize("rule", GOOD, ids=lambda rule: rule.kind)
def test_new_rules_survive_the_file(rule: Rule, tmp_path: Path) -> None:
    schema = Schema(MORE, [rule])
    schema.write(tmp_path / "s.toml")
    again = Schema.read(tmp_path / "s.toml")
    assert again == schema and again.rules[0].describe() == rule.describe()


@pytest.mark.parametrize(("rules", "words"), BAD, ids=lambda x: x if isinstance(x, str) else "")
def test_rules_that_cannot_be_say_why(rules: list[Rule], words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema(ALL, rules)
    assert any(words in fault for fault in caught.value.faults), caught.value.faults


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "one-hot", "columns": "x"},
        {"kind": "one-hot", "columns": ["x", "y"], "at_most_one": "yes"},
        {"kind": "sum", "total": "all", "parts": [["a"]]},
        {"kind": "together", "columns": ["cigs"], "only_if": "smoker"},
        {"kind": "at-most", "low": "a", "high": "b", "at_least": "x"},
        {"kind": "at-most", "low": "a"},
    ],
)
def test_entries_of_the_wrong_type_are_refused(entry: dict[str, object]) -> None:
    from sklar.schema.table import schema_from_dict

    with pytest.raises(SchemaError, match="needs exactly"):
        schema_from_dict({"columns": {"a": {"kind": "boolean"}}, "rules": [entry]})


def test_rules_are_said_of_coordinates_too() -> None:
    columns: dict[str, Column] = {
        **DUMMIES,
        "town": Category(["a", "b", "c"]),
        "region": Category(["N", "S"]),
        "sick": Boolean(),
        "day": Datetime("2015-01-01", "2019-12-31", nullable=True),
        "dose": Integer(0, 9, nullable=True),
        "low": Integer(0, 9),
        "high": Integer(0, 9, nullable=True),
    }
    rules: list[Rule] = [
        OneHot(columns=["x", "y", "z"]),
        Function(column="region", of="town", table={"a": "N", "b": "N", "c": "S"}),
        AtMost(low="low", high="high"),
        Never(values={"region": "N", "sick": True}),
        Never(values={"y": 1, "sick": True}),
        Never(values={"high": 3, "sick": True}),
        Together(columns=["day", "dose", "high"], only_if={"x": False, "sick": True}),
        Expression("sick or town == 'a'"),
        Expression("sick or region == 'N'"),
    ]
    made = coordinates(Schema(columns, rules)).schema
    parts = ["day (year)", "day (month)", "day (weekday)"]
    assert made.rules == (
        Never(values={"x | y | z": "none"}),
        Never(values={"town": "a", "sick": True}),
        Never(values={"town": "b", "sick": True}),
        Never(values={"x | y | z": "y", "sick": True}),
        Together(columns=[*parts, "dose", "high - low"], only_if={"x | y | z": ["y", "z", "none"], "sick": True}),
        Expression("sick or town == 'a'"),
    )
    alone = coordinates(Schema({"day": columns["day"]})).schema
    assert alone.rules == (Together(columns=parts, source="public"),)
