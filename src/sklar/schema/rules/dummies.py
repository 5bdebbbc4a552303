"""Dummy columns of one category: exactly one of them is set, or at most one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.numbers import Integer


@dataclass(frozen=True, slots=True, kw_only=True)
class OneHot:
    """In every row exactly one of the columns is set (true, or 1), or with `at_most_one` none may be; nulls together.

    The columns are measured as one category: which of them is set.
    """

    columns: Sequence[str]
    at_most_one: bool = False
    source: str = "assumed"

    kind: ClassVar[str] = "one-hot"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))

    def describe(self) -> str:
        """Return the rule in words."""
        return f"{'at most' if self.at_most_one else 'exactly'} one of {', '.join(self.columns)} is set"

    def faults(self, columns: Mapping[str, Column]) -> list[str]:
        """List all faults of it, given that its columns are modelled."""
        if len(self.columns) < 2 or len(set(self.columns)) < len(self.columns):
            return ["it needs two or more different columns"]
        if type(self.at_most_one) is not bool:
            return ["at_most_one must be true or false"]
        faults = [
            f"'{name}' must be a boolean, or have the values 0 and 1"
            for name in self.columns
            if not isinstance(columns[name], Boolean) and _zero_one(columns[name]) is None
        ]
        if len({columns[name].null_code is None for name in self.columns}) > 1:
            faults.append("either all of its columns may be null, or none")
        return faults


def _zero_one(column: Column) -> tuple[int, int] | None:
    """Return the codes of 0 and of 1."""
    if isinstance(column, Integer) and (column.lower, column.upper) == (0, 1) and column.grid.cells == 2:
        return 0, 1
    if isinstance(column, Labels) and {str(value) for value in column.values} == {"0", "1"}:
        texts = [str(value) for value in column.values]
        return texts.index("0"), texts.index("1")
    return None


def switch_codes(column: Column) -> tuple[int, int]:
    """Return the base codes of a dummy column that is not set, and that is."""
    return (0, 1) if isinstance(column, Boolean) else _zero_one(column) or (0, 1)
