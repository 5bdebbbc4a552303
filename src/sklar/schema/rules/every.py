"""The kinds of rules, and what is wrong with the rules of a schema, each alone and all together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sklar.schema.columns import Column
from sklar.schema.rules.expression import Expression
from sklar.schema.rules.function import Function, chain_faults
from sklar.schema.rules.never import Never
from sklar.schema.rules.order import AtMost, order_faults
from sklar.schema.rules.totals import Totals, totals_faults

Rule = AtMost | Never | Function | Expression | Totals
RULES: dict[str, type[Rule]] = {rule.kind: rule for rule in (AtMost, Never, Function, Expression, Totals)}


def rule_faults(columns: Mapping[str, Column], rules: Iterable[Rule]) -> list[str]:
    """Everything that is wrong with the rules of a schema."""
    faults: list[str] = []
    numbered = dict(enumerate(rules, 1))
    for i, rule in numbered.items():
        faults += [f"rule {i} ({rule.kind}): {fault}" for fault in _faults_of(columns, rule)]
    return faults or [
        *chain_faults([rule for rule in numbered.values() if isinstance(rule, Function)]),
        *totals_faults([rule for rule in numbered.values() if isinstance(rule, Totals)]),
        *order_faults(columns, {i: rule for i, rule in numbered.items() if isinstance(rule, AtMost)}),
    ]


def _faults_of(columns: Mapping[str, Column], rule: Rule) -> list[str]:
    unknown = [name for name in rule.columns if name not in columns or not columns[name].modelled]
    return [f"'{name}' is not a modelled column" for name in unknown] or rule.faults(columns)
