"""The kinds of coordinates, as data: their names and the declared columns that they are computed from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sklar.schema.calendar import Calendar
from sklar.schema.rules.every import computing_order
from sklar.schema.rules.ratio import Ratio
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """A declared column as it is."""

    name: str

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How far a column lies above (or below) its anchor; the column itself is computed from the two.

    Where the anchor is null, the distance of the column from the near end of its own range stands in, so that each
    pattern of nulls has codes of its own; where the column is null, so is the difference.

    Attributes:
        above: Whether the column is anchor + difference, or else anchor - difference.
        least: Smallest difference, where the anchor is known.
        most: Largest difference, where the anchor is known.
        decimals: Digits after the point of a difference of reals, if both columns declare theirs.
    """

    name: str
    column: str
    anchor: str
    above: bool
    least: int | float
    most: int | float
    decimals: int | None

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.anchor, self.column)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotient:
    """The ratio of a column to its anchor; the column itself is computed from the two.

    Where the anchor is null, the place of the column in its own range, laid over the range of ratios, stands in; where
    the anchor is 0, the smallest ratio does.

    Attributes:
        least: Smallest ratio.
        most: Largest ratio.
        rule: The rule that a recomputed column must obey.
    """

    name: str
    column: str
    anchor: str
    least: float
    most: float
    rule: Ratio

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.anchor, self.column)


@dataclass(frozen=True, slots=True, kw_only=True)
class DummyChoice:
    """Which of some dummy columns is set, as one category; the first, if several are. `none` means none of them."""

    name: str
    columns: tuple[str, ...]
    at_most_one: bool
    none: str

    @property
    def sources(self) -> tuple[str, ...]:
        return self.columns


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarPart:
    """The line of a datetime, or its month, weekday or hour; the datetime itself is put together from all of them.

    Attributes:
        part: "line", or a part of the calendar.
    """

    name: str
    column: str
    part: str
    calendar: Calendar

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.column,)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOfPerson:
    """The number of used rows of a row's person; it is computed from the person's rows, not from a column.

    A person's rows share one vote, so a model of votes has persons with many rows as often as others. Rows come back
    in proportion by this number.
    """

    name: str

    @property
    def sources(self) -> tuple[str, ...]:
        return ()


Step = Difference | Quotient | DummyChoice
"""Coordinates that stand for columns of their own, computed back one by one."""
Coordinate = Same | Step | CalendarPart | RowsOfPerson


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One of several tables that a fit measures side by side.

    Attributes:
        name: Its name, used as a prefix of the names of its columns.
        by: Its own coordinates.
        known: Those of them that are given when a row of it is drawn, where its model is to join them first.
    """

    name: str
    by: Coordinates
    known: frozenset[str] = frozenset()

    def full(self, column: str) -> str:
        """Return the name of one of its coordinates among those of all tables."""
        return f"{self.name}: {column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinates:
    """The coordinates of a table.

    Attributes:
        declared: The schema that they follow from.
        schema: Coordinates as columns; the declared schema itself where no rule changes anything.
        parts: What each modelled column of `schema` is, in its order.
        steps: The parts from which declared columns are computed back, each after those that give its sources.
        views: The tables of persons whose rows are linked, which then have the parts; else none.
    """

    declared: Schema
    schema: Schema
    parts: tuple[Coordinate, ...]
    steps: tuple[Step, ...] = ()
    views: tuple[View, ...] = ()

    @property
    def by_name(self) -> dict[str, Coordinate]:
        """Coordinates by their names."""
        return {part.name: part for part in self.parts}

    def sources_of(self, parts: Iterable[Coordinate]) -> tuple[str, ...]:
        """Return the declared columns that must be read for some coordinates."""
        return tuple(dict.fromkeys(name for part in parts for name in part.sources))

    @property
    def dated(self) -> dict[str, list[CalendarPart]]:
        """Datetimes that are put together from parts of their calendar, the line first."""
        found: dict[str, list[CalendarPart]] = {}
        for part in self.parts:
            if isinstance(part, CalendarPart):
                found.setdefault(part.column, []).append(part)
        return found

    @property
    def rows_of_person(self) -> str | None:
        """The coordinate with the number of rows of a row's person; None where each row has a vote of its own."""
        return next((part.name for part in self.parts if isinstance(part, RowsOfPerson)), None)

    @property
    def plain(self) -> bool:
        """Whether the coordinates are the declared columns."""
        return self.schema is self.declared

    @property
    def coordinate_of_column(self) -> dict[str, str]:
        """For each declared column that is not computed, its coordinate; for a datetime with a calendar, its line."""
        found = {part.name: part.name for part in self.parts if isinstance(part, Same)}
        for step in self.steps:
            found |= dict.fromkeys(step.columns if isinstance(step, DummyChoice) else (step.column,), step.name)
        return found | {column: parts[0].name for column, parts in self.dated.items()}

    def find_coordinate(self, name: str) -> str:
        """Return the coordinate of a declared column, or that of the first column it is computed from."""
        known = self.coordinate_of_column
        needs = {rule.gives: rule.needs for rule in computing_order(self.declared.rules)}
        while name not in known and name in needs:
            name = needs[name][0]
        return known.get(name, name)
