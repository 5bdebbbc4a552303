"""Differences of ordered columns and ratios of amounts: which are taken, and on which cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import cast

from sklar.schema.columns import Column, make_fresh_name
from sklar.schema.coordinates.parts import Difference, Quotient
from sklar.schema.numbers import Integer, Ranged, Real
from sklar.schema.rules.order import AtMost, root_of
from sklar.schema.rules.ratio import Ratio

MAX_LENGTH_CELLS = 60
"""Maximum number of cells of a difference. Up to this number it is measured cell by cell in one step, so that short
lengths are exact: of lengths up to 3,650 each below 14 has its own cell, and longer ones are known to a seventh. With
more cells they are measured in two steps, coarsely first, which shows more of the tail and less of single short
lengths."""
MAX_REAL_UNITS = 1 << 20
"""Resolution of a difference of reals without declared decimals: its range is cut into this number of units."""
MAX_SUBTRACTED_RANGE = 2**62
"""Largest bounds of integers that are subtracted: beyond it the difference might exceed 64 bits."""


def find_differences(
    columns: Mapping[str, Column], rules: Sequence[AtMost], free: AbstractSet[str]
) -> list[Difference]:
    """Return the differences that stand for columns, in the order in which the columns are computed.

    Rules whose columns are free, and that close no circle, make up trees. Each is rooted at its first
    column that is never null (the first of all, if there is none), and every other column is a difference from its
    neighbour.
    """
    links: dict[str, list[AtMost]] = {}
    tree: dict[str, str] = {}
    for rule in rules:
        if {rule.low, rule.high} <= free and _can_subtract(columns, rule):
            one, other = root_of(tree, rule.low), root_of(tree, rule.high)
            if one != other:
                tree[one] = other
                for name in (rule.low, rule.high):
                    links.setdefault(name, []).append(rule)
    roots: dict[str, str] = {}
    for name in columns:
        if name in links:
            top = root_of(tree, name)
            if top not in roots or (_is_nullable(columns[roots[top]]) and not _is_nullable(columns[name])):
                roots[top] = name
    return [step for root in roots.values() for step in _walk(columns, links, root)]


def make_difference_column(columns: Mapping[str, Column], part: Difference) -> Column:
    """Return the column of a difference: fine near its smallest value, coarser outwards."""
    column, nullable = cast(Ranged, columns[part.column]), _is_nullable(columns[part.column])
    most = part.most
    if _is_nullable(columns[part.anchor]):  # then the distance from the end of the column's own range stands in
        most = max(most, part.least + (column.span[1] - column.span[0]))
    if not isinstance(column, Real) and not isinstance(columns[part.anchor], Real):
        least, most, step = int(part.least), int(most), _find_common_step(column, columns[part.anchor])
        whole = [least + edge * step for edge in make_growing_edges((most - least) // step)[:-1]]
        return Integer(least, most, edges=[*whole, most + 1], step=None if step == 1 else step, nullable=nullable)
    scale = MAX_REAL_UNITS / (most - part.least) if part.decimals is None else 10.0**part.decimals
    starts = [part.least + edge / scale for edge in make_growing_edges(round((most - part.least) * scale))[:-1]]
    if part.decimals is not None:
        starts = [round(start, part.decimals) for start in starts]
    edges = [*dict.fromkeys(start for start in starts if start < most), float(most)]
    return Real(part.least, most, edges=edges, decimals=part.decimals, nullable=nullable)


def _find_common_step(*columns: Column) -> int:
    steps = {column.step if isinstance(column, Integer) else None for column in columns}
    return steps.pop() or 1 if len(steps) == 1 else 1


def make_growing_edges(last: int) -> list[int]:
    """Return the starts of cells over 0, 1, ..., last, and the end of the last: as fine as their number allows."""
    fine = max(last, 1)
    edges = _edges(last, fine)
    while len(edges) > MAX_LENGTH_CELLS + 1:
        fine = min(fine - 1, MAX_LENGTH_CELLS)
        edges = _edges(last, fine)
    return edges


def _edges(last: int, fine: int) -> list[int]:
    """Return edges of cells of one unit below 2 * fine, then wider by 1 / fine each (by half of all, if fine is 0)."""
    edges, at = list[int](), 0
    while at <= last and len(edges) <= MAX_LENGTH_CELLS + 1:
        edges.append(at)
        at += max(1, at // fine if fine else 2 * at)
    return [*edges, last + 1]


def _can_subtract(columns: Mapping[str, Column], rule: AtMost) -> bool:
    low, high = cast(Ranged, columns[rule.low]), cast(Ranged, columns[rule.high])
    if any(isinstance(c, Real) and c.step is not None for c in (low, high)):
        return False
    least, most = rule.reach(low, high)
    wide = (
        least < most
        if isinstance(low, Real) or isinstance(high, Real)
        else _find_common_step(low, high) <= most - least
    )
    fixed = least == most == rule.at_most and not isinstance(low, Real) and not isinstance(high, Real)
    possible = wide or (
        fixed and least % _find_common_step(low, high) == 0
    )  # a fixed amount is a difference of one value
    return possible and all(abs(end) < MAX_SUBTRACTED_RANGE for column in (low, high) for end in column.span)


def _walk(columns: Mapping[str, Column], links: Mapping[str, Sequence[AtMost]], root: str) -> list[Difference]:
    """Return the difference of every column of a tree from its neighbour nearer to the root."""
    steps, seen, waiting = list[Difference](), {root}, [root]
    while waiting:
        anchor = waiting.pop(0)
        for rule in links[anchor]:
            other = rule.high if rule.low == anchor else rule.low
            if other not in seen:
                seen.add(other)
                waiting.append(other)
                steps.append(_make_difference(columns, rule, anchor, other))
    return steps


def _make_difference(columns: Mapping[str, Column], rule: AtMost, anchor: str, column: str) -> Difference:
    low, high = cast(Ranged, columns[rule.low]), cast(Ranged, columns[rule.high])
    least, most = rule.reach(low, high)
    step = _find_common_step(low, high)
    if step > 1:  # then differences are multiples, too
        least, most = -(-int(least) // step) * step, int(most) // step * step
    digits = [end.decimals if isinstance(end, Real) else 0 for end in (low, high)]
    return Difference(
        name=make_fresh_name(columns, f"{rule.high} - {rule.low}"),
        column=column,
        anchor=anchor,
        above=column == rule.high,
        least=least,
        most=most,
        decimals=None if None in digits else max(cast("list[int]", digits)),
    )


def _is_nullable(column: Column) -> bool:
    return column.null_code is not None


MAX_EQUAL_CELL_RANGE = 50.0
"""Widest range of ratios with equal cells, which are fine enough for any price or rate; wider ranges have cells that
grow outwards, as differences have."""


def find_quotients(columns: Mapping[str, Column], rules: Sequence[Ratio], free: AbstractSet[str]) -> list[Quotient]:
    """Return the ratios that stand for columns, in the order in which the columns are computed.

    A column uses the first of its rules that bounds its ratio from above, unless that would make a cycle.
    """
    chosen: dict[str, Quotient] = {}
    for rule in rules:
        known = {rule.column, rule.of} <= free and rule.column not in chosen
        if known and not _comes_from(chosen, rule.of, rule.column):
            reach = rule.reach(cast(Ranged, columns[rule.column]), cast(Ranged, columns[rule.of]))
            if reach is not None:
                name = make_fresh_name(columns, f"{rule.column} / {rule.of}")
                chosen[rule.column] = Quotient(
                    name=name, column=rule.column, anchor=rule.of, least=reach[0], most=reach[1], rule=rule
                )
    return sorted(chosen.values(), key=lambda one: _count_anchors(chosen, one.column))


def make_quotient_column(columns: Mapping[str, Column], part: Quotient) -> Column:
    """Return the column of a ratio; its bounds have cells of their own, for amounts exactly at a bound."""
    nullable = columns[part.column].null_code is not None
    if part.most - part.least <= MAX_EQUAL_CELL_RANGE:
        return Real(part.least, part.most, nullable=nullable)
    unit = (part.most - part.least) / MAX_REAL_UNITS
    edges = [part.least + unit * edge for edge in make_growing_edges(MAX_REAL_UNITS)[:-1]]
    return Real(part.least, part.most, edges=[*edges[:-1], part.most], nullable=nullable)


def _comes_from(chosen: Mapping[str, Quotient], name: str, column: str) -> bool:
    """Return whether a column is computed, by ratios, from another one."""
    while name != column and name in chosen:
        name = chosen[name].anchor
    return name == column


def _count_anchors(chosen: Mapping[str, Quotient], name: str) -> int:
    return 0 if name not in chosen else 1 + _count_anchors(chosen, chosen[name].anchor)
