"""Questions to a model: a statistic of some columns, overall or by group, as data or as a short text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sklar.errors import UsageError
from sklar.sample.conditions import parse_given, read_conditions
from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.numbers import Integer, Real
from sklar.schema.table import Schema

STATISTICS = ("share", "mean", "total", "quantile", "difference", "correlation", "linear", "logistic")
REGRESSIONS = ("linear", "logistic")
SYNTAX = (
    "write it as mean(income), mean(income) by sex, share(sex=F) where age=30..40, quantile(income, 0.9), "
    "difference(income) by sex, correlation(age, income), linear(income ~ age + sex) or logistic(smoker ~ age)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enquiry:
    """One statistic, overall or by group.

    Attributes:
        statistic: One of STATISTICS.
        columns: One column, two for a correlation, or the outcome and then the terms of a regression.
        value: For a share or a difference of shares: the condition on the column, as for a sample.
        at: For a quantile: its level, between 0 and 1.
        by: The column whose values are the groups.
        between: For a difference: the two groups, first minus second; by default those of a column of two values.
        given: Conditions on rows, as for a sample.
    """

    statistic: str
    columns: tuple[str, ...]
    value: Any = None
    at: float = 0.5
    by: str | None = None
    between: tuple[Any, Any] | None = None
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_share(self) -> bool:
        """Whether rows are counted rather than numbers averaged."""
        return self.statistic == "share" or (self.statistic == "difference" and self.value is not None)

    @property
    def name(self) -> str:
        """The question in a few words, without its groups."""
        first = self.columns[0]
        if self.statistic in REGRESSIONS:
            return f"{self.statistic}({first} ~ {' + '.join(self.columns[1:])})"
        inside = f"{first}={_format_value(self.value)}" if self.is_share else ", ".join(self.columns)
        return f"{self.statistic}({inside}{f', {self.at:g}' if self.statistic == 'quantile' else ''})"


def _format_value(value: Any) -> str:
    if isinstance(value, tuple):
        return "..".join("" if end is None else str(end) for end in value)  # pyright: ignore[reportUnknownVariableType]
    return ",".join(map(str, value)) if isinstance(value, list) else "null" if value is None else str(value)


def validate_question(question: Enquiry, schema: Schema) -> Enquiry:
    """Return the question, if it fits these columns.

    Raises:
        UsageError: It does not; the message says what would.
    """
    _require(question.statistic in STATISTICS, f"unknown statistic '{question.statistic}'; {SYNTAX}")
    for name in (*question.columns, *([question.by] if question.by else [])):
        known = ", ".join(schema.modelled[:20]) + (", ..." if len(schema.modelled) > 20 else "")
        _require(name in schema.modelled, f"'{name}' is not a modelled column; the schema has {known}")
    _check_columns(question, schema)
    read_conditions(schema, question.given)
    if question.is_share:
        read_conditions(schema, {question.columns[0]: question.value})
    at: Any = question.at
    inside = isinstance(at, int | float) and 0 < at < 1
    _require(inside, f"the level of a quantile must be between 0 and 1; got {at!r}")
    if question.by is not None:
        found = list_groups(question, schema)
        two = question.statistic != "difference" or len(found) == 2
        _require(two, f"a difference needs two groups, and '{question.by}' has {len(found)}: state which two")
    else:
        _require(question.statistic != "difference", f"a difference needs two groups: {SYNTAX}")
    return question


def list_groups(question: Enquiry, schema: Schema) -> tuple[Any, ...]:
    """Return the values that rows are grouped by, as the schema lists them."""
    if question.by is None:
        return ()
    column = schema[question.by]
    if question.between is not None:
        _require(len(question.between) == 2, "a difference needs two groups, the first minus the second")
        read_conditions(schema, {question.by: list(question.between)})
        return tuple(question.between)
    if isinstance(column, Labels):
        return tuple(column.values)
    kinds = f"groups must be values of a category, an ordinal or a boolean; '{question.by}' is {column.kind}"
    _require(isinstance(column, Boolean), f"{kinds}. Use a condition on one range at a time instead")
    return (True, False)


def is_number(column: Column) -> bool:
    """Return whether a column can be averaged: numbers, true or false as 1 or 0, and labels that are whole numbers."""
    whole = isinstance(column, Labels) and not any(isinstance(value, str) for value in column.values)
    return isinstance(column, Integer | Real | Boolean) or whole


def _check_columns(question: Enquiry, schema: Schema) -> None:
    stat, columns = question.statistic, question.columns
    count = {"correlation": 2, "linear": None, "logistic": None}.get(stat, 1)
    _require(len(set(columns)) == len(columns), f"{stat} names a column twice")
    if count is None:
        _require(len(columns) >= 2, f"a regression takes an outcome and one or more other columns: {SYNTAX}")
    else:
        _require(len(columns) == count, f"{stat} takes {count} column{'s' * (count > 1)}: {SYNTAX}")
    if stat == "logistic":
        two = isinstance(schema[columns[0]], Boolean) or schema[columns[0]].value_cells == 2
        _require(two, f"the outcome of a logistic regression must have two values; '{columns[0]}' has not")
    elif not question.is_share:
        needed = columns if stat == "correlation" else columns[:1]
        for name in needed:
            instead = f"name the value, such as share({name}=...)"
            _require(is_number(schema[name]), f"{stat} needs numbers, and '{name}' is {schema[name].kind}; {instead}")
    for name in columns[1:]:
        column = schema[name]
        _require(
            is_number(column) or isinstance(column, Labels), f"'{name}' is {column.kind}: neither number nor label"
        )


def parse_question(text: str, schema: Schema) -> Enquiry:
    """Parse a question: STATISTIC(...) [by COLUMN] [where CONDITION and CONDITION ...]. No code is evaluated.

    Conditions are written as for a sample: sex=F, age=30..40, city=Rome,Paris.
    """
    found = re.fullmatch(r"\s*([A-Za-z]+)\s*\((.*)\)\s*(.*?)\s*", text, re.DOTALL)
    _require(found, f"cannot parse the question {text!r}; {SYNTAX}")
    assert found is not None
    statistic, inside, rest = found[1].lower(), found[2].strip(), found[3]
    tail = re.fullmatch(r"(?:by\s+(.+?))??\s*(?:where\s+(.+))?", rest, re.DOTALL)
    _require(tail, f"cannot parse {rest!r} after the statistic; {SYNTAX}")
    assert tail is not None
    given = parse_given(schema, re.split(r"\s+and\s+", tail[2].strip()) if tail[2] else ())
    parts = _parse_arguments(statistic, inside, schema)
    by = _strip_quotes(tail[1]) if tail[1] else None
    return validate_question(Enquiry(by=by, given=given, **parts), schema)


def _parse_arguments(statistic: str, inside: str, schema: Schema) -> dict[str, Any]:
    if statistic in REGRESSIONS:
        outcome, _, terms = inside.partition("~")
        named = [_strip_quotes(term) for term in terms.split("+")] if terms.strip() else []
        return {"statistic": statistic, "columns": (_strip_quotes(outcome), *named)}
    if statistic == "share" or (statistic == "difference" and "=" in inside):
        whole = _strip_quotes(inside)
        if whole in schema.modelled and isinstance(schema[whole], Boolean):
            return {"statistic": statistic, "columns": (whole,), "value": True}
        ((name, value),) = parse_given(schema, [re.sub(r"\s*=\s*", "=", inside, count=1)]).items()
        return {"statistic": statistic, "columns": (name,), "value": value}
    words = [_strip_quotes(word) for word in inside.split(",")]
    if statistic == "median":
        return {"statistic": "quantile", "columns": tuple(words)}
    if statistic == "quantile" and len(words) == 2:
        try:
            return {"statistic": statistic, "columns": (words[0],), "at": float(words[1])}
        except ValueError:
            raise UsageError(f"the level of a quantile must be between 0 and 1; got {words[1]!r}.") from None
    return {"statistic": statistic, "columns": tuple(words)}


def _strip_quotes(word: str) -> str:
    word = word.strip()
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'`" else word


def _require(truth: object, problem: str) -> None:
    if not truth:
        raise UsageError(f"{problem}.")
