"""What a method asked for, told from its releases: the fit is run once more on them, before a Door that takes notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Ints
from sklar.errors import DoorError
from sklar.methods.registry import METHODS
from sklar.pipeline.model import Model
from sklar.release.door import Discovery, PairTables, RecodedTable, Score, Table
from sklar.release.features import Feature
from sklar.release.values import (
    NoisyChoice,
    NoisyCounts,
    NoisyLabels,
    NoisyPairs,
    NoisySums,
    Recorded,
    Release,
    pair_cells,
)
from sklar.sample.rng import generator
from sklar.schema.table import Schema


@dataclass(slots=True, kw_only=True)
class ReplayDoor:
    """Hands out recorded releases in order; a method that asks for something else is refused."""

    schema: Schema
    allowance: Allowance
    unit: Unit
    recorded: Sequence[Recorded]
    rows: int | None = None
    _next: int = field(default=0, init=False)

    def count(self, tables: Sequence[Table], label: str) -> tuple[NoisyCounts, ...]:
        """The recorded tables of this step."""
        return self._counts(tables, label)

    def count_recoded(self, tables: Sequence[RecodedTable], label: str) -> tuple[NoisyCounts, ...]:
        """The recorded tables of this step."""
        return self._counts(tables, label)

    def count_pairs(self, request: PairTables, label: str) -> NoisyPairs:
        """The recorded tables of this step."""
        (release,) = self._take(label, 1)
        asked = (request.columns, request.shape, request.noise, int(pair_cells(request.shape).sum()))
        if not isinstance(release, NoisyPairs) or asked != (
            release.columns,
            release.sizes,
            release.noise,
            release.counts.size,
        ):
            raise DoorError(f"the recorded step '{label}' does not answer this request")
        return release

    def sum(self, feature: Feature, noise: Noise, label: str) -> NoisySums:
        """The recorded sums of this step."""
        (release,) = self._take(label, 1)
        if not isinstance(release, NoisySums) or release.values.size != feature.size or release.noise != noise:
            raise DoorError(f"the recorded step '{label}' does not answer this request")
        return release

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> NoisyChoice:
        """The recorded choice of this step."""
        (release,) = self._take(label, 1)
        if not isinstance(release, NoisyChoice) or len(release.indices) != picks:
            raise DoorError(f"the recorded step '{label}' does not answer this request")
        return release

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[NoisyLabels, ...]:
        """The recorded labels of this step."""
        releases = [r for r in self._take(label, len(requests)) if isinstance(r, NoisyLabels)]
        asked = [(request.column, request.noise, request.threshold) for request in requests]
        if [(release.column, release.noise, release.threshold) for release in releases] != asked:
            raise DoorError(f"the recorded step '{label}' does not answer this request")
        return tuple(releases)

    def _counts(self, tables: Sequence[Table] | Sequence[RecodedTable], label: str) -> tuple[NoisyCounts, ...]:
        releases = self._take(label, len(tables))
        for table, release in zip(tables, releases, strict=True):
            if not isinstance(release, NoisyCounts) or not self._answers(table, release):
                raise DoorError(f"the recorded step '{label}' does not answer this request")
        return tuple(release for release in releases if isinstance(release, NoisyCounts))

    def _answers(self, table: Table | RecodedTable, release: NoisyCounts) -> bool:
        sizes = tuple(self.schema.size(name) for name in table.columns)
        shape = table.shape if isinstance(table, RecodedTable) else sizes
        return (release.columns, release.counts.shape, release.noise) == (table.columns, shape, table.noise)

    def _take(self, label: str, count: int) -> tuple[Release, ...]:
        if self._next >= len(self.recorded):
            raise DoorError(f"the record ends before the step '{label}'")
        step = self.recorded[self._next]
        if step.label != label or len(step.releases) != count:
            raise DoorError(f"the record has the step '{step.label}' where the method asks for '{label}'")
        self._next += 1
        return step.releases


Codes = Mapping[str, npt.NDArray[Any]]
Asked = Table | RecodedTable | PairTables


@dataclass(slots=True, kw_only=True)
class NotingDoor(ReplayDoor):
    """Hands out recorded releases and keeps the requests for tables of counts, step by step."""

    asked: list[tuple[Asked, ...] | None] = field(default_factory=list[tuple[Asked, ...] | None])

    def count(self, tables: Sequence[Table], label: str) -> tuple[NoisyCounts, ...]:
        """The recorded tables of this step."""
        self._note(tuple(tables))
        return ReplayDoor.count(self, tables, label)

    def count_recoded(self, tables: Sequence[RecodedTable], label: str) -> tuple[NoisyCounts, ...]:
        """The recorded tables of this step."""
        self._note(tuple(tables))
        return ReplayDoor.count_recoded(self, tables, label)

    def count_pairs(self, request: PairTables, label: str) -> NoisyPairs:
        """The recorded tables of this step."""
        self._note((request,))
        return ReplayDoor.count_pairs(self, request, label)

    def _answers(self, table: Table | RecodedTable, release: NoisyCounts) -> bool:
        """Noise other than what was asked for is for the audit to find, so it is let through."""
        return ReplayDoor._answers(self, table, replace(release, noise=table.noise))

    def _note(self, requests: tuple[Asked, ...]) -> None:
        while len(self.asked) < self._next:  # steps of other kinds in between
            self.asked.append(None)
        self.asked.append(requests)


class Notes:
    """Requests by digest; a fit is run again only if it asked for something new."""

    def __init__(self, method: str, options: Mapping[str, Any]):
        self._method = METHODS[method]
        self._options = self._method.read_options(options)
        self._known: dict[str, tuple[Asked, ...] | None] = {}

    def requests(self, model: Model) -> list[tuple[Asked, ...] | None]:
        """For each step of a fit, its tables; None for sums and choices."""
        if any(step.request not in self._known for step in model.releases):
            for step, asked in zip(model.releases, self._replayed(model), strict=True):
                self._known[step.request] = asked
        return [self._known[step.request] for step in model.releases]

    def _replayed(self, model: Model) -> list[tuple[Asked, ...] | None]:
        facts = model.fit_facts
        door = NotingDoor(
            schema=model.schema, allowance=Allowance(**facts["allowance"]), unit=Unit(**facts["unit"]),
            recorded=model.releases, rows=facts["rows"],
        )  # fmt: skip
        self._method.fit(door, self._options, generator(facts["seed"]))
        missing = len(model.releases) - len(door.asked)
        return [*door.asked, *([None] * missing)]


def exact_cells(asked: Asked, codes: Codes, schema: Schema) -> list[Ints]:
    """For each table of a request, the flat cell of each row."""
    if isinstance(asked, PairTables):
        groups = [lookup[codes[name]] for name, lookup in zip(asked.columns, asked.lookups, strict=True)]
        sizes = asked.shape
        pairs = [(i, j) for i in range(len(sizes)) for j in range(i + 1, len(sizes))]
        return [np.asarray(groups[i], dtype=np.int64) * sizes[j] + groups[j] for i, j in pairs]
    if isinstance(asked, RecodedTable):
        groups = [lookup[codes[name]] for name, lookup in zip(asked.columns, asked.lookups, strict=True)]
        shape = asked.shape
    else:
        groups = [codes[name] for name in asked.columns]
        shape = tuple(schema.size(name) for name in asked.columns)
    return [np.ravel_multi_index(tuple(np.asarray(g, dtype=np.int64) for g in groups), shape)]
