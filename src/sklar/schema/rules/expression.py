"""A condition on the columns of one row, as a small language; never executed as code.

Logic has three values (Kleene): what compares a null, or divides by zero, is unknown, and a row obeys unless the
expression is known to be false.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from sklar.arrays import Mask
from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.grid import EPOCH, RESOLUTIONS, parse_time
from sklar.schema.numbers import Datetime, Integer, Ranged
from sklar.schema.rules.parsing import (
    COMPARISONS,
    ColumnValue,
    Constant,
    ExpressionError,
    Node,
    constants_in,
    names_in,
    parse_expression,
)
from sklar.schema.rules.values import Label, key_text

Kind = Literal["number", "text", "truth", "moment"]
"""Types of the parts of an expression; moments (datetimes) are in days."""
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_COMPUTE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": np.divide,
}  # fmt: skip
_DIFFERS = r"`([^`]+)` != ('[^']*'|[^'\s]+)"
_FILLED_WHERE = re.compile(rf"`([^`]+)` is not null or {_DIFFERS}(?: and `\2` != (?:'[^']*'|[^'\s]+))*")
_SINGLE_COLUMN_POINTS = 100_000
"""Maximum values of one column on which an expression is tried before it is called impossible."""


@dataclass(frozen=True, slots=True, eq=False)
class RowValues:
    """A part of an expression in every row: its values, and where they are unknown."""

    data: npt.NDArray[Any]
    unknown: Mask


@dataclass(frozen=True, slots=True)
class Expression:
    """A condition that holds in every row, as `age >= 18 or married == false`.

    Comparisons, + - * /, and, or, not, `x is null`; names of columns (odd ones in backquotes), numbers, and texts or
    dates in quotes. Labels of an ordinal are ordered as listed; the difference of two dates is in days.
    """

    text: str
    source: str = "assumed"

    kind: ClassVar[str] = "expression"

    @property
    def columns(self) -> tuple[str, ...]:
        try:
            return tuple(dict.fromkeys(names_in(parse_expression(self.text))))
        except (ExpressionError, TypeError, AttributeError):
            return ()  # `faults` says what is wrong with it

    @property
    def filled_where(self) -> tuple[str, str, tuple[Label, ...]] | None:
        """A column, another one, and its values at which the first is filled; None for other conditions."""
        found = _FILLED_WHERE.fullmatch(self.text) if isinstance(self.text, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
        if found is None:
            return None
        try:
            return found[1], found[2], tuple(_parse_value(value) for _, value in re.findall(_DIFFERS, found[0]))
        except ValueError:
            return None

    def describe(self) -> str:
        """Return the rule in words, or as it is written."""
        if (found := self.filled_where) is None:
            return self.text
        column, other, values = found
        return f"{column} is filled in every row where {other} is {' or '.join(map(key_text, values))}"

    def faults(self, columns: Mapping[str, Column]) -> list[str]:
        """List all faults of it, given that its columns are modelled."""
        if not isinstance(self.text, str):
            return ["it must be a text"]
        try:
            tree = parse_expression(self.text)
            if _check_type(tree, columns) != "truth":
                return ["it is not a condition: compare values, such as age >= 18"]
        except ExpressionError as error:
            return [str(error)]
        if not self.columns:
            return ["it names no column"]
        never = len(self.columns) == 1 and not _can_hold(tree, self.columns[0], columns[self.columns[0]])
        return [f"it is true for no value that '{self.columns[0]}' can have"] if never else []


def evaluate_expression(
    tree: Node, columns: Mapping[str, Column], values: Callable[[str], RowValues], rows: int
) -> RowValues:
    """Evaluate a tree in every row; `values` returns numbers, days of datetimes, truth values, or texts of labels."""
    if isinstance(tree, ColumnValue):
        return values(tree.name)
    if isinstance(tree, Constant):
        return RowValues(np.full(rows, tree.value), np.zeros(rows, bool))
    sign, parts = tree.sign, tree.parts
    if sign in COMPARISONS:
        return _compare_parts(sign, parts, columns, values, rows)
    known = [evaluate_expression(part, columns, values, rows) for part in parts]
    if sign == "is null":
        return RowValues(known[0].unknown, np.zeros(rows, bool))
    if sign == "not":
        return RowValues(~known[0].data.astype(bool), known[0].unknown)
    if sign in ("and", "or"):
        return _combine_truths(sign, known[0], known[1])
    if len(known) == 1:
        return RowValues(-known[0].data, known[0].unknown)
    unknown = known[0].unknown | known[1].unknown
    if sign == "/":
        unknown = unknown | (known[1].data == 0)
    with np.errstate(all="ignore"):
        return RowValues(np.nan_to_num(_COMPUTE[sign](known[0].data, known[1].data)), unknown)


def _combine_truths(sign: str, one: RowValues, two: RowValues) -> RowValues:
    """Evaluate `and` or `or` in three-valued logic: false and unknown is false, true or unknown is true."""
    decisive = sign == "or"
    decided = (~one.unknown & (one.data == decisive)) | (~two.unknown & (two.data == decisive))
    return RowValues(np.where(decided, decisive, not decisive), ~decided & (one.unknown | two.unknown))


def _compare_parts(
    sign: str, parts: tuple[Node, ...], columns: Mapping[str, Column], values: Callable[[str], RowValues], rows: int
) -> RowValues:
    sides = [_for_comparison(part, other, columns) for part, other in ((parts[0], parts[1]), (parts[1], parts[0]))]
    known = [evaluate_expression(side, columns, values, rows) for side in sides]
    order = next(
        (labels for labels in (_find_label_order(part, columns) for part in parts) if labels is not None), None
    )
    if order is not None and sign not in ("==", "!="):
        known = [_rank_labels(one, order) for one in known]
    return RowValues(_COMPARE[sign](known[0].data, known[1].data), known[0].unknown | known[1].unknown)


def _rank_labels(known: RowValues, order: tuple[str, ...]) -> RowValues:
    """Return the places of ordinal labels in their list; unlisted labels are unknown."""
    places = {label: i for i, label in enumerate(order)}
    found = np.array([places.get(str(x), -1) for x in known.data.tolist()])
    return RowValues(found, known.unknown | (found < 0))


def _for_comparison(part: Node, other: Node, columns: Mapping[str, Column]) -> Node:
    """Replace a text that is compared with a datetime by its days."""
    if isinstance(part, Constant) and isinstance(part.value, str) and _check_type(other, columns) == "moment":
        return Constant(_parse_days(part.value))
    return part


def _parse_days(text: str) -> float:
    try:
        return (parse_time(text) - EPOCH) / timedelta(days=1)
    except ValueError:
        raise ExpressionError(f"'{text}' is not a date or time such as 2024-12-31") from None


def _find_label_order(part: Node, columns: Mapping[str, Column]) -> tuple[str, ...] | None:
    """Return the labels of an ordinal column from low to high."""
    column = columns[part.name] if isinstance(part, ColumnValue) else None
    return tuple(str(v) for v in column.values) if isinstance(column, Labels) and column.ordered else None


def column_kind(column: Column) -> Kind:
    """Return the type of the values of a column in an expression."""
    if isinstance(column, Datetime):
        return "moment"
    if isinstance(column, Boolean):
        return "truth"
    return "number" if isinstance(column, Ranged) or getattr(column, "integer_labels", False) else "text"


def _check_type(node: Node, columns: Mapping[str, Column]) -> Kind:
    """Return the type of a part; ExpressionError if the types of its own parts do not agree."""
    if isinstance(node, ColumnValue):
        return column_kind(columns[node.name])
    if isinstance(node, Constant):
        return "truth" if isinstance(node.value, bool) else "text" if isinstance(node.value, str) else "number"
    kinds: list[Kind] = [_check_type(part, columns) for part in node.parts]
    if node.sign == "is null":
        if not isinstance(node.parts[0], ColumnValue):
            raise ExpressionError("'is null' needs a column")
        return "truth"
    if node.sign in ("and", "or", "not"):
        if any(kind != "truth" for kind in kinds):
            raise ExpressionError(f"'{node.sign}' joins conditions, not a {next(k for k in kinds if k != 'truth')}")
        return "truth"
    if node.sign in COMPARISONS:
        _require_comparable(node.sign, node.parts, kinds, columns)
        return "truth"
    if node.sign == "-" and kinds == ["moment", "moment"]:
        return "number"
    if any(kind != "number" for kind in kinds):
        raise ExpressionError(f"'{node.sign}' needs numbers, not a {next(k for k in kinds if k != 'number')}")
    return "number"


def _require_comparable(sign: str, parts: tuple[Node, ...], kinds: list[Kind], columns: Mapping[str, Column]) -> None:
    if set(kinds) == {"moment", "text"}:
        text = parts[kinds.index("text")]
        if not isinstance(text, Constant):
            raise ExpressionError("a date or time cannot be compared with labels")
        _parse_days(str(text.value))
        return
    if kinds[0] != kinds[1]:
        raise ExpressionError(f"a {kinds[0]} cannot be compared with a {kinds[1]}")
    if kinds[0] != "text":
        return
    for part, other in (parts, parts[::-1]):
        if not isinstance(part, ColumnValue) or not isinstance(other, Constant):
            continue
        column = columns[part.name]
        if isinstance(column, Labels) and other.value not in (*column.values, column.other):
            raise ExpressionError(f"'{other.value}' is not a value of '{part.name}'")
    ordered = {_find_label_order(part, columns) for part in parts if isinstance(part, ColumnValue)}
    if sign not in ("==", "!=") and (len(ordered) != 1 or None in ordered):
        raise ExpressionError(f"'{sign}' needs an order, which labels of a category do not have")


def _can_hold(tree: Node, name: str, column: Column) -> bool:
    """Return whether some value of the one column makes it true or unknown."""
    points = _list_trial_values(tree, column)
    nulls = np.zeros(len(points), bool)
    if getattr(column, "nullable", False):
        points, nulls = np.append(points, points[:1]), np.append(nulls, True)
    found = evaluate_expression(tree, {name: column}, lambda _: RowValues(points, nulls), len(points))
    return bool((found.data.astype(bool) | found.unknown).any())


def _list_trial_values(tree: Node, column: Column) -> npt.NDArray[Any]:
    """Return values of a column to try: all labels, or cells of the grid, its bounds, and what the expression names."""
    if isinstance(column, Labels):
        return np.array([*column.values, column.other])
    if not isinstance(column, Ranged):
        return np.array([False, True])
    grid = column.grid
    starts = grid.starts[:: -(-grid.cells // _SINGLE_COLUMN_POINTS)].astype(np.float64)
    if isinstance(column, Datetime):
        day = RESOLUTIONS[column.resolution] / RESOLUTIONS["day"]
        named = [x for text in constants_in(tree) if isinstance(text, str) for x in (_parse_days(text),)]
        near = [x + d for x in named for d in (-day, 0.0, day)]
        low, high = column.tick(column.lower) * day, column.tick(column.upper) * day
        return np.concatenate([starts * day, [y for y in near if low <= y <= high], [high]])
    named = [float(x) for x in constants_in(tree) if not isinstance(x, str)]
    named += [a / b for a in named for b in named if b] + [a - b for a in named for b in named]
    low, high = float(column.lower), float(column.upper)  # type: ignore[attr-defined]
    step = float(column.step or 1) if isinstance(column, Integer) else 1e-6 * (high - low)
    near = [x + d for x in [*named, *(-x for x in named)] for d in (-step, 0.0, step)]
    if isinstance(column, Integer):
        near = [step * round(x / step) for x in near]
    return np.concatenate([np.maximum(starts, low), [y for y in near if low <= y <= high], [high]])


def _parse_value(written: str) -> Label:
    """Return a quoted text, a truth value or a whole number."""
    if written.startswith("'"):
        return written[1:-1]
    return {"true": True, "false": False}[written] if written in ("true", "false") else int(written)
