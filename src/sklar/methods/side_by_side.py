"""A method for persons whose rows follow one another: fitted to each of the tables that tell them, under one claim.

Each of the tables counts a person by at most one vote, so each is measured as a table of one row a person, with its
share of the allowance. The method is handed a Door to one of them at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.methods.expectation import Expectation
from sklar.methods.method import Method, Outline
from sklar.model.linked import LinkedModel
from sklar.model.protocol import TableModel
from sklar.release.door import Discovery, Door, Interaction, PairTables, RecodedTable, Score, Table
from sklar.release.features import Feature
from sklar.release.values import NoisyChoice, NoisyCounts, NoisyLabels, NoisyPairs, NoisySums
from sklar.schema.coordinates import View, views_of
from sklar.schema.persons.linked import FIRST, NEXT, PARENT
from sklar.schema.prior import PublicPrior
from sklar.schema.table import Schema

SHARES = {PARENT: 0.3, FIRST: 0.4, NEXT: 0.6}
"""How tables share the allowance: those with more columns have more of it."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewDoor:
    """A Door to one of several tables, with a part of the allowance. What is asked goes on under full names.

    Attributes:
        rows: Rows of the table where that is public, or as earlier releases tell it.
    """

    whole: Door
    view: View
    allowance: Allowance
    rows: int | None

    @property
    def schema(self) -> Schema:
        return self.view.by.schema

    @property
    def unit(self) -> Unit:
        return self.whole.unit

    @property
    def prior(self) -> PublicPrior | None:
        return None

    def count(self, tables: Sequence[Table], label: str) -> tuple[NoisyCounts, ...]:
        """As the whole Door does, of this table."""
        return self.whole.count(self._full(tables), self.view.full(label))

    def count_recoded(self, tables: Sequence[RecodedTable], label: str) -> tuple[NoisyCounts, ...]:
        """As the whole Door does, of this table."""
        return self.whole.count_recoded(self._full(tables), self.view.full(label))

    def count_pairs(self, request: PairTables, label: str) -> NoisyPairs:
        """As the whole Door does, of this table."""
        return self.whole.count_pairs(self._full(request), self.view.full(label))

    def count_interactions(self, tables: Sequence[Interaction], label: str) -> tuple[NoisySums, ...]:
        """As the whole Door does, of this table."""
        return self.whole.count_interactions(self._full(tables), self.view.full(label))

    def sum(self, feature: Feature, noise: Noise, label: str) -> NoisySums:
        """As the whole Door does, of this table."""
        return self.whole.sum(self._full(feature), noise, self.view.full(label))

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> NoisyChoice:
        """As the whole Door does, of this table."""
        return self.whole.choose(self._full(score), epsilon, self.view.full(label), picks)

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[NoisyLabels, ...]:
        """As the whole Door does, of this table."""
        return self.whole.discover(self._full(requests), self.view.full(label))

    def settled(self, what: str, value: T) -> T:
        """As the whole Door does, of this table."""
        known = getattr(self.whole, "settled", None)
        return value if known is None else known(self.view.full(what), value)

    def _full(self, request: Any) -> Any:
        return renamed(request, self.view.full)


def renamed(request: Any, name: Callable[[str], str]) -> Any:
    """A request with other names of columns: texts in it are names of columns, but for those of noise."""
    if isinstance(request, str):
        return name(request)
    if isinstance(request, list | tuple):
        return type(request)(renamed(one, name) for one in request)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if is_dataclass(request) and not isinstance(request, Noise | type):
        return replace(request, **{f.name: renamed(getattr(request, f.name), name) for f in fields(request) if f.init})
    return request


def for_linked_rows(method: Method[Any]) -> Method[Any]:
    """The method, also for schemas whose persons are told by first rows and steps; for others it is as it was."""

    def fit(door: Door, options: Any, rng: np.random.Generator) -> TableModel:
        views = views_of(door.schema)
        if not views:
            return method.fit(door, options, rng)
        parts: list[TableModel] = []
        for view, allowance, stream in zip(
            views, allowances(views, door.allowance), rng.spawn(len(views)), strict=True
        ):
            rows = door.rows if door.rows is None or not parts else _with_rows(parts[0], len(parts))
            parts.append(method.fit(ViewDoor(whole=door, view=view, allowance=allowance, rows=rows), options, stream))
        fewest = 0 if views[0].name == PARENT else 1
        return LinkedModel(names=tuple(view.name for view in views), parts=tuple(parts), fewest=fewest)

    def outline(schema: Schema, options: Any, allowance: Allowance, unit: Unit, rows: int) -> tuple[Outline, ...]:
        views = views_of(schema)
        if not views:
            return method.outline(schema, options, allowance, unit, rows)
        return tuple(
            replace(line, label=view.full(line.label))
            for view, part in zip(views, allowances(views, allowance), strict=True)
            for line in method.outline(view.by.schema, options, part, unit, rows)
        )

    def expect(schema: Schema, options: Any, allowance: Allowance, unit: Unit, rows: int) -> Expectation:
        views = views_of(schema)
        assert method.expect is not None
        if not views:
            return method.expect(schema, options, allowance, unit, rows)
        return method.expect(views[0].by.schema, options, allowances(views, allowance)[0], unit, rows)

    def check(schema: Schema, options: Any) -> None:
        for one in _schemas(schema):
            method.check(one, options)

    def gaussian(schema: Schema, options: Any) -> bool:
        return all(method.gaussian(one, options) for one in _schemas(schema))

    return replace(
        method, fit=fit, outline=outline, check=check, gaussian=gaussian, links_rows=True,
        expect=None if method.expect is None else expect,
    )  # fmt: skip


def allowances(views: Sequence[View], allowance: Allowance) -> list[Allowance]:
    """What each of the tables may spend."""
    whole = sum(SHARES[view.name] for view in views)
    return [allowance.part(SHARES[view.name] / whole) for view in views]


def _schemas(schema: Schema) -> list[Schema]:
    return [view.by.schema for view in views_of(schema)] or [schema]


def _with_rows(first: TableModel, number: int) -> int:
    """Persons in the table of this number, as the margin of their number of rows tells, the last of the first table.

    Each table asks for one more row of a person than the table before it.
    """
    shares = first.margins[-1].dense()
    return max(round(first.rows_estimate * float(shares[number:].sum() / shares.sum())), 1)
