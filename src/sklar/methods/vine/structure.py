"""Structural zeros: what public rules leave to no row has no mass in margins, tables and the calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats
from sklar.methods.margins import MeasuredMargins
from sklar.methods.vine.axes import VineAxis
from sklar.model.margins.margin import Margin
from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.tables import MeasuredTable
from sklar.model.vine.calibration import MAX_TABLE_CELLS
from sklar.schema.rules import Together
from sklar.schema.rules.impossible import Impossible, code_of, find_structural_zeros, shrink_table
from sklar.schema.table import Schema

Zeros = npt.NDArray[np.bool_]
UNCONSTRAINED_NOISE = 1e6
"""Noise, in multiples of the number of rows, of cells that a table of zeros says nothing about."""
MAX_MARGIN_CELLS = 1 << 22
"""Combinations of margin cells beyond which zeros of several columns are left to samples."""
CERTAIN_SHARE, LEAST_MASS = 1.0 - 1e-12, 1e-15
"""What differs from all by rounding is all; and the mass that a cell without any counts for."""
MIN_POSSIBLE_MASS = 1e-6
"""Mass that stays where rows may be filled, but noise says that none is."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Structure:
    """Where rows cannot be.

    Attributes:
        zeros: By the columns (positions, rising) that they are about, over the margin cells of each.
        masses: The mass of every margin cell of each column, never nothing.
    """

    zeros: Mapping[tuple[int, ...], Zeros]
    masses: Sequence[Floats]

    def possible(self, columns: Sequence[int], groups: Sequence[Groups]) -> Floats | None:
        """Return the part of each cell of a table in which rows can be, if its columns were independent; None if it is
        all.

        It is 0 exactly where none can be.
        """
        found = np.ones([group.count for group in groups])
        for about, zeros in self.zeros.items():
            if set(about) <= set(columns):
                found = found * self._part(about, zeros, columns, groups)
        return found if found.min() < 1.0 else None

    def _part(self, about: Sequence[int], zeros: Zeros, columns: Sequence[int], groups: Sequence[Groups]) -> Floats:
        places, part = [columns.index(column) for column in about], (~zeros).astype(np.float64)
        for at, place in enumerate(places):
            lookup, mass = groups[place].lookup, self.masses[columns[place]]
            member = np.zeros((groups[place].count, len(lookup)))
            member[lookup, np.arange(len(lookup))] = mass / np.bincount(lookup, mass)[lookup]
            part = np.moveaxis(np.tensordot(member, part, (1, at)), 0, at)
        part = np.transpose(part, np.argsort(places))  # a table may list its columns in another order
        part = np.where(part > CERTAIN_SHARE, 1.0, part)
        return part.reshape([group.count if i in places else 1 for i, group in enumerate(groups)])

    def excluded(self, tables: Sequence[MeasuredTable]) -> tuple[MeasuredTable, ...]:
        """Return the tables with their structural zeros marked."""
        return tuple(replace(table, possible=self.possible(table.columns, table.groups)) for table in tables)

    def tables(self, rows: float) -> list[MeasuredTable]:
        """Return tables of structural zeros alone, on the coarsest groups that distinguish them: all that groups of
        other tables, or columns without a table, would miss."""
        found: list[MeasuredTable] = []
        for about, zeros in self.zeros.items():
            empty, classes = shrink_table(zeros)
            if 1 < empty.size <= MAX_TABLE_CELLS:
                groups = tuple(Groups(lookup=one, edges=np.zeros(one.max() + 2)) for one in classes)
                table = MeasuredTable(
                    columns=about, groups=groups, counts=np.zeros(empty.shape), sigma=UNCONSTRAINED_NOISE * rows
                )
                found.append(replace(table, content="derived", possible=1.0 - empty))
        return found


def find_structure(schema: Schema, axes: Sequence[VineAxis]) -> Structure:
    """Return the zeros of all rules on the columns, where their margin cells distinguish codes."""
    places = {axis.name: column for column, axis in enumerate(axes)}
    zeros: dict[tuple[int, ...], Zeros] = {}
    for table in find_structural_zeros(schema, schema.rules):
        about = tuple(sorted(places[name] for name in table.columns))
        if np.prod([float(len(axes[column].scale.starts)) for column in about]) <= MAX_MARGIN_CELLS:
            found = _on_cells(table, [axes[places[name]] for name in table.columns])
            found = np.transpose(found, np.argsort([places[name] for name in table.columns]))
            zeros[about] = found | zeros.get(about, np.zeros(found.shape, bool))
    masses = [np.maximum(axis.scale.mass, LEAST_MASS) for axis in axes]
    return Structure(zeros={about: found for about, found in zeros.items() if found.any()}, masses=masses)


def _on_cells(table: Impossible, axes: Sequence[VineAxis]) -> Zeros:
    """Return which margin cells are empty: those whose codes all are."""
    found = table.empty
    for at, (axis, classes) in enumerate(zip(axes, table.classes, strict=True)):
        found = np.logical_and.reduceat(np.take(found, classes, axis=at), axis.scale.starts, axis=at)
    return found


def keep_to_rules(schema: Schema, measured: MeasuredMargins) -> MeasuredMargins:
    """Return margins without what no row has; columns that are null together share what was measured of their nulls."""
    margins = {margin.column: margin for margin in measured.margins}
    for table in find_structural_zeros(schema, schema.rules):
        if len(table.columns) == 1:
            (name,), (classes,) = table.columns, table.classes
            margins[name] = _without(margins[name], table.empty[classes])
    sigmas = {m.column: seen[0].sigma for m, seen in zip(measured.margins, measured.histograms, strict=True)}
    for rule in schema.rules:
        if isinstance(rule, Together):
            margins |= _null_together(schema, rule, margins, sigmas)
    return replace(measured, margins=tuple(margins[margin.column] for margin in measured.margins))


def _without(margin: Margin, empty: Zeros) -> Margin:
    """Return a margin without some codes; as it was if nothing else has mass."""
    kept = margin.mass * ~np.logical_and.reduceat(empty, margin.starts)
    return replace(margin, mass=kept) if kept.sum() > 0 else margin


def _null_together(
    schema: Schema, rule: Together, margins: Mapping[str, Margin], sigmas: Mapping[str, float]
) -> dict[str, Margin]:
    """Return one share of nulls for all columns, by inverse variance, and no more of them filled than may be."""
    codes = {name: _null_cell(schema, margins[name]) for name in rule.columns}
    cells = {name: cell for name, cell in codes.items() if cell is not None}
    if not cells:
        return {}
    shares = [float(margins[name].mass[cell]) for name, cell in cells.items()]
    filled = 1.0 - float(np.average(shares, weights=[sigmas[name] ** -2 for name in cells]))
    for other, values in rule.wanted:
        allowed = [code for code in (code_of(schema[other], value) for value in values) if code is not None]
        if len(allowed) == len(values):
            filled = min(filled, max(float(margins[other].dense()[allowed].sum()), MIN_POSSIBLE_MASS))
    return {name: _with_nulls(margins[name], cell, 1.0 - filled) for name, cell in cells.items()}


def _null_cell(schema: Schema, margin: Margin) -> int | None:
    """Return the margin cell of null, if it is one of its own."""
    code = schema[margin.column].null_code
    found = np.flatnonzero(margin.starts == code)
    return int(found[0]) if len(found) and margin.widths()[found[0]] == 1 else None


def _with_nulls(margin: Margin, cell: int, share: float) -> Margin:
    values = np.delete(margin.mass, cell)
    if values.sum() <= 0:
        return margin
    return replace(margin, mass=np.insert(values * ((1.0 - share) / values.sum()), cell, share))
