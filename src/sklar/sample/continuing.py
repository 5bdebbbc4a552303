"""Continue trajectories: draw the unknown values of persons' known rows, and their later rows.

The number of rows of a person depends on all of its known rows. With m rows, s the static columns and x_1 ... x_k the
known rows, persons drawn forward have

    P(m | s, x_1 ... x_k)  ~  P(m | s, x_1)  prod_t  P(m - t - 1 | s, x_t, x_t+1) / P(m - t - 1 | s, x_t),

by Bayes' rule in the table of transitions, whose last column is the number of later rows. Each of these distributions
is that of a single column given known ones, and is estimated by particles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Ints, Mask, one_blas_thread
from sklar.model.completing import distribution_of_column
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
        """Return some of the rows."""
        return Given(values=take(self.values, rows), known={name: mask[rows] for name, mask in self.known.items()})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownPersons:
    """The known values of persons.

    Attributes:
        heads: Static columns, one line per person.
        rows: Other columns, one line per known row, person by person and in order.
        person: The person of each row.
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
        given: For each row, its index among the known rows; -1 for drawn rows.
        rows: The completion of the known rows.
        heads: The completion of the parents, if they have a table of their own; else None.
    """

    drawn: DrawnPersons
    given: Ints
    rows: CompletedRows
    heads: CompletedRows | None


@one_blas_thread()
def continue_persons(
    model: LinkedModel, schema: Schema, known: KnownPersons, rng: np.random.Generator
) -> ContinuedPersons:
    """Draw the unknown values of persons, and the rows that follow the known ones."""
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
        effective=float(known.persons),
    )  # fmt: skip
    return ContinuedPersons(drawn=drawn, given=number[order], rows=met, heads=heads)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Filling:
    """The known values, and the model that draws the rest."""

    model: LinkedModel
    wide: LinkedColumns
    by: Mapping[str, Coordinates]
    known: KnownPersons
    rng: np.random.Generator

    def history(self) -> tuple[SampledTable, Ints, CompletedRows, CompletedRows | None]:
        """Return static columns, numbers of rows, the completed known rows, and parents with a table of their own."""
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

    def log_row_counts(self, table: str, values: SampledTable) -> Floats:
        """Return log probabilities of the number of rows, or of later rows, given these columns of a table."""
        by, model, more = self.by[table], self.model.part(table), self.wide.tables[table].more
        codes = with_mass(by.schema, model.margins, known_cells(by, values).codes)
        return np.log(distribution_of_column(model, codes, by.schema.modelled.index(more), self.rng))


def _with_known(given: Given, values: SampledTable) -> Given:
    """Add columns that are known in all rows."""
    whole = {name: np.ones(len(column.null), bool) for name, column in values.items()}
    return Given(values={**given.values, **values}, known={**given.known, **whole})


def _numbers(filled: _Filling, static: SampledTable, rows: SampledTable, sizes: Ints, of: Ints) -> Ints:
    """Draw the number of rows of each of some persons, given all their known rows."""
    wide, tables = filled.wide, filled.wide.tables
    most = int(max(filled.model.fewest + filled.model.parts[0].margins[-1].size - 1, sizes.max()))
    log = np.zeros((len(of), most + 1))
    starts = (np.cumsum(sizes) - sizes)[of]
    own, first = take(static, of), take(rows, starts)
    begins = own if PARENT in tables else {**own, **first}
    _add(
        log, filled.log_row_counts(wide.begins.name, begins), np.full(len(of), filled.model.fewest), np.arange(len(of))
    )
    if PARENT in tables and tables[FIRST].more:
        gain = filled.log_row_counts(FIRST, {**own, **first}) - filled.log_row_counts(FIRST, own)
        _add(log, gain, np.ones(len(of), np.int64), np.arange(len(of)))
    steps = sizes[of] - 1
    if NEXT in tables and tables[NEXT].more and steps.sum():
        who = np.repeat(np.arange(len(of)), steps)
        place = np.arange(len(who)) - np.repeat(np.cumsum(steps) - steps, steps) + 1
        before = take(rows, starts[who] + place - 1)
        known = {**take(own, who), **{wide.previous[name]: values for name, values in before.items()}}
        gain = filled.log_row_counts(NEXT, {**known, **take(rows, starts[who] + place)}) - filled.log_row_counts(
            NEXT, known
        )
        _add(log, gain, place + 1, who)
    log[np.arange(most + 1) < sizes[of][:, None]] = -np.inf
    beyond = np.flatnonzero(~np.isfinite(log).any(axis=1))  # more rows than any person of the model has
    log[beyond, sizes[of[beyond]]] = 0.0
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    reach = np.cumsum(weight, axis=1)
    return np.minimum((reach <= filled.rng.random((len(of), 1)) * reach[:, -1:]).sum(axis=1), most)


def _add(log: Floats, gain: Floats, least: Ints, who: Ints) -> None:
    """Add log probabilities of codes to those of numbers of rows, code 0 meaning `least`; others become impossible."""
    for number in range(log.shape[1]):
        code = number - least
        inside = (code >= 0) & (code < gain.shape[1])
        added = np.where(inside, gain[np.arange(len(who)), np.clip(code, 0, gain.shape[1] - 1)], -np.inf)
        np.add.at(log[:, number], who, added)


def _ended(schema: Schema, wide: LinkedColumns, rows: SampledTable) -> Mask:
    """Return rows after which no further row is allowed."""
    assert schema.person is not None
    rules = [rule for rule in schema.person.steps
             if isinstance(rule, Never) and all(name.startswith(PREVIOUS) for name in rule.columns)]  # fmt: skip
    columns = {PREVIOUS + name: schema[name] for name in wide.moving}
    return ~rules_hold(Schema(columns, rules), {PREVIOUS + name: values for name, values in rows.items()})


def _follow(
    filled: _Filling, schema: Schema, static: SampledTable, row: SampledTable | None, left: Ints, of: Ints
) -> tuple[SampledTable, Ints]:
    """Draw the rows that follow the last ones of some persons; return them and their persons."""
    begun = Begun(static=take(static, of), row=row, left=left[of])
    drawn, who = draw_forward(filled.model, schema, begun, filled.rng)
    fresh = np.ones(len(drawn.person), bool)
    if row is not None:
        fresh[np.searchsorted(drawn.person, np.arange(drawn.persons))] = False
    kept = np.flatnonzero(fresh)
    rows = take({name: drawn.table[name] for name in filled.wide.moving}, kept)
    return rows, of[who[drawn.person[kept]]]
