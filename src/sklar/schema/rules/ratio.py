"""One amount is a bounded multiple of another: a net of its gross, a price of its list price."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sklar.schema.columns import Column
from sklar.schema.numbers import Integer, Ranged, Real
from sklar.schema.rules.values import is_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """In every row `column` lies between `lower` times and `upper` times `of` (rows where either is null are free).

    Attributes:
        column: An integer or a real.
        of: Another, which is never negative by its bounds.
        lower: Smallest ratio of the two.
        upper: Largest one; None where there is none.
    """

    column: str
    of: str
    lower: int | float = 0
    upper: int | float | None = None
    source: str = "assumed"

    kind: ClassVar[str] = "ratio"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, self.of)

    def describe(self) -> str:
        """Return the rule in words."""
        if self.upper is None:
            return f"{self.column} is at least {self.lower:g} times {self.of}"
        return f"{self.column} is {self.lower:g} to {self.upper:g} times {self.of}"

    def faults(self, columns: Mapping[str, Column]) -> list[str]:
        """List all faults of it, given that its columns are modelled."""
        if self.column == self.of:
            return ["it needs two different columns"]
        column, of = columns[self.column], columns[self.of]
        if not isinstance(column, Integer | Real) or not isinstance(of, Integer | Real):
            return ["both columns must be integers or reals"]
        limits = [self.lower, *([] if self.upper is None else [self.upper])]
        if not all(is_number(limit) for limit in limits) or limits != sorted(set(limits)):
            return ["lower and upper must be finite numbers, the first below the second (for one multiple, use a sum)"]
        if of.span[0] < 0:
            return [f"the lower bound of '{self.of}' must not be below 0"]
        return [] if self._can_hold(column, of) else ["it can never hold with these bounds"]

    def _can_hold(self, column: Ranged, of: Ranged) -> bool:
        """Return whether the rule can hold: each bound limits `of` to an interval, which must not be empty."""
        low, high = (float(end) for end in of.span)
        for limit, sign, end in ((self.lower, 1, column.span[1]), (self.upper, -1, column.span[0])):
            if limit is None:
                continue
            slope, most = sign * limit, sign * end  # slope * of <= most
            if slope > 0:
                high = min(high, most / slope)
            elif slope < 0:
                low = max(low, most / slope)
            elif most < 0:
                return False
        return low <= high

    def reach(self, column: Ranged, of: Ranged) -> tuple[float, float] | None:
        """Return the smallest and largest ratio that rule and bounds allow; None if there is no largest one."""
        least, most = (float(end) for end in of.span)
        lower, upper = float(self.lower), math.inf if self.upper is None else float(self.upper)
        low, high = (float(end) for end in column.span)
        if least > 0:
            lower = max(lower, low / (most if low > 0 else least))
            upper = min(upper, high / (least if high > 0 else most))
        return (lower, upper) if math.isfinite(upper) and lower < upper else None
