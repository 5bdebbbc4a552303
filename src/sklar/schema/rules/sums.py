"""A column that is the sum of others, each perhaps times a factor: parts of a whole, differences, multiples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from sklar.schema.columns import Column
from sklar.schema.numbers import Integer, Ranged, Real
from sklar.schema.rules.values import is_number

MAX_INTEGER_SUM = 2**62
"""Largest sum of integers: beyond it they might exceed 64 bits."""
Factors = tuple[tuple[str, int | float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """In every row the value of `total` is the sum of its `parts`, plus an offset; it is null exactly where a part is.

    The total is computed, not measured. With decimals the sum is that of decimal numbers, without an error of rounding;
    if a factor is no whole number, it is rounded to the decimals of the total.

    Attributes:
        total: The column that is computed.
        parts: Names of the parts, or their factors, as {"year": 1, "born": -1} or {"net": 0.2}.
        offset: A number that is added.
    """

    total: str
    parts: Sequence[str] | Mapping[str, int | float] | Factors
    offset: int | float = 0
    source: str = "assumed"

    kind: ClassVar[str] = "sum"

    def __post_init__(self) -> None:
        parts = tuple(self.parts.items()) if isinstance(self.parts, Mapping) else tuple(self.parts)
        if all(isinstance(part, tuple) and part[1] == 1 and type(part[1]) is not bool for part in parts):
            parts = tuple(part[0] for part in parts)
        object.__setattr__(self, "parts", parts)

    @property
    def factors(self) -> Factors:
        """Each part with its factor."""
        parts = cast("tuple[str | tuple[str, int | float], ...]", self.parts)
        return tuple(part if isinstance(part, tuple) else (part, 1) for part in parts)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.total, *self.needs)

    @property
    def gives(self) -> str:
        """The column that the rule computes."""
        return self.total

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns from which the rule computes it."""
        return tuple(name for name, _ in self.factors)

    @property
    def exact(self) -> bool:
        """Whether all factors are whole numbers, so that no sum is rounded."""
        return all(float(factor).is_integer() for _, factor in self.factors)

    def describe(self) -> str:
        """Return the rule in words."""
        if all(factor == 1 for _, factor in self.factors) and not self.offset:
            return f"{self.total} is the sum of {', '.join(self.needs)}"
        terms = [name if factor == 1 else f"{factor:g} {name}" for name, factor in self.factors]
        return f"{self.total} is " + " + ".join([*terms, *([f"{self.offset:g}"] if self.offset else [])])

    def faults(self, columns: Mapping[str, Column]) -> list[str]:
        """List all faults of it, given that its columns are modelled."""
        if not all(is_number(number) and number for _, number in self.factors) or not is_number(self.offset):
            return ["factors must be finite numbers other than 0, and the offset a finite number"]
        alone = len(self.factors) == 1 and self.factors[0][1] == 1 and not self.offset
        if not self.factors or alone or len(set(self.columns)) < len(self.columns):
            return ["it needs two or more different parts (or a factor or an offset), and a total that is none of them"]
        total, parts = columns[self.total], [columns[name] for name in self.needs]
        if not all(isinstance(column, Integer | Real) for column in (total, *parts)):
            return ["all its columns must be integers or reals"]
        faults = self._digit_faults(total, parts) if self.exact else []
        if total.null_code is None and any(part.null_code is not None for part in parts):
            faults.append(f"a part may be null, so '{self.total}' must be nullable")
        return faults or self._reach_faults(cast(Ranged, total), columns)

    def reach(self, columns: Mapping[str, Column]) -> tuple[int | float, int | float]:
        """Return the smallest and the largest sum that the bounds of the parts allow."""
        ends = [sorted(factor * end for end in cast(Ranged, columns[name]).span) for name, factor in self.factors]
        return self.offset + sum(low for low, _ in ends), self.offset + sum(high for _, high in ends)

    def _reach_faults(self, total: Ranged, columns: Mapping[str, Column]) -> list[str]:
        least, most = self.reach(columns)
        if isinstance(total, Integer) and max(-least, most) >= MAX_INTEGER_SUM:
            return ["its parts may add up to more than a 64-bit integer holds"]
        if least > total.span[1] or most < total.span[0]:
            return [f"its parts add up to {least:g} at least and {most:g} at most, never to a value of '{self.total}'"]
        return []

    def _digit_faults(self, total: Column, parts: Sequence[Column]) -> list[str]:
        """List the faults of decimals: a total must have at least the decimals of every part."""
        if isinstance(total, Integer) and not all(isinstance(part, Integer) for part in parts):
            return [f"'{self.total}' is an integer, so all parts must be"]
        shown = total.decimals if isinstance(total, Real) else 0
        if shown is None:
            return []
        digits = [part.decimals if isinstance(part, Real) else 0 for part in parts]
        if not all(d is not None and d <= shown for d in digits):
            return [f"every part must declare decimals, at most the {shown} of '{self.total}'"]
        shows = round(self.offset, shown) == self.offset
        return [] if shows else [f"'{self.total}' cannot show the decimals of the offset"]
