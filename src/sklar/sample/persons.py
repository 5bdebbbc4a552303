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
from sklar.model.protocol import UNKNOWN
from sklar.sample.complete import Effort, KnownCells, codes_of, complete_rows
from sklar.sample.decode import SampledTable, Values, concatenate, row_count, take
from sklar.sample.raking import Law, RowsOf, choose_persons
from sklar.schema.coordinates import (
    CalendarPart,
    Coordinate,
    Coordinates,
    Difference,
    Quotient,
    Same,
    linked_views,
    pair_codes,
)
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Begun:
    """Persons whose rows go on.

    Attributes:
        static: What never changes.
        row: The last row that each has; None if they have none yet.
        left: How many rows are to come.
    """

    static: SampledTable
    row: SampledTable | None
    left: Ints

    def take(self, persons: Ints) -> Begun:
        """Some of them."""
        row = None if self.row is None else take(self.row, persons)
        return Begun(static=take(self.static, persons), row=row, left=self.left[persons])


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
    """Persons drawn forward."""
    wide, begun = linked_views(schema)[0], law(model.names[0], persons)
    heads, count = begun[0], begun[0][wide.begins.more].data.astype(np.int64)
    static = {name: heads[name] for name in wide.static}
    if wide.begins.name == PARENT:
        start = Begun(static=static, row=None, left=count)
    else:
        start = Begun(static=static, row={name: heads[name] for name in wide.moving}, left=count - 1)
    found = draw_forward(model, schema, start, rng)[0]
    return replace(found.take(rng.permutation(persons)), worth=begun[1])


def draw_forward(
    model: LinkedModel, schema: Schema, begun: Begun, rng: np.random.Generator
) -> tuple[DrawnPersons, Ints]:
    """Persons with the rows they begin with and those that follow, and which each of them was.

    Those who come to a place without a next row are drawn again.
    """
    found: list[DrawnPersons] = []
    who: list[Ints] = []
    at = np.arange(len(begun.left))
    for turn in range(ROUNDS):
        drawn, stuck = _forward(model, schema, begun, rng)
        kept = np.arange(len(at)) if turn == ROUNDS - 1 else np.flatnonzero(~stuck)
        found.append(drawn.take(kept))
        who.append(at[kept])
        if not stuck.any():
            break
        begun, at = begun.take(np.flatnonzero(stuck)), at[stuck]
    return _together(found), np.concatenate(who)


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
        values = {**told[name], **numbered(wide, name, numbers[name])}
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


def _forward(model: LinkedModel, schema: Schema, begun: Begun, rng: np.random.Generator) -> tuple[DrawnPersons, Mask]:
    """Persons row after row, and which of them came to a place without a next row."""
    wide, views = linked_views(schema)
    by = {view.name: view.by for view in views}
    static, row, left = begun.static, begun.row, begun.left
    owner, stuck = np.arange(len(left)), np.zeros(len(left), bool)
    parts: list[tuple[SampledTable, Ints]] = [] if row is None else [(row, owner)]
    while (going := np.flatnonzero(left > 0)).size or not parts:
        owner, left = owner[going], left[going]
        if row is None:
            name, known = FIRST, {**take(static, owner), **numbered(wide, FIRST, left)}
        else:
            before = {wide.previous[column]: values for column, values in take(row, going).items()}
            name, known = NEXT, {**take(static, owner), **before, **numbered(wide, NEXT, left - 1)}
        done = complete_rows(model.part(name), by[name], known_cells(by[name], known), rng, STEP)
        stuck[owner[done.unmet]] = True
        met = np.flatnonzero(~done.unmet)
        owner, left = owner[met], left[met] - 1
        row = take({column: done.table[column] for column in wide.moving}, met)
        parts.append((row, owner))
    person = np.concatenate([owner for _, owner in parts])
    order = np.argsort(person, kind="stable")
    person = person[order]
    moving = take(concatenate(row for row, _ in parts), order)
    table = {**take(static, person), **moving}
    persons = len(stuck)
    return DrawnPersons(persons=persons, heads=static, table=table, person=person, worth=float(persons)), stuck


def numbered(wide: LinkedColumns, table: str, number: Ints) -> dict[str, Values]:
    """The column that tells how many rows there are, if the table has one."""
    name = wide.tables[table].more
    return {name: Values(data=number, null=np.zeros(len(number), bool))} if name else {}


def known_cells(by: Coordinates, values: SampledTable, known: Mapping[str, Mask] | None = None) -> KnownCells:
    """What is known of rows that are to be drawn: the values, or those of them that are said to be known."""
    rows = row_count(values)
    where = {name: np.ones(rows, bool) if known is None else known[name] for name in values}
    codes = np.full((rows, len(by.parts)), UNKNOWN, dtype=np.int32, order="F")
    for place, part in enumerate(by.parts):
        if part.sources and set(part.sources) <= set(values):
            told = np.logical_and.reduce([where[name] for name in part.sources])
            codes[:, place] = np.where(told, _codes(by, part, values), UNKNOWN)
    cells = {name: codes_of(by.declared[name], column) for name, column in values.items()}
    return KnownCells(values=values, known=where, codes=codes, cells=cells)


def _codes(by: Coordinates, part: Coordinate, values: Mapping[str, Values]) -> Ints | int:
    """Codes of a coordinate whose sources are known; a choice among dummy columns is met by rejection."""
    if isinstance(part, Same):
        return codes_of(by.declared[part.name], values[part.name])
    if isinstance(part, CalendarPart):
        moments = values[part.column]
        numbers = part.calendar.take_apart(np.where(moments.null, part.calendar.lower, moments.data))[part.part]
        return codes_of(by.schema[part.name], Values(data=numbers, null=moments.null))
    if isinstance(part, Difference | Quotient):
        anchor, column = values[part.anchor], values[part.column]
        return pair_codes(by, part)((anchor.data, anchor.null), (column.data, column.null)).astype(np.int64)
    return UNKNOWN
