"""Nulls that come together: read off the released tables of pairs and handed to the fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sklar.methods.vine.axes import VineAxis
from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.nulls import NullExcess, read_null_excess
from sklar.model.pairs.tables import MeasuredTable
from sklar.model.significance import critical_deviations


def link_nulls(pairs: Sequence[MeasuredTable], rows: float) -> tuple[MeasuredTable, ...]:
    """Return the tables of pairs, each with what it shows about joint nulls of its columns."""
    return tuple(replace(table, nulls=_read(table, rows)) for table in pairs)


def link_again(fine: Sequence[MeasuredTable], pairs: Sequence[MeasuredTable], rows: float) -> tuple[MeasuredTable, ...]:
    """Return finer tables of some of the pairs, with what they show added to what is known."""
    known = {table.columns: table.nulls for table in pairs}
    linked: list[MeasuredTable] = []
    for table in fine:
        own, before = _read(table, rows), known.get(table.columns)
        linked.append(replace(table, nulls=own if own is None or before is None else own.pooled(before)))
    return tuple(linked)


def null_tables(
    axes: Sequence[VineAxis], pairs: Sequence[MeasuredTable], fine: Sequence[MeasuredTable], rows: float
) -> list[MeasuredTable]:
    """Return tables of two by two cells, value or null, of the pairs with significantly many joint nulls, to calibrate
    to."""
    known = {t.pair: t.nulls for t in (*pairs, *fine) if t.nulls is not None}
    groups, limit = [_null_groups(axis) for axis in axes], critical_deviations(len(known))
    clear = {pair: one for pair, one in known.items() if one.expected > limit * np.sqrt(one.variance)}
    return [_make_two_by_two(pair, (groups[pair[0]], groups[pair[1]]), one, rows) for pair, one in clear.items()]


def _read(table: MeasuredTable, rows: float) -> NullExcess | None:
    first, second = table.groups
    return read_null_excess(table.counts, table.sigma, rows, (first.mass, second.mass), table.tops)


def _null_groups(axis: VineAxis) -> Groups:
    """Return values in one group, and nulls in another."""
    lookup = (np.arange(len(axis.scale.order)) == axis.null).astype(np.int64)
    return Groups(lookup=lookup, edges=np.array([0.0, axis.top, 1.0]))


def _make_two_by_two(
    pair: tuple[int, int], groups: tuple[Groups, Groups], excess: NullExcess, rows: float
) -> MeasuredTable:
    counts = rows * np.outer(groups[0].mass, groups[1].mass) + excess.expected * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return MeasuredTable(
        columns=pair, groups=groups, counts=counts, sigma=float(np.sqrt(excess.variance)), content="derived"
    )
