"""Assemble declared columns from drawn coordinates: the inverse of the decomposition by public rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sklar.arrays import Mask
from sklar.sample.decode import SampledTable, Values, row_count
from sklar.sample.rules.computed import compute
from sklar.sample.rules.dummies import from_choice
from sklar.sample.rules.nulls import fill_only_where, share_nulls
from sklar.sample.rules.order import to_grid, to_nearest
from sklar.sample.rules.ratio import within_ratio
from sklar.schema.coordinates import CalendarPart, Coordinates, Difference, Quotient, Same
from sklar.schema.numbers import Ranged, Real
from sklar.schema.rules import Together

ROUNDING_ERROR, RELATIVE_TOLERANCE = 0.5, 1e-9
"""A multiple counts as inside its bounds if it exceeds them by rounding, or by this part of the range."""


def assemble(by: Coordinates, drawn: SampledTable, rng: np.random.Generator) -> tuple[SampledTable, Mask]:
    """Return the declared columns, and the rows whose coordinates are inconsistent and had to be adjusted."""
    together = [rule for rule in by.declared.rules if isinstance(rule, Together)]
    coordinates_of = {column: (name,) for column, name in by.coordinate_of_column.items()}
    coordinates_of |= {column: tuple(part.name for part in parts) for column, parts in by.dated.items()}
    for rule in together:
        drawn = share_nulls(rule, coordinates_of, drawn, rng)
    table = {part.name: drawn[part.name] for part in by.parts if isinstance(part, Same)}
    bent = np.zeros(row_count(drawn), bool)
    for name, parts in by.dated.items():
        table[name], moved = _from_calendar(parts, drawn, rng)
        bent |= moved
    for part in by.steps:
        if isinstance(part, Difference):
            table[part.column], moved = _from_difference(by, part, table[part.anchor], drawn[part.name])
        elif isinstance(part, Quotient):
            table[part.column], moved = _from_quotient(by, part, table[part.anchor], drawn[part.name])
        else:
            found, moved = from_choice(by, part, drawn[part.name])
            table |= found
        bent |= moved
    table = compute(by.declared, table)
    for rule in together:
        if rule.wanted:
            table = compute(by.declared, fill_only_where(rule, table, rng))
    return table, bent


def _from_difference(by: Coordinates, part: Difference, anchor: Values, length: Values) -> tuple[Values, Mask]:
    """Return the column at a distance from its anchor, clipped to its bounds, and the rows that were clipped."""
    column = cast(Ranged, by.declared[part.column])
    sign, (lower, upper) = 1 if part.above else -1, column.span
    near = anchor.data + sign * np.minimum(length.data, part.most)
    alone = (lower if part.above else upper) + sign * (length.data - part.least)
    found = _on_grid(by, part, np.where(anchor.null, alone, near))
    outside = (found < lower) | (found > upper) | (~anchor.null & (length.data > part.most))
    if type(column) is not type(by.declared[part.anchor]):
        gap = sign * (found - anchor.data)
        outside |= ~anchor.null & ((gap < part.least) | (gap > part.most))
    found = np.clip(found, lower, upper)
    return Values(data=np.where(length.null, 0, found), null=length.null), outside & ~length.null


def _from_quotient(by: Coordinates, part: Quotient, anchor: Values, ratio: Values) -> tuple[Values, Mask]:
    """Return the column that is a multiple of its anchor, clipped to its bounds, and the rows that were clipped."""
    column = cast(Ranged, by.declared[part.column])
    (lower, upper), share = column.span, (ratio.data - part.least) / (part.most - part.least)
    wanted = np.where(anchor.null, lower + share * (upper - lower), ratio.data * anchor.data)
    found = within_ratio(column, part.rule, wanted, np.where(anchor.null, np.nan, anchor.data))
    beyond = np.maximum(lower - wanted, wanted - upper) > ROUNDING_ERROR + RELATIVE_TOLERANCE * (upper - lower)
    return Values(data=np.where(ratio.null, 0, found), null=ratio.null), beyond & ~ratio.null & ~anchor.null


def _from_calendar(parts: Sequence[CalendarPart], drawn: SampledTable, rng: np.random.Generator) -> tuple[Values, Mask]:
    """Return timestamps with the drawn calendar parts, and the rows for which there is none."""
    calendar, null = parts[0].calendar, drawn[parts[0].name].null
    wanted = {part.part: np.where(drawn[part.name].null, calendar.ends[part.part][0], drawn[part.name].data)
              for part in parts}  # fmt: skip
    moments = calendar.put_together(wanted, (rng.random(len(null)), rng.random(len(null))))
    got, bent = calendar.take_apart(moments), np.zeros(len(null), bool)
    for part in parts:
        bent |= drawn[part.name].null | (got[part.part] != wanted[part.part])
    return Values(data=np.where(null, 0, moments), null=null), bent & ~null


def _on_grid(by: Coordinates, part: Difference, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return values on the decimals or the step of their column, rounded away from the anchor."""
    column = by.declared[part.column]
    if type(column) is not type(by.declared[part.anchor]):
        return to_nearest(column, values)
    if not isinstance(column, Real):
        return to_grid(column, values, up=part.above)
    if column.decimals is None:
        return values
    digits = column.decimals if part.decimals is None else part.decimals
    return to_grid(column, np.round(values, digits), up=part.above) + 0.0
