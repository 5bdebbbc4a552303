"""Persons of whom some rows are known: what these lack is drawn, and rows that follow.

How many rows a person has is told by all of its known rows. With m rows, s what never changes and x_1 ... x_k the known
rows, persons drawn forward have

    P(m | s, x_1 ... x_k)  ~  P(m | s, x_1)  prod_t  P(m - t - 1 | s, x_t, x_t+1) / P(m - t - 1 | s, x_t),

by Bayes' rule in the table of steps, whose last column is how many rows come after. Each of these laws is one of a
single column given known ones, and is told by particles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Ints, Mask, one_blas_thread
from sklar.model.completing import law_of_column
from sklar.model.linked import LinkedModel
from sklar.sample.complete import CompletedRows, complete_rows, with_mass
from sklar.sample.decode import SampledTable, concatenate, take
from sklar.sample.persons import Begun, DrawnPersons, draw_forward, known_cells
from sklar.sample.rules.every import rules_hold
from sklar.schema.coordinates import Coordinates, linked_views
from sklar.schema.persons.linked import FIRST, NEXT, PARENT, PREVIOUS, LinkedColumns
from sklar.schema.rules import Never
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Given:
    """Values of some rows, by declared column, and where they are known."""

    values: SampledTable
    known: Mapping[str, Mask]

    def take(self, rows: Ints) -> Given:
        """Some of the rows."""
        return Given(values=take(self.values, rows), known={name: mask[rows] for name, mask in self.known.items()})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownPersons:
    """What is known of persons.

    Attributes:
        heads: What never changes, a line for each person.
        rows: What may change, a line for each known row, person by person and in order.
        person: For each row whose it is.
    """

    persons: int
    heads: Given
    rows: Given
    person: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContinuedPersons:
    """Whole persons.

    Attributes:
        drawn: All their rows.
        given: For each row, which of the known ones it is; -1 for rows that were drawn.
        rows: How the known rows were met.
        heads: How heads were that have a table of their own; else None.
    """

    drawn: DrawnPersons
    given: Ints
    rows: CompletedRows
    heads: CompletedRows | None


@one_blas_thread()
def continue_persons(
    model: LinkedModel, schema: Schema, known: KnownPersons, rng: np.random.Generator
) -> ContinuedPersons:
    """Draw what is not known of persons, and the rows that follow those that are."""
    wide, views = linked_views(schema)
    by = {view.name: view.by for view in views}
    filled = _Filling(model=model, wide=wide, by=by, known=known, rng=rng)
    static, count, met, heads = filled.history()
    rows = met.table
    sizes = np.bincount(known.person, minlength=known.persons)
    count = np.maximum(count, sizes)
    several = np.flatnonzero(sizes > (0 if PARENT in by else 1))
    if len(several):
        count[several] = _numbers(filled, static, rows, sizes, several)
    last = np.cumsum(sizes) - 1
    going = np.flatnonzero(sizes > 0)
    if len(going):
        ended = going[_ended(schema, wide, take(rows, last[going]))]
        count[ended] = sizes[ended]
    follow = [_follow(filled, schema, static, None, count, np.flatnonzero(sizes == 0))]
    follow.append(_follow(filled, schema, static, take(rows, last[going]), count - sizes, going))
    added = concatenate([table for table, _ in follow])
    owner = np.concatenate([known.person, *(owner for _, owner in follow)])
    order = np.argsort(owner, kind="stable")
    number = np.concatenate([np.arange(len(known.person)), np.full(len(owner) - len(known.person), -1)])
    moving = take(concatenate([rows, added]), order)
    drawn = DrawnPersons(
        persons=known.persons, heads=static, table={**take(static, owner[order]), **moving}, person=owner[order],
        worth=float(known.persons),
    )  # fmt: skip
    return ContinuedPersons(drawn=drawn, given=number[order], rows=met, heads=heads)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Filling:
    """What is known, and what draws the rest."""

    model: LinkedModel
    wide: LinkedColumns
    by: Mapping[str, Coordinates]
    known: KnownPersons
    rng: np.random.Generator

    def history(self) -> tuple[SampledTable, Ints, CompletedRows, CompletedRows | None]:
        """What never changes, a number of rows, the known rows without gaps, and heads with a table of their own."""
        wide, known = self.wide, self.known
        sizes = np.bincount(known.person, minlength=known.persons)
        starts = np.cumsum(sizes) - sizes
        whose = np.flatnonzero(sizes > 0)
        first = known.rows.take(starts[whose])
        if PARENT in self.by:
            heads = self._complete(PARENT, known.heads)
            static = {name: heads.table[name] for name in wide.static}
            done = self._complete(FIRST, _with_known(first, take(static, whose)))
        else:
            both = Given(values={**known.heads.values, **first.values}, known={**known.heads.known, **first.known})
            done = heads = self._complete(FIRST, both)
            static = {name: done.table[name] for name in wide.static}
        count = heads.table[wide.begins.more].data.astype(np.int64)
        parts, places = [done], [starts[whose]]
        for place in range(1, int(sizes.max(initial=0))):
            kept = np.flatnonzero(sizes[whose] > place)
            row = take({name: parts[-1].table[name] for name in wide.moving}, kept)
            whose = whose[kept]
            before = {wide.previous[name]: values for name, values in row.items()}
            places.append(starts[whose] + place)
            parts.append(
                self._complete(NEXT, _with_known(known.rows.take(places[-1]), {**take(static, whose), **before}))
            )
        back = np.argsort(np.concatenate(places), kind="stable")
        rows = take(concatenate({name: part.table[name] for name in wide.moving} for part in parts), back)
        met = CompletedRows(
            table=rows,
            effective=np.concatenate([part.effective for part in parts])[back],
            unmet=np.concatenate([part.unmet for part in parts])[back],
        )
        return static, count, met, heads if PARENT in self.by else None

    def _complete(self, table: str, given: Given) -> CompletedRows:
        by = self.by[table]
        return complete_rows(self.model.part(table), by, known_cells(by, given.values, given.known), self.rng)

    def log_law(self, table: str, values: SampledTable) -> Floats:
        """Logarithms of the law of how many rows there are, or come after, given these columns of a table."""
        by, model, more = self.by[table], self.model.part(table), self.wide.tables[table].more
        codes = with_mass(by.schema, model.margins, known_cells(by, values).codes)
        return np.log(law_of_column(model, codes, by.schema.modelled.index(more), self.rng))


def _with_known(given: Given, values: SampledTable) -> Given:
    """More that is known, everywhere."""
    whole = {name: np.ones(len(column.null), bool) for name, column in values.items()}
    return Given(values={**given.values, **values}, known={**given.known, **whole})


def _numbers(filled: _Filling, static: SampledTable, rows: SampledTable, sizes: Ints, of: Ints) -> Ints:
    """A number of rows for each of some persons, given all their rows."""
    wide, tables = filled.wide, filled.wide.tables
    most = int(max(filled.model.fewest + filled.model.parts[0].margins[-1].size - 1, sizes.max()))
    log = np.zeros((len(of), most + 1))
    starts = (np.cumsum(sizes) - sizes)[of]
    own, first = take(static, of), take(rows, starts)
    begins = own if PARENT in tables else {**own, **first}
    _add(log, filled.log_law(wide.begins.name, begins), np.full(len(of), filled.model.fewest), np.arange(len(of)))
    if PARENT in tables and tables[FIRST].more:
        gain = filled.log_law(FIRST, {**own, **first}) - filled.log_law(FIRST, own)
        _add(log, gain, np.ones(len(of), np.int64), np.arange(len(of)))
    steps = sizes[of] - 1
    if NEXT in tables and tables[NEXT].more and steps.sum():
        who = np.repeat(np.arange(len(of)), steps)
        place = np.arange(len(who)) - np.repeat(np.cumsum(steps) - steps, steps) + 1
        before = take(rows, starts[who] + place - 1)
        known = {**take(own, who), **{wide.previous[name]: values for name, values in before.items()}}
        gain = filled.log_law(NEXT, {**known, **take(rows, starts[who] + place)}) - filled.log_law(NEXT, known)
        _add(log, gain, place + 1, who)
    log[np.arange(most + 1) < sizes[of][:, None]] = -np.inf
    beyond = np.flatnonzero(~np.isfinite(log).any(axis=1))  # more rows than any person of the model has
    log[beyond, sizes[of[beyond]]] = 0.0
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    reach = np.cumsum(weight, axis=1)
    return np.minimum((reach <= filled.rng.random((len(of), 1)) * reach[:, -1:]).sum(axis=1), most)


def _add(log: Floats, gain: Floats, least: Ints, who: Ints) -> None:
    """Add what a law over codes says of numbers of rows, whose least is that of the first code; others cannot be."""
    for number in range(log.shape[1]):
        code = number - least
        inside = (code >= 0) & (code < gain.shape[1])
        said = np.where(inside, gain[np.arange(len(who)), np.clip(code, 0, gain.shape[1] - 1)], -np.inf)
        np.add.at(log[:, number], who, said)


def _ended(schema: Schema, wide: LinkedColumns, rows: SampledTable) -> Mask:
    """Rows that no other comes after."""
    assert schema.person is not None
    rules = [rule for rule in schema.person.steps
             if isinstance(rule, Never) and all(name.startswith(PREVIOUS) for name in rule.columns)]  # fmt: skip
    columns = {PREVIOUS + name: schema[name] for name in wide.moving}
    return ~rules_hold(Schema(columns, rules), {PREVIOUS + name: values for name, values in rows.items()})


def _follow(
    filled: _Filling, schema: Schema, static: SampledTable, row: SampledTable | None, left: Ints, of: Ints
) -> tuple[SampledTable, Ints]:
    """Rows that follow the last ones of some persons, and whose they are."""
    begun = Begun(static=take(static, of), row=row, left=left[of])
    drawn, who = draw_forward(filled.model, schema, begun, filled.rng)
    fresh = np.ones(len(drawn.person), bool)
    if row is not None:
        fresh[np.searchsorted(drawn.person, np.arange(drawn.persons))] = False
    kept = np.flatnonzero(fresh)
    rows = take({name: drawn.table[name] for name in filled.wide.moving}, kept)
    return rows, of[who[drawn.person[kept]]]
