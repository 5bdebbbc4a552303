"""Public totals: the number of rows of the table with each value of a column, known without looking at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.numbers import Integer
from sklar.schema.rules.values import Label, Pairs, is_key, key_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Public counts of the values of a column, as {"north": 1200, "south": 800}; values not listed never occur.

    A sample whose number of rows is the sum of the counts has exactly these counts; any other has them in proportion
    (by largest remainders). A stream has them in each of its blocks. Samples for a condition are a part of the table,
    and only keep to the listed values.
    """

    column: str
    counts: Mapping[str, int] | Pairs
    source: str = "assumed"

    kind: ClassVar[str] = "totals"

    def __post_init__(self) -> None:
        pairs = self.counts.items() if isinstance(self.counts, Mapping) else self.counts
        object.__setattr__(self, "counts", tuple({key_text(key): count for key, count in pairs}.items()))

    @property
    def pairs(self) -> tuple[tuple[str, Label], ...]:
        """A value as text, and its count."""
        return tuple(self.counts)  # type: ignore[arg-type]

    @property
    def total(self) -> int:
        """All counts together."""
        return sum(int(count) for _, count in self.pairs)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def describe(self) -> str:
        """Return the rule in words."""
        return f"{self.column} has the totals " + ", ".join(f"{value}: {count}" for value, count in self.pairs)

    def faults(self, columns: Mapping[str, Column]) -> list[str]:
        """List all faults of it, given that its column is modelled."""
        column = columns[self.column]
        if not isinstance(column, Labels | Boolean | Integer):
            return ["only labels, booleans and integers have totals"]
        faults = [f"'{key}' is not a value of '{self.column}'" for key, _ in self.pairs if not is_key(column, key)]
        if any(type(count) is not int or not 0 <= count < 2**53 for _, count in self.pairs):
            return [*faults, "counts must be whole numbers, not below 0"]
        return faults if self.total > 0 else [*faults, "its counts are all 0"]


def totals_faults(totals: Sequence[Totals]) -> list[str]:
    """List the faults of totals: each column has them once, and all sum to the same number of rows."""
    names = [rule.column for rule in totals]
    faults = [f"'{name}' has two totals" for name in sorted(set(names)) if names.count(name) > 1]
    sums = {rule.total for rule in totals}
    if len(sums) > 1:
        shown = ", ".join(f"'{rule.column}': {rule.total:,}" for rule in totals)
        faults.append(f"totals of one table must sum to the same number of rows; found {shown}")
    return faults
