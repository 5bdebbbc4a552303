"""The language of row expressions: how it is read, what is refused, and that nothing of it is executed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sklar
from sklar.errors import SchemaError
from sklar.schema.rules import Expression
from sklar.schema.rules.expression import RowValues, evaluate_expression
from sklar.schema.rules.parsing import parse_expression
from sklar.schema.table import schema_from_toml, schema_to_toml

COLUMNS = {
    "age": sklar.Integer(0, 100, nullable=True),
    "income": sklar.Real(-1e5, 1e5),
    "married": sklar.Boolean(nullable=True),
    "sex": sklar.Category(["F", "M"]),
    "school": sklar.Ordinal(["none", "low", "high"]),
    "grade": sklar.Category([1, 2, 3]),
    "born": sklar.Datetime("1920-01-01", "2020-12-31"),
    "seen": sklar.Datetime("1990-01-01T00:00:00", "2020-12-31T00:00:00"),
    "odd name": sklar.Integer(0, 9),
}


def schema(text: str) -> sklar.Schema:
    return sklar.Schema(COLUMNS, rules=[Expression(text)])


def numbers(text: str, **values: list[float | None]) -> list[bool | None]:
    """What an expression is in rows of numbers; None is null, or unknown."""
    rows = len(next(iter(values.values())))
    known = {
        name: RowValues(np.array([0.0 if x is None else x for x in xs]), np.array([x is None for x in xs]))
        for name, xs in values.items()
    }
    columns = dict.fromkeys(values, sklar.Real(-1e9, 1e9))
    found = evaluate_expression(parse_expression(text), columns, known.__getitem__, rows)
    return [None if u else bool(x) for x, u in zip(found.data, found.unknown, strict=True)]


@pytest.mark.parametrize(
    "text",
    ["a + b * c >= 4", "(a + b) * c >= 4", "a - b - c < 0", "a / b / c <= 1", "-a * -b > c", "a - -b == c",
     "not a < b and b < c or a == c", "not (a < b and b < c) or a == c", "not not a != b", "a * 2.5e0 > .5 + b"],
)  # fmt: skip
def test_precedence_is_that_of_arithmetic(text):
    """As Python, which reads these texts alike."""
    grid = list(itertools.product([-2.0, 1.0, 3.0], repeat=3))
    a, b, c = (list(column) for column in zip(*grid, strict=True))
    expected = [eval(text, {"__builtins__": {}}, dict(zip("abc", row, strict=True))) for row in grid]
    assert numbers(text, a=a, b=b, c=c) == expected


def test_nulls_are_unknown_and_logic_has_three_values():
    three = [1.0, 0.0, None]
    a, b = (list(x) for x in zip(*itertools.product(three, three), strict=True))
    truth = {1.0: True, 0.0: False, None: None}

    def both(x, y):
        return False if False in (x, y) else None if None in (x, y) else True

    assert numbers("a == 1 and b == 1", a=a, b=b) == [both(truth[x], truth[y]) for x, y in zip(a, b, strict=True)]
    negated = numbers("not (not a == 1 or not b == 1)", a=a, b=b)
    assert negated == numbers("a == 1 and b == 1", a=a, b=b)
    assert numbers("a is null", a=three) == [False, False, True]
    assert numbers("a is not null and a + 1 > 0", a=three) == [True, True, False]
    assert numbers("1 / a > 0", a=three) == [True, None, None]


@pytest.mark.parametrize(
    "text",
    ["age >= 18 or married == false", "`odd name` < 5", "income / (age + 1) > -5 and sex != 'M'",
     "grade == 2 or grade > 1",
     "school >= 'low' or age < 12", "born < '2000-01-01'", "seen - born >= 0", "married or not married", "age is null",
     'sex = "F" or sex == "other"', "seen >= '1999-12-31T12:00:00'"],
)  # fmt: skip
def test_what_is_meant_is_read_and_written(text):
    made = schema(text)
    assert schema_from_toml(schema_to_toml(made)) == made
    assert made.rules[0].describe() == text


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it is empty"),
        ("age >=", "it ends too early"),
        ("age >= 18)", "is not expected"),
        ("(age >= 18", "not closed"),
        ("age >= 18 18", "'18' is not expected"),
        ("age ? 3", "cannot be read at"),
        ("'unclosed < 3", "cannot be read"),
        ("age is 3", "'is' goes with null"),
        ("(age + 1) is null", "needs a column"),
        ("wage > 3", "'wage' is not a modelled column"),
        ("age + 3", "not a condition"),
        ("1 < 2", "names no column"),
        ("age > 'x'", "a number cannot be compared with a text"),
        ("married + 1 > 2", "needs numbers, not a truth"),
        ("age and married", "joins conditions, not a number"),
        ("sex == 'X'", "'X' is not a value of 'sex'"),
        ("sex < 'M'", "needs an order"),
        ("born > 'yesterday'", "is not a date"),
        ("born > sex", "cannot be compared with labels"),
        ("grade == 7 and grade == 8", "true for no value that 'grade'"),
        ("income > 100001", "true for no value that 'income'"),
        ("`odd name` > 3 and `odd name` < 4", "true for no value that 'odd name'"),
        ("born > '2021-01-01'", "true for no value that 'born'"),
        ("sex == 'F' and sex == 'M'", "true for no value that 'sex'"),
        ("(" * 100 + "age > 1" + ")" * 100, "nested more than"),
        ("age > 1 or " * 1_000 + "age > 2", "longer than"),
        ("__import__('os').system('true')", "cannot be read|not expected"),
        ("age.real > 1", "cannot be read|not expected"),
    ],
)
def test_what_cannot_be_is_refused_in_words(text, fault):
    with pytest.raises(SchemaError, match=fault):
        schema(text)


def test_a_text_that_is_none_is_refused():
    with pytest.raises(SchemaError, match="must be a text"):
        sklar.Schema(COLUMNS, rules=[Expression(3)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("`last day` is not null or `ill` != 'ja'", "last day is filled in every row where ill is ja"),
        ("`a` is not null or `b` != 1 and `b` != 2", "a is filled in every row where b is 1 or 2"),
        ("`a` is not null or `b` != true", "a is filled in every row where b is true"),
        ("`a` is not null or `b` != 1 and `c` != 2", "`a` is not null or `b` != 1 and `c` != 2"),
        ("`a` is not null or `b` != 1.5", "`a` is not null or `b` != 1.5"),
    ],
)
def test_a_column_that_is_filled_at_some_values_is_said_in_words(text: str, words: str) -> None:
    assert Expression(text).describe() == words
