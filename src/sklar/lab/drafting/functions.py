"""Find columns that are a function of another one in all sampled rows, as tables that a person can review.

A function of ordered values with one stretch of them for each result, as a quarter of a month or a group of ages, is
completed between and beyond the values seen. A function of more values than a table may list is stated in a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Ints, Mask
from sklar.lab.drafting.labels import MAX_LABELS
from sklar.lab.tables.table import ExactTable
from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.grid import from_ticks
from sklar.schema.numbers import Datetime, Integer
from sklar.schema.rules import Function, Label
from sklar.schema.rules.values import key_text

FROM_ROWS = "from-rows"
MIN_RULE_ROWS = 50
"""Minimum number of rows with values: fewer are no evidence of a rule."""
MAX_COLUMNS = 40
"""Maximum number of columns whose pairs are compared; ratios and multiples are compared among a third of them."""
MAX_FUNCTION_RESULTS = 12
"""Maximum number of different numbers that a function yields: with more it is a measurement that depends on another."""
MIN_ROWS_PER_VALUE = 5
"""Mean number of rows of a value: with fewer, each column is a function of one that numbers the rows."""
FUNCTION_SIGNIFICANCE = 1e-9
"""A function is reported if rows with results at random would agree with smaller probability."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundFunction:
    """A function by its arguments, ascending, and the code of its result at each of them."""

    arguments: Ints
    results: Ints


def find_label_functions(table: ExactTable, rng: np.random.Generator) -> Iterator[Function]:
    """Find labels and booleans that are a function of another column, the first one that fits."""
    yield from _find_function_tables(table, _label_results(table))


def find_number_functions(table: ExactTable, rng: np.random.Generator) -> Iterator[Function]:
    """Find few whole numbers that are a function of another column, as a quarter is of a month."""
    yield from _find_function_tables(table, _list_number_results(table))


def find_long_functions(table: ExactTable) -> dict[str, list[str]]:
    """Return notes about columns that are functions of too many values to list, by column."""
    notes: dict[str, list[str]] = {}
    for column in (*_label_results(table), *_list_number_results(table)):
        found = {of: function for of in _list_arguments(table) if (function := _find_function(table, column, of))}
        if found and all(len(function.arguments) > MAX_LABELS for function in found.values()):
            of = min(found, key=lambda name: len(found[name].arguments))
            notes[column] = [
                f"In all rows seen it follows from {of}, which has {len(found[of].arguments):,} values there: too many "
                "to list as a rule. If that must be so, leave one of the two out and compute it afterwards."
            ]
    return notes


def _label_results(table: ExactTable) -> list[str]:
    return [name for name in table.names if isinstance(table.schema[name], Labels | Boolean)][:MAX_COLUMNS]


def _list_number_results(table: ExactTable) -> list[str]:
    numbers = [name for name in table.names if isinstance(table.schema[name], Integer)][:MAX_COLUMNS]
    known = {name: table.numbers[name][~np.isnan(table.numbers[name])] for name in numbers}
    return [name for name in numbers if 2 < len(np.unique(known[name])) <= MAX_FUNCTION_RESULTS]


def _list_arguments(table: ExactTable) -> list[str]:
    kinds = Labels | Boolean | Integer | Datetime
    return [name for name in table.names if isinstance(table.schema[name], kinds)][:MAX_COLUMNS]


def _find_function_tables(table: ExactTable, columns: list[str]) -> Iterator[Function]:
    for column in columns:
        for of in _list_arguments(table):
            found = _find_function(table, column, of)
            if found is None or len(found.arguments) > MAX_LABELS:
                continue
            found = _complete(found, table.schema[of])
            pairs = zip(found.arguments.tolist(), found.results.tolist(), strict=True)
            result = {_key(table.schema[of], a): _decode_result(table.schema[column], b) for a, b in pairs}
            yield Function(column=column, of=of, table=result, source=FROM_ROWS)
            break


def _find_function(table: ExactTable, column: str, of: str) -> FoundFunction | None:
    """Return the function of one column that another one is in all rows; None if it is no function, or is trivial."""
    if column == of:
        return None
    (a, seen), (b, known) = _values(table, of), _values(table, column)
    a, b = a[seen & known], b[seen & known]
    if len(a) < MIN_RULE_ROWS or (b == b[0]).all():
        return None
    arguments, place, counts = np.unique(a, return_inverse=True, return_counts=True)
    if not 1 < len(arguments) <= len(a) // MIN_ROWS_PER_VALUE:
        return None
    results = np.empty(len(arguments), np.int64)
    results[place] = b
    if not (results[place] == b).all():
        return None
    shares = np.unique(b, return_counts=True)[1] / len(b)
    agreeing = (counts - 1).sum() * np.log((shares**2).sum())
    return FoundFunction(arguments=arguments, results=results) if agreeing < np.log(FUNCTION_SIGNIFICANCE) else None


def _values(table: ExactTable, name: str) -> tuple[Ints, Mask]:
    """Return the values of a column (codes of labels, numbers, ticks), and where there are any."""
    if name in table.numbers:
        known = ~np.isnan(table.numbers[name])
        return np.where(known, table.numbers[name], 0).astype(np.int64), known
    return table.codes[name].astype(np.int64), table.codes[name] < table.schema[name].value_cells


def _complete(found: FoundFunction, column: Column) -> FoundFunction:
    """Add the whole numbers of the range that were not seen, if each result has one stretch of them, and few values."""
    stretches = 1 + np.count_nonzero(np.diff(found.results))
    if not isinstance(column, Integer) or stretches > len(np.unique(found.results)):
        return found
    if column.upper - column.lower >= MAX_LABELS or stretches > len(found.arguments) / 2:
        return found
    whole = np.arange(column.lower, column.upper + 1)
    nearest = np.abs(whole[:, None] - found.arguments[None, :]).argmin(axis=1)
    return FoundFunction(arguments=whole, results=found.results[nearest])


def _key(column: Column, value: int) -> str:
    """Return an argument as a rule writes it."""
    if isinstance(column, Datetime):
        text = from_ticks(value, column.resolution).isoformat()
        return text.removesuffix("T00:00:00") if column.resolution == "day" else text
    return key_text(value if isinstance(column, Integer) else value_of_code(column, value))


def _decode_result(column: Column, value: int) -> Label:
    return value if isinstance(column, Integer) else value_of_code(column, value)


def value_of_code(column: Column, code: int) -> Label:
    """Return the label or truth value that a code stands for."""
    if isinstance(column, Boolean):
        return bool(code)
    return column.values[code] if isinstance(column, Labels) else code
