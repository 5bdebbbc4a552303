"""The kinds of rules, and what is wrong with the rules of a schema, each alone and all together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from sklar.schema.columns import Column
from sklar.schema.rules.dummies import OneHot
from sklar.schema.rules.expression import Expression
from sklar.schema.rules.function import Function
from sklar.schema.rules.impossible import impossible, leave_nothing
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
        *linear_faults(columns, numbered),
        *_nothing_left(columns, numbered),
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


def _nothing_left(columns: Mapping[str, Column], rules: Mapping[int, Rule]) -> list[str]:
    """The first rule that, with those before it, leaves no values that a row could have."""
    zeros = {i: found for i, rule in rules.items() if (found := impossible(columns, [rule]))}
    numbers = list(zeros)

    def nothing(first: int) -> bool:
        return leave_nothing([table for i in numbers[:first] for table in zeros[i]])

    if not nothing(len(numbers)):
        return []
    wrong = numbers[bisect_left(range(len(numbers)), True, key=lambda n: nothing(n + 1))]
    named = ", ".join(f"'{name}'" for name in rules[wrong].columns)
    return [f"rule {wrong} ({rules[wrong].kind}): with the rules before it, it leaves no value of {named}"]
