"""Longitudinal rows as base codes of two tables: first rows, and steps from row to row.

A person has one row among the first rows, which counts a whole vote, and a step for each used row after the first;
these share one vote. So one person moves each table by at most a vote, and what a person adds to it depends on the rows
of that person alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklar.accounting.unit import VOTE_BITS
from sklar.arrays import Ints, Mask
from sklar.counting.batches import CodeBatch
from sklar.errors import DoorError
from sklar.rows.codes.table import RowEncoder
from sklar.rows.encode.coordinates import coordinate_encoder, value_reader
from sklar.rows.persons.choice import Column, Persons
from sklar.rows.persons.gather import Gathering
from sklar.rows.persons.rows import PersonRows, packed_batch, vote_weight
from sklar.rows.persons.used import RowChoice
from sklar.rows.sources.source import BATCH_ROWS
from sklar.schema.coordinates import (
    CalendarPart,
    Coordinate,
    Difference,
    Quotient,
    Same,
    View,
    linked_views,
    pair_codes,
)
from sklar.schema.persons.linked import FIRST, NEXT, PREVIOUS

WHOLE_VOTE = 1 << VOTE_BITS
"""Weight of a row that has a vote of its own."""
NULL_INTEGER = np.iinfo(np.int64).min
"""Stands for a null among values that are gathered as integers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """Rows of one of the tables, as places among those that were gathered.

    Attributes:
        now: The row itself.
        before: The row before it; of a first row, itself.
        head: The row with the static columns: the first one of the person.
        more: Codes of the number of rows of the person, or of rows that follow.
    """

    now: Ints
    before: Ints
    head: Ints
    more: Ints

    def take(self, some: Mask | slice) -> Places:
        """Return the codes of some of the persons."""
        return Places(now=self.now[some], before=self.before[some], head=self.head[some], more=self.more[some])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gathered:
    """Gathered columns: of rows, and of the rows with static columns, which may be the same."""

    rows: Sequence[Column]
    heads: Sequence[Column]


_CodesOf = Callable[[Gathered, Places], Column]
"""Codes of one coordinate from the gathered columns."""


class LinkedRows(PersonRows):
    """Private rows of persons as codes of first rows and of steps; static columns are read from the first row."""

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        if not self.votes:
            raise DoorError("tables of persons whose rows are linked are counted in votes")
        self._wide, self._views = linked_views(self._by.declared)
        self._numbers = {view.name: at for at, view in enumerate(self._views)}
        self._gathered = self._static = RowReading(self.null_values)
        if self._person.parents is not None:
            self._static = RowReading(self.null_values)
        self._codes = {view.name: [self._make_encoder(view, part) for part in view.by.parts] for view in self._views}

    @property
    def _choice(self) -> RowChoice:
        return replace(super()._choice, always=True)

    def _split_into_batches(self, gathering: Gathering) -> Iterator[tuple[int, CodeBatch]]:
        """Yield the codes of all tables of persons."""
        for persons, codes in self._select(gathering):
            yield from self._make_tables(
                persons, persons.rows[_find_starts(persons)], Gathered(rows=codes, heads=codes)
            )

    def _person_encoders(self) -> list[Any]:
        return [*super()._person_encoders(), *self._gathered.encoders]

    def _make_tables(self, persons: Persons, heads: Ints, codes: Gathered) -> Iterator[tuple[int, CodeBatch]]:
        """Yield some persons in the tables of first rows and of steps; `heads` are the rows with static columns."""
        starts = _find_starts(persons)
        first = persons.rows[starts]
        # Sensitivity: one row of weight 2^20, a whole vote, for each person.
        yield from self._make_batches(
            FIRST, codes, Places(now=first, before=first, head=heads, more=persons.sizes - 1), WHOLE_VOTE
        )
        sizes = persons.size_of_row
        place = np.arange(len(persons.rows)) - np.repeat(starts, persons.sizes)
        later = np.flatnonzero(place > 0)
        steps = Places(
            now=persons.rows[later],
            before=persons.rows[later - 1],
            head=np.repeat(heads, persons.sizes)[later],
            more=sizes[later] - 1 - place[later],
        )
        # Sensitivity: m - 1 rows of weight floor(2^20 / (m - 1)) for a person with m rows, at most one vote together.
        for size in np.unique(sizes[later]).tolist():
            yield from self._make_batches(NEXT, codes, steps.take(sizes[later] == size), vote_weight(size - 1))

    def _make_batches(self, name: str, codes: Gathered, rows: Places, weight: int) -> Iterator[tuple[int, CodeBatch]]:
        """Yield rows of one table, which all have the same weight."""
        number = self._numbers[name]
        kinds = _list_sizes(self._views[number])
        for start in range(0, len(rows.now), BATCH_ROWS):
            part = rows.take(slice(start, start + BATCH_ROWS))
            yield number, packed_batch([codes_of(codes, part) for codes_of in self._codes[name]], kinds, weight)

    def _make_encoder(self, view: View, part: Coordinate) -> _CodesOf:
        """Return the function that computes a coordinate from gathered columns of this row, the one before, or both."""
        if part.sources == (self._wide.tables[view.name].more,):
            return lambda columns, rows: rows.more
        # The row that has each column: the first one, this one, or the one before.
        known = dict.fromkeys(self._by.declared, "now") | dict.fromkeys(self._wide.static, "head")
        which = [known.get(name, "before") for name in part.sources]
        plain = [name if name in self._by.declared else name.removeprefix(PREVIOUS) for name in part.sources]
        if len(set(which)) == 1:
            reading = self._static if which[0] == "head" else self._gathered
            at = reading.codes(view, part, tuple(plain))
            return lambda codes, rows: _get_column(codes, which[0], at)[getattr(rows, which[0])]
        assert isinstance(part, Difference | Quotient)
        code = pair_codes(view.by, part)
        places = [
            (self._static if row == "head" else self._gathered).values(self._by.declared[name], name)
            for name, row in zip(plain, which, strict=True)
        ]

        def between(codes: Gathered, rows: Places) -> Column:
            both = [_get_column(codes, row, at)[getattr(rows, row)] for at, row in zip(places, which, strict=True)]
            anchor, value = ((found, _is_null(found)) for found in both)
            return code(anchor, value)

        return between


