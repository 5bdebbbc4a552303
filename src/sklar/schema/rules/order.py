"""One column is at most another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from sklar.schema.columns import Column
from sklar.schema.numbers import Datetime, Integer, Ranged, Real
from sklar.schema.rules.values import is_number

RELATIVE_TOLERANCE = 1e-12
"""Relative tolerance for sums of bounds of reals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMost:
    """In every row the value of `low` is at most the value of `high` (rows where either is null are free).

    Attributes:
        low: The smaller column: integers or reals, or datetimes of one resolution.
        high: The larger one.
        at_least: `high` exceeds `low` by this or more; of datetimes, in ticks of their resolution.
        at_most: `high` exceeds `low` by this at most.
    """

    low: str
    high: str
    at_least: int | float = 0
    at_most: int | float | None = None
    source: str = "assumed"

    kind: ClassVar[str] = "at-most"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.low, self.high)

    def describe(self) -> str:
        """Return the rule in words."""
        if not self.at_least and self.at_most is None:
            return f"{self.low} is at most {self.high}"
        if self.at_least == self.at_most:
            return f"{self.high} - {self.low} is {self.at_least}"
        upper = "" if self.at_most is None else f" and at most {self.at_most}"
        return f"{self.high} - {self.low} is at least {self.at_least}{upper}"

    def faults(self, columns: Mapping[str, Column]) -> list[str]:
        """List all faults of it, given that its columns are modelled."""
        if self.low == self.high:
            return ["it needs two different columns"]
        low, high = columns[self.low], columns[self.high]
        dates = isinstance(low, Datetime) and isinstance(high, Datetime)
        if not dates and not (isinstance(low, Integer | Real) and isinstance(high, Integer | Real)):
            return ["both columns must be numbers, or both datetimes"]
        if isinstance(low, Datetime) and isinstance(high, Datetime) and low.resolution != high.resolution:
            return ["both datetimes must have the same resolution"]
        limits = [self.at_least, *([] if self.at_most is None else [self.at_most])]
        whole = not (isinstance(low, Real) or isinstance(high, Real))
        allowed = all(is_number(limit) and (isinstance(limit, int) or not whole) for limit in limits)
        if not allowed or limits[0] > limits[-1]:
            number = "whole numbers" if whole else "finite numbers"
            return [f"at_least and at_most must be {number}, the first not above the second"]
        least, most = self.reach(cast(Ranged, low), cast(Ranged, high))
        return [] if least <= most else ["it can never hold with these bounds"]

    def reach(self, low: Ranged, high: Ranged) -> tuple[int | float, int | float]:
        """Return the smallest and largest difference that the rule and the bounds of the columns allow."""
        least, most = high.span[0] - low.span[1], high.span[1] - low.span[0]
        return max(self.at_least, least), most if self.at_most is None else min(self.at_most, most)


def root_of(tree: Mapping[str, str], name: str) -> str:
    """Return the top of the tree of columns, joined by rules, that this one belongs to."""
    while name in tree:
        name = tree[name]
    return name


def order_faults(columns: Mapping[str, Column], rules: Mapping[int, AtMost]) -> list[str]:
    """Return the first rule that cannot hold together with those before it and with the bounds of the columns.

    Rules and bounds are differences x - y <= c, which can all hold if and only if no cycle of them has a negative sum;
    the shortest paths of Bellman and Ford find one.
    """
    if _are_feasible(columns, list(rules.values())):
        return []
    numbers = list(rules)
    first = next(n for n in range(len(numbers)) if not _are_feasible(columns, [rules[i] for i in numbers[: n + 1]]))
    return [f"rule {numbers[first]} (at-most): it cannot hold together with the at-most rules before it"]


def _are_feasible(columns: Mapping[str, Column], rules: Sequence[AtMost]) -> bool:
    limits: list[tuple[str | None, str | None, int | float]] = []
    for rule in rules:
        limits.append((rule.high, rule.low, -rule.at_least))
        if rule.at_most is not None:
            limits.append((rule.low, rule.high, rule.at_most))
    names = {name for rule in rules for name in rule.columns}
    for name in names:
        lower, upper = cast(Ranged, columns[name]).span
        limits += [(None, name, upper), (name, None, -lower)]
    reach: dict[str | None, int | float] = dict.fromkeys([None, *names], 0)
    for _ in range(len(names) + 2):
        shorter = {
            b: reach[a] + c for a, b, c in limits if reach[a] + c < reach[b] - RELATIVE_TOLERANCE * abs(reach[b])
        }
        if not shorter:
            return True
        for a, b, c in limits:
            reach[b] = min(reach[b], reach[a] + c)
    return False
