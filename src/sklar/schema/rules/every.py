"""The kinds of rules, and what is wrong with the rules of a schema, each alone and all together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.numbers import Integer
from sklar.schema.rules.dummies import OneHot
from sklar.schema.rules.expression import Expression
from sklar.schema.rules.function import Function
from sklar.schema.rules.linear import linear_faults
from sklar.schema.rules.never import Never
from sklar.schema.rules.nulls import Together
from sklar.schema.rules.order import AtMost
from sklar.schema.rules.ratio import Ratio
from sklar.schema.rules.sums import Sum
from sklar.schema.rules.totals import Totals, totals_faults

Rule = AtMost | Ratio | Never | Function | Sum | Together | OneHot | Expression | Totals
KINDS = (AtMost, Ratio, Never, Function, Sum, Together, OneHot, Expression, Totals)
RULES: dict[str, type[Rule]] = {rule.kind: rule for rule in KINDS}

SOURCES = ("public", "assumed", "from-rows")
"""Where a rule comes from: no rule can be measured. A private fit refuses one that was read off the rows."""
Computing = Function | Sum
"""Rules that compute a column from others of the row."""


def rule_faults(columns: Mapping[str, Column], rules: Iterable[Rule]) -> list[str]:
    """Everything that is wrong with the rules of a schema."""
    faults: list[str] = []
    numbered = dict(enumerate(rules, 1))
    for i, rule in numbered.items():
        faults += [f"rule {i} ({rule.kind}): {fault}" for fault in _faults_of(columns, rule)]
    return faults or [
        *_given_twice(list(numbered.values())),
        *totals_faults([rule for rule in numbered.values() if isinstance(rule, Totals)]),
        *linear_faults(columns, {i: rule for i, rule in numbered.items() if isinstance(rule, AtMost | Ratio | Sum)}),
        *_nothing_left(columns, [rule for rule in numbered.values() if isinstance(rule, Never)]),
    ]


def _faults_of(columns: Mapping[str, Column], rule: Rule) -> list[str]:
    if rule.source not in SOURCES:
        return [f"source must be one of {', '.join(SOURCES)}"]
    unknown = [name for name in rule.columns if name not in columns or not columns[name].modelled]
    return [f"'{name}' is not a modelled column" for name in unknown] or rule.faults(columns)


def computing_order(rules: Iterable[Rule]) -> list[Computing]:
    """The rules that compute a column, each after those that compute what it needs."""
    given = {rule.gives: rule for rule in rules if isinstance(rule, Function | Sum)}
    columns = TopologicalSorter({name: rule.needs for name, rule in given.items()}).static_order()
    return [given[column] for column in columns if column in given]


def _given_twice(rules: Sequence[Rule]) -> list[str]:
    """A column may be given by one rule only, its nulls by one, and rules may not go round in a circle."""
    given = [name for rule in rules for name in _gives(rule)]
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
        return [f"the rules that give {named} go round in a circle"]
    return []


def _gives(rule: Rule) -> tuple[str, ...]:
    if isinstance(rule, OneHot):
        return tuple(rule.columns)
    return (rule.gives,) if isinstance(rule, Function | Sum) else ()


def _nothing_left(columns: Mapping[str, Column], rules: Sequence[Never]) -> list[str]:
    """Columns of which every value is forbidden."""
    forbidden: dict[str, set[object]] = {}
    for rule in rules:
        if len(rule.pairs) == 1:
            forbidden.setdefault(rule.pairs[0][0], set()).add(rule.pairs[0][1])
    return [
        f"the rules 'never' leave no value of '{name}'"
        for name, values in forbidden.items()
        if columns[name].null_code is None and len(values) == _number_of_values(columns[name])
    ]


def _number_of_values(column: Column) -> int | None:
    if isinstance(column, Boolean):
        return 2
    if isinstance(column, Labels):
        return len(column.values) + 1
    return column.upper - column.lower + 1 if isinstance(column, Integer) else None
