"""Persons drawn forward: a first row, then each next row given the one before and what never changes.

Rules across rows hold in every person: a next row that they leave no room for has the person drawn again, and after a
few rounds its rows end there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Ints, Mask
from sklar.model.linked import LinkedModel
from sklar.model.protocol import UNKNOWN, Codes
from sklar.sample.complete import KnownCells, codes_of, complete_rows
from sklar.sample.decode import SampledTable, Values, concatenate, row_count, take
from sklar.schema.coordinates import CalendarPart, Coordinate, Coordinates, Same, linked_views
from sklar.schema.linked import LinkedColumns
from sklar.schema.table import Schema

ROUNDS = 4
"""Times that persons are drawn whose rows came to a place without a next one; then their rows end there. Few do."""
SPARE = 1.02
"""Persons drawn for a number of rows, beyond those expected to have so many."""

FirstRows = Callable[[int], SampledTable]
"""Draws so many first rows, each with the number of rows of its person."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnPersons:
    """Rows of persons, person by person and in order.

    Attributes:
        table: The declared columns that are modelled.
        person: For each row whose it is: 0, 1, 2, ...
    """

    table: SampledTable
    person: Ints

    def take(self, rows: Ints) -> DrawnPersons:
        """Some of the rows."""
        return DrawnPersons(table=take(self.table, rows), person=self.person[rows])


def draw_persons(
    model: LinkedModel, schema: Schema, persons: int, first_rows: FirstRows, rng: np.random.Generator
) -> DrawnPersons:
    """So many persons."""
    wide, views = linked_views(schema)
    found: list[DrawnPersons] = []
    missing, base = persons, 0
    for turn in range(ROUNDS):
        drawn, stuck = _forward(model, wide, views[1].by, first_rows(missing), rng)
        if turn < ROUNDS - 1:
            drawn = drawn.take(np.flatnonzero(~stuck[drawn.person]))
        found.append(replace(drawn, person=drawn.person + base))
        missing, base = int(stuck.sum()), base + missing
        if not missing:
            break
    return _in_order(found, base, rng)


def draw_rows_of_persons(
    model: LinkedModel, schema: Schema, rows: int, first_rows: FirstRows, rng: np.random.Generator
) -> DrawnPersons:
    """Just so many rows; the last person may have more of them than there is room for."""
    parts: list[DrawnPersons] = []
    have = persons = 0
    while have < rows:
        wanted = int(np.ceil(SPARE * (rows - have) / model.mean_rows))
        drawn = draw_persons(model, schema, wanted, first_rows, rng)
        parts.append(replace(drawn, person=drawn.person + persons))
        have, persons = have + len(drawn.person), persons + wanted
    whole = DrawnPersons(
        table=concatenate(part.table for part in parts), person=np.concatenate([part.person for part in parts])
    )
    return whole.take(np.arange(rows))


def _in_order(found: list[DrawnPersons], numbers: int, rng: np.random.Generator) -> DrawnPersons:
    """All rows person by person, persons in an order that tells nothing, numbered from 0 on."""
    place = rng.permutation(numbers)[np.concatenate([part.person for part in found])]
    order = np.argsort(place, kind="stable")
    _, person = np.unique(place[order], return_inverse=True)
    return DrawnPersons(table=take(concatenate(part.table for part in found), order), person=person.ravel())


def _forward(
    model: LinkedModel, wide: LinkedColumns, by: Coordinates, first: SampledTable, rng: np.random.Generator
) -> tuple[DrawnPersons, Mask]:
    """Persons from their first rows on, step after step, and which of them came to a place without a next row."""
    names = [*wide.static, *wide.moving]
    owner, left = np.arange(row_count(first)), first[wide.count].data.astype(np.int64) - 1
    row: SampledTable = {name: first[name] for name in names}
    parts, stuck = [DrawnPersons(table=row, person=owner)], np.zeros(len(owner), bool)
    while (going := np.flatnonzero(left > 0)).size:
        owner, left, row = owner[going], left[going] - 1, take(row, going)
        done = complete_rows(model.steps, by, _known(wide, by, row, left), rng)
        stuck[owner[done.unmet]] = True
        met = np.flatnonzero(~done.unmet)
        owner, left = owner[met], left[met]
        row = take({name: done.table[name] for name in names}, met)
        parts.append(DrawnPersons(table=row, person=owner))
    table, owner = concatenate(part.table for part in parts), np.concatenate([part.person for part in parts])
    return DrawnPersons(table=table, person=owner).take(np.argsort(owner, kind="stable")), stuck


def _known(wide: LinkedColumns, by: Coordinates, row: SampledTable, left: Ints) -> KnownCells:
    """What is known of next rows: what never changes, the row before, and how many rows come after."""
    values = {name: row[name] for name in wide.static} | {to: row[name] for name, to in wide.previous.items()}
    if wide.left:
        values[wide.left] = Values(data=left, null=np.zeros(len(left), bool))
    everywhere = np.ones(len(left), bool)
    codes = np.full((len(left), len(by.parts)), UNKNOWN, dtype=np.int32, order="F")
    for place, part in enumerate(by.parts):
        if set(part.sources) <= set(values):
            codes[:, place] = _codes(by, part, values)
    cells = {name: codes_of(by.declared[name], column) for name, column in values.items()}
    return KnownCells(values=values, known=dict.fromkeys(values, everywhere), codes=codes, cells=cells)


def _codes(by: Coordinates, part: Coordinate, values: Mapping[str, Values]) -> Codes | int:
    """Codes of a coordinate whose sources are known; others than columns and calendars are met by rejection."""
    if isinstance(part, Same):
        return codes_of(by.declared[part.name], values[part.name]).astype(np.int32)
    if isinstance(part, CalendarPart):
        moments = values[part.column]
        numbers = part.calendar.take_apart(np.where(moments.null, part.calendar.lower, moments.data))[part.part]
        return codes_of(by.schema[part.name], Values(data=numbers, null=moments.null)).astype(np.int32)
    return UNKNOWN
