"""Persons drawn forward: a first row, then each next row given the one before and what never changes.

Rules across rows hold in every person: where they leave no room for a next row, the person is drawn again from its
first row on, and after a few rounds its rows end there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Ints, Mask
from sklar.model.conditioning import even_batches
from sklar.model.linked import LinkedModel
from sklar.model.protocol import UNKNOWN, Codes
from sklar.sample.complete import Effort, KnownCells, codes_of, complete_rows
from sklar.sample.decode import SampledTable, Values, concatenate, row_count, take
from sklar.sample.raking import Law, RowsOf, choose_persons
from sklar.schema.coordinates import CalendarPart, Coordinate, Coordinates, Same, linked_views
from sklar.schema.persons.linked import FIRST, NEXT, PARENT, LinkedColumns
from sklar.schema.table import Schema

ROUNDS = 8
"""Times that persons are drawn whose rows came to a place without a next one; then their rows end there. Few do."""
SPARE = 1.02
"""Persons drawn for a number of rows, beyond those expected to have so many."""

STEP = Effort(particles=64, searches=(256,))
"""For each next row. On the made panel 256 particles took 3.5 times as long, and brought tables of neighbouring rows 9%
nearer and those of single rows no nearer; none of 159 rows that were not found among 256 was found among 4,096."""
RAKED_FROM = 300
"""Persons from which on they are chosen from more than are wanted; fewer differ from what is expected by chance."""
DRAWN = 1.6
"""Persons drawn for each that is wanted, where they are chosen: more come nearer to what is expected, for time."""
ROWS_AT_ONCE = 60_000
"""Rows of persons that are chosen together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnPersons:
    """Rows of persons, person by person and in order.

    Attributes:
        persons: How many there are.
        heads: For each person what never changes; no columns if all may.
        table: For each row the declared columns that are modelled.
        person: For each row whose it is, as a place among `heads`.
        worth: How many independent persons they are worth: fewer if they are as was asked for, and few are.
    """

    persons: int
    heads: SampledTable
    table: SampledTable
    person: Ints
    worth: float

    def take(self, persons: Ints) -> DrawnPersons:
        """Some of the persons, in that order."""
        place = np.full(self.persons, -1)
        place[persons] = np.arange(len(persons))
        rows = np.flatnonzero(place[self.person] >= 0)
        rows = rows[np.argsort(place[self.person[rows]], kind="stable")]
        heads, owner = take(self.heads, persons), place[self.person[rows]]
        worth = self.worth * len(persons) / max(self.persons, 1)
        return DrawnPersons(persons=len(persons), heads=heads, table=take(self.table, rows), person=owner, worth=worth)

    def first_rows(self, rows: int) -> DrawnPersons:
        """No more than so many rows, and the persons that have them."""
        persons = int(self.person[min(rows, len(self.person)) - 1]) + 1
        kept, found = np.arange(min(rows, len(self.person))), self.take(np.arange(persons))
        return replace(found, table=take(found.table, kept), person=found.person[kept])


def draw_persons(
    model: LinkedModel, schema: Schema, persons: int, law: Law, rng: np.random.Generator, rounded: bool
) -> DrawnPersons:
    """So many persons, in an order that tells nothing.

    Args:
        model: Tells persons.
        schema: What is public about them.
        persons: How many.
        law: Draws rows of the tables of the model.
        rng: Source of randomness.
        rounded: Whether persons are chosen so that their rows together are as the model tells.
    """
    if not rounded or persons < RAKED_FROM:
        return _as_they_come(model, schema, persons, law, rng)
    most = max(int(ROWS_AT_ONCE / max(DRAWN * model.mean_rows, 1.0)), RAKED_FROM)
    parts: list[DrawnPersons] = []
    for batch in even_batches(persons, most):
        wanted = batch.stop - batch.start
        drawn = _as_they_come(model, schema, int(DRAWN * wanted), law, rng)
        rows = list(_rows_of(drawn, linked_views(schema)[0]))
        parts.append(drawn.take(choose_persons(rows, drawn.persons, wanted, model.fewest, law, rng)))
    return _together(parts)


def _as_they_come(model: LinkedModel, schema: Schema, persons: int, law: Law, rng: np.random.Generator) -> DrawnPersons:
    """Persons drawn forward; those without a next row are drawn again."""
    found: list[DrawnPersons] = []
    begun, worth = law(model.names[0], persons)
    for turn in range(ROUNDS):
        drawn, stuck = _forward(model, schema, begun, rng)
        found.append(drawn if turn == ROUNDS - 1 else drawn.take(np.flatnonzero(~stuck)))
        if not stuck.any():
            break
        begun = take(begun, np.flatnonzero(stuck))
    return replace(_together(found).take(rng.permutation(persons)), worth=worth)


def draw_rows_of_persons(
    model: LinkedModel, schema: Schema, rows: int, law: Law, rng: np.random.Generator, rounded: bool
) -> DrawnPersons:
    """Just so many rows; the last person may have more of them than there is room for."""
    parts: list[DrawnPersons] = []
    have = 0
    while have < rows:
        wanted = int(np.ceil(SPARE * (rows - have) / max(model.mean_rows, 1e-3)))
        parts.append(draw_persons(model, schema, wanted, law, rng, rounded))
        have += len(parts[-1].person)
    return _together(parts).first_rows(rows)


