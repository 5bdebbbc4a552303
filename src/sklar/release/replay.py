"""A Door without rows: it hands out recorded releases, and tells what the method asked for and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sklar.accounting.allowance import Allowance
from sklar.accounting.events import Event
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import DoorError
from sklar.release.charges import (
    choice_event,
    count_events,
    discovery_events,
    interaction_events,
    pairs_event,
    request_digest,
    sum_event,
    sum_resolution,
)
from sklar.release.door import Discovery, Interaction, PairTables, RecodedTable, Score, Table
from sklar.release.features import Feature
from sklar.release.values import NoisyChoice, NoisyCounts, NoisyLabels, NoisyPairs, NoisySums, Recorded, pair_cells
from sklar.schema.prior import PublicPrior
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AskedChoice:
    """A noisy choice that was asked for."""

    score: Score
    epsilon: float
    picks: int


AskedTable = Table | RecodedTable | PairTables | Interaction
Asked = AskedTable | Feature | AskedChoice
R = TypeVar("R", NoisyCounts, NoisyPairs, NoisySums, NoisyChoice, NoisyLabels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One step of a replay.

    Attributes:
        asked: What each of its releases answers; None for labels.
        events: What the Door over rows charges for it.
    """

    asked: tuple[Asked, ...] | None
    events: tuple[Event, ...]


@dataclass(slots=True, kw_only=True)
class ReplayDoor:
    """Hands out recorded releases in order and refuses what they do not answer.

    Attributes:
        strict: Whether the request of each step must be the recorded one, to the last number, and its noise what the
            release says. An audit lets other noise through: it is there to find it.
    """

    schema: Schema
    allowance: Allowance
    unit: Unit
    recorded: Sequence[Recorded]
    rows: int | None = None
    prior: PublicPrior | None = None
    strict: bool = False
    steps: list[Replayed] = field(default_factory=list[Replayed], init=False)

    def count(self, tables: Sequence[Table], label: str) -> tuple[NoisyCounts, ...]:
        """The recorded tables of this step."""
        shapes = [tuple(self.schema.size(name) for name in table.columns) for table in tables]
        return self._counts(tuple(tables), shapes, label)

    def count_recoded(self, tables: Sequence[RecodedTable], label: str) -> tuple[NoisyCounts, ...]:
        """The recorded tables of this step."""
        return self._counts(tuple(tables), [table.shape for table in tables], label)

    def count_pairs(self, request: PairTables, label: str) -> NoisyPairs:
        """The recorded tables of this step."""
        (release,) = self._take(
            NoisyPairs, [pairs_event(request, label, self.unit)], request_digest(request), asked=(request,)
        )
        cells = int(pair_cells(request.shape).sum())
        found = (release.columns, release.sizes, release.counts.size)
        self._require(found == (request.columns, request.shape, cells), label)
        self._require(not self.strict or release.noise == request.noise, label)
        return release

    def count_interactions(self, tables: Sequence[Interaction], label: str) -> tuple[NoisySums, ...]:
        """The recorded interactions of this step."""
        events, asked = interaction_events(tables, label, self.unit), tuple(tables)
        releases = self._take(NoisySums, events, request_digest(asked), len(tables), asked)
        for table, release in zip(tables, releases, strict=True):
            resolution = table.resolution * self.unit.resolution
            self._require((release.values.shape, release.resolution) == (table.shape, resolution), label)
            self._require(not self.strict or release.noise == table.noise, label)
        return releases

    def sum(self, feature: Feature, noise: Noise, label: str) -> NoisySums:
        """The recorded sums of this step."""
        event = sum_event(feature, noise, label, self.unit)
        (release,) = self._take(NoisySums, [event], request_digest(feature, noise), asked=(feature,))
        self._require(release.values.size == feature.size and release.noise == noise, label)
        self._require(release.resolution == sum_resolution(feature, self.unit), label)
        return release

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> NoisyChoice:
        """The recorded choice of this step."""
        event = choice_event(epsilon, picks, label, self.unit)
        digest = request_digest(score, float(epsilon), picks)
        asked = AskedChoice(score=score, epsilon=epsilon, picks=picks)
        (release,) = self._take(NoisyChoice, [event], digest, asked=(asked,))
        self._require(len(release.indices) == picks, label)
        return release

    def discover(self, requests: Sequence[Discovery], label: str) -> tuple[NoisyLabels, ...]:
        """The recorded labels of this step."""
        events = discovery_events(requests, label, self.unit)
        releases = self._take(NoisyLabels, events, request_digest(tuple(requests)), len(requests))
        for request, release in zip(requests, releases, strict=True):
            asked = (request.column, request.noise, request.threshold)
            self._require((release.column, release.noise, release.threshold) == asked, label)
        return releases

    def _counts(
        self, tables: tuple[Table, ...] | tuple[RecodedTable, ...], shapes: Sequence[tuple[int, ...]], label: str
    ) -> tuple[NoisyCounts, ...]:
        events = count_events([table.noise for table in tables], label, self.unit)
        releases = self._take(NoisyCounts, events, request_digest(tables), len(tables), tables)
        for table, shape, release in zip(tables, shapes, releases, strict=True):
            self._require((release.columns, release.counts.shape) == (table.columns, shape), label)
            self._require(not self.strict or release.noise == table.noise, label)
        return releases

    def _take(
        self,
        kind: type[R],
        events: Sequence[Event],
        digest: str,
        count: int = 1,
        asked: tuple[Asked, ...] | None = None,
    ) -> tuple[R, ...]:
        label = events[0].label
        if len(self.steps) >= len(self.recorded):
            raise DoorError(f"the record ends before the step '{label}'")
        step = self.recorded[len(self.steps)]
        if step.label != label or len(step.releases) != count:
            raise DoorError(f"the record has the step '{step.label}' where the method asks for '{label}'")
        self._require(not self.strict or step.request == digest, label)
        self.steps.append(Replayed(asked=asked, events=tuple(events)))
        releases = tuple(release for release in step.releases if isinstance(release, kind))
        self._require(len(releases) == count, label)
        return releases

    def _require(self, answered: bool, label: str) -> None:
        if not answered:
            raise DoorError(f"the recorded step '{label}' does not answer this request")
