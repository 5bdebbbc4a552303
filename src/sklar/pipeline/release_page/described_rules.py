"""Rules and steps of coordinates as plain data for the page: what its program checks and computes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklar.schema.columns import Boolean, Labels
from sklar.schema.coordinates import Coordinates, Difference, DummyChoice, Quotient
from sklar.schema.numbers import Datetime, Integer, Ranged, Real
from sklar.schema.rules import AtMost, Computing, Expression, Function, Never, OneHot, Rule, Sum, Together
from sklar.schema.rules.dummies import switch_codes
from sklar.schema.table import Schema


def _describe_never(schema: Schema, rule: Never) -> dict[str, Any]:
    return {"kind": "never", "pairs": [list(pair) for pair in rule.pairs]}


def _describe_at_most(schema: Schema, rule: AtMost) -> dict[str, Any]:
    real = isinstance(schema[rule.low], Real) or isinstance(schema[rule.high], Real)
    return {"kind": "at_most", "low": rule.low, "high": rule.high, "at_least": rule.at_least, "at_most": rule.at_most,
            "real": real}  # fmt: skip


def _describe_function(schema: Schema, rule: Function) -> dict[str, Any]:
    of = schema[rule.of]
    parse: Callable[[str], Any] = str
    if isinstance(of, Boolean):
        parse = lambda key: key.lower() == "true"  # noqa: E731
    elif isinstance(of, Datetime):
        parse = of.tick
    elif isinstance(of, Integer | Real):
        parse = float
    return {"kind": "function", "of": rule.of, "column": rule.column,
            "pairs": [[parse(key), image] for key, image in rule.pairs]}  # fmt: skip


def _describe_sum(schema: Schema, rule: Sum) -> dict[str, Any]:
    total = schema[rule.total]
    assert isinstance(total, Ranged)
    lower, upper = total.span
    return {"kind": "sum", "column": rule.total, "parts": [list(factor) for factor in rule.factors],
            "offset": rule.offset, "lower": lower, "upper": upper, "real": isinstance(total, Real),
            "digits": count_digits(schema, rule)}  # fmt: skip


def count_digits(schema: Schema, rule: Sum) -> int | None:
    """Return the decimals of a sum, 0 of whole numbers; None if a part does not state its decimals."""
    parts = [schema[name] for name in rule.needs]
    digits = [part.decimals if isinstance(part, Real) else 0 for part in parts]
    if not isinstance(schema[rule.total], Real):
        return 0 if all(digit == 0 for digit in digits) else None
    shown = next((d for d in range(16) if round(rule.offset, d) == rule.offset), None)
    known = [digit for digit in (*digits, shown) if digit is not None]
    return max(known) if len(known) == len(digits) + 1 else None


def _describe_one_hot(schema: Schema, rule: OneHot) -> dict[str, Any]:
    texts = [isinstance(schema[name], Labels) and not schema[name].integer_labels for name in rule.columns]  # type: ignore[attr-defined]
    switches = [switch_codes(schema[name])[1] if text else 1 for name, text in zip(rule.columns, texts, strict=True)]
    return {"kind": "one_hot", "columns": list(rule.columns), "switches": switches, "at_most_one": rule.at_most_one}


def _describe_together(schema: Schema, rule: Together) -> dict[str, Any]:
    return {"kind": "together", "columns": list(rule.columns),
            "wanted": [[name, list(values)] for name, values in rule.wanted]}  # fmt: skip


def _describe_expression(schema: Schema, rule: Expression) -> dict[str, Any]:
    found = rule.filled_where
    assert found is not None
    return {"kind": "expression", "column": found[0], "of": found[1], "values": list(found[2])}


RULES: dict[type[Rule], Callable[[Schema, Any], dict[str, Any]]] = {
    Never: _describe_never,
    AtMost: _describe_at_most,
    Function: _describe_function,
    Sum: _describe_sum,
    OneHot: _describe_one_hot,
    Together: _describe_together,
    Expression: _describe_expression,
}
"""The kinds of rules that the page checks, each with the function that describes it."""


def why_rule_unsupported(schema: Schema, rule: Rule) -> str:
    """Return why the page cannot keep a rule; an empty text if it can."""
    filled = rule.filled_where if isinstance(rule, Expression) else None
    free = isinstance(rule, Expression) and (filled is None or isinstance(schema[filled[1]], Datetime))
    open_sum = isinstance(rule, Sum) and (not rule.exact or count_digits(schema, rule) is None)
    return f"it has the rule '{rule.describe()}'" if type(rule) not in RULES or free or open_sum else ""


def why_step_unsupported(by: Coordinates, step: Difference | Quotient | DummyChoice) -> str:
    """Return why the page cannot compute a column back from coordinates; an empty text if it can."""
    if isinstance(step, Quotient):
        return f"'{step.column}' is computed from a ratio"
    if isinstance(step, Difference) and type(by.declared[step.column]) is not type(by.declared[step.anchor]):
        return f"'{step.column}' is computed from a difference to a column of another kind"
    return ""


def describe_step(by: Coordinates, step: Difference | Quotient | DummyChoice) -> dict[str, Any]:
    """Return how declared columns are computed back from a coordinate."""
    if isinstance(step, DummyChoice):
        codes = [list(switch_codes(by.declared[name])) for name in step.columns]
        return {"step": "choice", "name": step.name, "columns": list(step.columns), "codes": codes,
                "at_most_one": step.at_most_one}  # fmt: skip
    assert isinstance(step, Difference)
    column = by.declared[step.column]
    decimals = column.decimals if isinstance(column, Real) else None
    return {"step": "difference", "name": step.name, "column": step.column, "anchor": step.anchor,
            "above": step.above, "least": step.least, "most": step.most,
            "digits": None if decimals is None else decimals if step.decimals is None else step.decimals}  # fmt: skip


def describe_computing(schema: Schema, rule: Computing) -> dict[str, Any]:
    """Return a rule that computes a column."""
    return RULES[type(rule)](schema, rule)
