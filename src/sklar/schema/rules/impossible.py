"""Structural zeros: combinations of codes that rules exclude, known before any row is counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints, Mask
from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.numbers import Integer
from sklar.schema.rules.dummies import OneHot, switch_codes
from sklar.schema.rules.expression import Expression, RowValues, evaluate_expression
from sklar.schema.rules.function import Function
from sklar.schema.rules.never import Never
from sklar.schema.rules.nulls import Together
from sklar.schema.rules.parsing import parse_expression
from sklar.schema.rules.values import Label, key_text

MAX_EXPRESSION_CELLS = 1 << 17
"""Maximum combinations of codes for which an expression is evaluated; else samples redraw rows that break it."""
MAX_SEARCH_STEPS, MAX_SEARCH_COLUMNS = 50_000, 200
"""Limits of the search for a row that obeys all rules; beyond them one is assumed to exist."""
MAX_PAIRED_COLUMNS = 40
"""Maximum columns that are null together and compared in all pairs; with more, each is compared with the first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Impossible:
    """A structural zero: a table over classes of the codes of some columns that marks find_structural_zeros
    combinations.

    Attributes:
        columns: Their names, each once.
        classes: For each of them, the class of every base code.
        empty: Which combinations of classes, one axis a column, no row has.
    """

    columns: tuple[str, ...]
    classes: tuple[Ints, ...]
    empty: npt.NDArray[np.bool_]


def find_structural_zeros(columns: Mapping[str, Column], rules: Iterable[Any]) -> list[Impossible]:
    """Return the structural zeros of some rules that base codes can express; other rules have none."""
    return [found for rule in rules if type(rule) in _ZEROS for found in _ZEROS[type(rule)](columns, rule)]


def _find_never(columns: Mapping[str, Column], rule: Never) -> Iterator[Impossible]:
    codes = [code_of(columns[name], value) for name, value in rule.pairs]
    known = [code for code in codes if code is not None]
    if len(known) == len(codes):
        chosen = tuple(np.arange(columns[n].size) == code for n, code in zip(rule.columns, known, strict=True))
        yield _box(rule.columns, chosen)


def _find_together(columns: Mapping[str, Column], rule: Together) -> Iterator[Impossible]:
    nulls = {name: np.arange(columns[name].size) == columns[name].null_code for name in rule.columns}
    firsts = rule.columns if len(rule.columns) <= MAX_PAIRED_COLUMNS else rule.columns[:1]
    for first, second in ((a, b) for a, b in combinations(rule.columns, 2) if a in firsts):
        yield replace(_box((first, second), (nulls[first], nulls[second])), empty=~np.eye(2, dtype=bool))
    for other, values in rule.wanted:
        codes = [code for code in (code_of(columns[other], value) for value in values) if code is not None]
        if len(codes) == len(values):
            wanted = np.isin(np.arange(columns[other].size), codes)
            for name in rule.columns:
                yield _box((name, other), (~nulls[name], ~wanted))


def _function(columns: Mapping[str, Column], rule: Function) -> Iterator[Impossible]:
    """Yield each listed argument with every other value; arguments that are not listed are left open."""
    of, column = columns[rule.of], columns[rule.column]
    arguments, table = _single_values(of), dict(rule.pairs)
    images = {value: code_of(column, value) for value in table.values()}
    if arguments is None or None in images.values():
        return
    empty = np.zeros((of.size, column.size), bool)
    for code, argument in enumerate(arguments):
        if key_text(argument) in table:
            empty[code] = np.arange(column.size) != images[table[key_text(argument)]]
            if column.null_code is not None:
                empty[code, column.null_code] = False
    yield _make_shrunk((rule.of, rule.column), empty)


def _one_hot(columns: Mapping[str, Column], rule: OneHot) -> Iterator[Impossible]:
    """Yield that no two are set; and that none is, where one must be and none may be null."""
    on = {name: np.arange(columns[name].size) == switch_codes(columns[name])[1] for name in rule.columns}
    for pair in combinations(rule.columns, 2):
        yield _box(pair, (on[pair[0]], on[pair[1]]))
    if not rule.at_most_one and all(columns[name].null_code is None for name in rule.columns):
        yield _box(tuple(rule.columns), tuple(~on[name] for name in rule.columns))


def _expression(columns: Mapping[str, Column], rule: Expression) -> Iterator[Impossible]:
    """Yield the combinations of codes that break an expression, where each code is one value."""
    names = rule.columns
    values = [_single_values(columns[name]) for name in names]
    known = [one for one in values if one is not None]
    sizes = [columns[name].size for name in names]
    if len(known) < len(values) or math.prod(sizes) > MAX_EXPRESSION_CELLS:
        return
    codes = dict(zip(names, np.indices(sizes).reshape(len(sizes), -1), strict=True))
    points = {n: np.array([*one, *one[:1]]) if columns[n].null_code is not None else np.array(one)
              for n, one in zip(names, known, strict=True)}  # fmt: skip

    def row_values(name: str) -> RowValues:
        return RowValues(points[name][codes[name]], codes[name] == columns[name].null_code)

    tree = parse_expression(rule.text)
    found = evaluate_expression(tree, columns, row_values, math.prod(sizes))
    empty = ~(found.data.astype(bool) | found.unknown).reshape(sizes)
    if empty.any():
        yield _make_shrunk(names, empty)


