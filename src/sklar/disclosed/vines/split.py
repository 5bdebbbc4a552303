"""Fitting one vine for each value of a discrete response: nothing is assumed about how columns depend on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklar.disclosed.metrics.kendall import kendall_tau
from sklar.disclosed.metrics.table import ExactTable
from sklar.disclosed.vines.columns import vine_columns
from sklar.disclosed.vines.fit import fit_rvine
from sklar.disclosed.vines.margins import smoothed_margin
from sklar.disclosed.vines.ordering import Ordering
from sklar.model.disclosed_split import SplitVineTable
from sklar.model.disclosed_table import VineTable
from sklar.model.margin import Margin

ROWS_PER_PART = 200
"""Values of the response with fewer rows share a part."""
MOST_PARTS = 12


def can_split(table: ExactTable, target: str) -> bool:
    """Whether the response has few values, two of them with rows enough for a vine of their own."""
    counts = np.bincount(table.codes[target])
    seen = counts[counts > 0]
    return len(seen) <= MOST_PARTS and int((seen >= ROWS_PER_PART).sum()) >= 2


def groups_of(codes: NDArray[np.integer]) -> list[list[int]]:
    """Values of the response by part: frequent ones alone, all rare ones together, with the least if still too few."""
    counts = np.bincount(codes)
    order = [int(code) for code in np.argsort(-counts) if counts[code]]
    groups = [[code] for code in order if counts[code] >= ROWS_PER_PART] or [order[:1]]
    rare = [code for code in order if all(code not in group for group in groups)]
    if rare and counts[rare].sum() >= ROWS_PER_PART:
        return [*groups, rare]
    return [*groups[:-1], [*groups[-1], *rare]]


def fit_split(
    table: ExactTable,
    target: str,
    order: Ordering,
    level: int,
    *,
    sensitive: tuple[str, ...],
    families: str,
    selection: str,
) -> SplitVineTable:
    """A vine in the given order for every part of the rows."""
    names = table.names
    others = tuple(name for name in names if name != target)
    codes = np.asarray(table.codes[target])
    values: list[Margin] = []
    parts: list[VineTable] = []
    for group in groups_of(codes):
        inside = table.take(np.flatnonzero(np.isin(codes, group)))
        values.append(smoothed_margin(table.schema, target, inside.codes[target]))
        parts.append(_part(inside, others, order, level - 1, families, selection))
    shares = np.array([part.rows_estimate for part in parts], dtype=np.float64)
    response = codes.astype(np.float64)
    return SplitVineTable(
        margins=tuple(smoothed_margin(table.schema, name, table.codes[name]) for name in names),
        target=names.index(target),
        shares=shares / shares.sum(),
        values=tuple(values),
        parts=tuple(parts),
        level=level,
        roots=tuple(names.index(name) for name in (target, *reversed(order.names))),
        sensitive=tuple(names.index(name) for name in sensitive),
        first_tau=np.array([_tau(table.codes[name].astype(np.float64), response) for name in others]),
        rows_estimate=table.total,
    )


def _part(
    table: ExactTable, names: tuple[str, ...], order: Ordering, trees: int, families: str, selection: str
) -> VineTable:
    columns = vine_columns(table, names)
    vine = fit_rvine(
        columns.u,
        lower=columns.lower,
        discrete=columns.discrete.tolist(),
        families=families,
        selection=selection,
        truncation=trees,
        structure="cvine",
        order=[names.index(name) for name in order.names],
    )
    return VineTable(
        margins=columns.margins,
        scales=columns.scales,
        vine=vine,
        level=trees,
        roots=(),
        target=-1,
        sensitive=(),
        rows_estimate=table.rows,
    )


def _tau(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    found = kendall_tau(left, right)
    return found if np.isfinite(found) else 0.0
