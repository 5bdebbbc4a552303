"""A Door without rows: it gives back what was released before, so that a model can be fitted again without data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import DoorError
from sklar.release.features import Feature
from sklar.release.record import Recorded
from sklar.release.requests import Discovery, PairTables, RecodedTable, Score, Table
from sklar.release.values import NoisyChoice, NoisyCounts, NoisyLabels, NoisyPairs, NoisySums, Release, pair_cells
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
        asked = (request.columns, request.sizes, request.noise, int(pair_cells(request.sizes).sum()))
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
