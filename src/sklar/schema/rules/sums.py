"""A column that is the sum of others: parts of a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from sklar.schema.columns import Column
from sklar.schema.numbers import Integer, Ranged, Real

LARGEST_SUM = 2**62
"""Larger sums of integers might not be 64-bit integers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """In every row the value of `total` is the sum of its `parts`; it is null exactly where a part is.

    The total is computed, not measured. With decimals the sum is that of decimal numbers, without an error of rounding.
    """

    total: str
    parts: Sequence[str]

    kind: ClassVar[str] = "sum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.total, *self.parts)

    @property
    def gives(self) -> str:
        """The column that it computes."""
        return self.total

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that it is computed from."""
        return tuple(self.parts)

    def describe(self) -> str:
        """The rule in words."""
        return f"{self.total} is the sum of {', '.join(self.parts)}"

    def faults(self, columns: Mapping[str, Column]) -> list[str]:
        """Everything that is wrong with it, given that its columns are modelled."""
        if len(self.parts) < 2 or len(set(self.columns)) < len(self.columns):
            return ["it needs two or more different parts, and a total that is none of them"]
        total, parts = columns[self.total], [columns[name] for name in self.parts]
        if not all(isinstance(column, Integer | Real) for column in (total, *parts)):
            return ["all its columns must be integers or reals"]
        if isinstance(total, Integer) and not all(isinstance(part, Integer) for part in parts):
            return [f"'{self.total}' is an integer, so all parts must be"]
        faults = _digit_faults(self.total, total, parts)
        if total.null_code is None and any(part.null_code is not None for part in parts):
            faults.append(f"a part may be null, so '{self.total}' must be nullable")
        return faults + self._reach_faults(cast(Ranged, total), cast("list[Ranged]", parts))

    def _reach_faults(self, total: Ranged, parts: Sequence[Ranged]) -> list[str]:
        least, most = sum(part.span[0] for part in parts), sum(part.span[1] for part in parts)
        if isinstance(total, Integer) and max(-least, most) >= LARGEST_SUM:
            return ["its parts may add up to more than a 64-bit integer holds"]
        if least > total.span[1] or most < total.span[0]:
            return [f"its parts add up to {least:g} at least and {most:g} at most, never to a value of '{self.total}'"]
        return []


def _digit_faults(name: str, total: Column, parts: Sequence[Column]) -> list[str]:
    """A total with decimals must be able to show those of every part."""
    shown = total.decimals if isinstance(total, Real) else None
    digits = [part.decimals if isinstance(part, Real) else 0 for part in parts]
    if shown is None or all(d is not None and d <= shown for d in digits):
        return []
    return [f"every part must declare decimals, at most the {shown} of '{name}'"]