class RowReading:
    """The gathered columns of each row: codes of coordinates, and values that are compared between rows.

    Attributes:
        encoders: The encoders, in the order of the gathered columns.
    """

    def __init__(self, null_values: tuple[str, ...]):
        self._null_values = null_values
        self._places: dict[Any, int] = {}
        self.encoders: list[RowEncoder] = []

    def codes(self, view: View, part: Coordinate, sources: tuple[str, ...]) -> int:
        """Return the place of the codes of a coordinate of one row, from these columns of the table."""
        kind = view.by.declared[sources[0]] if isinstance(part, Same) else replace(part, name="", **_column(part))
        key = (kind, sources)
        return self._add_encoder(key, coordinate_encoder(view.by, part, self._null_values), sources)

    def values(self, column: Any, name: str) -> int:
        """Return the place of the values of a column."""
        read = value_reader(column, self._null_values)

        def encode(array: Any) -> Column:
            values, null = read(array)
            return np.where(null, np.nan if values.dtype == np.float64 else NULL_INTEGER, values)

        return self._add_encoder(name, encode, (name,))

    def _add_encoder(self, key: Any, encode: Callable[..., Any], sources: tuple[str, ...]) -> int:
        if key not in self._places:
            self._places[key] = len(self.encoders)
            self.encoders.append(RowEncoder(encode=encode, sources=sources))
        return self._places[key]


def _column(part: Coordinate) -> dict[str, str]:
    """Return the field to blank in the key of a calendar part, so that all its rows share one encoder."""
    return {"column": ""} if isinstance(part, CalendarPart) else {}


def _get_column(codes: Gathered, which: str, at: int) -> Column:
    return (codes.heads if which == "head" else codes.rows)[at]


def _find_starts(persons: Persons) -> Ints:
    """Return where each person begins among the used rows."""
    return np.cumsum(persons.sizes) - persons.sizes


def _is_null(values: Column) -> Mask:
    return np.isnan(values) if values.dtype == np.float64 else values == NULL_INTEGER


def _list_sizes(view: View) -> list[int]:
    return [view.by.schema.size(name) for name in view.by.schema.modelled]
