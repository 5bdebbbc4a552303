"""One column is at most another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sklar.schema.columns import Column
from sklar.schema.numbers import Datetime, Integer, Real


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMost:
    """In every row the value of `low` is at most the value of `high` (rows where either is null are free)."""

    low: str
    high: str

    kind: ClassVar[str] = "at-most"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.low, self.high)

    def describe(self) -> str:
        """The rule in words."""
        return f"{self.low} is at most {self.high}"

    def faults(self, columns: Mapping[str, Column]) -> list[str]:
        """Everything that is wrong with it, given that its columns are modelled."""
        if self.low == self.high:
            return ["it needs two different columns"]
        low, high = columns[self.low], columns[self.high]
        if isinstance(low, Datetime) and isinstance(high, Datetime):
            if low.resolution != high.resolution:
                return ["both datetimes must have the same resolution"]
            return [] if low.tick(low.lower) <= high.tick(high.upper) else ["it can never hold with these bounds"]
        if isinstance(low, Integer | Real) and isinstance(high, Integer | Real):
            return [] if low.lower <= high.upper else ["it can never hold with these bounds"]
        return ["both columns must be numbers, or both datetimes"]
