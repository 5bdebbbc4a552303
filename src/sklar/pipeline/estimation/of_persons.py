"""Questions about persons whose rows follow one another: asked of the one of their tables that has all the columns.

Each of these tables was measured as a table of its own, by the same method, so it is asked as any fit is.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklar.errors import SklarError, UsageError
from sklar.inference.answers.questions import Enquiry
from sklar.inference.answers.statistics import used_columns
from sklar.inference.estimates import Estimated
from sklar.inference.fitted import Fitted
from sklar.inference.heard import Heard, SummedProduct, listen
from sklar.inference.released_tables import ReleasedTable
from sklar.methods.facts.marks import without_found_digits
from sklar.methods.side_by_side import allowances, renamed
from sklar.model.linked import LinkedModel
from sklar.pipeline.estimation.asking import Wanted, ask
from sklar.pipeline.estimation.making import Done
from sklar.pipeline.estimation.memory import Memory
from sklar.pipeline.model_file import Stored
from sklar.schema.coordinates import Coordinates, View, linked_views
from sklar.schema.persons.linked import FIRST, FIRST_OF, NEXT, PARENT, LinkedColumns
from sklar.schema.table import Schema

WHOSE = {
    PARENT: "each person counts once",
    FIRST: "each person with a row counts once",
    NEXT: "of rows with one before them; each person who has such rows counts once, as their mean",
}
"""What answers of each table are of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredView(Stored):
    """One of the tables of a model of persons, as a fit of its own.

    Attributes:
        whole: The model.
        place: Which table.
    """

    whole: Stored
    place: int

    @property
    def coordinates(self) -> Coordinates:
        """Those of the table."""
        return _view(self.whole.schema, self.place).by

    @property
    def fitted(self) -> Fitted:
        """The fit of the table: with its share of the allowance, and its own stream."""
        whole = self.whole.fitted
        seen = without_found_digits(self.whole.schema, self.whole.fit.get("fit", ""))
        views = linked_views(seen)[1]
        return replace(
            whole, schema=views[self.place].by.schema, allowance=allowances(views, whole.allowance)[self.place],
            public_rows=whole.public_rows if self.place == 0 else None, model=self.model,
            stream=(self.place, len(views)), known=views[self.place].known,
        )  # fmt: skip


def persons_schema(schema: Schema) -> Schema:
    """All that may be asked about persons, as columns of one schema."""
    wide, views = linked_views(schema)
    every = [(view, _names(wide, view.name)) for view in views]
    return Schema({name: view.by.declared[column] for view, names in every for name, column in names.items()})


def ask_persons(
    stored: Stored, question: Enquiry, wanted: Wanted, memory: Memory, done: Done | None = None
) -> tuple[Estimated, ...]:
    """The estimates that answer a question, one for each group and term."""
    wide, views = linked_views(stored.schema)
    place, names = _table_of(wide, used_columns(question))
    if place not in memory.views:
        memory.views[place] = Memory(listened=True, heard=_heard(stored, place))
    short = replace(
        question, columns=tuple(names.get(name, name) for name in question.columns),
        by=question.by and names.get(question.by, question.by),
        given={names.get(name, name): wanted for name, wanted in question.given.items()},
    )  # fmt: skip
    assert isinstance(stored.model, LinkedModel)
    view = StoredView(
        schema=views[place].by.declared, claim=stored.claim, fit=stored.fit, recorded=stored.recorded,
        model=stored.model.parts[place], whole=stored, place=place,
    )  # fmt: skip
    found = ask(view, short, wanted, memory.views[place], done)
    assert stored.schema.person is not None
    most = stored.schema.person.bound
    whose = WHOSE[PARENT if place == 0 else views[place].name]
    whose += f"; at most {most} row{'s' * (most > 1)} of each person {'are' if most > 1 else 'is'} counted"
    return tuple(replace(one, name=question.name, how=f"{one.how}; {whose}") for one in found)


def _view(schema: Schema, place: int) -> View:
    return linked_views(schema)[1][place]


def _names(wide: LinkedColumns, table: str) -> Mapping[str, str]:
    """What may be asked of one of the tables: names, and its own columns that they mean."""
    own = wide.tables[table].columns
    if table == NEXT:
        return {name: name for name in own}
    return {FIRST_OF + name if name in wide.moving else name: name for name in own}


def _table_of(wide: LinkedColumns, columns: tuple[str, ...]) -> tuple[int, Mapping[str, str]]:
    """The first table that has all columns of a question, and what they are called in it."""
    tables = [_names(wide, name) for name in wide.tables]
    known = {name for names in tables for name in names}
    for name in columns:
        if name not in known:
            shown = ", ".join([*dict.fromkeys(name for names in tables for name in names)][:24])
            raise UsageError(f"'{name}' is nothing that can be asked about persons; they have {shown}")
    moving = [name for name in columns if name in wide.moving]
    if moving and not set(columns) & set(wide.previous.values()):
        raise UsageError(
            f"'{moving[0]}' changes from row to row, and rows of persons were measured as first rows and as steps: ask "
            f"for '{FIRST_OF}{moving[0]}', for steps with a condition on '{wide.previous[moving[0]]}', or of a sample"
        )
    for place, names in enumerate(tables):
        if set(columns) <= set(names):
            return place, names
    raise UsageError(
        f"{' and '.join(repr(name) for name in columns)} were not measured together: persons were measured by "
        f"{', by '.join(f'{name}s' for name in wide.tables)}, each by itself. Ask a sample"
    )


def _heard(stored: Stored, place: int) -> Heard | None:
    """What the releases of one table tell; None, if this version of the method asks for others."""
    assert isinstance(stored.model, LinkedModel)
    with suppress(SklarError):
        whole, view = listen(stored.fitted), _view(stored.schema, place)
        first = sum(len(part.margins) for part in stored.model.parts[:place])
        last = first + len(stored.model.parts[place].margins)
        start = view.full("")

        def own(table: ReleasedTable) -> ReleasedTable:
            return replace(table, columns=tuple(column - first for column in table.columns))

        def short(of: ReleasedTable | SummedProduct) -> ReleasedTable | SummedProduct:
            return own(of) if isinstance(of, ReleasedTable) else renamed(of, lambda name: name.removeprefix(start))

        linear = [
            replace(one, columns=tuple(name.removeprefix(start) for name in one.columns), of=short(one.of))
            for one in whole.linear
            if one.columns[0].startswith(start)
        ]
        fit: Any = StoredView(
            schema=view.by.declared, claim=stored.claim, fit=stored.fit, recorded=stored.recorded,
            model=stored.model.parts[place], whole=stored, place=place,
        ).fitted  # fmt: skip
        # Numbers of rows are few, and have no tails that noise could hide: they are told by their counts alone.
        places = {name: whole.places[view.full(name)] for name in fit.schema.modelled}
        number = linked_views(stored.schema)[0].tables[view.name].more
        places |= {number: np.full_like(places[number], np.nan)} if number else {}
        return Heard(
            fitted=fit,
            tables=[own(table) for table in whole.tables if first <= table.columns[0] < last],
            linear=tuple(linear),
            places=places,
        )
    return None
