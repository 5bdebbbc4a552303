"""Ratios of amounts: which are taken in the place of a column, and on which cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import cast

from sklar.schema.columns import Column, fresh_name
from sklar.schema.coordinates.lengths import FINEST, growing_edges
from sklar.schema.coordinates.parts import Quotient
from sklar.schema.numbers import Ranged, Real
from sklar.schema.rules.ratio import Ratio

WIDE = 50.0
"""A range of ratios that is wider than this has cells that grow outwards, as differences have; others have equal cells,
fine enough for any price or rate."""


def ratio_quotients(columns: Mapping[str, Column], rules: Sequence[Ratio], free: AbstractSet[str]) -> list[Quotient]:
    """The ratios that stand for columns, in the order in which the columns are computed.

    A column is told by the first of its rules that leaves it a largest ratio, unless that would go round in a circle.
    """
    chosen: dict[str, Quotient] = {}
    for rule in rules:
        known = {rule.column, rule.of} <= free and rule.column not in chosen
        if known and not _comes_from(chosen, rule.of, rule.column):
            reach = rule.reach(cast(Ranged, columns[rule.column]), cast(Ranged, columns[rule.of]))
            if reach is not None:
                name = fresh_name(columns, f"{rule.column} / {rule.of}")
                chosen[rule.column] = Quotient(
                    name=name, column=rule.column, anchor=rule.of, least=reach[0], most=reach[1], rule=rule
                )
    return sorted(chosen.values(), key=lambda one: _depth(chosen, one.column))


def quotient_column(columns: Mapping[str, Column], part: Quotient) -> Column:
    """The column of a ratio; its bounds are cells of their own, where an amount is just so many times the other."""
    nullable = columns[part.column].null_code is not None
    if part.most - part.least <= WIDE:
        return Real(part.least, part.most, nullable=nullable)
    unit = (part.most - part.least) / FINEST
    edges = [part.least + unit * edge for edge in growing_edges(FINEST)[:-1]]
    return Real(part.least, part.most, edges=[*edges[:-1], part.most], nullable=nullable)


def _comes_from(chosen: Mapping[str, Quotient], name: str, column: str) -> bool:
    """Whether a column is computed, by ratios, from another one."""
    while name != column and name in chosen:
        name = chosen[name].anchor
    return name == column


def _depth(chosen: Mapping[str, Quotient], name: str) -> int:
    return 0 if name not in chosen else 1 + _depth(chosen, chosen[name].anchor)
