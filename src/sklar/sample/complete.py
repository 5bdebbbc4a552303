"""Complete rows: draw the unknown values of each row given the known ones, so that the public rules hold.

Known values are conditions on the coordinates that they determine. A known value that determines no coordinate (an end
whose start is unknown, the sum of unknown parts, a function of an unknown column) is met by rejection: particles count
only if the drawn value is in the cell of the known one. Rules are met in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.model.completing import MORE_PARTICLES, complete_accepted, complete_codes
from sklar.model.conditioning import even_batches
from sklar.model.margins.margin import Margin, heaping_of
from sklar.model.proportion import in_proportion
from sklar.model.protocol import UNKNOWN_CODE, Codes, TableModel
from sklar.sample.assemble import assemble
from sklar.sample.decode import (
    Heaping,
    SampledTable,
    Values,
    concatenate,
    decode,
    decode_missing,
    replace_rows,
    take,
)
from sklar.sample.rules.computed import compute
from sklar.sample.rules.every import rules_hold
from sklar.schema.columns import Column
from sklar.schema.coordinates import Coordinates
from sklar.schema.table import Schema

DRAWS_PER_ROW = 8
"""Draws of the values inside the cells of an accepted row."""
COMPLETED_BATCH_ROWS = 20_000
"""Rows completed at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Numbers of particles that are drawn per row.

    Attributes:
        particles: Particles for each row with too small an effective sample size at first.
        searches: Particles per round of searching an acceptable row; rows that are rarer stay unmet.
    """

    particles: int = MORE_PARTICLES
    searches: tuple[int, ...] = (256, 4_096)


DEFAULT_EFFORT = Effort()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownCells:
    """The known values of some rows.

    Attributes:
        values: By declared column, values under the rules of the schema.
        known: By declared column, where they are known; elsewhere they are drawn.
        codes: Codes of the coordinates, UNKNOWN_CODE where one of their sources is.
        cells: By declared column, the base codes of the known values.
    """

    values: SampledTable
    known: Mapping[str, Mask]
    codes: Codes
    cells: Mapping[str, Ints]

    def take(self, rows: Ints) -> KnownCells:
        """Return some of the rows."""
        known = {name: mask[rows] for name, mask in self.known.items()}
        cells = {name: codes[rows] for name, codes in self.cells.items()}
        return KnownCells(values=take(self.values, rows), known=known, codes=self.codes[rows], cells=cells)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompletedRows:
    """Whole rows.

    Attributes:
        effective: For each row, Kish's effective sample size over the number of its particles.
        unmet: Rows that the model cannot produce: their known values never occur together, or contradict the public
            rules. Their drawn values depend only on a part of the known ones.
    """

    table: SampledTable
    effective: Floats
    unmet: Mask


def complete_rows(
    sampler: TableModel, by: Coordinates, known: KnownCells, rng: np.random.Generator, effort: Effort = DEFAULT_EFFORT
) -> CompletedRows:
    """Draw the unknown values of each row."""
    sampler = in_proportion(sampler, by.schema.modelled, by.rows_of_person)
    known = replace(known, codes=with_mass(by.schema, sampler.margins, known.codes))
    if not len(known.codes):
        none = {name: decode_missing(by.declared[name], 0) for name in by.declared.modelled}
        return CompletedRows(table=none, effective=np.zeros(0), unmet=np.zeros(0, bool))
    batches = even_batches(len(known.codes), COMPLETED_BATCH_ROWS)
    parts = [_complete(sampler, by, known.take(np.arange(at.start, at.stop)), rng, effort) for at in batches]
    return CompletedRows(
        table=concatenate(part.table for part in parts),
        effective=np.concatenate([part.effective for part in parts]),
        unmet=np.concatenate([part.unmet for part in parts]),
    )


def _complete(
    sampler: TableModel, by: Coordinates, known: KnownCells, rng: np.random.Generator, effort: Effort
) -> CompletedRows:
    undetermined = _undetermined(by, known)
    done = complete_codes(sampler, known.codes, rng, effort.particles)
    effective = done.effective / done.particles
    heaping = heaping_of(sampler.margins)
    table, good = _place(by, heaping, known, undetermined, done.codes, rng)
    for particles in effort.searches:
        bad = np.flatnonzero(~good & (effective > 0))
        if not len(bad):
            break

        def accept(codes: Codes, rows: Ints, bad: Ints = bad) -> Mask:
            return _place(by, heaping, known.take(bad[rows]), _take_rows(undetermined, bad[rows]), codes, rng)[1]

        found = complete_accepted(sampler, known.codes[bad], rng, particles, accept)
        hit = np.flatnonzero(found.effective > 0)
        tried = np.repeat(bad[hit], DRAWS_PER_ROW)
        codes = np.repeat(found.codes[hit], DRAWS_PER_ROW, axis=0)
        fresh, fits = _place(by, heaping, known.take(tried), _take_rows(undetermined, tried), codes, rng)
        met, first = np.unique(tried[fits], return_index=True)
        table = replace_rows(table, met, fresh, np.flatnonzero(fits)[first])
        good[met], effective[bad] = True, np.maximum(found.effective, 1e-9) / particles
    return CompletedRows(table=table, effective=effective, unmet=~good | (effective == 0))


def _take_rows(masks: Mapping[str, Mask], rows: Ints) -> dict[str, Mask]:
    return {name: mask[rows] for name, mask in masks.items()}


def _place(
    by: Coordinates, heaping: Mapping[str, Heaping], known: KnownCells, undetermined: Mapping[str, Mask], codes: Codes,
    rng: np.random.Generator,
) -> tuple[SampledTable, Mask]:  # fmt: skip
    """Decode rows and insert the known values; return also which rows agree with these and with the rules."""
    drawn, adjusted = assemble(by, decode(by.schema, codes, rng, heaping=heaping), rng)
    fits = ~adjusted
    for name, mask in undetermined.items():
        fits &= ~mask | (codes_of(by.declared[name], drawn[name]) == known.cells[name])
    table = {name: _put(values, known, name) for name, values in drawn.items()}
    computed = compute(by.declared, table)
    table = {name: _put(values, known, name) for name, values in computed.items()}
    return table, fits & rules_hold(by.declared, table)


def _put(values: Values, known: KnownCells, name: str) -> Values:
    """Replace drawn values of a column by the known ones."""
    if name not in known.known:
        return values
    mask, own = known.known[name], known.values[name]
    data = np.where(mask, own.data.astype(values.data.dtype, copy=False), values.data)
    return replace(values, data=data, null=np.where(mask, own.null, values.null))


def _undetermined(by: Coordinates, known: KnownCells) -> dict[str, Mask]:
    """Return where a known value does not follow from known coordinates."""
    determined: dict[str, Mask] = {}
    for place, part in enumerate(by.parts):
        for name in part.sources:
            seen = known.codes[:, place] != UNKNOWN_CODE
            determined[name] = determined[name] | seen if name in determined else seen
    left = {name: mask & ~determined[name] if name in determined else mask for name, mask in known.known.items()}
    return {name: mask for name, mask in left.items() if mask.any()}


def codes_of(column: Column, values: Values) -> Ints:
    """Return the base codes of values of a column."""
    if values.labels is not None or column.kind == "boolean":
        codes = values.data.astype(np.int64)
    elif column.numeric:
        codes = cast(Any, column).grid.code(values.data)
    else:  # labels that are integers
        labels = (*cast(Any, column).values, cast(Any, column).other)
        order = np.argsort(np.array(labels, dtype=np.int64), kind="stable")
        codes = order[np.searchsorted(np.array(labels, dtype=np.int64)[order], values.data)]
    return np.where(values.null, codes if column.null_code is None else column.null_code, codes)


def with_mass(schema: Schema, margins: Sequence[Margin], codes: Codes) -> Codes:
    """Replace numbers without mass by those of the nearest cell with mass, and other values by UNKNOWN_CODE."""
    out = codes.copy()
    for place, name in enumerate(schema.modelled):
        column, mass = schema[name], margins[place].dense()
        to = np.arange(len(mass))
        numbers = to[: column.value_cells][mass[: column.value_cells] > 0]
        if column.numeric and len(numbers):
            after = np.minimum(np.searchsorted(numbers, to), len(numbers) - 1)
            before = np.maximum(after - 1, 0)
            near = np.where(to - numbers[before] < numbers[after] - to, numbers[before], numbers[after])
            to = np.where((mass > 0) | (to >= column.value_cells), to, near)
        out[:, place] = np.append(np.where(mass[to] > 0, to, UNKNOWN_CODE), UNKNOWN_CODE)[codes[:, place]]
    return out
