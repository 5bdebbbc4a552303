"""Draw trajectories forward: a first row, then each next row given the previous one and the static columns.

Rules across rows hold for every person: where they allow no next row, the person is drawn again from its first row, and
after a few rounds its rows end there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Ints, Mask
from sklar.model.conditioning import even_batches
from sklar.model.linked import LinkedModel
from sklar.model.protocol import UNKNOWN_CODE
from sklar.sample.complete import Effort, KnownCells, codes_of, complete_rows
from sklar.sample.decode import SampledTable, Values, concatenate, row_count, take
from sklar.sample.raking import RowsOf, ViewSampler, choose_persons
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

MAX_PERSON_DRAWS = 8
"""Times that a person is drawn whose rules allow no next row; then its rows end there. This is rare."""
EXTRA_PERSONS = 1.02
"""Factor on the expected number of persons for a number of rows, so that rarely a second draw is needed."""
TRANSITION_EFFORT = Effort(particles=64, searches=(256,))
"""Effort for each next row. On a simulated panel 256 particles took 3.5 times as long and made tables of neighbouring
rows 9% more accurate, those of single rows no more; none of 159 rows not found among 256 was found among 4,096."""
MIN_RAKED_PERSONS = 300
"""Minimum number of persons for raking; fewer differ from the expected counts by chance."""
CANDIDATES_PER_PERSON = 1.6
"""Persons drawn for each one that raking selects: more come nearer to the expected counts, at the cost of time."""
RAKED_BATCH_ROWS = 60_000
"""Rows of persons that are selected together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnPersons:
    """Rows of persons, person by person and in order.

    Attributes:
        persons: Number of persons.
        heads: Static columns of each person; no columns if all may change.
        table: Modelled columns of each row.
        person: The person of each row, as an index into `heads`.
        effective: Effective number of independent persons: smaller if conditions are rare.
    """

    persons: int
    heads: SampledTable
    table: SampledTable
    person: Ints
    effective: float

    def take(self, persons: Ints) -> DrawnPersons:
        """Return some of the persons, in that order."""
        place = np.full(self.persons, -1)
        place[persons] = np.arange(len(persons))
        rows = np.flatnonzero(place[self.person] >= 0)
        rows = rows[np.argsort(place[self.person[rows]], kind="stable")]
        heads, owner = take(self.heads, persons), place[self.person[rows]]
        effective, table = self.effective * len(persons) / max(self.persons, 1), take(self.table, rows)
        return DrawnPersons(persons=len(persons), heads=heads, table=table, person=owner, effective=effective)

    def first_rows(self, rows: int) -> DrawnPersons:
        """Return the first rows, at most `rows`, and their persons."""
        persons = int(self.person[min(rows, len(self.person)) - 1]) + 1
        kept, found = np.arange(min(rows, len(self.person))), self.take(np.arange(persons))
        return replace(found, table=take(found.table, kept), person=found.person[kept])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Begun:
    """Unfinished trajectories.

    Attributes:
        static: Static columns of each person.
        row: The last row of each person; None if they have none yet.
        left: Number of rows still to be drawn.
    """

    static: SampledTable
    row: SampledTable | None
    left: Ints

    def take(self, persons: Ints) -> Begun:
        """Return some of the persons."""
        row = None if self.row is None else take(self.row, persons)
        return Begun(static=take(self.static, persons), row=row, left=self.left[persons])


def draw_persons(
    model: LinkedModel, schema: Schema, persons: int, draw_view: ViewSampler, rng: np.random.Generator, rounded: bool
) -> DrawnPersons:
    """Draw persons in random order.

    Args:
        model: The model of persons.
        schema: The public facts.
        persons: Number of persons.
        draw_view: Draws rows of each view of the model.
        rng: Source of randomness.
        rounded: Whether persons are selected so that counts of their rows match the model's expectation.
    """
    if not rounded or persons < MIN_RAKED_PERSONS:
        return _draw_independently(model, schema, persons, draw_view, rng)
    most = max(int(RAKED_BATCH_ROWS / max(CANDIDATES_PER_PERSON * model.mean_rows, 1.0)), MIN_RAKED_PERSONS)
    parts: list[DrawnPersons] = []
    for batch in even_batches(persons, most):
        wanted = batch.stop - batch.start
        drawn = _draw_independently(model, schema, int(CANDIDATES_PER_PERSON * wanted), draw_view, rng)
        rows = list(_rows_of(drawn, linked_views(schema)[0]))
        parts.append(drawn.take(choose_persons(rows, drawn.persons, wanted, model.fewest, draw_view, rng)))
    return _join_persons(parts)


def _draw_independently(
    model: LinkedModel, schema: Schema, persons: int, draw_view: ViewSampler, rng: np.random.Generator
) -> DrawnPersons:
    """Draw persons forward, without selection."""
    wide, begun = linked_views(schema)[0], draw_view(model.names[0], persons)
    heads, count = begun[0], begun[0][wide.begins.more].data.astype(np.int64)
    static = {name: heads[name] for name in wide.static}
    if wide.begins.name == PARENT:
        start = Begun(static=static, row=None, left=count)
    else:
        start = Begun(static=static, row={name: heads[name] for name in wide.moving}, left=count - 1)
    found = draw_forward(model, schema, start, rng)[0]
    return replace(found.take(rng.permutation(persons)), effective=begun[1])