def _rows_of(drawn: DrawnPersons, wide: LinkedColumns) -> Iterator[RowsOf]:
    """The rows of persons in each of the tables that tell them."""
    sizes = np.bincount(drawn.person, minlength=drawn.persons)
    place = np.arange(len(drawn.person)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first, later = np.flatnonzero(place == 0), np.flatnonzero(place > 0)
    numbers = {PARENT: sizes, FIRST: sizes[drawn.person[first]], NEXT: (sizes[drawn.person] - 1 - place)[later]}
    moving = {name: drawn.table[name] for name in wide.moving}
    before = {wide.previous[name]: values for name, values in take(moving, later - 1).items()}
    told = {PARENT: drawn.heads, FIRST: take(drawn.table, first), NEXT: {**before, **take(drawn.table, later)}}
    person = {PARENT: np.arange(drawn.persons), FIRST: drawn.person[first], NEXT: drawn.person[later]}
    for name, table in wide.tables.items():
        values = {**told[name], **_number(wide, name, numbers[name])}
        yield RowsOf(table=table, values=values, person=person[name])


def _together(parts: list[DrawnPersons]) -> DrawnPersons:
    starts = np.cumsum([0, *(part.persons for part in parts)])
    return DrawnPersons(
        persons=int(starts[-1]),
        heads=concatenate(part.heads for part in parts),
        table=concatenate(part.table for part in parts),
        person=np.concatenate([part.person + start for part, start in zip(parts, starts.tolist(), strict=False)]),
        worth=sum(part.worth for part in parts),
    )


def _forward(
    model: LinkedModel, schema: Schema, heads: SampledTable, rng: np.random.Generator
) -> tuple[DrawnPersons, Mask]:
    """Persons row after row, and which of them came to a place without a next row."""
    wide, views = linked_views(schema)
    by = {view.name: view.by for view in views}
    static: SampledTable = {name: heads[name] for name in wide.static}
    left = heads[wide.tables[views[0].name].more].data.astype(np.int64) - 1
    owner, stuck = np.arange(len(left)), np.zeros(len(left), bool)
    parts: list[tuple[SampledTable, Ints]] = []

    def drawn(name: str, known: SampledTable) -> SampledTable:
        """Rows of one table given what is known of them, of those persons for whom there is one."""
        nonlocal owner, left
        done = complete_rows(model.part(name), by[name], _known(by[name], known), rng, STEP)
        stuck[owner[done.unmet]] = True
        met = np.flatnonzero(~done.unmet)
        owner, left = owner[met], left[met]
        return take({column: done.table[column] for column in wide.moving}, met)

    if PARENT in by:
        going = np.flatnonzero(left >= 0)
        owner, left = owner[going], left[going]
        row = drawn(FIRST, {**take(static, owner), **_number(wide, FIRST, left + 1)})
    else:
        row = {name: heads[name] for name in wide.moving}
    parts.append((row, owner))
    while (going := np.flatnonzero(left > 0)).size:
        owner, left, row = owner[going], left[going] - 1, take(row, going)
        before = {wide.previous[name]: values for name, values in row.items()}
        row = drawn(NEXT, {**take(static, owner), **before, **_number(wide, NEXT, left)})
        parts.append((row, owner))
    person = np.concatenate([owner for _, owner in parts])
    order = np.argsort(person, kind="stable")
    person = person[order]
    moving = take(concatenate(row for row, _ in parts), order)
    table = {**take(static, person), **moving}
    persons = len(stuck)
    return DrawnPersons(persons=persons, heads=static, table=table, person=person, worth=float(persons)), stuck


def _number(wide: LinkedColumns, table: str, number: Ints) -> dict[str, Values]:
    """The column that tells how many rows there are, if the table has one."""
    name = wide.tables[table].more
    return {name: Values(data=number, null=np.zeros(len(number), bool))} if name else {}


def _known(by: Coordinates, values: SampledTable) -> KnownCells:
    """What is known of rows that are to be drawn, everywhere the same columns."""
    rows = row_count(values)
    codes = np.full((rows, len(by.parts)), UNKNOWN, dtype=np.int32, order="F")
    for place, part in enumerate(by.parts):
        if set(part.sources) <= set(values):
            codes[:, place] = _codes(by, part, values)
    cells = {name: codes_of(by.declared[name], column) for name, column in values.items()}
    known = dict.fromkeys(values, np.ones(rows, bool))
    return KnownCells(values=values, known=known, codes=codes, cells=cells)


def _codes(by: Coordinates, part: Coordinate, values: Mapping[str, Values]) -> Codes | int:
    """Codes of a coordinate whose sources are known; others than columns and calendars are met by rejection."""
    if isinstance(part, Same):
        return codes_of(by.declared[part.name], values[part.name]).astype(np.int32)
    if isinstance(part, CalendarPart):
        moments = values[part.column]
        numbers = part.calendar.take_apart(np.where(moments.null, part.calendar.lower, moments.data))[part.part]
        return codes_of(by.schema[part.name], Values(data=numbers, null=moments.null)).astype(np.int32)
    return UNKNOWN
