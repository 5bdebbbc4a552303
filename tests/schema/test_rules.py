"""Constraints must speak of modelled columns and of values these can have, and must be able to hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sklar.errors import SchemaError
from sklar.schema import AtMost, Boolean, Category, Datetime, Function, Id, Integer, Never, Real, Rule, Schema
from sklar.schema.rules.impossible import find_distinct_columns

COLUMNS = {
    "sex": Category(["F", "M"]),
    "code": Category([1, 2, 9]),
    "age": Integer(0, 100),
    "child": Integer(200, 300),
    "pay": Real(0, 1000),
    "yes": Boolean(),
    "born": Datetime("1900-01-01", "2000-12-31"),
    "died": Datetime("1950-01-01", "2020-12-31"),
    "seen": Datetime("2020-01-01T00:00:00", "2020-12-31T00:00:00"),
    "key": Id(),
}
GOOD: list[Rule] = [
    AtMost(low="age", high="pay"),
    AtMost(low="born", high="died"),
    Never(values={"sex": "M", "yes": True}),
    Never(values={"sex": "other", "code": 9, "age": 0}),
    Function(column="yes", of="sex", table={"F": True, "M": False}),
    Function(column="sex", of="code", table={"1": "F", 2: "M"}),  # type: ignore[dict-item]
    Function(column="sex", of="yes", table={True: "F", "false": "M"}),  # type: ignore[dict-item]
    Function(column="sex", of="age", table={"7": "F"}),
    Function(column="sex", of="born", table={"1950-01-01": "F"}),
    Function(column="sex", of="pay", table={"7.5": "F"}),
]
BAD: list[tuple[Rule, str]] = [
    (AtMost(low="age", high="nobody"), "'nobody' is not a modelled column"),
    (AtMost(low="key", high="age"), "'key' is not a modelled column"),
    (AtMost(low="age", high="age"), "two different columns"),
    (AtMost(low="age", high="sex"), "must be numbers"),
    (AtMost(low="age", high="born"), "must be numbers"),
    (AtMost(low="child", high="age"), "never hold"),
    (AtMost(low="born", high="seen"), "same resolution"),
    (AtMost(low="seen", high="seen"), "two different"),
    (Never(values={}), "names no values"),
    (Never(values={"sex": "X"}), "'X' is not a value"),
    (Never(values={"code": True}), "'True' is not a value"),
    (Never(values={"code": "1"}), "'1' is not a value"),
    (Never(values={"yes": 1}), "'1' is not a value"),
    (Never(values={"age": 101}), "'101' is not a value"),
    (Never(values={"pay": 5}), "'5' is not a value"),
    (Function(column="sex", of="code", table={}), "table is empty"),
    (Function(column="sex", of="code", table={"3": "F"}), "'3' is not a value of 'code'"),
    (Function(column="sex", of="yes", table={"yes": "F"}), "'yes' is not a value of 'yes'"),
    (Function(column="sex", of="age", table={"x": "F"}), "'x' is not a value of 'age'"),
    (Function(column="sex", of="born", table={"1850-01-01": "F"}), "is not a value of 'born'"),
    (Function(column="sex", of="code", table={"1": "X"}), "'X' is not a value of 'sex'"),
    (Function(column="sex", of="sex", table={"F": "M"}), "cycle"),
]


@pytest.mark.parametrize("rule", GOOD)
def test_good_rules_are_accepted_and_survive_the_file(rule: Rule, tmp_path: Any) -> None:
    schema = Schema(COLUMNS, [rule])
    schema.write(tmp_path / "s.toml")
    assert Schema.read(tmp_path / "s.toml") == schema


@pytest.mark.parametrize(("rule", "words"), BAD)
def test_bad_rules_say_why(rule: Rule, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema(COLUMNS, [rule])
    assert len(caught.value.faults) == 1, caught.value.faults
    assert words in caught.value.faults[0]


def test_all_bad_rules_are_reported_at_once() -> None:
    rules = [rule for rule, words in BAD if words != "cycle"]
    with pytest.raises(SchemaError) as caught:
        Schema(COLUMNS, rules)
    assert len(caught.value.faults) == len(rules)


def test_functions_may_chain_but_not_go_round_nor_give_a_column_twice() -> None:
    first = Function(column="sex", of="code", table={"1": "F"})
    second = Function(column="yes", of="sex", table={"F": True})
    back = Function(column="code", of="yes", table={"true": 1})
    Schema(COLUMNS, [second, first])
    with pytest.raises(SchemaError, match="cycle"):
        Schema(COLUMNS, [first, second, back])
    with pytest.raises(SchemaError, match="given by two rules"):
        Schema(COLUMNS, [first, Function(column="sex", of="yes", table={"true": "F"})])


def test_rules_are_values() -> None:
    assert Never(values={"a": 1, "b": 2}) == Never(values=(("a", 1), ("b", 2)))
    assert hash(Function(column="a", of="b", table={"x": 1})) == hash(Function(column="a", of="b", table=(("x", 1),)))
    assert Function(column="a", of="b", table=(("x", 1), ("x", 2))).pairs == (("x", 2),)


def test_distinct_columns_are_those_of_a_sort() -> None:
    rng = np.random.default_rng(4)
    for rows in (1, 2, 7, 40):
        classes = rng.integers(0, 3, (rows, 500))
        np.testing.assert_array_equal(find_distinct_columns(classes), np.unique(classes, axis=1))
