"""Which facts of a schema are marked "pay", and whether they can be measured at all.

What a schema states under such a mark may have been read off the rows, as in a draft. So it is never used: bounds are
searched over a public range, and lists of labels are found afresh. Only with `keep_listed`, by which the custodian
vouches for the stated facts, do they limit the search (bounds) or stay (labels). Such facts are `assumed`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sklar.errors import SchemaError
from sklar.model.margins.margin import Margin
from sklar.schema.columns import ANY_LABEL, Category, Column, Labels, Unknown
from sklar.schema.confirming import MEASURABLE
from sklar.schema.coordinates import Difference, fitted_coordinates
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.persons.person import PAY_ROWS
from sklar.schema.rules import AtMost, Ratio
from sklar.schema.table import Schema

PAY = "pay"


def must_pay(schema: Schema) -> bool:
    """Return whether a fact of the schema is to be measured before it can be used."""
    return bool(schema.facts_by_provenance(PAY)) or rows_to_pay(schema)


def rows_to_pay(schema: Schema) -> bool:
    """Return whether the most rows of a person that are used is to be measured."""
    return schema.person is not None and schema.person.rows == PAY_ROWS


def bounds_to_pay(schema: Schema) -> tuple[str, ...]:
    """Return columns with a bound to measure."""
    marked = schema.facts_by_provenance(PAY)
    return tuple(dict.fromkeys(name for name, fact in marked if fact in ("lower", "upper")))


def labels_to_pay(schema: Schema) -> tuple[str, ...]:
    """Return columns whose labels are to be found."""
    return tuple(name for name, fact in schema.facts_by_provenance(PAY) if fact == "values")


def unknown_columns(schema: Schema) -> tuple[str, ...]:
    """Return columns of which nothing is stated."""
    return tuple(name for name, column in schema.items() if isinstance(column, Unknown))


def with_calendars(schema: Schema) -> Schema:
    """Return the schema with all parts of the calendar for dates whose bounds are to be measured.

    The fit has no more coordinates than that, for any bounds that are found.
    """
    wide: dict[str, Column] = {
        name: replace(column, lower="2000-01-01", upper="2009-12-31", missing_value=None)
        for name in bounds_to_pay(schema)
        if isinstance(column := schema[name], Datetime) and column.calendar is None
    }
    return schema.with_columns(wide)


def needed_columns(schema: Schema) -> frozenset[str]:
    """Return columns that rules or the person speak of: they cannot be left out."""
    named = [name for rule in schema.rules for name in rule.columns]
    if schema.person is not None:
        named += [*schema.person.static, *([] if schema.person.order is None else [schema.person.order])]
    return frozenset(named)


def listed_facts(schema: Schema) -> dict[str, tuple[Any, ...]]:
    """Return the bounds and labels stated under "pay" marks, by "column.fact"; the stand-in for unknown labels is
    none."""
    marked = [pair for pair in schema.facts_by_provenance(PAY) if pair[1] in ("lower", "upper", "values")]
    stated = {f"{name}.{fact}": getattr(schema[name], fact) for name, fact in marked}
    listed = {fact: value if isinstance(value, tuple) else (value,) for fact, value in stated.items()}
    return {fact: values for fact, values in listed.items() if values != (ANY_LABEL,)}


def require_payable(schema: Schema) -> None:
    """Refuse, before anything is spent, marks on facts that cannot be measured, or that rules depend on."""
    faults = [f"column '{name}': {fault}" for name, column in schema.items() for fault in _find_column_faults(column)]
    faults += _find_rule_faults(schema)
    if schema.person is not None and schema.person.parents is not None and must_pay(schema):
        faults.append("facts of two tables with a key cannot be paid for: state them, or pay for those of one alone")
    if faults:
        raise SchemaError(faults)


def _find_column_faults(column: Column) -> list[str]:
    if isinstance(column, Unknown):
        return []
    paid = [fact for fact, word in column.sources if word == PAY]
    unmeasurable = [fact for fact in paid if fact not in MEASURABLE and column.states(fact)]
    faults = [f"{fact} cannot be measured: confirm it, or delete it" for fact in unmeasurable]
    if isinstance(column, Integer | Real) and column.edges and {"lower", "upper"} & set(paid):
        faults.append("its edges fix its bounds: delete edges to pay for the bounds")
    if isinstance(column, Labels) and column.ordered and not column.integer_labels and "values" in paid:
        faults.append("the order of its labels cannot be measured: state them, or make it a category")
    if isinstance(column, Category) and column.parents and "values" in paid:
        faults.append("its parents name its labels: delete parents to pay for the labels, or state them")
    return faults


def _find_rule_faults(schema: Schema) -> list[str]:
    paid = {*bounds_to_pay(schema), *labels_to_pay(schema)}
    unknown = set(unknown_columns(schema))
    return [
        f"rule {i} ({rule.kind}): nothing is known of '{name}' yet: state its kind"
        for i, rule in enumerate(schema.rules, 1)
        for name in rule.columns
        if name in unknown
    ] + [
        f"rule {i} ({rule.kind}): it names values of '{name}', which are yet to be measured: pay first"
        for i, rule in enumerate(schema.rules, 1)
        if not isinstance(rule, AtMost | Ratio)
        for name in rule.columns
        if name in paid
    ]


def with_found_digits(schema: Schema, margins: Iterable[Margin]) -> Schema:
    """Return the schema whose real columns have the decimals that their margins were found to have.

    A column that is derived from another by their difference has the decimals of the other.
    """
    digits = {margin.column: margin.decimals for margin in margins}
    for step in fitted_coordinates(schema, digits).steps:
        if isinstance(step, Difference):
            digits[step.column] = digits.get(step.anchor)
    found: dict[str, Column] = {}
    for name in schema.modelled:
        column, decimals = schema[name], digits.get(name)
        if decimals is not None and isinstance(column, Real) and column.unit is None:
            source = {**dict(column.sources), "decimals": "measured"}
            found[name] = replace(column, decimals=decimals, source=source)
    return schema.with_columns(found) if found else schema


def without_found_digits(schema: Schema, fit: str) -> Schema:
    """Return the schema as this fit saw it: without the decimals that it found itself, which stand under its own
    price."""
    own = {fact for price in schema.prices if price.fit == fit for fact in price.facts}
    before: dict[str, Column] = {}
    for name in schema.modelled:
        column = schema[name]
        if f"{name}.decimals" in own and isinstance(column, Real):
            marks = {fact: word for fact, word in column.sources if fact != "decimals"}
            before[name] = replace(column, decimals=None, source=marks)
    return schema.with_columns(before) if before else schema
