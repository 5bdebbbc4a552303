"""Conditions written as text, as on the command line: sex=F, age=30..40, city=Rome,Paris, smoker=null."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklar.errors import UsageError
from sklar.schema.columns import Boolean, Column, Labels, Ordinal
from sklar.schema.numbers import Datetime, Integer
from sklar.schema.table import Schema

NULL = "null"
TRUE_FALSE = {"true": True, "false": False}


def parse_given(schema: Schema, texts: Iterable[str]) -> dict[str, Any]:
    """What `read_conditions` takes, from texts of the form column=value.

    A value is a label, number, date, true, false or null; low..high is a closed range (either end may be left out);
    commas separate alternatives. A label that holds a comma or dots is found whole first.
    """
    given: dict[str, Any] = {}
    for text in texts:
        name, equals, value = _split(schema, text)
        if not equals:
            raise UsageError(f"given: write a condition as column=value; found {text!r}.")
        if name not in schema.modelled:
            raise UsageError(f"given: '{name}' is not a modelled column of the schema.")
        if name in given:
            raise UsageError(f"given: '{name}' is named twice; separate alternatives by commas, as {name}=a,b.")
        given[name] = _value(name, schema[name], value)
    return given


def _split(schema: Schema, text: str) -> tuple[str, str, str]:
    """A column name may hold an equals sign itself; the longest name that fits wins."""
    fitting = [name for name in schema.modelled if text.startswith(f"{name}=")]
    if not fitting:
        return text.partition("=")
    name = max(fitting, key=len)
    return name, "=", text[len(name) + 1 :]


def _value(name: str, column: Column, text: str) -> Any:
    if isinstance(column, Labels) and text in _texts(column):
        return _texts(column)[text]
    low, dots, high = text.partition("..")
    if dots and (column.numeric or isinstance(column, Ordinal)):
        return tuple(
            _single(name, column, end) if end else _open_end(name, column, i) for i, end in enumerate((low, high))
        )
    parts = [_single(name, column, part) for part in text.split(",")]
    return parts[0] if len(parts) == 1 else parts


def _open_end(name: str, column: Column, end: int) -> Any:
    if isinstance(column, Labels):
        return column.values[-end]
    return None


def _single(name: str, column: Column, text: str) -> Any:
    if isinstance(column, Labels):
        return _texts(column).get(text, None if text == NULL else text)
    if text == NULL:
        return None
    if isinstance(column, Boolean):
        if text.lower() not in TRUE_FALSE:
            raise UsageError(f"given: '{name}' is true, false or null; found {text!r}.")
        return TRUE_FALSE[text.lower()]
    return text if isinstance(column, Datetime) else _number(name, column, text)


def _number(name: str, column: Column, text: str) -> int | float:
    for read in (int, float) if isinstance(column, Integer) else (float,):
        try:
            return read(text)
        except ValueError:
            continue
    raise UsageError(f"given: '{name}' is a number; found {text!r}.")


def _texts(column: Labels) -> dict[str, str | int]:
    return {str(label): label for label in (*column.values, column.other) if label is not None}
