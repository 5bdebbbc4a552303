"""Whether rules about amounts (at-most, ratio, sum) can hold together, within the bounds of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from sklar.schema.columns import Column
from sklar.schema.numbers import Ranged
from sklar.schema.rules.order import AtMost, order_faults
from sklar.schema.rules.ratio import Ratio
from sklar.schema.rules.sums import Sum

Linear = AtMost | Ratio | Sum
SLACK = 1e-9
"""Relative: rules that miss each other by no more are taken to meet."""
ROUNDED = 0.5
"""A sum with factors that are no whole numbers is rounded, by half a unit of its column at most."""


def linear_faults(columns: Mapping[str, Column], rules: Mapping[int, Linear]) -> list[str]:
    """The first rule that cannot hold together with those before it and with the bounds of the columns.

    All of them are inequalities between weighted sums, so that a linear program finds values that meet them, or tells
    that there are none. At-most rules are first checked on their own, exactly.
    """
    faults = order_faults(columns, {i: rule for i, rule in rules.items() if isinstance(rule, AtMost)})
    if faults:
        return faults
    numbers = [i for i in rules if _joined_with(rules, i)]
    if _feasible(columns, [rules[i] for i in numbers]):
        return []
    first = next(n for n in range(len(numbers)) if not _feasible(columns, [rules[i] for i in numbers[: n + 1]]))
    wrong = rules[numbers[first]]
    return [f"rule {numbers[first]} ({wrong.kind}): it cannot hold together with the rules before it and the bounds"]


def _joined_with(rules: Mapping[int, Linear], one: int) -> bool:
    """Whether a rule shares a column with another one."""
    own = set(rules[one].columns)
    return any(other != one and own & set(rule.columns) for other, rule in rules.items())


def _feasible(columns: Mapping[str, Column], rules: Sequence[Linear]) -> bool:
    if all(isinstance(rule, AtMost) for rule in rules) or len(rules) < 2:
        return True
    from scipy.optimize import linprog  # slow to import, and seldom needed

    names = sorted({name for rule in rules for name in rule.columns})
    spans = [cast(Ranged, columns[name]).span for name in names]
    scale = float(max(abs(end) for span in spans for end in span) or 1.0)
    limits = [limit for rule in rules for limit in _limits(columns, rule)]
    matrix = np.array([[dict(weights).get(name, 0.0) for name in names] for weights, _ in limits])
    most = np.array([end / scale + SLACK * np.abs(row).max() for row, (_, end) in zip(matrix, limits, strict=True)])
    bounds = [(low / scale - SLACK, high / scale + SLACK) for low, high in spans]
    return linprog(np.zeros(len(names)), matrix, most, bounds=bounds, method="highs").status != 2


def _limits(columns: Mapping[str, Column], rule: Linear) -> list[tuple[dict[str, float], float]]:
    """What a rule says, as weighted sums of columns that are at most a number."""
    if isinstance(rule, AtMost):
        found = [({rule.low: 1.0, rule.high: -1.0}, -float(rule.at_least))]
        return found if rule.at_most is None else [*found, ({rule.high: 1.0, rule.low: -1.0}, float(rule.at_most))]
    if isinstance(rule, Ratio):
        found = [({rule.of: float(rule.lower), rule.column: -1.0}, 0.0)]
        return found if rule.upper is None else [*found, ({rule.column: 1.0, rule.of: -float(rule.upper)}, 0.0)]
    room = 0.0 if rule.exact else ROUNDED * 10.0 ** -(getattr(columns[rule.total], "decimals", None) or 0)
    weights = {rule.total: -1.0, **{name: float(factor) for name, factor in rule.factors}}
    return [(weights, room - rule.offset), ({name: -weight for name, weight in weights.items()}, room + rule.offset)]