_ZEROS: dict[type, Callable[[Mapping[str, Column], Any], Iterator[Impossible]]] = {
    Never: _find_never,
    Together: _find_together,
    Function: _function,
    OneHot: _one_hot,
    Expression: _expression,
}
"""Kinds of rules that exclude combinations of codes."""


def code_of(column: Column, value: Label) -> int | None:
    """Return the base code that stands for this value alone; None if its cell contains others."""
    if isinstance(column, Labels):
        return [*column.values, column.other].index(value)
    if isinstance(column, Boolean):
        return int(value)
    if not isinstance(column, Integer):
        return None
    place = int(column.grid.code(np.array([value]))[0])
    return place if int(column.grid.starts[place]) == value and _is_single(column)[place] else None


def _single_values(column: Column) -> list[Any] | None:
    """Return the value of every code but null, where each code is one; else None."""
    if isinstance(column, Labels):
        return [*column.values, column.other]
    if isinstance(column, Boolean):
        return [False, True]
    return column.grid.starts.tolist() if isinstance(column, Integer) and _is_single(column).all() else None


def _is_single(column: Integer) -> Mask:
    """Return which cells contain one value only."""
    return np.diff(np.append(column.grid.starts, column.grid.stop)) == column.grid.step


def _box(columns: tuple[str, ...], inside: tuple[Mask, ...]) -> Impossible:
    """Return the zero of rows that are in all of these sets of codes at once."""
    empty = np.zeros((2,) * len(columns), bool)
    empty[(1,) * len(columns)] = True
    return Impossible(columns=columns, classes=tuple(mask.astype(np.int64) for mask in inside), empty=empty)


def _make_shrunk(columns: tuple[str, ...], empty: npt.NDArray[np.bool_]) -> Impossible:
    empty, classes = shrink_table(empty)
    return Impossible(columns=columns, classes=classes, empty=empty)


def shrink_table(empty: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.bool_], tuple[Ints, ...]]:
    """Return a table of zeros with equal slices of each axis made one, and the class of every slice."""
    classes: list[Ints] = []
    for axis in range(empty.ndim):
        flat = np.moveaxis(empty, axis, 0).reshape(empty.shape[axis], -1)
        _, first, inverse = np.unique(flat, axis=0, return_index=True, return_inverse=True)
        classes.append(inverse.reshape(-1).astype(np.int64))
        empty = np.take(empty, first, axis=axis)
    return empty, tuple(classes)


def is_unsatisfiable(zeros: Sequence[Impossible]) -> bool:
    """Return whether every combination of codes is find_structural_zeros: no row can obey."""
    return any(_is_all_empty(part) for part in _find_components(zeros))


def _find_components(zeros: Sequence[Impossible]) -> list[list[Impossible]]:
    """Group tables that share columns, directly or through others."""
    parts: list[tuple[set[str], list[Impossible]]] = []
    for table in zeros:
        joined = [part for part in parts if part[0] & set(table.columns)]
        parts = [part for part in parts if part not in joined]
        names = set(table.columns).union(*(part[0] for part in joined))
        parts.append((names, [*(one for part in joined for one in part[1]), table]))
    return [tables for _, tables in parts]


def _is_all_empty(zeros: Sequence[Impossible]) -> bool:
    """Search, column by column, for classes that no table excludes; codes with the same classes are one choice."""
    names = list(dict.fromkeys(name for table in zeros for name in table.columns))
    if len(names) > MAX_SEARCH_COLUMNS:
        return False
    axes = {(k, name): one for k, t in enumerate(zeros) for name, one in zip(t.columns, t.classes, strict=True)}
    choices: dict[str, list[dict[int, int]]] = {}
    for name in names:
        involved = [k for k, table in enumerate(zeros) if name in table.columns]
        kinds = find_distinct_columns(np.stack([axes[k, name] for k in involved]))
        choices[name] = [dict(zip(involved, kind.tolist(), strict=True)) for kind in kinds.T]
    last = {k: max(names.index(name) for name in table.columns) for k, table in enumerate(zeros)}
    picked: list[dict[int, int]] = []
    steps = 0

    def fits(at: int) -> bool:
        ended = (k for k, place in last.items() if place == at)
        return not any(zeros[k].empty[tuple(picked[names.index(name)][k] for name in zeros[k].columns)] for k in ended)

    def search(at: int) -> bool:
        nonlocal steps
        if at == len(names):
            return True
        for choice in choices[names[at]]:
            steps += 1
            picked.append(choice)
            if steps > MAX_SEARCH_STEPS or (fits(at) and search(at + 1)):
                return True
            picked.pop()
        return False

    return not search(0)


def find_distinct_columns(classes: Ints) -> Ints:
    """Return the distinct columns of a matrix of classes, in order; numbering them is faster than sorting columns."""
    keys = np.zeros(classes.shape[1], np.int64)
    for row in classes:
        keys = np.unique(keys * (int(row.max()) + 1) + row, return_inverse=True)[1]
    return classes[:, np.unique(keys, return_index=True)[1]]