def draw_forward(
    model: LinkedModel, schema: Schema, begun: Begun, rng: np.random.Generator
) -> tuple[DrawnPersons, Ints]:
    """Draw the remaining rows of unfinished trajectories; return whole persons and their original indices.

    Persons for whom the rules allow no next row are drawn again.
    """
    found: list[DrawnPersons] = []
    who: list[Ints] = []
    at = np.arange(len(begun.left))
    for turn in range(MAX_PERSON_DRAWS):
        drawn, stuck = _forward(model, schema, begun, rng)
        kept = np.arange(len(at)) if turn == MAX_PERSON_DRAWS - 1 else np.flatnonzero(~stuck)
        found.append(drawn.take(kept))
        who.append(at[kept])
        if not stuck.any():
            break
        begun, at = begun.take(np.flatnonzero(stuck)), at[stuck]
    return _join_persons(found), np.concatenate(who)


def draw_rows_of_persons(
    model: LinkedModel, schema: Schema, rows: int, draw_view: ViewSampler, rng: np.random.Generator, rounded: bool
) -> DrawnPersons:
    """Draw exactly `rows` rows; the last person may be incomplete."""
    parts: list[DrawnPersons] = []
    have = 0
    while have < rows:
        wanted = int(np.ceil(EXTRA_PERSONS * (rows - have) / max(model.mean_rows, 1e-3)))
        parts.append(draw_persons(model, schema, wanted, draw_view, rng, rounded))
        have += len(parts[-1].person)
    return _join_persons(parts).first_rows(rows)


def _rows_of(drawn: DrawnPersons, wide: LinkedColumns) -> Iterator[RowsOf]:
    """Yield the rows of persons in each view."""
    sizes = np.bincount(drawn.person, minlength=drawn.persons)
    place = np.arange(len(drawn.person)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first, later = np.flatnonzero(place == 0), np.flatnonzero(place > 0)
    numbers = {PARENT: sizes, FIRST: sizes[drawn.person[first]], NEXT: (sizes[drawn.person] - 1 - place)[later]}
    moving = {name: drawn.table[name] for name in wide.moving}
    before = {wide.previous[name]: values for name, values in take(moving, later - 1).items()}
    views = {PARENT: drawn.heads, FIRST: take(drawn.table, first), NEXT: {**before, **take(drawn.table, later)}}
    person = {PARENT: np.arange(drawn.persons), FIRST: drawn.person[first], NEXT: drawn.person[later]}
    for name, table in wide.tables.items():
        values = {**views[name], **add_row_numbers(wide, name, numbers[name])}
        yield RowsOf(table=table, values=values, person=person[name])


def _join_persons(parts: list[DrawnPersons]) -> DrawnPersons:
    starts = np.cumsum([0, *(part.persons for part in parts)])
    return DrawnPersons(
        persons=int(starts[-1]),
        heads=concatenate(part.heads for part in parts),
        table=concatenate(part.table for part in parts),
        person=np.concatenate([part.person + start for part, start in zip(parts, starts.tolist(), strict=False)]),
        effective=sum(part.effective for part in parts),
    )


def _forward(model: LinkedModel, schema: Schema, begun: Begun, rng: np.random.Generator) -> tuple[DrawnPersons, Mask]:
    """Draw row after row; return the persons, and for which of them the rules allowed no next row."""
    wide, views = linked_views(schema)
    by = {view.name: view.by for view in views}
    static, row, left = begun.static, begun.row, begun.left
    owner, stuck = np.arange(len(left)), np.zeros(len(left), bool)
    parts: list[tuple[SampledTable, Ints]] = [] if row is None else [(row, owner)]
    while (going := np.flatnonzero(left > 0)).size or not parts:
        owner, left = owner[going], left[going]
        if row is None:
            name, known = FIRST, {**take(static, owner), **add_row_numbers(wide, FIRST, left)}
        else:
            before = {wide.previous[column]: values for column, values in take(row, going).items()}
            name, known = NEXT, {**take(static, owner), **before, **add_row_numbers(wide, NEXT, left - 1)}
        done = complete_rows(model.part(name), by[name], known_cells(by[name], known), rng, TRANSITION_EFFORT)
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
    return DrawnPersons(persons=persons, heads=static, table=table, person=person, effective=float(persons)), stuck


def add_row_numbers(wide: LinkedColumns, table: str, number: Ints) -> dict[str, Values]:
    """Return the column with the number of rows, if the table has one."""
    name = wide.tables[table].more
    return {name: Values(data=number, null=np.zeros(len(number), bool))} if name else {}


def known_cells(by: Coordinates, values: SampledTable, known: Mapping[str, Mask] | None = None) -> KnownCells:
    """Return the known cells of rows to be drawn: all of the values, or those marked in `known`."""
    rows = row_count(values)
    where = {name: np.ones(rows, bool) if known is None else known[name] for name in values}
    codes = np.full((rows, len(by.parts)), UNKNOWN_CODE, dtype=np.int32, order="F")
    for place, part in enumerate(by.parts):
        if part.sources and set(part.sources) <= set(values):
            all_known = np.logical_and.reduce([where[name] for name in part.sources])
            codes[:, place] = np.where(all_known, _codes(by, part, values), UNKNOWN_CODE)
    cells = {name: codes_of(by.declared[name], column) for name, column in values.items()}
    return KnownCells(values=values, known=where, codes=codes, cells=cells)


def _codes(by: Coordinates, part: Coordinate, values: Mapping[str, Values]) -> Ints | int:
    """Return codes of a coordinate whose sources are known; a choice among dummy columns is left to rejection."""
    if isinstance(part, Same):
        return codes_of(by.declared[part.name], values[part.name])
    if isinstance(part, CalendarPart):
        times = values[part.column]
        numbers = part.calendar.take_apart(np.where(times.null, part.calendar.lower, times.data))[part.part]
        return codes_of(by.schema[part.name], Values(data=numbers, null=times.null))
    if isinstance(part, Difference | Quotient):
        anchor, column = values[part.anchor], values[part.column]
        return pair_codes(by, part)((anchor.data, anchor.null), (column.data, column.null)).astype(np.int64)
    return UNKNOWN_CODE
