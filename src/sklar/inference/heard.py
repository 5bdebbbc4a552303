"""What a model was told, as linear functions of rows: which rows each released number counts, or sums, and its noise.

A method asks the same when its releases are replayed, so its requests need not be kept: a Door that listens has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from sklar.accounting.noise import Noise
from sklar.arrays import Floats
from sklar.inference.replicas import Mechanism
from sklar.inference.sums import CodeTable, contrast_weights, sphere_points
from sklar.model.pairs.interactions import centred
from sklar.release.door import Interaction, PairTables, RecodedTable, Recoding, Score, Table
from sklar.release.features import Feature, PairSums, StarSums
from sklar.release.replay import ReplayDoor
from sklar.release.scores import Lookup
from sklar.release.values import NoisyChoice, NoisyCounts, NoisyPairs, NoisySums, Recorded
from sklar.sample.rng import generator


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linear:
    """Released numbers of several columns, each the sum over rows of a known function, with known noise.

    Attributes:
        columns: The columns it is about: a table's, or those of which products are summed.
        asked: A table after recoding, or a feature.
        picks: Which numbers of a feature these are; None for all cells of a table.
        values: The released numbers, with noise.
        sigma: Standard deviation of the noise on each.
    """

    columns: tuple[str, ...]
    asked: Recoding | PairSums | StarSums
    picks: tuple[int, int] | None = None
    values: Floats
    sigma: float

    @property
    def centring(self) -> Floats | None:
        """Of interactions: the projection that takes margins out, since only what is left was released."""
        if not isinstance(self.asked, Interaction):
            return None
        size, shape = self.values.size, self.asked.shape
        return np.stack([centred(line.reshape(shape)).ravel() for line in np.eye(size)])

    def functions(self, codes: CodeTable) -> Any:
        """The functions at each row (line), sparse."""
        if isinstance(self.asked, Recoding):
            place = np.zeros(codes.rows, dtype=np.int64)
            for name, lookup, size in zip(self.asked.columns, self.asked.lookups, self.asked.shape, strict=True):
                place = place * size + lookup[codes.columns[name]]
            shape = (codes.rows, self.values.size)
            return sparse.csr_array((np.ones(codes.rows), (np.arange(codes.rows), place)), shape=shape)
        first, second = self.picks or (0, 0)
        points = sphere_points(self.asked.scores, codes)
        weights = np.ones(codes.rows) if self.asked.contrasts is None else contrast_weights(self.asked.contrasts, codes)
        if isinstance(self.asked, StarSums):
            return sparse.csr_array((weights[first] * points[:, second])[:, None])
        return sparse.csr_array((points[:, first] * points[:, second])[:, None])


@dataclass(slots=True, kw_only=True)
class ListeningDoor:
    """Hands out recorded releases, and keeps what linear functions of several columns were asked for."""

    door: ReplayDoor
    heard: list[Linear] = field(default_factory=list[Linear], init=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.door, name)

    def count(self, tables: Sequence[Table], label: str) -> tuple[NoisyCounts, ...]:
        """Tables over base codes."""
        releases = self.door.count(tables, label)
        for table, release in zip(tables, releases, strict=True):
            lookups = tuple(np.arange(self.door.schema.size(name), dtype=np.int32) for name in table.columns)
            self._hear(table.columns, lookups, release.counts, release.noise)
        return releases

    def count_recoded(self, tables: Sequence[RecodedTable], label: str) -> tuple[NoisyCounts, ...]:
        """Tables over groups of base codes."""
        releases = self.door.count_recoded(tables, label)
        for table, release in zip(tables, releases, strict=True):
            self._hear(table.columns, table.lookups, release.counts, release.noise)
        return releases

    def count_pairs(self, request: PairTables, label: str) -> NoisyPairs:
        """Tables of all pairs."""
        release, start = self.door.count_pairs(request, label), 0
        for i, j in combinations(range(len(request.columns)), 2):
            cells = request.shape[i] * request.shape[j]
            pair = request.columns[i], request.columns[j]
            lookups = request.lookups[i], request.lookups[j]
            self._hear(pair, lookups, release.counts[start : start + cells], release.noise)
            start += cells
        return release

    def count_interactions(self, tables: Sequence[Interaction], label: str) -> tuple[NoisySums, ...]:
        """What tables tell beyond their margins."""
        releases = self.door.count_interactions(tables, label)
        for table, release in zip(tables, releases, strict=True):
            sigma, values = release.noise.std_on(release.resolution), centred(release.values).ravel()
            self.heard.append(Linear(columns=table.columns, asked=table, values=values, sigma=sigma))
        return releases

    def sum(self, feature: Feature, noise: Noise, label: str) -> NoisySums:
        """Sums of a feature: those of products are kept, each with the columns that it is about."""
        release = self.door.sum(feature, noise, label)
        sigma = release.noise.std_on(release.resolution)
        if isinstance(feature, PairSums) and feature.contrasts is None:
            for place, (i, j) in enumerate(combinations(range(feature.scores.count), 2)):
                pair = feature.scores.columns[i], feature.scores.columns[j]
                self._hear_sum(feature, pair, (i, j), release.values[place], sigma)
        elif isinstance(feature, StarSums):
            lines = release.values.reshape(len(feature.contrasts.lookups), -1)
            for i, line in enumerate(lines):
                for j, name in enumerate(feature.scores.columns):
                    self._hear_sum(feature, (name, feature.contrasts.column), (i, j), line[j], sigma)
        return release

    def choose(self, score: Score, epsilon: float, label: str, picks: int = 1) -> NoisyChoice:
        """A recorded choice."""
        return self.door.choose(score, epsilon, label, picks)

    def _hear(self, columns: tuple[str, ...], lookups: tuple[Lookup, ...], counts: Any, noise: Noise) -> None:
        if len(columns) > 1:
            table, values = Recoding(columns=columns, lookups=lookups), np.asarray(counts, dtype=np.float64).ravel()
            self.heard.append(Linear(columns=columns, asked=table, values=values, sigma=noise.std))

    def _hear_sum(
        self, feature: PairSums | StarSums, pair: tuple[str, str], picks: tuple[int, int], value: float, sigma: float
    ) -> None:
        if pair[0] != pair[1]:
            values = np.array([value])
            self.heard.append(Linear(columns=pair, asked=feature, picks=picks, values=values, sigma=sigma))


def listen(mechanism: Mechanism, recorded: Sequence[Recorded], seed: int) -> tuple[Linear, ...]:
    """All linear functions of several columns that the model's releases tell."""
    door = ReplayDoor(
        schema=mechanism.by.schema,
        allowance=mechanism.allowance,
        unit=mechanism.unit,
        recorded=recorded,
        rows=mechanism.rows if mechanism.unit.neighbours == "replace" else None,
    )
    listening = ListeningDoor(door=door)
    mechanism.method.fit(listening, mechanism.options, generator(seed))  # pyright: ignore[reportArgumentType]
    return tuple(listening.heard)
