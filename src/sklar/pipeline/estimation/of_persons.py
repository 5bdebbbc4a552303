"""Answer questions about longitudinal data, from the one of its tables that has all the columns.

Each of these tables was measured as a table of its own, by the same method, so it is treated as a fit of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sklar.errors import UsageError
from sklar.inference.answers.questions import Enquiry
from sklar.inference.answers.statistics import used_columns
from sklar.inference.estimates import Estimated
from sklar.inference.fitted import Fitted
from sklar.inference.linear_measurements import LinearMeasurements, linear_measurements
from sklar.methods.side_by_side import view_evidence
from sklar.model.linked import LinkedModel
from sklar.pipeline.estimation.asking import Wanted, ask
from sklar.pipeline.estimation.making import Done
from sklar.pipeline.estimation.memory import Memory
from sklar.pipeline.model_file import Stored
from sklar.schema.coordinates import Coordinates, View, linked_views
from sklar.schema.persons.linked import FIRST, FIRST_OF, NEXT, PARENT, LinkedColumns
from sklar.schema.table import Schema

COUNTED = {
    PARENT: "each person counts once",
    FIRST: "each person with a row counts once",
    NEXT: "only rows that follow an earlier row of the person; each person with such rows counts once, as their mean",
}
"""What is counted in each table, as a note on its estimates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredView(Stored):
    """One table of a longitudinal model, as a fit of its own.

    Attributes:
        whole: The model.
        place: Index of the table.
    """

    whole: Stored
    place: int

    @property
    def coordinates(self) -> Coordinates:
        """The coordinates of the table."""
        return _get_view(self.whole.schema, self.place).by

    @property
    def fitted(self) -> Fitted:
        """The fit of the table: with its share of the allowance, its own stream and its own measurements."""
        whole, view = self.whole.fitted, _get_view(self.whole.schema, self.place)
        part = view_evidence(whole.evidence(), self.place, whole.setting.rows if self.place == 0 else None)
        start = view.full("")
        recorded = tuple(
            replace(step, label=label, releases=part.releases[label])
            for step in whole.recorded
            if step.label.startswith(start) and (label := step.label.removeprefix(start)) in part.releases
        )
        return replace(whole, setting=part.setting, recorded=recorded, model=self.model)


def persons_schema(schema: Schema) -> Schema:
    """Return one schema with all columns that questions about persons may use."""
    wide, views = linked_views(schema)
    every = [(view, _names(wide, view.name)) for view in views]
    return Schema({name: view.by.declared[column] for view, names in every for name, column in names.items()})


def ask_persons(
    stored: Stored, question: Enquiry, wanted: Wanted, memory: Memory, done: Done | None = None
) -> tuple[Estimated, ...]:
    """Return the estimates that answer a question, one for each group and term."""
    wide, views = linked_views(stored.schema)
    place, names = _table_of(wide, used_columns(question))
    if place not in memory.views:
        memory.views[place] = Memory(known=_known(stored, place))
    short = replace(
        question, columns=tuple(names.get(name, name) for name in question.columns),
        by=question.by and names.get(question.by, question.by),
        given={names.get(name, name): wanted for name, wanted in question.given.items()},
    )  # fmt: skip
    found = ask(_make_stored_view(stored, place), short, wanted, memory.views[place], done)
    assert stored.schema.person is not None
    most = stored.schema.person.bound
    counted = COUNTED[PARENT if place == 0 else views[place].name]
    counted += f"; at most {most} row{'s' * (most > 1)} of each person {'are' if most > 1 else 'is'} counted"
    return tuple(replace(one, name=question.name, how=f"{one.how}; {counted}") for one in found)


def _get_view(schema: Schema, place: int) -> View:
    return linked_views(schema)[1][place]


def _names(wide: LinkedColumns, table: str) -> Mapping[str, str]:
    """Return the names that questions use for the columns of one table, with its own names."""
    own = wide.tables[table].columns
    if table == NEXT:
        return {name: name for name in own}
    return {FIRST_OF + name if name in wide.moving else name: name for name in own}


def _table_of(wide: LinkedColumns, columns: tuple[str, ...]) -> tuple[int, Mapping[str, str]]:
    """Return the first table that has all columns of a question, and their names in it."""
    tables = [_names(wide, name) for name in wide.tables]
    known = {name for names in tables for name in names}
    for name in columns:
        if name not in known:
            shown = ", ".join([*dict.fromkeys(name for names in tables for name in names)][:24])
            raise UsageError(f"'{name}' is not a column of persons; they have {shown}")
    moving = [name for name in columns if name in wide.moving]
    if moving and not set(columns) & set(wide.previous.values()):
        raise UsageError(
            f"'{moving[0]}' changes from row to row, and rows were measured as first rows and as transitions: use "
            f"'{FIRST_OF}{moving[0]}', a condition on '{wide.previous[moving[0]]}' for transitions, or a sample"
        )
    for place, names in enumerate(tables):
        if set(columns) <= set(names):
            return place, names
    raise UsageError(
        f"{' and '.join(repr(name) for name in columns)} were not measured together: persons were measured by "
        f"{', by '.join(f'{name}s' for name in wide.tables)}, each by itself. Use a sample instead"
    )


def _known(stored: Stored, place: int) -> LinearMeasurements:
    """Return the measurements of one table."""
    assert isinstance(stored.model, LinkedModel)
    view = _get_view(stored.schema, place)
    known = linear_measurements(_make_stored_view(stored, place).fitted)
    # Numbers of rows are few, and have no tails that noise could hide: they are estimated from their counts alone.
    number = linked_views(stored.schema)[0].tables[view.name].more
    places = {**known.places, **({number: np.full_like(known.places[number], np.nan)} if number else {})}
    return replace(known, places=places)


def _make_stored_view(stored: Stored, place: int) -> StoredView:
    assert isinstance(stored.model, LinkedModel)
    return StoredView(
        schema=_get_view(stored.schema, place).by.declared, claim=stored.claim, fit=stored.fit,
        recorded=stored.recorded, model=stored.model.parts[place], whole=stored, place=place,
    )  # fmt: skip
