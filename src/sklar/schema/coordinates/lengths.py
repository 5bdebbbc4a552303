"""Differences of ordered columns: which are taken, from which end, and on cells that grow outwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import cast

from sklar.schema.columns import Column, fresh_name
from sklar.schema.coordinates.parts import Difference
from sklar.schema.numbers import Integer, Ranged, Real
from sklar.schema.rules.order import AtMost, root_of

LENGTH_CELLS = 60
"""Most cells of a difference. So few are counted cell by cell, in one look, so that short lengths come out exactly: of
up to 3,650 each below 14 has a cell of its own, and longer ones are known to a seventh. More cells are looked at twice,
the first time coarsely, which tells more about the shape of a tail and less about single short lengths."""
FINEST = 1 << 20
"""Units of a difference of reals that declare no decimals."""
WIDEST = 2**62
"""Wider ranges of integers are not subtracted from each other, since the difference might not be a 64-bit integer."""


def order_differences(
    columns: Mapping[str, Column], rules: Sequence[AtMost], free: AbstractSet[str]
) -> list[Difference]:
    """The differences that stand for columns, in the order in which the columns are computed.

    Rules whose columns are free, and that close no circle, make up trees. Each is rooted at its first
    column that is never null (the first of all, if there is none), and every other column is told from its neighbour.
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
            if top not in roots or (_nullable(columns[roots[top]]) and not _nullable(columns[name])):
                roots[top] = name
    return [step for root in roots.values() for step in _walk(columns, links, root)]


def difference_column(columns: Mapping[str, Column], part: Difference) -> Column:
    """The column of a difference: fine near its smallest value, coarser outwards."""
    column, nullable = cast(Ranged, columns[part.column]), _nullable(columns[part.column])
    most = part.most
    if _nullable(columns[part.anchor]):  # then the distance from the end of the column's own range stands in
        most = max(most, part.least + (column.span[1] - column.span[0]))
    if not isinstance(column, Real) and not isinstance(columns[part.anchor], Real):
        return _whole_lengths(int(part.least), int(most), _common_step(column, columns[part.anchor]), nullable)
    scale = FINEST / (most - part.least) if part.decimals is None else 10.0**part.decimals
    starts = [part.least + edge / scale for edge in growing_edges(round((most - part.least) * scale))[:-1]]
    if part.decimals is not None:
        starts = [round(start, part.decimals) for start in starts]
    edges = [*dict.fromkeys(start for start in starts if start < most), float(most)]
    return Real(part.least, most, edges=edges, decimals=part.decimals, nullable=nullable)


def _whole_lengths(least: int, most: int, step: int, nullable: bool) -> Integer:
    """Whole differences, or multiples of a step."""
    edges = [least + edge * step for edge in growing_edges((most - least) // step)[:-1]]
    return Integer(least, most, edges=[*edges, most + 1], step=None if step == 1 else step, nullable=nullable)


def _common_step(*columns: Column) -> int:
    steps = {column.step if isinstance(column, Integer) else None for column in columns}
    return steps.pop() or 1 if len(steps) == 1 else 1


def growing_edges(last: int) -> list[int]:
    """Starts of cells over 0, 1, ..., last, and the end of the last one: as fine as the number of cells allows."""
    fine = max(last, 1)
    edges = _edges(last, fine)
    while len(edges) > LENGTH_CELLS + 1:
        fine = min(fine - 1, LENGTH_CELLS)
        edges = _edges(last, fine)
    return edges


def _edges(last: int, fine: int) -> list[int]:
    """Cells of one unit below 2 * fine, then wider by 1 / fine each (by half of it all, if fine is 0)."""
    edges, at = list[int](), 0
    while at <= last and len(edges) <= LENGTH_CELLS + 1:
        edges.append(at)
        at += max(1, at // fine if fine else 2 * at)
    return [*edges, last + 1]


def _can_subtract(columns: Mapping[str, Column], rule: AtMost) -> bool:
    low, high = cast(Ranged, columns[rule.low]), cast(Ranged, columns[rule.high])
    if any(isinstance(c, Real) and c.step is not None for c in (low, high)):
        return False
    least, most = rule.reach(low, high)
    wide = least < most if isinstance(low, Real) or isinstance(high, Real) else _common_step(low, high) <= most - least
    fixed = least == most == rule.at_most and not isinstance(low, Real) and not isinstance(high, Real)
    possible = wide or (fixed and least % _common_step(low, high) == 0)  # a fixed amount is a difference of one value
    return possible and all(abs(end) < WIDEST for column in (low, high) for end in column.span)


def _walk(columns: Mapping[str, Column], links: Mapping[str, Sequence[AtMost]], root: str) -> list[Difference]:
    """Every column of a tree from its neighbour nearer to the root."""
    steps, seen, waiting = list[Difference](), {root}, [root]
    while waiting:
        anchor = waiting.pop(0)
        for rule in links[anchor]:
            other = rule.high if rule.low == anchor else rule.low
            if other not in seen:
                seen.add(other)
                waiting.append(other)
                steps.append(_difference(columns, rule, anchor, other))
    return steps


def _difference(columns: Mapping[str, Column], rule: AtMost, anchor: str, column: str) -> Difference:
    low, high = cast(Ranged, columns[rule.low]), cast(Ranged, columns[rule.high])
    least, most = rule.reach(low, high)
    step = _common_step(low, high)
    if step > 1:  # then differences are multiples, too
        least, most = -(-int(least) // step) * step, int(most) // step * step
    digits = [end.decimals if isinstance(end, Real) else 0 for end in (low, high)]
    return Difference(
        name=fresh_name(columns, f"{rule.high} - {rule.low}"),
        column=column,
        anchor=anchor,
        above=column == rule.high,
        least=least,
        most=most,
        decimals=None if None in digits else max(cast("list[int]", digits)),
    )


def _nullable(column: Column) -> bool:
    return column.null_code is not None
