"""What a method asked for, told from its releases: the fit is run once more on them, before a Door that takes notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.errors import DoorError
from sklar.methods.registry import METHODS
from sklar.pipeline.model import Model
from sklar.release.door import Discovery, Interaction, PairTables, RecodedTable, Score, Table
from sklar.release.features import Feature
from sklar.release.values import NoisyChoice, NoisyCounts, NoisyLabels, NoisyPairs, NoisySums, Recorded, pair_cells
from sklar.sample.rng import generator
from sklar.schema.table import Schema

Codes = Mapping[str, npt.NDArray[Any]]
Asked = Table | RecodedTable | PairTables | Interaction
R = TypeVar("R", NoisyCounts, NoisyPairs, NoisySums, NoisyChoice, NoisyLabels)


@dataclass(slots=True, kw_only=True)
class ReplayDoor:
    """Hands out recorded releases in order, refuses what they do not answer, and notes what tables were asked for.

    Noise on counts other than what was asked for is let through: it is for the audit to find.
    """

    schema: Schema
    allowance: Allowance
    unit: Unit
    recorded: Sequence[Recorded]
    rows: int | None = None
    asked: list[tuple[Asked, ...] | None] = field(default_factory=list[tuple[Asked, ...] | None], init=False)
    """For each step so far its tables of counts; None for sums, choices and labels."""

    def count(self, tables: Sequence[Table], label: str) -> tuple[NoisyCounts, ...]:
        """The recorded tables of this step."""
        return self._counts(tables, [_sizes(table, self.schema) for table in tables], label)

    def count_recoded(self, tables: Sequence[RecodedTable], label: str) -> tuple[NoisyCounts, ...]:
        """The recorded tables of this step."""
        return self._counts(tables, [table.shape for table in tables], label)

    def count_pairs(self, request: PairTables, label: str) -> NoisyPairs:
        """The recorded tables of this step."""
        (release,) = self._take(label, NoisyPairs, 1, (request,))
        cells = int(pair_cells(request.shape).sum())
        found = (release.columns, release.sizes, release.counts.size)
        _require(found == (request.columns, request.shape, cells), label)
        return release

    def count_interactions(self, tables: Sequence[Interaction], label: str) -> tuple[NoisySums, ...]:
        """The recorded interactions of this step."""
        releases = self._take(label, NoisySums, len(tables), tuple(tables))
        for table, release in zip(tables, releases, strict=True):
            _require((release.values.shape, release.resolution) == (table.shape, table.resolution), label)
        return releases

    def sum(self, feature: Feature, noise: Noise, label: str) -> NoisySums:
        """The recorded sums of this step."""
        (release,) = self._take(label, NoisySums)
        _require(release.values.size == feature.size and release.noise == noise, label)
        return release

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> NoisyChoice:
        """The recorded choice of this step."""
        (release,) = self._take(label, NoisyChoice)
        _require(len(release.indices) == picks, label)
        return release

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[NoisyLabels, ...]:
        """The recorded labels of this step."""
        releases = self._take(label, NoisyLabels, len(requests))
        for request, release in zip(requests, releases, strict=True):
            asked = (request.column, request.noise, request.threshold)
            _require((release.column, release.noise, release.threshold) == asked, label)
        return releases

    def _counts(
        self, tables: Sequence[Table | RecodedTable], shapes: Sequence[tuple[int, ...]], label: str
    ) -> tuple[NoisyCounts, ...]:
        releases = self._take(label, NoisyCounts, len(tables), tuple(tables))
        for table, shape, release in zip(tables, shapes, releases, strict=True):
            _require((release.columns, release.counts.shape) == (table.columns, shape), label)
        return releases

    def _take(self, label: str, kind: type[R], count: int = 1, asked: tuple[Asked, ...] | None = None) -> tuple[R, ...]:
        if len(self.asked) >= len(self.recorded):
            raise DoorError(f"the record ends before the step '{label}'")
        step = self.recorded[len(self.asked)]
        if step.label != label or len(step.releases) != count:
            raise DoorError(f"the record has the step '{step.label}' where the method asks for '{label}'")
        self.asked.append(asked)
        releases = tuple(release for release in step.releases if isinstance(release, kind))
        _require(len(releases) == count, label)
        return releases


def _require(answered: bool, label: str) -> None:
    if not answered:
        raise DoorError(f"the recorded step '{label}' does not answer this request")


class Notes:
    """Requests by digest; a fit is run again only if it asked for something new."""

    def __init__(self, method: str, options: Mapping[str, Any]):
        self._method = METHODS[method]
        self._options = self._method.read_options(options)
        self._known: dict[str, tuple[Asked, ...] | None] = {}

    def requests(self, model: Model) -> list[tuple[Asked, ...] | None]:
        """For each step of a fit, its tables; None for sums, choices and labels."""
        if any(step.request not in self._known for step in model.releases):
            facts = model.fit_facts
            door = ReplayDoor(
                schema=model.coordinates.schema, allowance=Allowance(**facts["allowance"]), unit=Unit(**facts["unit"]),
                recorded=model.releases, rows=facts["rows"],
            )  # fmt: skip
            self._method.fit(door, self._options, generator(facts["seed"]))
            self._known |= {step.request: asked for step, asked in zip(model.releases, door.asked, strict=True)}
        return [self._known[step.request] for step in model.releases]


def exact_values(asked: Asked, codes: Codes, schema: Schema) -> Floats:
    """The exact whole numbers that a request is about, its tables one after the other."""
    values = _exact_counts(asked, codes, schema)
    if isinstance(asked, Interaction):
        values = values.reshape(asked.shape)
        for axis, groups in enumerate(asked.shape):
            values = groups * values - values.sum(axis=axis, keepdims=True)
    return values.ravel()


def _exact_counts(asked: Asked, codes: Codes, schema: Schema) -> Floats:
    if isinstance(asked, Table):
        groups, sizes = [codes[name] for name in asked.columns], _sizes(asked, schema)
    else:
        groups = [lookup[codes[name]] for name, lookup in zip(asked.columns, asked.lookups, strict=True)]
        sizes = asked.shape
    tables = combinations(range(len(sizes)), 2) if isinstance(asked, PairTables) else [range(len(sizes))]
    return np.concatenate([_counts([groups[i] for i in axes], [sizes[i] for i in axes]) for axes in tables])


def _counts(groups: Sequence[npt.NDArray[Any]], shape: Sequence[int]) -> Floats:
    cells = np.ravel_multi_index(tuple(group.astype(np.int64) for group in groups), tuple(shape))
    return np.bincount(cells, minlength=int(np.prod(shape))).astype(np.float64)


def _sizes(table: Table, schema: Schema) -> tuple[int, ...]:
    return tuple(schema.size(name) for name in table.columns)
