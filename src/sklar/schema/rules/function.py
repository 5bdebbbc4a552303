"""A column that is a public function of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sklar.schema.columns import Column
from sklar.schema.rules.values import Label, Pairs, is_key, is_value, key_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """The value of `column` is a public function of the value of `of`, as a region of its town.

    A table that lists every value of `of` (`other` and null aside) gives the column altogether: it is not measured
    then. Where `of` is null, or `other` without an entry, it is what a missing cell would be: null if it may be, else
    `other` or its `missing_value`. If some value is not listed, or the column may be null where `of` may not, it is
    measured like any other column and overwritten where the table determines it.
    """

    column: str
    of: str
    table: Mapping[str, Label] | Pairs
    source: str = "assumed"

    kind: ClassVar[str] = "function"

    def __post_init__(self) -> None:
        pairs = self.table.items() if isinstance(self.table, Mapping) else self.table
        object.__setattr__(self, "table", tuple({key_text(key): value for key, value in pairs}.items()))

    @property
    def pairs(self) -> Pairs:
        """The function as pairs of a value of `of` (as text) and the value of `column`."""
        return tuple(self.table)  # type: ignore[arg-type]

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, self.of)

    @property
    def gives(self) -> str:
        """The column that the rule computes."""
        return self.column

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns from which the rule computes it."""
        return (self.of,)

    def describe(self) -> str:
        """Return the rule in words."""
        return f"{self.column} is a function of {self.of}"

    def faults(self, columns: Mapping[str, Column]) -> list[str]:
        """List all faults of it, given that its columns are modelled."""
        faults = [] if self.pairs else ["its table is empty"]
        faults += [f"'{k}' is not a value of '{self.of}'" for k, _ in self.pairs if not is_key(columns[self.of], k)]
        column = columns[self.column]
        return faults + [f"'{v}' is not a value of '{self.column}'" for _, v in self.pairs if not is_value(column, v)]
