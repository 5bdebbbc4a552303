"""The kinds of rules, and the checks of the rules of a schema, each alone and all together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeGuard, cast

import numpy as np

from sklar.schema.columns import Column
from sklar.schema.numbers import Integer, Ranged, Real
from sklar.schema.rules.dummies import OneHot
from sklar.schema.rules.expression import Expression
from sklar.schema.rules.function import Function
from sklar.schema.rules.impossible import find_structural_zeros, is_unsatisfiable
from sklar.schema.rules.never import Never
from sklar.schema.rules.nulls import Together
from sklar.schema.rules.order import AtMost, order_faults
from sklar.schema.rules.parsing import ColumnValue, Constant, Node, Operation, parse_expression
from sklar.schema.rules.ratio import Ratio
from sklar.schema.rules.sums import Sum
from sklar.schema.rules.totals import Totals, totals_faults

Rule = AtMost | Ratio | Never | Function | Sum | Together | OneHot | Expression | Totals
KINDS = (AtMost, Ratio, Never, Function, Sum, Together, OneHot, Expression, Totals)
RULES: dict[str, type[Rule]] = {rule.kind: rule for rule in KINDS}

SOURCES = ("public", "assumed", "from-rows")
"""Provenances of a rule: no rule can be measured. A private fit refuses one that was read off the rows."""
Computing = Function | Sum
"""Rules that compute a column from others of the row."""


def rule_faults(columns: Mapping[str, Column], rules: Iterable[Rule]) -> list[str]:
    """List all faults of the rules of a schema."""
    faults: list[str] = []
    numbered = dict(enumerate(rules, 1))
    for i, rule in numbered.items():
        faults += [f"rule {i} ({rule.kind}): {fault}" for fault in _find_rule_faults(columns, rule)]
    return faults or [
        *_find_conflicts(list(numbered.values())),
        *totals_faults([rule for rule in numbered.values() if isinstance(rule, Totals)]),
        *linear_faults(columns, numbered),
        *_find_unsatisfiable(columns, numbered),
    ]


def _find_rule_faults(columns: Mapping[str, Column], rule: Rule) -> list[str]:
    if rule.source not in SOURCES:
        return [f"source must be one of {', '.join(SOURCES)}"]
    unknown = [name for name in rule.columns if name not in columns or not columns[name].modelled]
    return [f"'{name}' is not a modelled column" for name in unknown] or rule.faults(columns)


def computing_order(rules: Iterable[Rule]) -> list[Computing]:
    """Return the rules that compute a column, each after those that compute what it needs."""
    given = {rule.gives: rule for rule in rules if isinstance(rule, Function | Sum)}
    columns = TopologicalSorter({name: rule.needs for name, rule in given.items()}).static_order()
    return [given[column] for column in columns if column in given]


def _find_conflicts(rules: Sequence[Rule]) -> list[str]:
    """List columns or nulls that two rules determine, and cycles of rules."""
    given = [rule.gives for rule in rules if isinstance(rule, Function | Sum)]
    given += [name for rule in rules if isinstance(rule, OneHot) for name in rule.columns]
    faults = [f"column '{name}' is given by two rules" for name in sorted(set(given)) if given.count(name) > 1]
    nulls = [name for rule in rules if isinstance(rule, Together) for name in rule.columns]
    faults += [
        f"the nulls of '{n}' are given by two rules" for n in sorted(set(nulls)) if n in given or nulls.count(n) > 1
    ]
    if faults:
        return faults
    try:
        computing_order(rules)
    except CycleError as error:
        named = ", ".join(f"'{name}'" for name in sorted(set(error.args[1])))
        return [f"the rules that compute {named} form a cycle"]
    return []


def _find_unsatisfiable(columns: Mapping[str, Column], rules: Mapping[int, Rule]) -> list[str]:
    """Return the first rule that, with those before it, leaves no values that a row could have."""
    zeros = {i: found for i, rule in rules.items() if (found := find_structural_zeros(columns, [rule]))}
    numbers = list(zeros)

    def nothing(first: int) -> bool:
        return is_unsatisfiable([table for i in numbers[:first] for table in zeros[i]])

    if not nothing(len(numbers)):
        return []
    wrong = numbers[bisect_left(range(len(numbers)), True, key=lambda n: nothing(n + 1))]
    named = ", ".join(f"'{name}'" for name in rules[wrong].columns)
    return [f"rule {wrong} ({rules[wrong].kind}): with the rules before it, it leaves no value of {named}"]


Linear = AtMost | Ratio | Sum | Expression
Limit = tuple[dict[str, float], float]
"""A weighted sum of columns, and what it is at most."""
RELATIVE_TOLERANCE = 1e-9
"""Relative tolerance within which rules are taken to agree."""
STRICT_MARGIN = 1e-5
"""Margin of a strict inequality between reals, as a part of the narrowest range."""
ROUNDING_UNITS = 0.5
"""Largest rounding error of a sum with fractional factors, in units of its column."""


def linear_faults(columns: Mapping[str, Column], given: Mapping[int, object]) -> list[str]:
    """Return the first rule that cannot hold together with those before it and with the bounds of the columns.

    All of them are inequalities between weighted sums, so that a linear program finds values that meet them, or proves
    that there are none. At-most rules are first checked on their own, exactly.
    """
    rules = {i: rule for i, rule in given.items() if _is_linear(rule, columns)}
    faults = order_faults(columns, {i: rule for i, rule in rules.items() if isinstance(rule, AtMost)})
    if faults:
        return faults
    numbers = [i for i in rules if _needs_joint_check(rules, i)]
    if _are_feasible(columns, [rules[i] for i in numbers]):
        return []
    first = next(n for n in range(len(numbers)) if not _are_feasible(columns, [rules[i] for i in numbers[: n + 1]]))
    wrong = rules[numbers[first]]
    return [f"rule {numbers[first]} ({wrong.kind}): it cannot hold together with the rules before it and the bounds"]


def _is_linear(rule: object, columns: Mapping[str, Column]) -> TypeGuard[Linear]:
    if isinstance(rule, Expression):
        return expression_limits(columns, rule) is not None
    return isinstance(rule, AtMost | Ratio | Sum)


def _needs_joint_check(rules: Mapping[int, Linear], one: int) -> bool:
    """Return whether a rule has to be checked with others: it shares a column with one, or was not checked alone."""
    own = set(rules[one].columns)
    return isinstance(rules[one], Expression) or any(
        other != one and own & set(rule.columns) for other, rule in rules.items()
    )


def _are_feasible(columns: Mapping[str, Column], rules: Sequence[Linear]) -> bool:
    alone = len(rules) < 2 and not any(isinstance(rule, Expression) for rule in rules)
    if alone or all(isinstance(rule, AtMost) for rule in rules):
        return True
    from scipy import optimize  # slow to import, and seldom needed

    names = sorted({name for rule in rules for name in rule.columns})
    spans = [cast(Ranged, columns[name]).span for name in names]
    scale = float(max(abs(end) for span in spans for end in span) or 1.0)
    limits = [limit for rule in rules for limit in _limits(columns, rule)]
    matrix = np.array([[dict(weights).get(name, 0.0) for name in names] for weights, _ in limits])
    most = np.array(
        [end / scale + RELATIVE_TOLERANCE * np.abs(row).max() for row, (_, end) in zip(matrix, limits, strict=True)]
    )
    bounds = [(low / scale - RELATIVE_TOLERANCE, high / scale + RELATIVE_TOLERANCE) for low, high in spans]
    linprog: Any = optimize.linprog
    return bool(linprog(np.zeros(len(names)), matrix, most, bounds=bounds, method="highs").status != 2)


def _limits(columns: Mapping[str, Column], rule: Linear) -> list[Limit]:
    """Return a rule as weighted sums of columns that are at most a number."""
    if isinstance(rule, AtMost):
        found = [({rule.low: 1.0, rule.high: -1.0}, -float(rule.at_least))]
        return found if rule.at_most is None else [*found, ({rule.high: 1.0, rule.low: -1.0}, float(rule.at_most))]
    if isinstance(rule, Ratio):
        found = [({rule.of: float(rule.lower), rule.column: -1.0}, 0.0)]
        return found if rule.upper is None else [*found, ({rule.column: 1.0, rule.of: -float(rule.upper)}, 0.0)]
    if isinstance(rule, Expression):
        return expression_limits(columns, rule) or []
    room = 0.0 if rule.exact else ROUNDING_UNITS * 10.0 ** -(getattr(columns[rule.total], "decimals", None) or 0)
    weights = {rule.total: -1.0, **{name: float(factor) for name, factor in rule.factors}}
    return [(weights, room - rule.offset), ({name: -weight for name, weight in weights.items()}, room + rule.offset)]


def expression_limits(columns: Mapping[str, Column], rule: Expression) -> list[Limit] | None:
    """Return an expression as limits: linear comparisons of numbers, joined by `and`; None if it says anything else.

    Where one of its columns may be null, it need not hold of values at all.
    """
    if any(not isinstance(columns[n], Integer | Real) or columns[n].null_code is not None for n in rule.columns):
        return None
    whole = all(isinstance(columns[name], Integer) for name in rule.columns)
    narrow = min((high - low for low, high in (cast(Ranged, columns[n]).span for n in rule.columns)), default=0.0)
    return _list_linear_limits(parse_expression(rule.text), 1.0 if whole else STRICT_MARGIN * narrow)


def _list_linear_limits(node: Node, strictly: float) -> list[Limit] | None:
    """Return an expression as linear limits; `strictly` is the least distance that `<` and `>` require."""
    if not isinstance(node, Operation):
        return None
    if node.sign == "and":
        parts = [_list_linear_limits(part, strictly) for part in node.parts]
        return None if None in parts else [limit for part in parts for limit in part or []]
    gap = _weights(Operation("-", node.parts)) if node.sign in ("<", "<=", ">", ">=", "==") else None
    if gap is None:
        return None
    constant = gap.pop("", 0.0)
    # A difference of whole numbers is strict by at least 1.
    room = (
        strictly if all(weight.is_integer() for weight in (constant, *gap.values())) else min(strictly, STRICT_MARGIN)
    )
    less = room if node.sign in ("<", ">") else 0.0
    below = (gap, -constant - less)
    above = ({name: -weight for name, weight in gap.items()}, constant - less)
    return {"<": [below], "<=": [below], ">": [above], ">=": [above], "==": [below, above]}[node.sign]


def _weights(node: Node) -> dict[str, float] | None:
    """Return a linear expression as the weight of each column, and under "" a constant; None if it is not linear."""
    if isinstance(node, ColumnValue):
        return {node.name: 1.0}
    if isinstance(node, Constant):
        return None if isinstance(node.value, str | bool) else {"": float(node.value)}
    parts = [_weights(part) for part in node.parts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if node.sign == "-" and len(known) == 1:
        return {name: -weight for name, weight in known[0].items()}
    if node.sign in ("+", "-"):
        sign = 1.0 if node.sign == "+" else -1.0
        return {n: known[0].get(n, 0.0) + sign * known[1].get(n, 0.0) for n in (*known[0], *known[1])}
    one, two = known if node.sign == "*" and set(known[0]) <= {""} else known[::-1]
    if node.sign not in ("*", "/") or set(one) - {""} or (node.sign == "/" and not one.get("")):
        return None
    factor = 1.0 / one[""] if node.sign == "/" else one.get("", 0.0)
    return {name: factor * weight for name, weight in two.items()}
